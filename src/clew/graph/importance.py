"""Which entities matter, how the graph hangs together: PageRank, betweenness, hubs, components."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot_columns import find_sorted
from clew.graph.traversal.breadth_first import entries_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Floats, Ints
    from clew.types import Entity, Ids

    Values = NDArray[np.float64]

Tier = Literal["core", "notable", "minor"]
TIERS: tuple[Tier, ...] = ("core", "notable", "minor")
"""The first 1 % of entities by PageRank (rounded up), the first 10 %, all others."""
_SHARES = (0.01, 0.10)

DAMPING = 0.85
TOLERANCE = 1e-9
"""PageRank is done when a round moves less than this much of the mass."""
EXACT = 1_000
"""Entities up to which betweenness is exact."""


@dataclass(frozen=True, slots=True)
class EntityRanks:
    """How much each entity matters."""

    generation: int
    entity_ids: Ids
    """(E,) sorted"""
    pagerank: Values
    """(E,) above 0, summing to 1"""
    salience: Floats
    """(E,) see `salience`"""
    tiers: NDArray[np.int8]
    """(E,) positions in `TIERS`"""

    def of(self, entity_ids: Sequence[int]) -> Mapping[int, tuple[float, Tier]]:
        """(salience, tier) by id; ids that are not in the graph are left out."""
        ids = np.array(entity_ids, dtype=np.int64)
        rows, known = find_sorted(self.entity_ids, ids)
        return {
            int(id_): (float(self.salience[row]), TIERS[self.tiers[row]])
            for id_, row in zip(ids[known], rows[known], strict=True)
        }

    def applied(self, entities: Sequence[Entity]) -> list[Entity]:
        """The entities with their salience and tier; those not in the graph matter least."""
        found = self.of([entity.id for entity in entities])
        least: tuple[float, Tier] = (0.0, TIERS[-1])
        return [
            replace(entity, salience_score=score, tier=tier)
            for entity in entities
            for score, tier in [found.get(entity.id, least)]
        ]


def entity_ranks(graph: EntityGraph) -> EntityRanks:
    """PageRank and what follows from it."""
    ranks = pagerank(graph)
    return EntityRanks(
        generation=graph.generation,
        entity_ids=graph.entity_ids,
        pagerank=ranks,
        salience=salience(graph, ranks),
        tiers=tiers(ranks),
    )


def pagerank(graph: EntityGraph) -> Values:
    """(E,) share of time that a walk spends at each entity; above 0, summing to 1.

    Page et al. (1999): with a chance of `DAMPING` the walk takes an edge, by strength, else it
    restarts anywhere; so it does at an entity without edges. Power iteration to `TOLERANCE`.
    """
    size = len(graph.entity_ids)
    connected = np.flatnonzero(degrees(graph))
    strengths = graph.strengths[graph.edges].astype(np.float64)
    totals = np.zeros(size)
    mass = np.full(size, 1 / max(size, 1))
    if len(connected):
        totals[connected] = np.add.reduceat(strengths, graph.starts[connected])
        strengths /= totals[graph.neighbours]
    change = 1.0
    while change > TOLERANCE and size:
        lost = 1 - DAMPING * mass[connected].sum()
        arrived = np.full(size, lost / size)
        if len(connected):
            flow = mass[graph.neighbours] * strengths
            arrived[connected] += DAMPING * np.add.reduceat(flow, graph.starts[connected])
        change = float(np.abs(arrived - mass).sum())
        mass = arrived
    return mass


def salience(graph: EntityGraph, ranks: Values) -> Floats:
    """(E,) 0 to 1: PageRank on a log scale, from that of an entity without edges to the highest."""
    connected = degrees(graph) > 0
    if not connected.any():
        return np.zeros(len(ranks), dtype=np.float32)
    # What restarts at an entity without edges comes from all others and from its like.
    least = (1 - DAMPING) / (len(ranks) - DAMPING * (~connected).sum())
    scaled = np.log(ranks / least) / np.log(ranks.max() / least)
    return np.where(connected, np.clip(scaled, 0, 1), 0).astype(np.float32)


def tiers(ranks: Values) -> NDArray[np.int8]:
    """(E,) positions in `TIERS`, by rank; of equals the smaller row goes first."""
    found = np.full(len(ranks), len(_SHARES), dtype=np.int8)
    order = np.argsort(-ranks, kind="stable")
    for tier in reversed(range(len(_SHARES))):
        found[order[: ceil(_SHARES[tier] * len(ranks))]] = tier
    return found


def degrees(graph: EntityGraph) -> Ints:
    """(E,) edges of each entity."""
    return np.diff(graph.starts)


@dataclass(frozen=True, slots=True)
class Hub:
    """An entity that much goes by way of."""

    entity: int
    """Row of the graph."""
    degree: int
    pagerank: float


def hubs(graph: EntityGraph, ranks: Values, limit: int = 10) -> list[Hub]:
    """The connected entities of highest PageRank, highest first, then by row."""
    degree = degrees(graph)
    best = np.lexsort((np.arange(len(ranks)), -ranks))
    best = best[degree[best] > 0][:limit]
    return [Hub(int(row), int(degree[row]), float(ranks[row])) for row in best]


# --- betweenness -------------------------------------------------------------------------


def betweenness(graph: EntityGraph, samples: int = 64, seed: int = 0) -> Values:
    """(E,) share, 0 to 1, of the shortest paths between pairs of others that go by an entity.

    Brandes (2001), by hops; a pair with several shortest paths counts for each by its share, a
    pair without any for none. From every entity up to `EXACT` entities; above that from `samples`
    connected entities drawn at random, scaled up (Brandes & Pich 2007): then the result is an
    estimate, and may pass 1. Raises `InputError` for `samples` below 1.
    """
    if samples < 1:
        raise InputError(f"samples {samples!r} cannot be; expected at least 1")
    size = len(graph.entity_ids)
    connected = np.flatnonzero(degrees(graph))
    sources = connected
    if size > EXACT and samples < len(connected):
        sources = np.random.default_rng(seed).choice(connected, samples, replace=False)
    total = np.zeros(size)
    for source in sources.tolist():
        total += _dependencies(graph, source)
    pairs = max((size - 1) * (size - 2), 1)
    return total * (len(connected) / max(len(sources), 1)) / pairs


def _dependencies(graph: EntityGraph, source: int) -> Values:
    """(E,) how far the shortest paths from one entity to all others depend on each."""
    hops = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    ways = np.zeros(len(graph.entity_ids))
    hops[source], ways[source] = 0, 1
    level, steps = np.array([source]), list[tuple["Ints", "Ints"]]()
    while len(level):
        ends, _, owner = entries_of(graph, level)
        onward = (hops[ends] < 0) | (hops[ends] == len(steps) + 1)
        ends, origins = ends[onward], level[owner[onward]]
        new = ends[hops[ends] < 0]
        hops[new] = len(steps) + 1
        np.add.at(ways, ends, ways[origins])
        steps.append((origins, ends))
        level = np.unique(new)
    depend = np.zeros(len(hops))
    for origins, ends in reversed(steps):
        np.add.at(depend, origins, ways[origins] / ways[ends] * (1 + depend[ends]))
    depend[source] = 0
    return depend


# --- how it hangs together ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStatistics:
    """The graph of entities in numbers."""

    entities: int
    ties: int
    """Edges; the name is that of `clew stats --graph --json`."""
    isolated: int
    """Entities without edges."""
    components: int
    """Connected parts, isolated entities among them."""
    largest_component: int
    """Entities of the largest part."""
    mean_degree: float
    highest_degree: int


def components(graph: EntityGraph) -> Ints:
    """(E,) the connected part of each entity, named by its smallest row.

    Each entity takes the smallest name around it and then that entity's own, until nothing changes.
    """
    # Not scipy: over a million edges its `connected_components` takes about twice as long.
    names = np.arange(len(graph.entity_ids))
    connected = np.flatnonzero(degrees(graph))
    while len(connected):
        least = names.copy()
        around = np.minimum.reduceat(names[graph.neighbours], graph.starts[connected])
        least[connected] = np.minimum(names[connected], around)
        least = least[least]
        if np.array_equal(least, names):
            break
        names = least
    return names


def summary(graph: EntityGraph) -> GraphStatistics:
    """The graph in numbers."""
    degree = degrees(graph)
    sizes = np.unique(components(graph), return_counts=True)[1]
    return GraphStatistics(
        entities=len(degree),
        ties=len(graph.strengths),
        isolated=int((degree == 0).sum()),
        components=len(sizes),
        largest_component=int(sizes.max(initial=0)),
        mean_degree=float(degree.mean()) if len(degree) else 0.0,
        highest_degree=int(degree.max(initial=0)),
    )
