"""Passages weighed by meaning, by distance in the graph and by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct
from clew.search.answer.result import RetrievalResult
from clew.search.retrieval.channels import Ranking
from clew.search.strategies.closeness import closeness

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints, Snapshot
    from clew.search.session import QuerySession

MAX_FRONTIER = 2000
"""Passages from which a further hop may start, at most."""


def rank_weighted(session: QuerySession) -> RetrievalResult:
    """α · vector + β · 1/hops + γ · time, each 0 to 1, over what the channels and hops lead to."""
    alpha, beta, gamma = session.options.weights
    snapshot = session.snapshot
    near = session.channels.by_vector().ids
    inverse_hops = _inverse_hops(session)
    ids = distinct(np.concatenate([near, snapshot.chunk_ids[inverse_hops > 0]]))
    ids = ids[snapshot.known(ids)]
    cosines = session.views.vectors.vectors(ids) @ session.vector if len(ids) else np.zeros(0)
    parts = {
        "vector_share": np.clip(cosines, 0, 1),
        "hops": inverse_hops[snapshot.rows(ids)],
        "temporal": closeness(session, ids),
    }
    weighted = zip((alpha, beta, gamma), parts.values(), strict=True)
    total = sum(weight * part for weight, part in weighted) + np.zeros(len(ids))
    order = np.lexsort((ids, -total))
    return RetrievalResult(
        ranking=Ranking(ids[order], total[order].astype(np.float32)),
        scores={
            name: dict(zip(ids.tolist(), part.tolist(), strict=True))
            for name, part in parts.items()
            if name != "vector_share"
        },
    )


def _inverse_hops(session: QuerySession) -> NDArray[np.float64]:
    """(C,) 1 for passages that mention a seed, ½ for those one hop on, …; 0 for all others."""
    snapshot = session.snapshot
    inverse = np.zeros(snapshot.size)
    entities = np.array([seed.row for seed in session.analysis.seeds], dtype=np.int64)
    seen = np.zeros(len(snapshot.entity_ids), dtype=bool)
    for hop in range(1, session.options.max_hops + 1):
        seen[entities] = True
        reached = _passages_of(snapshot, entities)
        reached = reached[inverse[reached] == 0]
        inverse[reached] = 1 / hop
        if len(reached) > MAX_FRONTIER:
            session.note(f"hops stopped after {hop}: {len(reached)} passages were reached")
            break
        entities = _entities_of(snapshot, reached)
        entities = entities[~seen[entities]]
    inverse[~session.allows(snapshot.chunk_ids)] = 0
    return inverse


def _passages_of(snapshot: Snapshot, entities: Ints) -> Ints:
    entries, _ = snapshot.entity_passages.entries(entities)
    return distinct(snapshot.entity_passages.items[entries])


def _entities_of(snapshot: Snapshot, passages: Ints) -> Ints:
    entries, _ = snapshot.passage_entities.entries(passages)
    return distinct(snapshot.passage_entities.items[entries])
