"""Parts of the graph of entities that matter to a question.

Either the tree that connects relevant entities at the least cost, or all that lies around
them. Both are bounded and say in `notes` which limit they met.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.traversal.breadth_first import (
    BreadthFirstSearch,
    Budget,
    Limits,
    cheapest,
    check_rows,
    edge_costs,
    entries_of,
)
from clew.graph.traversal.paths import neighbourhood
from clew.graph.traversal.steiner import cheapest_forest, prize_collecting_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

COST = 0.5
"""What an edge costs (`breadth_first.edge_costs`) in terms of prizes of 0 to 1."""
MAX_HOPS = 4
"""Hops from prizes that a tree is looked for in, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgraph:
    """Some entities and edges between them."""

    entities: tuple[int, ...]
    """Rows of the graph: highest prize first, then nearest."""
    edges: tuple[int, ...]
    """Numbers of edges, strongest first."""
    prizes: Mapping[int, float] = field(default_factory=dict)
    """Relevance by row, of those that were given one."""
    notes: tuple[str, ...] = ()
    """A sentence for each limit that was met."""


def subgraph_around(
    graph: EntityGraph,
    seeds: Sequence[int],
    hops: int = 1,
    limit: int = 50,
    budget: Budget | None = None,
) -> Subgraph:
    """Some rows, at most `limit` entities around them, and all edges between these.

    Raises `InputError` where `clew.graph.traversal.paths.neighbourhood` does.
    """
    around = neighbourhood(graph, seeds, hops, limit, budget)
    entities = tuple(dict.fromkeys((*seeds, *around.entities)))
    edges, _, _ = edges_among(graph, np.array(sorted(entities)))
    return Subgraph(
        entities=entities,
        edges=_strongest_first(graph, edges),
        prizes=dict.fromkeys(seeds, 1.0),
        notes=around.limits_hit,
    )


def steiner_tree(
    graph: EntityGraph,
    prizes: Mapping[int, float],
    *,
    cost: float = COST,
    max_entities: int = 500,
    budget: Budget | None = None,
) -> Subgraph:
    """The tree that connects the entities that are worth it (prize-collecting Steiner tree).

    `prizes` are relevance by row, 0 to 1; an edge costs `cost` times its `edge_costs`. The sum of
    costs and of prizes left out is at most twice the least that is possible within the
    `max_entities` entities around the prizes that the tree is looked for in: those on the cheapest
    ways between prizes, then the nearest. Raises `InputError` for a row that is not there, a prize
    that is no number or below 0, and a cost that is not above 0.
    """
    _check(graph, prizes, cost)
    worthy = sorted(
        (row for row, prize in prizes.items() if prize > 0), key=lambda r: (-prizes[r], r)
    )
    if not worthy:
        return Subgraph(entities=(), edges=(), prizes=dict(prizes))
    meter = Limits(budget or Budget(), "the search for a tree")
    rows, limits_hit = _candidates(graph, worthy[:max_entities], max_entities, meter)
    edges, heads, tails = edges_among(graph, rows)
    tree = prize_collecting_tree(
        [prizes.get(row, 0.0) for row in rows.tolist()],
        list(zip(heads.tolist(), tails.tolist(), strict=True)),
        (cost * edge_costs(graph, edges)).tolist(),
    )
    entities = sorted(rows[tree.nodes].tolist(), key=lambda row: (-prizes.get(row, 0.0), row))
    return Subgraph(
        entities=tuple(entities),
        edges=_strongest_first(graph, edges[tree.edges]),
        prizes=dict(prizes),
        notes=(*meter.limits_hit, *limits_hit),
    )


def edges_among(graph: EntityGraph, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """The edges between some rows (sorted), and the positions of their ends among these rows."""
    position = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    neighbours, edges, owner = entries_of(graph, rows)
    inside = np.flatnonzero(position[neighbours] > owner)  # each edge once
    return edges[inside], owner[inside], position[neighbours[inside]]


def _candidates(
    graph: EntityGraph, seeds: list[int], limit: int, meter: Limits
) -> tuple[Ints, tuple[str, ...]]:
    """Rows, sorted: the seeds, the ways between them, then the nearest; at most `limit`.

    And a note where that leaves any out.
    """
    spread = BreadthFirstSearch(graph, seeds, meter)
    regions = _Regions(len(graph.entity_ids), seeds)
    while spread.depth < MAX_HOPS and len(spread.level) and not regions.joined:
        regions.look(graph, spread)
        if regions.joined or not meter.within_limits:
            break
        level = spread.hop()
        regions.of[level] = regions.of[spread.parents[level]]
    between = [row for end in regions.crossings() for row in spread.backtrack(end)[0]]
    reached = np.flatnonzero(spread.hops >= 0)
    nearest = reached[np.lexsort((reached, spread.costs[reached], spread.hops[reached]))]
    chosen = dict.fromkeys((*seeds, *between, *nearest[:limit].tolist()))
    note = f"only the {limit} entities nearest to what the question is about were looked at"
    rows = np.array(sorted(list(chosen)[:limit]), dtype=np.int64)
    return rows, (note,) if len(reached) > limit else ()


class _Regions:
    """Which seed each entity is nearest to, and the cheapest ways from region to region.

    A minimum spanning tree over these ways (Mehlhorn 1988) shows through which entities a tree may
    have to go that lie nowhere near a prize.
    """

    def __init__(self, size: int, seeds: Sequence[int]) -> None:
        self.of = np.full(size, -1, dtype=np.int64)
        """(E,) position of the nearest seed; -1 where none has been near."""
        self.of[seeds] = np.arange(len(seeds))
        self._count = len(seeds)
        self._ways: dict[tuple[int, int], tuple[float, int, int]] = {}

    @property
    def joined(self) -> bool:
        """Whether there is a way between any two regions."""
        return len(self._spanning()) == self._count - 1

    def look(self, graph: EntityGraph, spread: BreadthFirstSearch) -> None:
        """Note the edges by which the last level touches other regions."""
        neighbours, edges, owner = spread.ahead
        here, there = self.of[spread.level[owner]], self.of[neighbours]
        on = np.flatnonzero((there >= 0) & (there != here))
        ends = spread.level[owner[on]], neighbours[on]
        costs = spread.costs[ends[0]] + edge_costs(graph, edges[on]) + spread.costs[ends[1]]
        low, high = np.minimum(here[on], there[on]), np.maximum(here[on], there[on])
        for at in cheapest(low * self._count + high, costs, self._count**2).tolist():
            way = float(costs[at]), int(ends[0][at]), int(ends[1][at])
            pair = int(low[at]), int(high[at])
            self._ways[pair] = min(way, self._ways.get(pair, way))

    def crossings(self) -> list[int]:
        """Both ends of each edge by which the cheapest tree goes from region to region."""
        return [end for pair in self._spanning() for end in self._ways[pair][1:]]

    def _spanning(self) -> list[tuple[int, int]]:
        pairs = list(self._ways)
        costs = [self._ways[pair][0] for pair in pairs]
        return [pairs[i] for i in cheapest_forest(pairs, costs, range(len(pairs)))]


def _strongest_first(graph: EntityGraph, edges: Ints) -> tuple[int, ...]:
    return tuple(edges[np.lexsort((edges, -graph.strengths[edges]))].tolist())


def _check(graph: EntityGraph, prizes: Mapping[int, float], cost: float) -> None:
    check_rows(graph, prizes)
    for row, prize in prizes.items():
        if not (isfinite(prize) and prize >= 0):
            raise InputError(f"prize {prize!r} of row {row!r} cannot be; expected 0 or above")
    if not (isfinite(cost) and cost > 0):
        raise InputError(f"cost {cost!r} cannot be; expected a number above 0")
