"""Personalised PageRank and Leiden on the server, where it has Graph Data Science.

Graphs are sent as arrays, so that they are the very ones that are walked and clustered here. At
10,000 passages a walk over the whole graph took 300 ms there and 40 ms here (3 ms confined to what
is near a question), Leiden 1.4 s and 0.3 s: nothing else in Clew asks for this. It is there for
graphs that are too large for this machine.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.stores.neo4j_connection import Neo4jDatabase

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_INSTALLED = "SHOW FUNCTIONS YIELD name WHERE name = 'gds.version' RETURN name"
_VERSION = "RETURN gds.version()"
_PROJECT = """
UNWIND range(0, size($heads) - 1) AS i
RETURN gds.graph.project($graph, $heads[i], $tails[i],
    {relationshipProperties: {weight: $weights[i]}}, {undirectedRelationshipTypes: ['*']}
).nodeCount
"""
_DROP = "CALL gds.graph.drop($graph, false) YIELD graphName RETURN graphName"
_PAGERANK = """
CALL gds.pageRank.stream($graph, {
    sourceNodes: $sources, dampingFactor: $damping, maxIterations: $rounds, tolerance: 1e-9,
    relationshipWeightProperty: 'weight'
}) YIELD nodeId, score WHERE score > 0
RETURN collect(nodeId), collect(score)
"""
_LEIDEN = """
CALL gds.leiden.stream($graph, {
    gamma: $resolution, randomSeed: $seed, concurrency: 1, relationshipWeightProperty: 'weight',
    includeIntermediateCommunities: true
}) YIELD nodeId, intermediateCommunityIds
RETURN collect(nodeId), collect(intermediateCommunityIds)
"""
_SEED = 1


class Neo4jGds:
    """Graph Data Science on a server; nodes are numbers of the caller's, 0 or more."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database

    def version(self) -> str:
        """Its version; empty where the server has none."""
        found = self._database.value(_INSTALLED)
        return str(self._database.value(_VERSION)) if found else ""

    @contextmanager
    def graph(self, heads: Ints, tails: Ints, weights: Floats) -> Iterator[str]:
        """The name of an undirected graph in the server's memory, gone afterwards.

        Ties (n,), each given once, with weights above 0. Raises `StoreError` where the server has
        no Graph Data Science.
        """
        if not self.version():
            raise StoreError(
                f"the server {self._database.address!r} has no Graph Data Science; install its"
                " plug-in there, or let the graph be walked here"
            )
        name = f"clew-{self._database.namespace}-{secrets.token_hex(4)}"
        ties = {"heads": heads.tolist(), "tails": tails.tolist(), "weights": weights.tolist()}
        try:
            self._database.rows(_PROJECT, graph=name, **ties)
            yield name
        finally:
            self._database.rows(_DROP, graph=name)

    def pagerank(
        self, graph: str, sources: Ints, damping: float, rounds: int = 16
    ) -> tuple[Ints, Floats]:
        """Nodes (n,) and the share of time (n,) that a walk from the sources spends at each.

        The walk begins at every source alike and goes on with the chance `damping`, 0 to 1; a
        round is one step. By node; nodes that it does not reach are left out.
        """
        values = {"sources": sources.tolist(), "damping": damping, "rounds": rounds}
        ((nodes, scores),) = self._database.rows(_PAGERANK, graph=graph, **values)
        order = np.argsort(nodes)
        # Its walk begins with 1 at each source.
        shares = np.array(scores, dtype=np.float64) / len(sources)
        return np.array(nodes, dtype=np.int64)[order], shares[order]

    def leiden(self, graph: str, resolution: float = 1.0) -> tuple[Ints, Ints]:
        """Nodes (n,), sorted, and their communities (n, levels), the smallest communities first.

        Maximises modularity with the resolution given, as `graph.leiden` does.
        """
        ((nodes, communities),) = self._database.rows(
            _LEIDEN, graph=graph, resolution=resolution, seed=_SEED
        )
        order = np.argsort(nodes)
        found = np.array(communities, dtype=np.int64).reshape(len(nodes), -1)
        return np.array(nodes, dtype=np.int64)[order], found[order]
