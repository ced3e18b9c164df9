"""Leiden clustering (Traag, Waltman & van Eck 2019) of a weighted graph given as arrays.

Over it, nodes, some of which are communities already, are placed in a hierarchy of communities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot_columns import Adjacency, distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints
    from clew.types import Ids

    Weights = NDArray[np.float64]

SEED = 1
ITERATIONS = 2
"""Rounds over the whole graph; the second still gains modularity, a third hardly any."""


@dataclass(frozen=True, slots=True)
class WeightedGraph:
    """Undirected: each edge stands in the rows of both its ends. No node has an edge to itself."""

    rows: Adjacency
    weights: Weights
    """(entries of `rows`,) above 0."""

    @classmethod
    def from_pairs(cls, heads: Ints, tails: Ints, weights: Weights, size: int) -> WeightedGraph:
        """Of edges given both ways, in any order; those given repeatedly are summed."""
        codes = heads * max(size, 1) + tails
        pairs = distinct(codes)
        summed = sums(np.searchsorted(pairs, codes), weights, len(pairs))
        return cls(Adjacency.from_pairs(*np.divmod(pairs, max(size, 1)), size), summed)

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.rows.starts) - 1

    def strengths(self) -> Weights:
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

    def with_pendants(self, weights: Weights) -> WeightedGraph:
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
    from graspologic_native import leiden_csr

    _, found = leiden_csr(
        graph.rows.starts.astype(np.int64),
        graph.rows.items.astype(np.int32),
        graph.weights,
        graph.size,
        resolution=resolution,
        iterations=ITERATIONS,
        seed=SEED,
    )
    labels = np.empty(graph.size, dtype=np.int64)
    labels[np.fromiter(found.keys(), np.int64, len(found))] = np.fromiter(
        found.values(), np.int64, len(found)
    )
    return in_order(labels)


def sums(groups: Ints, values: Weights, size: int) -> Weights:
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


@dataclass(frozen=True, slots=True)
class Nodes:
    """What is placed: single entities, and untouched communities as a whole."""

    graph: WeightedGraph
    numbers: Ints
    """(nodes,) which of the first nodes each is, as parts of parts are taken."""
    inner: Weights
    """(nodes,) the weights within a node, counted from both ends."""
    levels: Ints
    """(nodes,) at which a community stood; `ENTITY` for an entity."""
    sizes: Ints
    """(nodes,) entities."""
    communities: Ids
    """(nodes,) id of the community; 0 for an entity."""

    def among(self, nodes: Ints) -> Nodes:
        """These nodes (sorted) alone."""
        return Nodes(
            graph=self.graph.among(nodes),
            numbers=self.numbers[nodes],
            inner=self.inner[nodes],
            levels=self.levels[nodes],
            sizes=self.sizes[nodes],
            communities=self.communities[nodes],
        )

    def divisible(self, nodes: Ints) -> bool:
        """Whether these are to be clustered: too many, or some are communities that stay."""
        return int(self.sizes[nodes].sum()) > MAX_SIZE or bool((self.levels[nodes] != ENTITY).any())

    def groups(self, level: int) -> list[Ints]:
        """Positions of the nodes of each community of a level; what stood there stays."""
        stays = self.levels <= level
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
        if len(rest) == self.graph.size and not self.inner.any():
            return leiden(self.graph)
        inside = self.graph.among(rest)
        strengths = self.graph.strengths() + self.inner
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


def find_clusters(nodes: Nodes) -> list[Cluster]:
    """The hierarchy of communities, each after the one that holds it.

    Not what is below communities that stay.
    """
    found: list[Cluster] = []
    if nodes.graph.size:
        _divide(nodes, 0, -1, found)
    return found


def _divide(part: Nodes, level: int, parent: int, found: list[Cluster]) -> None:
    """Add the communities that a part consists of, and all below them.

    Where clustering finds but one, the part stays whole, unless it holds communities that stay:
    they then rise to this level.
    """
    groups = part.groups(level)
    if parent >= 0:
        for deeper in distinct(part.levels[(part.levels > level) & (part.levels != ENTITY)]):
            if len(groups) > 1:
                break
            groups = part.groups(int(deeper))
        if len(groups) == 1:
            return
    for members in groups:
        kept = int(part.communities[members[0]]) if len(members) == 1 else 0
        found.append(Cluster(part.numbers[members], level, parent, kept))
        if not kept and part.divisible(members):
            _divide(part.among(members), level + 1, len(found) - 1, found)
