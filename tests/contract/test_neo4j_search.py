from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.plugins.neo4j.store import Neo4jStore, Neo4jVectors
from clew.ports import HybridIndex, VectorIndex
from clew.stores.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.conformance import KeywordIndexSuite, VectorIndexSuite
from clew.testing.entries import EMBEDDER, FUNCTIONAL, make_entry, make_vector
from tests.contract.neo4j_stores import OnNeo4j
from tests.contract.suites.communities import CommunityWriterSuite
from tests.contract.suites.neighbourhoods import NeighbourhoodSourceSuite
from tests.contract.suites.snapshots import SnapshotSourceSuite

if TYPE_CHECKING:
    from clew.types import Ids


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
NAMES = ("Danube", *(f"Town{i:03}" for i in range(150)))
PASSES = tuple(("Danube", "passes", f"Town{i:03}") for i in range(150))


class TestBothAtOnce(OnNeo4j):
    @pytest.fixture
    def store(self, neo4j_store: Neo4jStore) -> Neo4jStore:
        neo4j_store.save(make_entry("a", *PARAGRAPHS, names=NAMES, relations=PASSES))
        return neo4j_store

    @pytest.mark.parametrize("small", [0, 1000])
    @pytest.mark.parametrize("allowed", [None, np.arange(5, 25)])
    def test_it_finds_what_each_channel_finds_in_one_round_trip(
        self,
        store: Neo4jStore,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        small: int,
        allowed: Ids | None,
    ) -> None:
        index = Neo4jVectors(store, tmp_path, small=small)
        index.refresh()
        assert isinstance(index, HybridIndex)
        vector, words = make_vector(PARAGRAPHS[7]), ["water", "7"]
        with store.pinned_generation(), caplog.at_level(logging.DEBUG, logger="clew"):
            caplog.clear()
            by_vector, by_keyword = index.search_both(vector, words, 10, allowed)
            assert round_trips(caplog) == 1
            assert ("vector.queryNodes" in caplog.text) == (small == 0 and allowed is None)
        expected = VectorMatrix(store, tmp_path).search_vector(vector, 10, allowed)
        assert by_vector[0].tolist() == expected[0].tolist()
        assert by_vector[1].tolist() == expected[1].tolist()
        expected = store.search_keywords(words, 10, allowed)
        assert by_keyword[0].tolist() == expected[0].tolist()
        assert by_keyword[1].tolist() == expected[1].tolist()

    def test_without_words_there_are_only_the_nearest(
        self, store: Neo4jStore, tmp_path: Path
    ) -> None:
        index = Neo4jVectors(store, tmp_path, small=0)
        vector = make_vector("q")
        by_vector, by_keyword = index.search_both(vector, [], 10)
        assert by_vector[0].tolist() == index.search_vector(vector, 10)[0].tolist()
        assert by_keyword[0].tolist() == []
        found = store.find_candidates(vector, [], 10, nearest=30)
        assert [len(ids) for ids, _ in found] == [30, 0]


class TestServersIndex(OnNeo4j):
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
        assert (state["backend"], state["available"], state["connected"]) == ("neo4j", True, True)
        assert state["points"] == 2
        assert state["version"][:1].isdigit()
        neo4j_store.close()
        state = index.state()
        assert (state["connected"], state["version"], state["points"]) == (False, "", None)


class TestWhole(OnNeo4j):
    def test_it_counts_what_the_embedded_store_counts(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        embedded = SqliteStore(tmp_path / "embedded", embedder=EMBEDDER, functional=FUNCTIONAL)
        then = datetime(2020, 1, 1, tzinfo=UTC)
        for store in (neo4j_store, embedded):
            store.save(make_entry("a", *PARAGRAPHS[:4], names=NAMES, relations=PASSES))
            stated = [("Ann", "lives_in", "Rome"), ("Ann", "knows", "Bob")]
            text = "Ann lives in Rome. Ann and Bob."
            names = ["Ann", "Bob", "Rome"]
            store.save(make_entry("b", text, names=names, relations=stated, valid_until=then))
            store.save(make_entry("c", ""))
            store.retract(store.relation_rows().ids[:1].tolist())
        counted, expected = neo4j_store.statistics(), embedded.statistics()
        embedded.close()
        # Opening with functional types counts one change in the one and two in the other.
        for counts in (counted, expected):
            del counts["bytes"], counts["generation"]
        assert counted == expected
        assert counted["relations_ended"] == 3


def round_trips(caplog: pytest.LogCaptureFixture) -> int:
    return sum(record.message.startswith("neo4j rows=") for record in caplog.records)
