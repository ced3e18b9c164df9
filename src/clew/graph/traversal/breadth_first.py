"""Going outwards from some entities, a hop at a time, within limits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot_columns import Adjacency
from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

    Costs = NDArray[np.float64]

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
    def room(self) -> int:
        """Entities that may still be followed."""
        return self._budget.entities - self._used

    @property
    def within_limits(self) -> bool:
        """Whether no limit has been met so far; looks at the clock, and whether anybody waits."""
        go_on()
        if not self.limits_hit and time.monotonic() > self._deadline:
            self.limits_hit = (f"{self._search} stopped after {self._budget.seconds:g} seconds",)
        return not self.limits_hit

    def use(self, entities: int) -> None:
        """Count entities that are followed; those beyond the limit must be left out."""
        if entities > self.room:
            self.limits_hit = (f"{self._search} stopped after {self._budget.entities} entities",)
        self._used += min(entities, self.room)


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
        room = self._meter.room
        self._meter.use(len(best))
        if len(best) > room:
            best = best[np.argsort(costs[best], kind="stable")[:room]]
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
