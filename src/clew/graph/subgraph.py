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
from clew.graph.paths import (
    BreadthFirstSearch,
    Budget,
    Limits,
    cheapest,
    check_rows,
    edge_costs,
    entries_of,
    neighbourhood,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

    Pair = tuple[int, int]

# --- the prize-collecting Steiner tree of a small graph ----------------------------------

# Wanted is the tree for which what its edges cost and the prizes that it leaves out come to the
# least. The method is that of Goemans & Williamson (1995) without a root, as in Hegde, Indyk &
# Schmidt (2014): around each prize a moat grows at one pace until the prize is spent or moats
# meet; where the edges of what has met make a tree, it is pruned as well as can be (Johnson,
# Minkoff & Phillips 2000). The result costs at most twice as much as the best tree.

_EXACT = 1e-12
"""Sums of floating-point numbers that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Some nodes and the edges between them, one less."""

    nodes: list[int]
    edges: list[int]
    """Positions among the edges given, ascending."""
    worth: float
    """The prizes of its nodes less the costs of its edges."""


def prize_collecting_tree(
    prizes: Sequence[float], edges: Sequence[Pair], costs: Sequence[float]
) -> Tree:
    """The tree that the prizes (0 and above, one at least) are worth, within a factor of two.

    Nodes are 0 to len(prizes) - 1. No edge leads from a node to itself; costs are above 0.
    """
    grown = prune(prizes, edges, costs, _grown(prizes, edges, costs))
    # Between the nodes chosen there may be cheaper edges than those along which moats met.
    inside = set(grown.nodes)
    among = [e for e, (one, other) in enumerate(edges) if one in inside and other in inside]
    return prune(prizes, edges, costs, cheapest_forest(edges, costs, among))


def cheapest_forest(
    edges: Sequence[Pair], costs: Sequence[float], among: Iterable[int]
) -> list[int]:
    """Positions of the edges of a minimum spanning forest of some of them (Kruskal 1956)."""
    # Not scipy: as fast at 50 nodes, 12 ms faster at 500, and its import costs far more than that.
    root: dict[int, int] = {}

    def find(node: int) -> int:
        while (above := root.get(node, node)) != node:
            root[node] = node = root.get(above, above)
        return node

    chosen: list[int] = []
    for edge in sorted(among, key=lambda e: costs[e]):
        one, other = (find(node) for node in edges[edge])
        if one != other:
            root[one] = other
            chosen.append(edge)
    return chosen


def prune(
    prizes: Sequence[float], edges: Sequence[Pair], costs: Sequence[float], forest: Iterable[int]
) -> Tree:
    """The part of a forest that is worth most, a single node at least; exact, in linear time."""
    steps: dict[int, list[tuple[int, int]]] = {node: [] for node in range(len(prizes))}
    for edge in forest:
        one, other = edges[edge]
        steps[one].append((other, edge))
        steps[other].append((one, edge))
    worth = [float(prize) for prize in prizes]
    below: dict[int, list[tuple[int, int]]] = {node: [] for node in steps}
    # (node, the node above it, the edge between) for all but roots, each after what is above.
    seen: set[int] = set()
    order: list[tuple[int, int, int]] = []
    for root in steps:
        level = [] if root in seen else [root]
        for node in level:  # grows meanwhile
            seen.add(node)
            further = [step for step in steps[node] if step[0] not in seen]
            level += [child for child, _ in further]
            order += [(child, node, edge) for child, edge in further]
    for node, above, edge in reversed(order):
        gain = worth[node] - costs[edge]
        if gain > _EXACT:
            worth[above] += gain
            below[above].append((node, edge))
    top = max(range(len(prizes)), key=lambda node: worth[node])
    nodes, taken = [top], []
    for node in nodes:  # grows meanwhile
        for child, edge in below[node]:
            nodes.append(child)
            taken.append(edge)
    return Tree(nodes, sorted(taken), worth[top])


def _grown(prizes: Sequence[float], edges: Sequence[Pair], costs: Sequence[float]) -> list[int]:
    """The edges along which moats met, until one moat at most is left to grow."""
    # Edges between clusters, as columns: head, tail, number.
    numbered = [(*edge, number) for number, edge in enumerate(edges)]
    between = np.array(numbered, dtype=np.int64).reshape(-1, 3).T
    missing = np.array(costs, dtype=np.float64)  # what the moats at its ends leave of each
    left = np.array(prizes, dtype=np.float64)  # of each cluster, to be spent on its moat
    met: list[int] = []
    while np.count_nonzero(growing := left > _EXACT) > 1:
        pace = np.add(*growing[between[:2]], dtype=np.float64)
        wait = np.divide(missing, pace, out=np.full(len(pace), np.inf), where=pace > 0)
        edge = int(wait.argmin()) if len(wait) else -1
        spent = left[growing].min()
        full = edge >= 0 and wait[edge] <= spent
        step = max(0.0, wait[edge] if full else spent)
        missing -= step * pace
        left[growing] -= step
        if full:
            one, other, number = between[:, edge].tolist()
            met.append(number)
            left[one] += left[other]
            left[other] = 0
            between[:2][between[:2] == other] = one
            apart = between[0] != between[1]
            between, missing = between[:, apart], missing[apart]
    return met


# --- parts of the graph of entities ------------------------------------------------------


COST = 0.5
"""What an edge costs (`paths.edge_costs`) in terms of prizes of 0 to 1."""
TREE_HOPS = 4
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

    Raises `InputError` where `clew.graph.paths.neighbourhood` does.
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
    check_rows(graph, prizes)
    for row, prize in prizes.items():
        if not (isfinite(prize) and prize >= 0):
            raise InputError(f"prize {prize!r} of row {row!r} cannot be; expected 0 or above")
    if not (isfinite(cost) and cost > 0):
        raise InputError(f"cost {cost!r} cannot be; expected a number above 0")
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
    while spread.depth < TREE_HOPS and len(spread.level) and not regions.joined:
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
