"""Numbers that a document has beside its words (citations, say) and importance, in the order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.search.ranking.normalise import min_max
from clew.search.retrieval.channels import Ranking
from clew.text import entity_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import StoredChunk

    Values = NDArray[np.float64]

IMPORTANCE = "importance"
DEPTH = 200
"""Passages, from the best, that may change places."""


def boosted(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """The result with the numbers mixed in that `settings.boost` gives a weight.

    score = (1 - Σ weights) · rank score + Σ weight · number, each 0 to 1: the rank score from the
    least to the greatest, a number as ln(1 + n) / ln(1 + the greatest n here), 0 where there is
    none; importance is that of the entity that the document's title names.
    """
    settings = session.resources.settings.boost
    best = found.ranking.top(DEPTH)
    known = {chunk.id: chunk for chunk in session.resources.store.chunks(best.ids.tolist())}
    chunks = [known.get(id_) for id_ in best.ids.tolist()]
    parts = {name: _logarithmic(chunks, name) for name in settings.fields}
    if settings.importance:
        parts[IMPORTANCE] = _importance(session, chunks)
    weights = {**settings.fields, IMPORTANCE: settings.importance}
    mixed = (1 - sum(weights.values())) * min_max(best.scores)
    mixed = mixed + sum(weights[name] * part for name, part in parts.items())
    order = np.argsort(-mixed, kind="stable")
    ranking = Ranking(best.ids[order], mixed[order].astype(np.float32)).then(found.ranking)
    ranking = ranking.led_by(np.array(found.first, np.int64))
    ids = best.ids.tolist()
    shown = {name: dict(zip(ids, part.tolist(), strict=True)) for name, part in parts.items()}
    return replace(found, ranking=ranking, scores={**found.scores, **shown})


def _logarithmic(chunks: Sequence[StoredChunk | None], name: str) -> Values:
    """(n,) 0 to 1."""
    given = [chunk.metadata.get(name) if chunk else None for chunk in chunks]
    numbers = np.array([n if isinstance(n, (int, float)) and n > 0 else 0.0 for n in given])
    logs: Values = np.log1p(numbers)
    return logs / (logs.max(initial=0.0) or 1.0)


def _importance(session: QuerySession, chunks: Sequence[StoredChunk | None]) -> Values:
    """(n,) 0 to 1: see `graph.entity_graph.salience`."""
    keys = [entity_key(chunk.title) if chunk else "" for chunk in chunks]
    entities = session.resources.store.resolve(list(dict.fromkeys(filter(None, keys))))
    ranks = session.resources.entity_ranks.of(list(entities.values()))
    found = [ranks.get(entities.get(key, 0), (0.0, "minor"))[0] for key in keys]
    return np.array(found, dtype=np.float64)
