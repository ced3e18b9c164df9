"""The store on Neo4j read in one look, and with its vectors in Qdrant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.ports import VectorIndex
from clew.settings import QdrantSettings, load_settings
from clew.stores.neo4j.store import Neo4jStore
from clew.testing.conformance import VectorIndexSuite
from clew.wiring import store_exists
from tests.contract.neo4j_stores import OnNeo4j, Place
from tests.contract.suites.records import PassageRecordsSuite
from tests.unit.vector_stores import qdrant_index


class TestRecords(OnNeo4j, PassageRecordsSuite):
    pass


class TestVectorsInQdrant(OnNeo4j, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Neo4jStore, tmp_path: Path) -> Iterator[VectorIndex]:
        index = qdrant_index(store, QdrantSettings(), "default", tmp_path)
        yield index
        index.close()


class TestSteady(OnNeo4j):
    def test_numbers_are_asked_for_once_inside_it(
        self, neo4j_store: Neo4jStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level("DEBUG", logger="clew"), neo4j_store.pinned_generation():
            before = (
                neo4j_store.generation(),
                neo4j_store.mentions_version(),
                neo4j_store.embedder(),
            )
            assert (
                neo4j_store.generation(),
                neo4j_store.mentions_version(),
                neo4j_store.embedder(),
            ) == before
        assert sum(record.message.startswith("neo4j rows=") for record in caplog.records) == 1


class TestNamespaces(OnNeo4j):
    def test_a_namespace_is_not_made_by_asking_whether_there_is_one(
        self, neo4j_place: Place, tmp_path: Path
    ) -> None:
        login = {**neo4j_place.settings.model_dump(), "local": tmp_path}
        wanted = load_settings(store=neo4j_place.address, namespace="never-made", neo4j=login)
        assert not store_exists(wanted)
        assert not store_exists(wanted)
        with neo4j_place.store(tmp_path):
            made = wanted.model_copy(update={"namespace": neo4j_place.namespace})
            assert store_exists(made)
