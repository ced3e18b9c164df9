"""Paths between entities, and what lies around them.

Every search is bounded by hops, by entities and by time, and says in `limits_hit` which of the
last two stopped it. A path costs what its edges cost, see `path_costs`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot import Adjacency
from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

    Costs = NDArray[np.float64]
    Pair = tuple[int, int]


# --- going outwards, a hop at a time, within limits --------------------------------------

HOP_COST = 0.25
"""What a hop costs a tree, however strong its edge."""
LEAST_STRENGTH = 1e-30
"""A path over an edge that is weaker is none to prefer, but it is one."""
EVEN = 1e-9
"""What tells apart paths of one strength; far less than any difference that counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """How much a search over the graph may do; it stops at whichever comes first."""

    entities: int = 50_000
    """Entities (or, of paths, beginnings of paths) that are followed, at most."""
    seconds: float = 1.0
    """Checked after each hop."""


class Limits:
    """What a search has used of its budget, and which of its limits it met."""

    def __init__(self, budget: Budget, search: str) -> None:
        self._budget = budget
        self._search = search
        self._deadline = time.monotonic() + budget.seconds
        self._used = 0
        self.limits_hit: tuple[str, ...] = ()
        """A sentence for each limit that was met."""

    @property
    def within_limits(self) -> bool:
        """Whether no limit has been met so far; looks at the clock, and whether anybody waits."""
        go_on()
        if not self.limits_hit and time.monotonic() > self._deadline:
            self.limits_hit = (f"{self._search} stopped after {self._budget.seconds:g} seconds",)
        return not self.limits_hit

    def take(self, costs: Costs) -> Ints:
        """Positions of what may still be followed: the cheapest, where there is no room for all."""
        room = self._budget.entities - self._used
        self._used += min(len(costs), room)
        if len(costs) <= room:
            return np.arange(len(costs))
        self.limits_hit = (f"{self._search} stopped after {self._budget.entities} entities",)
        return np.argsort(costs, kind="stable")[:room]


def check_rows(graph: EntityGraph, rows: Iterable[int]) -> None:
    """Raises `InputError` for a row that the graph does not have."""
    size = len(graph.entity_ids)
    for row in rows:
        if not 0 <= row < size:
            raise InputError(f"no entity in row {row!r} of the graph; it has {size} rows")


def edge_costs(graph: EntityGraph, edges: Ints) -> Costs:
    """(n,) 0.25 to 1.25: what each edge costs a tree or a neighbourhood.

    `HOP_COST` + 1/(1 + strength).
    """
    return HOP_COST + 1 / (1 + graph.strengths[edges].astype(np.float64))


def path_costs(graph: EntityGraph, edges: Ints) -> Costs:
    """(n,) what it costs a path to take each edge: −log of its strength, more than 1 being 1.

    Strengths multiply along a path, so that the cheapest path has the greatest product; of equal
    products it has the fewest hops, then the strongest edges (`EVEN`).
    """
    strengths = graph.strengths[edges].astype(np.float64)
    return -np.log(np.clip(strengths, LEAST_STRENGTH, 1)) + EVEN * (1 + 0.1 / (1 + strengths))


def entries_of(graph: EntityGraph, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Neighbours of some entities, the edges to them, and which of the entities each belongs to."""
    entries, owner = Adjacency(graph.starts, graph.neighbours).entries(rows)
    return graph.neighbours[entries], graph.edges[entries], owner


def cheapest(items: Ints, costs: Costs, size: int) -> Ints:
    """Positions of the cheapest entry of each item (0 to size - 1), the first of equals."""
    least = np.full(size, np.inf)
    np.minimum.at(least, items, costs)
    candidates = np.flatnonzero(costs == least[items])[::-1]
    place = np.empty(size, dtype=np.int64)
    place[items[candidates]] = candidates  # the last one written stays: the first of equals
    return np.sort(place[items[candidates]][place[items[candidates]] == candidates])


class BreadthFirstSearch:
    """The entities around some, level by level, each by the cheapest of its shortest ways."""

    def __init__(
        self,
        graph: EntityGraph,
        seeds: Sequence[int] | Ints,
        meter: Limits,
        costs_of: Callable[[EntityGraph, Ints], Costs] = edge_costs,
    ) -> None:
        size = len(graph.entity_ids)
        self._graph, self._costs_of = graph, costs_of
        self._meter = meter
        self.level = np.array(seeds, dtype=np.int64)
        """The entities that the last hop led to."""
        self.hops = np.full(size, -1, dtype=np.int64)
        """(E,) from the nearest seed; -1 where not reached."""
        self.costs = np.zeros(size)
        """(E,) of the cheapest of the shortest ways."""
        self.parents = np.full(size, -1, dtype=np.int64)
        """(E,) the entity before, on that way; -1 for seeds."""
        self.edges = np.full(size, -1, dtype=np.int64)
        """(E,) the edge from it; -1 for seeds."""
        self.hops[self.level] = 0
        self.depth = 0
        self._ahead: tuple[Ints, Ints, Ints] | None = None

    @property
    def ahead(self) -> tuple[Ints, Ints, Ints]:
        """What the next hop looks at: `entries_of` the last level."""
        if self._ahead is None:
            self._ahead = entries_of(self._graph, self.level)
        return self._ahead

    @property
    def effort(self) -> int:
        """Edges that the next hop has to look at."""
        return int((self._graph.starts[self.level + 1] - self._graph.starts[self.level]).sum())

    def hop(self) -> Ints:
        """One hop further, as far as there is room: the cheapest first; the entities reached."""
        neighbours, edges, owner = self.ahead
        new = np.flatnonzero(self.hops[neighbours] < 0)
        neighbours, edges, origin = neighbours[new], edges[new], self.level[owner[new]]
        costs = self.costs[origin] + self._costs_of(self._graph, edges)
        best = cheapest(neighbours, costs, len(self.hops))
        best = best[self._meter.take(costs[best])]
        self.depth += 1
        self.level, self._ahead = neighbours[best], None
        self.hops[self.level] = self.depth
        self.costs[self.level] = costs[best]
        self.parents[self.level], self.edges[self.level] = origin[best], edges[best]
        return self.level

    def backtrack(self, entity: int) -> tuple[list[int], list[int]]:
        """Entities from the one given to its seed, and the edges between them."""
        entities, edges = [entity], []
        while (parent := int(self.parents[entities[-1]])) >= 0:
            edges.append(int(self.edges[entities[-1]]))
            entities.append(parent)
        return entities, edges


# --- paths -------------------------------------------------------------------------------


MAX_HOPS = 5
"""Hops of a path where all are asked for, at most."""
MAX_DEPTH = 3
"""Hops of a neighbourhood, at most."""
SEARCH = "the search for paths"


@dataclass(frozen=True, slots=True)
class Path:
    """A way from one entity to another that meets none twice."""

    entities: tuple[int, ...]
    """Rows of the graph, both ends among them."""
    edges: tuple[int, ...]
    """Numbers of the edges between them; one less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """What a search for paths found."""

    paths: tuple[Path, ...]
    limits_hit: tuple[str, ...] = ()
    """A sentence for each limit that stopped the search; there may be more, or better ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbourhood:
    """The entities around some, nearest first, and among equally near ones the cheapest first."""

    entities: tuple[int, ...]
    """Rows of the graph; the seeds are not among them."""
    hops: tuple[int, ...]
    """From the nearest seed, from 1."""
    parents: tuple[int, ...]
    """The entity before, on the cheapest of the shortest ways."""
    edges: tuple[int, ...]
    """The edge from it."""
    limits_hit: tuple[str, ...] = ()
    """A sentence for each limit that was met; there are more entities within the hops."""


def shortest_path(
    graph: EntityGraph, start: int, end: int, max_hops: int = MAX_HOPS, budget: Budget | None = None
) -> Paths:
    """The path of fewest hops between two rows, the cheapest of them; none where none is found.

    From both ends at once, always on from the one that has fewer edges to look at.
    """
    check_rows(graph, (start, end))
    _check_number("max_hops", max_hops, least=0)
    if start == end:
        return Paths(paths=(Path((start,), ()),))
    meter = Limits(budget or Budget(), SEARCH)
    forward = BreadthFirstSearch(graph, [start], meter, path_costs)
    backward = BreadthFirstSearch(graph, [end], meter, path_costs)
    sides = forward, backward
    while sum(side.depth for side in sides) < max_hops and all(len(s.level) for s in sides):
        nearer, other = sorted(sides, key=lambda side: side.effort)
        reached = nearer.hop()
        meeting = reached[other.hops[reached] >= 0]
        if len(meeting):
            best = meeting[np.argmin(nearer.costs[meeting] + other.costs[meeting])]
            entities, edges = forward.backtrack(int(best))
            further, more = backward.backtrack(int(best))
            path = Path((*reversed(entities), *further[1:]), (*reversed(edges), *more))
            return Paths(paths=(path,), limits_hit=meter.limits_hit)
        if not meter.within_limits:
            break
    return Paths(paths=(), limits_hit=meter.limits_hit)


def all_paths(
    graph: EntityGraph,
    start: int,
    end: int,
    max_hops: int = 3,
    limit: int = 10,
    budget: Budget | None = None,
) -> Paths:
    """The paths between two rows: those of fewest hops first, among them the cheapest.

    Raises `InputError` for `max_hops` outside 1 to 5 or a limit below 1. Beginnings of paths are
    followed together, a hop at a time; where there is no room for all, the cheapest are.
    """
    check_rows(graph, (start, end))
    _check_number("max_hops", max_hops, most=MAX_HOPS)
    _check_number("limit", limit)
    if start == end:
        return Paths(paths=(Path((start,), ()),))
    meter = Limits(budget or Budget(), SEARCH)
    # (E,) hops to an entity; more than any path has for those that are further than `depth`.
    depth = max_hops - 1
    spread = BreadthFirstSearch(graph, [end], meter)
    while spread.depth < depth and len(spread.level) and meter.within_limits:
        spread.hop()
    distances = np.where(spread.hops < 0, MAX_HOPS + 1, spread.hops)
    found: list[Path] = []
    for hops in range(1, max_hops + 1):
        if len(found) < limit and meter.within_limits:
            found += _paths_of(graph, start, end, hops, distances, meter)[: limit - len(found)]
    return Paths(paths=tuple(found), limits_hit=meter.limits_hit)


def _paths_of(
    graph: EntityGraph, start: int, end: int, hops: int, distances: Ints, meter: Limits
) -> list[Path]:
    """All paths of exactly so many hops, the cheapest first."""
    entities = np.full((1, 1), start)
    edges = np.zeros((1, 0), dtype=np.int64)
    costs = np.zeros(1)
    for left in range(hops - 1, -1, -1):
        neighbours, by, owner = entries_of(graph, entities[:, -1])
        fits = (distances[neighbours] <= left) & ((neighbours == end) == (left == 0))
        on = np.flatnonzero(fits)
        on = on[(entities[owner[on]] != neighbours[on, None]).all(axis=1)]
        costs = costs[owner[on]] + path_costs(graph, by[on])
        kept = meter.take(costs)
        on, costs = on[kept], costs[kept]
        entities = np.column_stack([entities[owner[on]], neighbours[on]])
        edges = np.column_stack([edges[owner[on]], by[on]])
    order = np.lexsort((*entities.T[::-1], costs))
    return [
        Path(tuple(e), tuple(t))
        for e, t in zip(entities[order].tolist(), edges[order].tolist(), strict=True)
    ]


def strongest_path(
    graph: EntityGraph, start: int, end: int, max_hops: int = MAX_HOPS, budget: Budget | None = None
) -> Paths:
    """The path between two rows of at most so many hops whose strengths multiply to the most.

    It may have more hops than the shortest; of equally strong ones it has the fewest. Bellman
    (1958) and Ford, by hops: only what became cheaper is followed, and nothing that costs more than
    a path that is known.
    """
    shortest = shortest_path(graph, start, end, max_hops, budget)
    if not shortest.paths or start == end:
        return shortest
    meter = Limits(budget or Budget(), SEARCH)
    costs = np.full(len(graph.entity_ids), np.inf)
    costs[start] = 0
    costs[end] = path_costs(graph, np.array(shortest.paths[0].edges)).sum()
    levels: list[tuple[Ints, Ints, Ints]] = []
    level = np.array([start])
    best = shortest.paths[0]
    while len(levels) < max_hops and len(level) and meter.within_limits:
        # What one hop from the level makes cheaper to reach.
        neighbours, edges, owner = entries_of(graph, level)
        reached = costs[level[owner]] + path_costs(graph, edges)
        on = np.flatnonzero(reached < np.minimum(costs[neighbours], costs[end]))
        on = on[cheapest(neighbours[on], reached[on], len(costs))]
        on = on[meter.take(reached[on])]
        costs[neighbours[on]] = reached[on]
        levels.append((neighbours[on], level[owner[on]], edges[on]))
        if end in neighbours[on]:
            # The path by which the last of the levels reached the end.
            entities, by = [end], list[int]()
            for heads, parents, over in reversed(levels):
                at = int(np.flatnonzero(heads == entities[-1])[0])
                entities.append(int(parents[at]))
                by.append(int(over[at]))
            best = Path(tuple(reversed(entities)), tuple(reversed(by)))
        level = neighbours[on][neighbours[on] != end]
    return Paths(paths=(best,), limits_hit=meter.limits_hit)


def neighbourhood(
    graph: EntityGraph,
    seeds: Sequence[int],
    hops: int = 1,
    limit: int = 50,
    budget: Budget | None = None,
) -> Neighbourhood:
    """At most `limit` entities around some rows, nearest first, then by cost, then by id.

    Raises `InputError` for `hops` outside 1 to 3 or a limit below 1.
    """
    check_rows(graph, seeds)
    _check_number("hops", hops, most=MAX_DEPTH)
    _check_number("limit", limit)
    meter = Limits(budget or Budget(), "the neighbourhood")
    spread = BreadthFirstSearch(graph, seeds, meter)
    levels: list[Ints] = []
    found = 0
    while spread.depth < hops and len(spread.level) and found <= limit and meter.within_limits:
        level = spread.hop()
        levels.append(level[np.lexsort((level, spread.costs[level]))])
        found += len(level)
    entities = np.concatenate([np.zeros(0, dtype=np.int64), *levels])[:limit]
    limits_hit = (
        (f"the neighbourhood holds its nearest {limit} entities only",) if found > limit else ()
    )
    return Neighbourhood(
        entities=tuple(entities.tolist()),
        hops=tuple(spread.hops[entities].tolist()),
        parents=tuple(spread.parents[entities].tolist()),
        edges=tuple(spread.edges[entities].tolist()),
        limits_hit=(*meter.limits_hit, *limits_hit),
    )


def _check_number(name: str, value: int, *, least: int = 1, most: int | None = None) -> None:
    if value < least or (most is not None and value > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise InputError(f"{name} {value!r} cannot be; expected {bounds}")


# Parts of the graph of entities that matter to a question.
#
# Either the tree that connects relevant entities at the least cost, or all that lies around
# them. Both are bounded and say in `notes` which limit they met.


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
