from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.ports import Store, VectorIndex
from clew.stores.sqlite import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import (
    DocumentStoreSuite,
    GraphStoreSuite,
    KeywordIndexSuite,
    SnapshotSourceSuite,
    VectorIndexSuite,
)
from clew.testing.entries import EMBEDDER


class OnSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER)
        yield store
        # Whatever a test did, it must have left a sound store.
        assert store.check().problems == ()
        store.close()


class TestDocuments(OnSqlite, DocumentStoreSuite):
    pass


class TestKeywords(OnSqlite, KeywordIndexSuite):
    pass


class TestGraph(OnSqlite, GraphStoreSuite):
    pass


class TestSnapshot(OnSqlite, SnapshotSourceSuite):
    pass


class TestVectors(OnSqlite, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> VectorIndex:
        return VectorMatrix(store, tmp_path)
