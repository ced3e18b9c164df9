"""Leiden clustering (Traag, Waltman & van Eck 2019) of a weighted graph given as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Adjacency, distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints

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
