from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import StoreError
from clew.ports import Store, VectorIndex
from clew.settings import ChromaSettings
from clew.stores.chroma import ChromaIndex
from clew.stores.sqlite import SqliteStore
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

    def test_vectors_come_in_the_order_asked(self, store: Store, index: VectorIndex) -> None:
        # Chroma scales vectors to unit length once more: the last bit of a number may differ.
        held = self.fill(store, 10)
        wanted = sorted(held, reverse=True)[:4]
        expected = np.array([held[i] for i in wanted])
        assert index.vectors(wanted) == pytest.approx(expected, rel=0, abs=1e-6)
        with pytest.raises(StoreError, match="no embedding of the chunks"):
            index.vectors([wanted[0], 999_999])


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
