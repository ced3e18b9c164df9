from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.ports import Store, VectorIndex
from clew.settings import ChromaSettings
from clew.stores.chroma import ChromaIndex
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import VectorIndexSuite
from clew.testing.entries import EMBEDDER, FUNCTIONAL

if TYPE_CHECKING:
    from tests.chroma_server import ChromaServer

pytest_plugins = ["tests.chroma_server"]


class OverSqlite(VectorIndexSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        yield store
        store.close()


class TestFolder(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        index = ChromaIndex(store, ChromaSettings(), "default", tmp_path)
        yield index
        index.close()


class TestServer(OverSqlite):
    @pytest.fixture
    def index(
        self, store: Store, tmp_path: Path, chroma_server: ChromaServer
    ) -> Iterator[VectorIndex]:
        settings = ChromaSettings(url=chroma_server.url)
        index = ChromaIndex(store, settings, f"test-{secrets.token_hex(8)}", tmp_path)
        yield index
        index.close()
