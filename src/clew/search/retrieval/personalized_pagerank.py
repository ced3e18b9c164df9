"""Personalised PageRank on the part of the graph around a question.

It starts from the question's seeds, its bridges and what resembles it.

The walk alternates between passages and entities. It is confined to the passages given, which
bounds its cost whatever the size of the store; what leaves them through an entity is lost, so
that an entity with many passages elsewhere (a hub) passes little on.

Most entities have one passage here: a walk that goes there comes back to where it was. Those are
folded into one loop a passage, and each iteration goes by way of the others alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted, numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.bridge import Bridges
    from clew.search.retrieval.row_values import RowValues

    Masses = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edges:
    """Weighted edges in order of the side that they lead to, so that arrivals are sums of runs."""

    origin: Ints
    """(edges,)"""
    weight: Masses
    """(edges,) share of the origin's mass that takes the edge."""
    targets: Ints
    """(runs,) the targets that any edge leads to."""
    starts: Ints
    """(runs,) where each target's run begins."""
    size: int
    """Number of targets, those without edges among them."""

    @classmethod
    def towards(cls, target: Ints, origin: Ints, weight: Masses, size: int) -> Edges:
        """Edges given in order of their targets."""
        starts = np.flatnonzero(np.diff(target, prepend=-1))
        return cls(origin, weight, target[starts], starts, size)

    def carry(self, masses: Masses) -> Masses:
        """(k, size) what arrives of the origins' masses (k, origins)."""
        arrived = np.zeros((len(masses), self.size))
        if len(self.starts):
            flow = masses.take(self.origin, axis=1)
            flow *= self.weight
            arrived[:, self.targets] = np.add.reduceat(flow, self.starts, axis=1)
        return arrived


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """The edges between some passages and all entities that they mention."""

    passages: Ints
    """(P,) rows of the snapshot, sorted."""
    entities: Ints
    """(E,) rows of the snapshot, sorted."""
    from_entities: Edges
    """To passages, from all entities."""
    loops: Masses
    """(P,) share of a passage's mass that comes back through an entity of this passage alone."""
    onward: Edges
    """From passages, to the entities that several of them share."""
    back: Edges
    """To passages, from these entities."""


def local_graph(snapshot: Snapshot, passages: Ints) -> LocalGraph:
    """The graph around passages (rows, sorted and distinct)."""
    entries, passage = snapshot.passage_entities.entries(passages)
    entities, entity = numbered(snapshot.passage_entities.items[entries], len(snapshot.entity_ids))
    weight = snapshot.weights(entries)
    size, members = len(passages), len(entities)
    out_of_passage = weight / np.bincount(passage, weights=weight, minlength=size)[passage]
    out_of_entity = weight / snapshot.entity_totals(entities)[entity]
    is_shared = np.bincount(entity, minlength=members) > 1
    shared = is_shared[entity]
    alone = ~shared
    hub, of_hub = (np.cumsum(is_shared) - 1)[entity[shared]], passage[shared]
    by_hub = np.argsort(hub * size + of_hub)
    out_to_hub = out_of_passage[shared][by_hub]
    returning = out_of_passage[alone] * out_of_entity[alone]
    return LocalGraph(
        passages=passages,
        entities=entities,
        from_entities=Edges.towards(passage, entity, out_of_entity, size),
        loops=np.bincount(passage[alone], weights=returning, minlength=size).astype(np.float64),
        onward=Edges.towards(hub[by_hub], of_hub[by_hub], out_to_hub, int(is_shared.sum())),
        back=Edges.towards(of_hub, hub, out_of_entity[shared], size),
    )


def walk(
    graph: LocalGraph,
    restart_passages: Masses,
    restart_entities: Masses,
    damping: NDArray[np.float64],
    rounds: int = 8,
) -> Masses:
    """(P, k) share of time that each of k walks spends at each passage.

    `restart_passages` (P, k) and `restart_entities` (E, k) are scaled to sum to 1 together;
    `damping` (k,) is the chance to go on, 0 to 1. Power iteration (Page et al. 1999), a round from
    passages to entities and back; what is missing after the last is below damping^(2 · rounds).
    """
    total = restart_passages.sum(axis=0) + restart_entities.sum(axis=0)
    scale = (1 - damping) / np.where(total > 0, total, 1)
    entered = graph.from_entities.carry(restart_entities.T).T
    # A row a walk: what is summed lies side by side.
    home = np.ascontiguousarray((scale * (restart_passages + damping * entered)).T)
    at, onward = home, (damping**2)[:, None]
    for _ in range(rounds):
        at = home + onward * (graph.loops * at + graph.back.carry(graph.onward.carry(at)))
    return at.T


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
    prior: RowValues,
    allowed: NDArray[np.bool_] | None,
) -> PageRankScores:
    """Personalised PageRank among the passages of seeds and bridges and the best by themselves."""
    seeds = np.array([seed.row for seed in analysis.seeds], dtype=np.int64)
    passages = _around(np.concatenate([seeds, bridges.entities]), snapshot, prior, allowed)
    graph = local_graph(snapshot, passages)
    # Both on one scale: 1 for a trusted seed, or a perfect bridge, of one passage.
    by_weight = np.array([seed.weight for seed in analysis.seeds], np.float32)
    by_score = snapshot.entity_rarity[bridges.entities] * bridges.scores
    from_seeds = _restart(graph.entities, seeds, by_weight / np.log1p(max(snapshot.store_size, 1)))
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
    entities: Ints, snapshot: Snapshot, prior: RowValues, allowed: NDArray[np.bool_] | None
) -> Ints:
    """Rows (sorted) of passages with a prior, and of those that hold the entities."""
    near = [prior.rows[prior.values > 0]]
    best = prior.best(len(prior.rows)).rows
    for entity in entities:
        there = snapshot.entity_passages.row(entity)
        if allowed is not None:
            there = there[allowed[there]]
        near.append(_best_of(there, best))
    return distinct(np.concatenate(near))


def _best_of(passages: Ints, best: Ints) -> Ints:
    """At most `ENTITY_PASSAGES` of some passages (sorted): the best, then the first."""
    if len(passages) <= ENTITY_PASSAGES:
        return passages
    best = best[find_sorted(passages, best)[1]][:ENTITY_PASSAGES]
    first = passages[:ENTITY_PASSAGES]
    others = first[~np.isin(first, best)]
    return np.concatenate([best, others])[:ENTITY_PASSAGES]


def _restart(local: Ints, entities: Ints, weights: Floats) -> NDArray[np.float64]:
    restart = np.zeros(len(local))
    places, known = find_sorted(local, entities)
    restart[places[known]] = weights[known]
    return restart


def _relative(values: NDArray[np.float64]) -> Floats:
    highest = values.max(initial=0.0)
    return (values / (highest or 1.0)).astype(np.float32)
