"""Graph Data Science on the server does what is done here, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.gds import Neo4jGds
from clew.errors import StoreError
from clew.graph.partition import WeightedGraph, leiden
from clew.graph.snapshot import Snapshot, read_columns
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.ports import PassageRow
from clew.search.retrieval.walk import local_graph, walk
from clew.settings import Neo4jSettings
from tests.unit.graphs import modularity

if TYPE_CHECKING:
    from numpy.typing import NDArray

PASSAGES, ENTITIES = 60, 25


@pytest.fixture
def gds(gds_address: str) -> Iterator[Neo4jGds]:
    database = Neo4jDatabase(gds_address, Neo4jSettings(user=""), "gds")
    yield Neo4jGds(database)
    database.close()


def make_snapshot() -> Snapshot:
    """Passages that mention two to four of the entities each, some more than once."""
    random = np.random.default_rng(3)
    rows = [
        PassageRow(
            chunk_id=i + 1,
            document_id=f"{i:016x}",
            ordinal=0,
            text="x",
            context="",
            sentences=((0, 1),),
        )
        for i in range(PASSAGES)
    ]
    mentions = [
        (i + 1, int(random.integers(-1, 1)), int(entity) + 1, int(random.integers(1, 4)))
        for i in range(PASSAGES)
        for entity in random.choice(ENTITIES, random.integers(2, 5), replace=False)
    ]
    columns = read_columns(rows, np.array(mentions, dtype=np.int64))
    return Snapshot(columns, generation=1, mentions_version=0)


def make_groups() -> WeightedGraph:
    """Eight groups of ten nodes that are tied more strongly within than between them."""
    random = np.random.default_rng(5)
    heads, tails = np.triu_indices(80, 1)
    within = heads // 10 == tails // 10
    tied = random.random(len(heads)) < np.where(within, 0.7, 0.03)
    heads, tails = heads[tied], tails[tied]
    weights = np.where(within[tied], 1.0, 0.5)
    both = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return WeightedGraph.from_pairs(*both, np.concatenate([weights, weights]), 80)


def test_a_walk_spends_its_time_where_it_does_here(gds: Neo4jGds) -> None:
    snapshot = make_snapshot()
    edges = snapshot.passage_entities
    passages = np.repeat(np.arange(snapshot.size), np.diff(edges.starts))
    sources = np.array([1, 7, 12])
    restart = np.zeros((len(snapshot.entity_ids), 1))
    restart[sources] = 1
    whole = local_graph(snapshot, np.arange(snapshot.size))
    nowhere = np.zeros((snapshot.size, 1))
    expected = walk(whole, nowhere, restart, np.array([0.5]), rounds=20)[:, 0]

    ends = passages, snapshot.size + edges.items
    with gds.graph(*ends, snapshot.weights(np.arange(len(snapshot.passage_strengths)))) as graph:
        nodes, shares = gds.pagerank(graph, snapshot.size + sources, 0.5, rounds=40)

    found = np.zeros(snapshot.size + len(snapshot.entity_ids))
    found[nodes] = shares
    assert found[: snapshot.size] == pytest.approx(expected, abs=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-6)


def test_communities_are_as_good_as_those_found_here(gds: Neo4jGds) -> None:
    here = make_groups()
    once = here.heads() < here.rows.items
    ties = here.heads()[once], here.rows.items[once], here.weights[once]
    with gds.graph(*ties) as graph:
        nodes, levels = gds.leiden(graph)
    assert nodes.tolist() == list(range(80))
    found = modularity(here, numbered(levels[:, -1]))
    assert found == pytest.approx(modularity(here, leiden(here)), rel=0.02)
    for finer, coarser in zip(levels.T[:-1], levels.T[1:], strict=True):
        pairs = np.unique(np.column_stack([finer, coarser]), axis=0)
        assert len(pairs) == len(np.unique(finer)), "a community lies in two of the level above"


def test_a_graph_is_gone_afterwards_whatever_happens(gds: Neo4jGds, gds_address: str) -> None:
    seen: list[str] = []
    with pytest.raises(ZeroDivisionError):
        fail_inside(gds, gds_address, seen)
    assert not exists(gds_address, *seen)


def test_a_server_without_it_says_so(neo4j_address: str, neo4j_settings: Neo4jSettings) -> None:
    database = Neo4jDatabase(neo4j_address, neo4j_settings, "gds")
    without = Neo4jGds(database)
    if without.version():
        pytest.skip("the server that NEO4J_URI names has Graph Data Science")
    ties = np.array([0]), np.array([1]), np.array([1.0])
    with (
        pytest.raises(StoreError, match="has no Graph Data Science; install"),
        without.graph(*ties),
    ):
        pass
    database.close()


def fail_inside(gds: Neo4jGds, address: str, seen: list[str]) -> None:
    with gds.graph(np.array([0]), np.array([1]), np.array([1.0])) as graph:
        assert exists(address, graph)
        seen.append(graph)
        raise ZeroDivisionError


def exists(address: str, graph: str) -> bool:
    database = Neo4jDatabase(address, Neo4jSettings(user=""), "gds")
    found = database.value("RETURN gds.graph.exists($graph)", graph=graph)
    database.close()
    return bool(found)


def numbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(labels, return_inverse=True)[1]
