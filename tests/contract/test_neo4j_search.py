from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from clew.plugins.neo4j.store import Neo4jStore, Neo4jVectors
from clew.ports import VectorIndex
from clew.stores.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import (
    EMBEDDER,
    FUNCTIONAL,
    KeywordIndexSuite,
    VectorIndexSuite,
    make_entry,
    make_vector,
)
from tests.contract.neo4j_stores import OnNeo4j
from tests.contract.suites.communities import CommunityWriterSuite
from tests.contract.suites.snapshots import NeighbourhoodSourceSuite, SnapshotSourceSuite


class TestKeywords(OnNeo4j, KeywordIndexSuite):
    pass


class TestSnapshot(OnNeo4j, SnapshotSourceSuite):
    pass


class TestNeighbourhood(OnNeo4j, NeighbourhoodSourceSuite):
    pass


class TestVectors(OnNeo4j, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Neo4jStore, tmp_path: Path) -> VectorIndex:
        return Neo4jVectors(store, tmp_path)


class TestVectorsOfTheServer(OnNeo4j, VectorIndexSuite):
    """Candidates come from the server's index, however few chunks there are."""

    @pytest.fixture
    def index(self, store: Neo4jStore, tmp_path: Path) -> VectorIndex:
        return Neo4jVectors(store, tmp_path, small=0)


class TestCommunities(OnNeo4j, CommunityWriterSuite):
    @pytest.fixture
    def keeper(self, neo4j_store: Neo4jStore) -> Communities:
        return Communities(neo4j_store.backend)


PARAGRAPHS = tuple(f"The Danube passes Town{i:03}. Water number {i} flows." for i in range(150))


class TestServersIndex(OnNeo4j):
    def test_above_a_size_the_server_is_asked_for_candidates(
        self, neo4j_store: Neo4jStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        neo4j_store.save(make_entry("a", *PARAGRAPHS))
        vector = make_vector(PARAGRAPHS[7])
        for small, allowed in ((0, None), (0, np.arange(5, 25)), (1000, None)):
            index = Neo4jVectors(neo4j_store, tmp_path, small=small)
            index.refresh()
            caplog.clear()
            with caplog.at_level(logging.DEBUG, logger="clew"):
                ids, scores = index.search_vector(vector, 10, allowed)
            assert ("vector.queryNodes" in caplog.text) == (small == 0 and allowed is None)
            expected = VectorMatrix(neo4j_store, tmp_path).search_vector(vector, 10, allowed)
            assert (ids.tolist(), scores.tolist()) == tuple(column.tolist() for column in expected)

    def test_a_tie_that_goes_on_beyond_the_candidates_goes_to_the_smaller_ids(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        neo4j_store.save(make_entry("a", *["one and the same"] * 150))
        ids, _ = Neo4jVectors(neo4j_store, tmp_path, small=0).search_vector(make_vector("q"), 4)
        assert ids.tolist() == neo4j_store.chunk_ids().tolist()[:4]

    def test_a_batch_finds_what_it_saved(self, neo4j_store: Neo4jStore, tmp_path: Path) -> None:
        neo4j_store.save(make_entry("a", *PARAGRAPHS))
        index = Neo4jVectors(neo4j_store, tmp_path, small=0)
        with neo4j_store.batch():
            neo4j_store.save(make_entry("b", "something new"))
            ids, scores = index.search_vector(make_vector("something new"), 1)
        assert ids.tolist() == neo4j_store.chunk_ids().tolist()[-1:]
        assert scores[0] == pytest.approx(1)

    def test_its_state_is_told(self, neo4j_store: Neo4jStore, tmp_path: Path) -> None:
        neo4j_store.save(make_entry("a", "One.", "Two."))
        index = Neo4jVectors(neo4j_store, tmp_path)
        state = index.state()
        assert state.pop("version")[:1].isdigit()
        told = {"backend": "neo4j", "available": True}
        assert state == {**told, "connected": True, "points": 2, "problem": ""}
        neo4j_store.close()
        state = index.state()
        assert "is closed" in state.pop("problem")
        assert state == {**told, "connected": False, "version": "", "points": None}


class TestWhole(OnNeo4j):
    def test_it_counts_what_the_embedded_store_counts(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        embedded = SqliteStore(tmp_path / "embedded", embedder=EMBEDDER, functional=FUNCTIONAL)
        then = datetime(2020, 1, 1, tzinfo=UTC)
        stated = [("Ann", "lives_in", "Rome"), ("Ann", "knows", "Bob"), ("Bob", "knows", "Ann")]
        text = "Ann lives in Rome. Ann and Bob."
        for store in (neo4j_store, embedded):
            store.save(
                make_entry(
                    "b", text, names=["Ann", "Bob", "Rome"], relations=stated, valid_until=then
                )
            )
            store.save(make_entry("c", ""))
            store.retract(store.relation_rows().ids[:1].tolist())
        counted, expected = neo4j_store.statistics(), embedded.statistics()
        embedded.close()
        # Opening with functional types counts one change in the one and two in the other.
        for counts in (counted, expected):
            del counts["bytes"], counts["generation"]
        assert counted == expected
        assert counted["relations_ended"] == 3
