"""Reranking: a cross-encoder scores the best passages, each with the question.

Its scores and those of the first stage are mixed, each in standard units over the passages read. A
cross-encoder sees one passage at a time, so it underrates the second hop, which does not resemble
the question; the first stage does not. Both weigh the same by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.errors import MissingExtraError, ModelError
from clew.search.ranking.normalise import log_odds, standard_units
from clew.search.retrieval.channels import Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.ports import Reranker
    from clew.types import Scores

DEPTH = 100
"""Passages that are read, from the best."""
WEIGHT = 0.5
"""Share of the cross-encoder; 1 is the cross-encoder alone."""


def rerank(
    reranker: Reranker | None,
    question: str,
    ranking: Ranking,
    texts: Mapping[int, str],
    *,
    depth: int = DEPTH,
    weight: float = WEIGHT,
) -> tuple[Ranking, tuple[str, ...]]:
    """The best passages in a better order, the others below them as they were; and notes.

    mix = weight · z(log-odds of the cross-encoder) + (1 - weight) · z(first-stage score), where z
    counts standard deviations above the mean of the passages read. New scores are the logistic
    function of the mix, 0 to 1. Equal mixes keep their order.

    Args:
        reranker: None where there is none.
        question: As it was asked.
        ranking: What the first stage found.
        texts: What is read, by chunk id; a passage without a text is not among those read.
        depth: Passages read, at most.
        weight: 0 to 1.

    Returns:
        The ranking, and why it is unchanged where the model is missing or fails.
    """
    if reranker is None:
        return ranking, ("not reranked: no model is configured (setting rerank.model)",)
    read = np.array([i in texts for i in ranking.top(depth).ids.tolist()], dtype=bool)
    head = Ranking(ranking.ids[:depth][read], ranking.scores[:depth][read])
    if not len(head.ids):
        return ranking, ()
    try:
        scores = _score(reranker, question, [texts[i] for i in head.ids.tolist()])
    except (ModelError, MissingExtraError) as error:
        return ranking, (f"not reranked: {error}",)
    return _mix(head, scores, weight).then(ranking), ()


def _score(reranker: Reranker, question: str, texts: Sequence[str]) -> Scores:
    """Raises `ModelError` where the model answers with anything but a number for each text."""
    scores = reranker.score(question, texts)
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise ModelError(
            f"the reranker {reranker.name!r} gave scores of shape {scores.shape}, "
            f"{int(np.isfinite(scores).sum())} of them finite; expected {len(texts)} finite "
            "numbers. Choose another model with the setting rerank.model"
        )
    return scores


def _mix(head: Ranking, scores: Scores, weight: float) -> Ranking:
    mixed = weight * standard_units(log_odds(scores))
    mixed += (1 - weight) * standard_units(head.scores)
    order = np.argsort(-mixed, kind="stable")
    between_0_and_1 = 1 / (1 + np.exp(-mixed[order]))
    return Ranking(head.ids[order], between_0_and_1.astype(np.float32))
