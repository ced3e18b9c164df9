"""What matters in the graph of entities, and what holds it together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.errors import InputError
from clew.graph.entity_graph import degrees, entity_ranks
from clew.graph.knowledge import is_known
from clew.graph.paths import entries_of
from clew.graph.snapshot import find_sorted
from clew.types import WEAK_TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.snapshot import Ints
    from clew.ports import RelationRows
    from clew.stores.store import Store
    from clew.types import Alias, Entity, Ids

    Values = NDArray[np.float64]


EXACT = 1_000
"""Entities up to which betweenness is exact."""


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


# --- cut entities and bridges ------------------------------------------------------------


MAX_EDGES = 1_000_000
"""Edges of a graph that is looked at, at most: it takes some seconds."""


def cut_vertices(graph: EntityGraph) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What holds the graph together, that which holds most first (Hopcroft & Tarjan 1973).

    Cut entities (articulation points): rows, and how many entities would come off the largest part
    that is left without each. Bridges: numbers of edges on no cycle, and how many entities the
    smaller side of each has.
    """
    size = len(graph.entity_ids)
    order, parent, by = _depth_first(graph)
    number = np.empty(size, dtype=np.int64)
    number[order] = np.arange(size)
    # By entity: the first one met that it or one below it has an edge to, and how many lie below,
    # itself among them. The edge to the entity before does not count.
    owner = np.repeat(np.arange(size), degrees(graph))
    back = graph.neighbours != parent[owner]
    lows, counts = number.copy(), np.ones(size, dtype=np.int64)
    np.minimum.at(lows, owner[back], number[graph.neighbours[back]])
    low, below, above = lows.tolist(), counts.tolist(), parent.tolist()
    for here in reversed(order):
        before = above[here]
        if before >= 0:
            low[before] = min(low[before], low[here])
            below[before] += below[here]
    lows, counts = np.array(low, dtype=np.int64), np.array(below, dtype=np.int64)
    parts = components(graph)
    whole = np.bincount(parts, minlength=size)[parts]
    child = np.flatnonzero(parent >= 0)
    bridge = child[lows[child] > number[parent[child]]]
    # All below these hangs on the one before alone.
    hangs = child[lows[child] >= number[parent[child]]]
    hanging, largest = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(hanging, parent[hangs], counts[hangs])
    np.maximum.at(largest, parent[hangs], counts[hangs])
    severed = whole - 1 - np.maximum(largest, whole - 1 - hanging)
    return (
        _most_first(np.flatnonzero(severed), severed[severed > 0]),
        _most_first(by[bridge], np.minimum(counts[bridge], whole[bridge] - counts[bridge])),
    )


def _most_first(items: Ints, amounts: Ints) -> list[tuple[int, int]]:
    order = np.lexsort((items, -amounts))
    return list(zip(items[order].tolist(), amounts[order].tolist(), strict=True))


def _depth_first(graph: EntityGraph) -> tuple[list[int], Ints, Ints]:
    """Entities in the order met; by entity, the one met before it and the edge from that."""
    starts, neighbours = graph.starts.tolist(), graph.neighbours.tolist()
    edges = graph.edges.tolist()
    size = len(starts) - 1
    met, parent, by = [False] * size, [-1] * size, [-1] * size
    order: list[int] = []
    ahead = [(row, -1, -1) for row in reversed(range(size))]
    while ahead:
        here, before, edge = ahead.pop()
        if not met[here]:
            met[here], parent[here], by[here] = True, before, edge
            order.append(here)
            for entry in range(starts[here], starts[here + 1]):
                if not met[neighbours[entry]]:
                    ahead.append((neighbours[entry], here, edges[entry]))
    return order, np.array(parent, dtype=np.int64), np.array(by, dtype=np.int64)


# --- at a glance, by name ----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedEntity:
    """An entity with what tells how much it matters."""

    entity: Entity
    degree: int
    """Edges of it."""
    pagerank: float
    """Above 0; of all entities together 1."""
    betweenness: float
    """Share, 0 to 1, of the shortest paths between others that go by it; see `betweenness`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CutVertex:
    """An entity without which a part of the graph would come off."""

    name: str
    severed: int
    """Entities that would come off the largest part left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BridgeEdge:
    """An edge that lies on no cycle: without it, its two sides would come apart."""

    ends: tuple[str, str]
    severed: int
    """Entities of the smaller side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphOverview:
    """The graph of entities at a glance; every list has the most important first."""

    statistics: GraphStatistics
    hubs: tuple[RankedEntity, ...]
    """By PageRank."""
    between: tuple[RankedEntity, ...]
    """By betweenness; those that no shortest path goes by are left out."""
    cut_entities: tuple[CutVertex, ...]
    bridges: tuple[BridgeEdge, ...]
    notes: tuple[str, ...] = ()
    """What was not looked for, the graph being too large."""


def overview(store: Store, graph: EntityGraph, limit: int = 10) -> GraphOverview:
    """The graph at a glance, at most `limit` of each kind; terms are not listed."""
    ranks, passing = entity_ranks(graph), betweenness(graph)
    listed = is_known(store, graph.entity_ids)
    orders = (np.argsort(-by, kind="stable") for by in (ranks.pagerank, passing))
    first, central = (order[listed[order]] for order in orders)
    hubs = first[degrees(graph)[first] > 0][:limit]
    between = central[passing[central] > 0][:limit]
    cut, bridges, notes = list[tuple[int, int]](), list[tuple[int, int]](), tuple[str, ...]()
    if len(graph.strengths) > MAX_EDGES:
        notes = (f"bridges were not looked for: the graph has more than {MAX_EDGES} ties",)
    else:
        cut, bridges = cut_vertices(graph)
        cut, bridges = [one for one in cut if listed[one[0]]][:limit], bridges[:limit]
    # (T, 2) the rows at both ends of each edge.
    owner = np.repeat(np.arange(len(passing)), degrees(graph))
    once = owner < graph.neighbours
    ends = np.empty((len(graph.strengths), 2), dtype=np.int64)
    ends[graph.edges[once]] = np.column_stack([owner[once], graph.neighbours[once]])
    shown = {edge: ends[edge].tolist() for edge, _ in bridges}
    ids = graph.entity_ids[[*(row for row, _ in cut), *chain(*shown.values())]].tolist()
    known = store.entity_names(ids)

    def name(row: int) -> str:
        """A name; "?" where it was deleted meanwhile."""
        return known.get(int(graph.entity_ids[row]), "?")

    return GraphOverview(
        statistics=summary(graph),
        hubs=_ranked(store, graph, ranks, passing, hubs.tolist()),
        between=_ranked(store, graph, ranks, passing, between.tolist()),
        cut_entities=tuple(CutVertex(name=name(row), severed=severed) for row, severed in cut),
        bridges=tuple(
            BridgeEdge(ends=(name(shown[edge][0]), name(shown[edge][1])), severed=severed)
            for edge, severed in bridges
        ),
        notes=notes,
    )


def most_important(
    store: Store, graph: EntityGraph, limit: int, among: Ids | None = None
) -> list[RankedEntity]:
    """The entities of highest PageRank, those without an edge last; `among` (sorted ids) alone.

    Terms are left out unless they are asked for.
    """
    ranks = entity_ranks(graph)
    alone = degrees(graph) == 0
    rows = np.lexsort((-ranks.pagerank, alone))
    if among is None:
        among = graph.entity_ids[is_known(store, graph.entity_ids)]
    rows = rows[np.isin(graph.entity_ids[rows], among)]
    return list(_ranked(store, graph, ranks, betweenness(graph), rows[:limit].tolist()))


def ranked_entities(
    store: Store, graph: EntityGraph, entity_ids: Sequence[int]
) -> list[RankedEntity]:
    """Those of the entities that the graph has, in the order given."""
    rows, known = find_sorted(graph.entity_ids, np.array(entity_ids, dtype=np.int64))
    return list(
        _ranked(store, graph, entity_ranks(graph), betweenness(graph), rows[known].tolist())
    )


def _ranked(
    store: Store,
    graph: EntityGraph,
    ranks: EntityRanks,
    passing: Values,
    rows: Sequence[int],
) -> tuple[RankedEntity, ...]:
    entities = {e.id: e for e in store.entities(graph.entity_ids[list(rows)].tolist())}
    known = [row for row in rows if int(graph.entity_ids[row]) in entities]
    applied = ranks.applied([entities[int(graph.entity_ids[row])] for row in known])
    degree = degrees(graph)
    return tuple(
        RankedEntity(
            entity=entity,
            degree=int(degree[row]),
            pagerank=float(ranks.pagerank[row]),
            betweenness=float(passing[row]),
        )
        for row, entity in zip(known, applied, strict=True)
    )


# How sure it is that entities are any, from all that speaks for them.
#
# Each piece of evidence is taken for independent, so that an entity is none only where all of them
# err (noisy-or, as the weights of relations have it; see `stores.relations.weights`): a document
# that mentions it, a type that its texts show, a further name, a relation of a certain weight.
#
#     confidence = 1 - product over the evidence of (1 - b)

A_DOCUMENT = 0.3
A_TYPE = 0.2
A_NAME = 0.2
A_RELATION = 0.5
"""What one piece of evidence is worth; of a relation that of its weight, 0 to 1."""
ABOUT = -1
"""Instead of a sentence, where a chunk is about an entity."""


class Support(NamedTuple):
    """What speaks for an entity."""

    documents: int
    names: int
    is_typed: bool
    relations: Sequence[float]
    """The weights of its relations."""

    @property
    def confidence(self) -> float:
        """0 to 1."""
        doubt = (1 - A_DOCUMENT) ** self.documents * (1 - A_NAME) ** max(0, self.names - 1)
        doubt *= 1 - A_TYPE * self.is_typed
        return 1 - float(doubt * np.prod([1 - A_RELATION * weight for weight in self.relations]))

    @property
    def reason(self) -> str:
        """What there is, for people."""
        told = [f"{self.documents:,} document{'' if self.documents == 1 else 's'}"]
        told.append("a type" if self.is_typed else "no type")
        if self.names > 1:
            told.append(f"{self.names:,} names")
        count = len(self.relations)
        told.append(f"{count:,} relation{'' if count == 1 else 's'}" if count else "no relation")
        return f"confidence {self.confidence:.2f}: {', '.join(told)}"


class EntityEvidence:
    """What speaks for each entity of a store."""

    def __init__(self, aliases: Sequence[Alias], relations: RelationRows) -> None:
        self._names = Counter(alias.entity_id for alias in aliases)
        self._ends = np.concatenate((relations.heads, relations.tails))
        self._order = np.argsort(self._ends, kind="stable")
        self._ends = self._ends[self._order]
        self._weights = np.concatenate((relations.weights, relations.weights))[self._order]

    def of(self, entity: Entity) -> Support:
        """What speaks for one."""
        first, last = np.searchsorted(self._ends, (entity.id, entity.id + 1))
        return Support(
            documents=entity.documents,
            names=self._names[entity.id],
            is_typed=entity.entity_type not in WEAK_TYPES,
            relations=self._weights[first:last].tolist(),
        )


def stated_entities(
    aliases: Sequence[Alias], relations: RelationRows, mentions: np.ndarray, ruled: Collection[str]
) -> set[int]:
    """Ids of those that are no guess: titles of documents, and what was said of them by hand.

    `mentions` are the rows of `GraphSource.mention_rows`, `ruled` the keys of names that somebody
    merged, split or renamed.
    """
    by_hand = relations.chunks == 0
    stated = {*relations.heads[by_hand].tolist(), *relations.tails[by_hand].tolist()}
    stated.update(mentions[mentions[:, 1] == ABOUT, 2].tolist())
    stated.update(a.entity_id for a in aliases if a.method == "manual" or a.key in ruled)
    return stated
