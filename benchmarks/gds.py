"""Personalised PageRank in Graph Data Science, on a server that has it, against doing it here.

    uv run python -m benchmarks.gds STORE --neo4j ADDRESS

`STORE` is the folder of an embedded store. Its graph of passages and entities is sent as arrays, so
that it is the very one that is walked here. `scripts/neo4j_server.py start --gds` starts a server.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clew
from benchmarks.speed import timed
from clew.errors import StoreError
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.search.walk import local_graph, walk
from clew.settings import Neo4jSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Snapshot

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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--neo4j", required=True, metavar="ADDRESS")
    given = parser.parse_args()
    with clew.open(given.store) as engine:
        snapshot = engine.state.snapshot.whole
    database = Neo4jDatabase(given.neo4j, Neo4jSettings(), "benchmark")
    with closing(database):
        compare(Neo4jGds(database), snapshot)


def compare(gds: Neo4jGds, snapshot: Snapshot) -> None:
    """Walks from three entities at a time over the whole graph, on both sides."""
    sources = np.random.default_rng(1).integers(0, len(snapshot.entity_ids), (10, 3))
    here = [timed(partial(walk_here, snapshot, start)) for start in sources]
    passages = np.repeat(np.arange(snapshot.size), np.diff(snapshot.passage_entities.starts))
    ends = passages, snapshot.size + snapshot.passage_entities.items
    with gds.graph(*ends, snapshot.weights(np.arange(len(snapshot.passage_strengths)))) as graph:
        there = [
            timed(partial(gds.pagerank, graph, snapshot.size + start, 0.5)) for start in sources
        ]
    p50, other = 1000 * statistics.median(here), 1000 * statistics.median(there)
    print(f"passages {snapshot.size}: here p50 {p50:.0f} ms, there {other:.0f} ms")
    print(f"  there over here {other / p50:.1f}")


def walk_here(snapshot: Snapshot, sources: Ints) -> Floats:
    """(passages,) the share of time that a walk from the entities (rows) spends at each."""
    restart = np.zeros((len(snapshot.entity_ids), 1))
    restart[sources] = 1
    whole = local_graph(snapshot, np.arange(snapshot.size))
    nowhere = np.zeros((snapshot.size, 1))
    return np.asarray(walk(whole, nowhere, restart, np.array([0.5]))[:, 0])


if __name__ == "__main__":
    main()
