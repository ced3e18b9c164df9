"""The hierarchy of communities of the entity graph, kept up to date piece by piece.

Level 0 is Leiden's clustering of the whole graph; a community of more than `MAX_SIZE` entities is
clustered again on its own, which gives the next level.

After a change, a community is *touched* where the edges of a member changed or a member came or
went. All others are kept. What is touched is clustered again with its untouched parts as one node
each: first the touched communities of level 0 together, then what each of the new ones consists
of. Nodes are only ever placed among what is touched, but count with all their edges, so that
modularity is that of the whole. Once a third of the entities has changed, all are placed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Adjacency, distinct, find_sorted
from clew.ports import Partition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Floats, Ints
    from clew.types import Ids

    Values = NDArray[np.float64]
    Marks = NDArray[np.bool_]

# --- clustering a weighted graph ---------------------------------------------------------

# Leiden clustering (Traag, Waltman & van Eck 2019) of a weighted graph given as arrays.
#
# Over it, nodes, some of which are communities already, are placed in a hierarchy of
# communities.

SEED = 1
RANDOMNESS = 0.001
"""How readily a node moves where it gains less; the default of the library."""
ITERATIONS = 2
"""Rounds over the whole graph; the second still gains modularity, a third hardly any."""


@dataclass(frozen=True, slots=True)
class WeightedGraph:
    """Undirected: each edge stands in the rows of both its ends. No node has an edge to itself."""

    rows: Adjacency
    weights: Values
    """(entries of `rows`,) above 0."""

    @classmethod
    def from_pairs(cls, heads: Ints, tails: Ints, weights: Values, size: int) -> WeightedGraph:
        """Of edges given both ways, in any order; those given repeatedly are summed."""
        codes = heads * max(size, 1) + tails
        pairs = distinct(codes)
        summed = sums(np.searchsorted(pairs, codes), weights, len(pairs))
        return cls(Adjacency.from_pairs(*np.divmod(pairs, max(size, 1)), size), summed)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.rows.starts) - 1

    def strengths(self) -> Values:
        """(size,) the weights of each node's edges together."""
        return sums(self.heads(), self.weights, self.size)

    def heads(self) -> Ints:
        """(entries of `rows`,) the node in whose row each stands."""
        return np.repeat(np.arange(self.size), np.diff(self.rows.starts))

    def among(self, nodes: Ints) -> WeightedGraph:
        """The graph of these nodes (sorted) alone, numbered by their position."""
        entries, owner = self.rows.entries(nodes)
        numbers = np.full(self.size, -1, dtype=np.int64)
        numbers[nodes] = np.arange(len(nodes))
        items = numbers[self.rows.items[entries]]
        inside = items >= 0
        rows = Adjacency.from_pairs(owner[inside], items[inside], len(nodes))
        return WeightedGraph(rows, self.weights[entries[inside]])

    def with_pendants(self, weights: Values) -> WeightedGraph:
        """The graph with a new node connected to each old one; weights of 0 add none."""
        connected = np.flatnonzero(weights > 0)
        new = self.size + np.arange(len(connected))
        return WeightedGraph.from_pairs(
            np.concatenate([self.heads(), connected, new]),
            np.concatenate([self.rows.items, new, connected]),
            np.concatenate([self.weights, weights[connected], weights[connected]]),
            self.size + len(connected),
        )


def leiden(graph: WeightedGraph, resolution: float = 1.0) -> Ints:
    """(size,) the community of each node, from 0 on in order of their first nodes.

    Maximises modularity with the resolution given (above 0; the higher, the smaller the
    communities). The same for the same graph.
    """
    if len(graph.rows.items) == 0:  # the library wants an edge
        return np.arange(graph.size)
    from graspologic_native import leiden as clustered

    names = list(map(str, range(graph.size)))
    heads, tails = graph.heads(), graph.rows.items
    once = heads < tails
    ends = ([names[node] for node in nodes[once].tolist()] for nodes in (heads, tails))
    _, found = clustered(
        list(zip(*ends, graph.weights[once].tolist(), strict=True)),
        starting_communities=None,
        resolution=resolution,
        randomness=RANDOMNESS,
        iterations=ITERATIONS,
        use_modularity=True,
        seed=SEED,
        trials=1,
    )
    labels = np.arange(graph.size) + graph.size  # a node without an edge stays alone
    labels[np.array(list(found), dtype=np.int64)] = list(found.values())
    return in_order(labels)


def sums(groups: Ints, values: Values, size: int) -> Values:
    """(size,) the sum of the values of each group."""
    return np.bincount(groups, values, size).astype(np.float64, copy=False)


def in_order(labels: Ints) -> Ints:
    """The same groups, numbered from 0 on in order of their first members."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[group]


# --- the hierarchy ------------------------------------------------------------------------

MAX_SIZE = 32
"""Entities of a community that is not clustered further, where it can be."""
ENTITY = np.iinfo(np.int64).max
"""The level of a node that is a single entity: below every community."""


NODE = np.dtype(
    [
        *(("number", np.int64), ("inner", np.float64), ("level", np.int64)),
        *(("size", np.int64), ("community", np.int64)),
    ]
)
"""Of a node: which of the first nodes it is, as parts of parts are taken; the weights within it,
counted from both ends; the level at which it stood as a community, `ENTITY` for an entity; its
entities; the id of the community, 0 for an entity."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """What is placed: single entities, and untouched communities as a whole."""

    graph: WeightedGraph
    table: NDArray[np.void]
    """(nodes,) of type `NODE`."""

    @classmethod
    def single(cls, graph: WeightedGraph) -> Nodes:
        """Every node of a graph an entity."""
        table = np.zeros(graph.size, dtype=NODE)
        table["number"], table["level"], table["size"] = np.arange(graph.size), ENTITY, 1
        return cls(graph, table)

    def among(self, nodes: Ints) -> Nodes:
        """These nodes (sorted) alone."""
        return Nodes(self.graph.among(nodes), self.table[nodes])

    def divisible(self, nodes: Ints) -> bool:
        """Whether these are to be clustered: too many, or some are communities that stay."""
        some = self.table[nodes]
        return int(some["size"].sum()) > MAX_SIZE or bool((some["level"] != ENTITY).any())

    def groups(self, level: int) -> list[Ints]:
        """Positions of the nodes of each community of a level; what stood there stays."""
        stays = self.table["level"] <= level
        found = [np.array([node]) for node in np.flatnonzero(stays)]
        rest = np.flatnonzero(~stays)
        if len(rest):
            labels = self._cluster(rest)
            order = np.argsort(labels, kind="stable")
            found += np.split(rest[order], np.cumsum(np.bincount(labels))[:-1])
        return found

    def _cluster(self, rest: Ints) -> Ints:
        """Communities of some nodes, at the modularity that they have among all.

        Leiden sees only the edges among them. A pendant node of half the weight that is missing
        brings each to its strength, and the resolution makes up for the smaller total.
        """
        inside = self.graph.among(rest)
        strengths = self.graph.strengths() + self.table["inner"]
        missing = strengths[rest] - inside.strengths()
        total = strengths.sum()
        share = strengths[rest].sum() / total if total > 0 else 1.0
        return leiden(inside.with_pendants(missing / 2), share)[: len(rest)]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A community of the new hierarchy."""

    nodes: Ints
    """Of the first nodes."""
    level: int
    parent: int
    """Its place among those found; -1 for none."""
    kept: int
    """Id of the untouched community that it is; 0 where it is clustered again."""


def _divide(part: Nodes, level: int, parent: int, found: list[Cluster]) -> None:
    """Add the communities that a part consists of, and all below them.

    Where clustering finds but one, the part stays whole, unless it holds communities that stay:
    they then rise to this level.
    """
    groups = part.groups(level)
    if parent >= 0:
        levels = part.table["level"]
        for deeper in distinct(levels[(levels > level) & (levels != ENTITY)]):
            if len(groups) > 1:
                break
            groups = part.groups(int(deeper))
        if len(groups) == 1:
            return
    for members in groups:
        kept = int(part.table["community"][members[0]]) if len(members) == 1 else 0
        found.append(Cluster(part.table["number"][members], level, parent, kept))
        if not kept and part.divisible(members):
            _divide(part.among(members), level + 1, len(found) - 1, found)


# --- kept up to date ---------------------------------------------------------------------


DRIFT = 0.25
"""How much the strength of an entity's edges may change, against the others', and count as same.

Every document changes how rare entities are, and with it a little of every edge.
"""
REDONE_SHARE = 1 / 3
"""Share of the entities that may change before all are placed again."""


_NO_IDS = np.empty(0, dtype=np.int64)
_NOTHING = Partition(
    ids=_NO_IDS,
    levels=_NO_IDS,
    parents=_NO_IDS,
    members=_NO_IDS.reshape(0, 2),
    entity_ids=_NO_IDS,
    neighbourhoods=_NO_IDS,
    strengths=_NO_IDS.astype(np.float32),
    moved=0,
    next_id=1,
)


def partition(graph: EntityGraph, previous: Partition | None = None) -> Partition:
    """The communities of all entities that have edges; `previous` is kept where it is untouched.

    Deterministic. Ids of communities whose members stay the same stay the same.
    """
    state = _EdgeState.of(graph)
    previous = previous or _NOTHING
    changed, rescaled = _compare(state, previous)
    moved = previous.moved + len(changed)
    if previous is _NOTHING or moved > REDONE_SHARE * len(state.entity_ids):
        every = np.arange(state.graph.size)
        nodes = Nodes.single(state.graph), Adjacency.from_pairs(every, every, len(every))
        return _assemble(state, *nodes, previous, moved=0)
    kept = ~touched(previous, changed)
    return _assemble(rescaled, *_around(state, previous, kept), previous, moved=moved)


def changed_entities(graph: EntityGraph, previous: Partition) -> Ids:
    """Ids (sorted) of the entities that came, went, or whose edges changed."""
    return _compare(_EdgeState.of(graph), previous)[0]


def touched(partition: Partition, entity_ids: Ids) -> Marks:
    """(K,) whether each community has one of the entities (sorted) as a member."""
    _, hit = find_sorted(entity_ids, partition.members[:, 1])
    return np.isin(partition.ids, partition.members[hit, 0])


@dataclass(frozen=True, slots=True)
class _EdgeState:
    """The entities that have edges, as nodes, and what tells whether their edges changed."""

    graph: WeightedGraph
    entity_ids: Ids
    neighbourhoods: Ints
    strengths: Floats

    @classmethod
    def of(cls, graph: EntityGraph) -> _EdgeState:
        counts = np.diff(graph.starts)
        first = graph.starts[:-1][counts > 0]
        whole = weighted(graph)
        # Numbers that look random, so that sums of them tell sets apart (SplitMix64, Steele 2014).
        code = (graph.entity_ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes = (code ^ (code >> np.uint64(31)))[graph.neighbours]
        return cls(
            graph=whole,
            entity_ids=graph.entity_ids[counts > 0],
            neighbourhoods=_run_sums(hashes, first).view(np.int64),
            strengths=_run_sums(whole.weights, first).astype(np.float32),
        )


def weighted(graph: EntityGraph) -> WeightedGraph:
    """The entities that have edges, in order, with the strengths of these as weights."""
    connected = np.diff(graph.starts) > 0
    number = np.cumsum(connected) - 1
    starts = np.append(graph.starts[:-1][connected], len(graph.neighbours))
    weights = graph.strengths[graph.edges].astype(np.float64)
    return WeightedGraph(Adjacency(starts, number[graph.neighbours]), weights)


def _run_sums(values: NDArray[np.generic], starts: Ints) -> NDArray[np.generic]:
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def _compare(state: _EdgeState, previous: Partition) -> tuple[Ids, _EdgeState]:
    """Entities that changed, sorted; the edges with the strengths that the next run compares with.

    Those are the present ones of what changed; all others keep theirs, on the present scale, so
    that many small changes are noticed as one large one is.
    """
    place, known = find_sorted(previous.entity_ids, state.entity_ids)
    now, then = state.strengths[known], previous.strengths[place[known]]
    scale = float(np.median(now / then)) if len(now) else 1.0
    kept = then * scale
    same = previous.neighbourhoods[place[known]] == state.neighbourhoods[known]
    same &= np.abs(now - kept) <= DRIFT * kept
    unchanged = np.zeros(len(known), dtype=bool)
    unchanged[known] = same
    strengths = state.strengths.copy()
    strengths[unchanged] = kept[same]
    gone = previous.entity_ids[~find_sorted(state.entity_ids, previous.entity_ids)[1]]
    changed = np.sort(np.concatenate([state.entity_ids[~unchanged], gone]))
    return changed, _EdgeState(state.graph, state.entity_ids, state.neighbourhoods, strengths)


def _around(state: _EdgeState, previous: Partition, kept: Marks) -> tuple[Nodes, Adjacency]:
    """Nodes for the largest communities kept and for all other entities; the entities of each."""
    whole = np.flatnonzero(kept & ~np.isin(previous.parents, previous.ids[kept]))
    place, hit = find_sorted(previous.ids[whole], previous.members[:, 0])
    node = np.full(state.graph.size, -1, dtype=np.int64)
    node[np.searchsorted(state.entity_ids, previous.members[hit, 1])] = place[hit]
    alone = np.flatnonzero(node < 0)
    size = len(whole) + len(alone)
    node[alone] = np.arange(len(whole), size)
    rows, weights = state.graph.rows, state.graph.weights
    heads, tails = node[state.graph.heads()], node[rows.items]
    apart = heads != tails
    nodes = Nodes.single(WeightedGraph.from_pairs(heads[apart], tails[apart], weights[apart], size))
    nodes.table["inner"] = sums(heads[~apart], weights[~apart], size)
    nodes.table["size"] = np.bincount(node, minlength=size)
    nodes.table["level"][: len(whole)] = previous.levels[whole]
    nodes.table["community"][: len(whole)] = previous.ids[whole]
    order = np.argsort(node, kind="stable")
    return nodes, Adjacency.from_pairs(node[order], order, size)


def _assemble(
    state: _EdgeState, nodes: Nodes, entities: Adjacency, before: Partition, *, moved: int
) -> Partition:
    """The new hierarchy with its ids; communities that stay come with all that is below them.

    Those of the same members as before keep their ids.
    """
    found: list[Cluster] = []
    if nodes.graph.size:
        _divide(nodes, 0, -1, found)
    members = [
        np.sort(state.entity_ids[entities.items[entities.entries(cluster.nodes)[0]]])
        for cluster in found
    ]
    starts = np.searchsorted(before.members[:, 0], before.ids)
    sets = np.split(before.members[:, 1], starts[1:])
    known = {s.tobytes(): i for s, i in zip(sets, before.ids.tolist(), strict=False)}
    named, next_id = list[int](), before.next_id
    for cluster, held in zip(found, members, strict=True):
        same = cluster.kept or known.get(held.tobytes(), 0)
        named.append(same or next_id)
        next_id += not same
    ids = _integers(named)
    levels = _integers(cluster.level for cluster in found)
    parents = _integers(ids[c.parent] if c.parent >= 0 else 0 for c in found)
    stay = _integers(cluster.kept for cluster in found) > 0
    below, rise = _below(before, ids[stay], levels[stay])
    pairs = np.column_stack(
        [
            np.repeat(ids, _integers(len(m) for m in members)),
            np.concatenate([state.entity_ids[:0], *members]),
        ]
    )
    stayed = before.members[np.isin(before.members[:, 0], before.ids[below])]
    pairs = np.concatenate([pairs, stayed])
    ids = np.concatenate([ids, before.ids[below]])
    order = np.argsort(ids)
    return Partition(
        ids=ids[order],
        levels=np.concatenate([levels, before.levels[below] - rise])[order],
        parents=np.concatenate([parents, before.parents[below]])[order],
        members=pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))],
        entity_ids=state.entity_ids,
        neighbourhoods=state.neighbourhoods,
        strengths=state.strengths,
        moved=moved,
        next_id=next_id,
    )


def _integers(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _below(before: Partition, ids: Ids, levels: Ints) -> tuple[Ints, Ints]:
    """Places of what was below these communities; by how many levels each rises with them."""
    parents = find_sorted(before.ids, before.parents)[0]
    root = np.full(len(before.ids), -1, dtype=np.int64)
    for level in distinct(before.levels):
        at = np.flatnonzero(before.levels == level)
        root[at] = np.where(before.parents[at] > 0, root[parents[at]], -1)
        place, stays = find_sorted(before.ids[at], ids)
        root[at[place[stays]]] = np.flatnonzero(stays)
    own = find_sorted(before.ids, ids)[0]
    below = np.setdiff1d(np.flatnonzero(root >= 0), own)
    rise = (before.levels[own] - levels)[root[below]]
    return below, rise
