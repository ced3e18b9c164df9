"""Paths between entities, and what lies around them.

Every search is bounded by hops, by entities and by time, and says in `limits_hit` which of the
last two stopped it. A path costs what its edges cost, see `path_costs`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot import Adjacency
from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

    Costs = NDArray[np.float64]

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
