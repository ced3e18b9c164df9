from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.ports import Store, VectorIndex
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.conformance import (
    DocumentStoreSuite,
    ExtractionLogSuite,
    GraphStoreSuite,
    KeywordIndexSuite,
    LineageSuite,
    ManualGraphSuite,
    NamesSuite,
    NeighbourhoodSourceSuite,
    PassageRecordsSuite,
    RelationTimesSuite,
    SnapshotSourceSuite,
    TimeIndexSuite,
    UsageLogSuite,
    VectorIndexSuite,
)
from clew.testing.entries import EMBEDDER, FUNCTIONAL


class OnSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        yield store
        # Whatever a test did, it must have left a sound store.
        assert store.check().problems == ()
        store.close()


class TestDocuments(OnSqlite, DocumentStoreSuite):
    pass


class TestLineage(OnSqlite, LineageSuite):
    pass


class TestNames(OnSqlite, NamesSuite):
    pass


class TestRecords(OnSqlite, PassageRecordsSuite):
    pass


class TestKeywords(OnSqlite, KeywordIndexSuite):
    pass


class TestGraph(OnSqlite, GraphStoreSuite):
    pass


class TestWriting(OnSqlite, ManualGraphSuite):
    pass


class TestReadings(OnSqlite, ExtractionLogSuite):
    pass


class TestSnapshot(OnSqlite, SnapshotSourceSuite):
    pass


class TestNeighbourhood(OnSqlite, NeighbourhoodSourceSuite):
    pass


class TestTimes(OnSqlite, TimeIndexSuite):
    pass


class TestUsage(OnSqlite, UsageLogSuite):
    pass


class TestRelationTimes(OnSqlite, RelationTimesSuite):
    pass


class TestVectors(OnSqlite, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> VectorIndex:
        return VectorMatrix(store, tmp_path)
