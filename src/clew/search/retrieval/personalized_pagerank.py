"""Walks over the graph around a question: from its seeds, its bridges, what resembles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.pagerank import local_graph, walk
from clew.graph.snapshot import find_sorted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.bridge import Bridges

ENTITY_PASSAGES = 100
"""Passages of one seed or bridge that the walk may visit; the best by themselves."""
BRIDGE_SHARE, PRIOR_SHARE = 3.0, 0.6
"""Weight of bridges and of the prior in the restart, beside seeds at 1."""
DAMPING, FAR_DAMPING = 0.5, 0.75
"""Chance to go on."""


@dataclass(frozen=True, slots=True)
class PageRankScores:
    """Where each walk spends its time: passages (P,), sorted rows, and a value a passage."""

    passages: Ints
    everything: Floats
    """From seeds, bridges and prior."""
    seeds: Floats
    bridges: Floats
    asked: Floats
    """From seeds and prior."""
    far: Floats
    """From seeds and bridges, with longer ways."""


def personalized_pagerank(
    analysis: Analysis,
    bridges: Bridges,
    snapshot: Snapshot,
    prior: Floats,
    allowed: NDArray[np.bool_] | None,
) -> PageRankScores:
    """Personalised PageRank among the passages of seeds and bridges and the best by themselves."""
    seeds = np.array([seed.row for seed in analysis.seeds], dtype=np.int64)
    passages = _around(np.concatenate([seeds, bridges.entities]), snapshot, prior, allowed)
    graph = local_graph(snapshot, passages)
    # Both on one scale: 1 for a trusted seed, or a perfect bridge, of one passage.
    by_weight = np.array([seed.weight for seed in analysis.seeds], np.float32)
    by_score = snapshot.entity_rarity[bridges.entities] * bridges.scores
    from_seeds = _restart(graph.entities, seeds, by_weight / np.log1p(max(snapshot.size, 1)))
    from_bridges = _restart(graph.entities, bridges.entities, by_score)
    from_prior = prior[passages].astype(np.float64)
    nowhere_p, nowhere_e = np.zeros(len(passages)), np.zeros(len(graph.entities))
    linked = from_seeds + BRIDGE_SHARE * from_bridges
    visits = walk(
        graph,
        np.stack([nowhere_p, nowhere_p, from_prior, nowhere_p], axis=1),
        np.stack([from_seeds, from_bridges, nowhere_e, linked], axis=1),
        np.array([DAMPING, DAMPING, DAMPING, FAR_DAMPING]),
    )
    # A walk is linear in its restart: those from several sources are sums of those from one.
    amounts = np.array([from_seeds.sum(), from_bridges.sum(), from_prior.sum()])
    by_seeds, by_bridges, by_prior = (visits[:, :3] * amounts).T
    asked = by_seeds + PRIOR_SHARE * by_prior
    values = (asked + BRIDGE_SHARE * by_bridges, by_seeds, by_bridges, asked, visits[:, 3])
    return PageRankScores(passages, *(_relative(value) for value in values))


def _around(
    entities: Ints, snapshot: Snapshot, prior: Floats, allowed: NDArray[np.bool_] | None
) -> Ints:
    """Rows (sorted) of passages with a prior, and of those that hold the entities."""
    near = prior > 0
    for entity in entities:
        there = snapshot.entity_passages.row(entity)
        if allowed is not None:
            there = there[allowed[there]]
        if len(there) > ENTITY_PASSAGES:
            there = there[np.argsort(-prior[there], kind="stable")[:ENTITY_PASSAGES]]
        near[there] = True
    return np.flatnonzero(near)


def _restart(local: Ints, entities: Ints, weights: Floats) -> NDArray[np.float64]:
    restart = np.zeros(len(local))
    places, known = find_sorted(local, entities)
    restart[places[known]] = weights[known]
    return restart


def _relative(values: NDArray[np.float64]) -> Floats:
    highest = values.max(initial=0.0)
    return (values / (highest or 1.0)).astype(np.float32)
