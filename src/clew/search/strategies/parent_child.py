"""Parent-child retrieval: sections ranked by their matching chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.search.answer.result import RetrievalResult
from clew.search.ranking.normalise import min_max
from clew.search.retrieval.channels import Ranking

if TYPE_CHECKING:
    from clew.search.session import QuerySession

DECAY = 0.5
"""Each further child of a parent counts half as much as the one before."""


def rank_parents(session: QuerySession, children: Ranking) -> RetrievalResult:
    """The parents of the children, each at its best child.

    A child counts 0 (the furthest of those found) to 1 (the nearest): what all of them have in
    common with the question speaks for none. A parent scores its children's counts in falling order
    times 1, ½, ¼, …: several children that each say a part outweigh one that says a little more
    than either.
    """
    clusters = _by_parent(session, children)
    best = {members[0][0]: members for members in clusters.values()}
    scores = {child: _score([score for _, score in members]) for child, members in best.items()}
    # Equal ones keep the order of their best children.
    order = sorted(scores, key=lambda child: -scores[child])
    return RetrievalResult(
        ranking=Ranking(
            np.array(order, dtype=np.int64),
            np.array([scores[child] for child in order], dtype=np.float32),
        ),
        matched={child: tuple(id_ for id_, _ in members) for child, members in best.items()},
    )


def _by_parent(session: QuerySession, children: Ranking) -> dict[int, list[tuple[int, float]]]:
    """(chunk id, score) of the children by their section, best first."""
    scores = dict(zip(children.ids.tolist(), min_max(children.scores).tolist(), strict=True))
    clusters: dict[int, list[tuple[int, float]]] = {}
    for chunk in session.resources.store.chunks(list(scores)):
        clusters.setdefault(chunk.section_id, []).append((chunk.id, scores[chunk.id]))
    return clusters


def _score(scores: list[float]) -> float:
    return sum(score * DECAY**place for place, score in enumerate(scores))
