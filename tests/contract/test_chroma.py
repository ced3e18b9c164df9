from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.ports import VectorIndex
from clew.settings import ChromaSettings
from clew.stores.store import Store
from tests.unit.vector_stores import OverSqlite, chroma_index

if TYPE_CHECKING:
    from tests.chroma_server import ChromaServer

pytest_plugins = ["tests.chroma_server"]


class TestFolder(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        index = chroma_index(store, ChromaSettings(), "default", tmp_path)
        yield index
        index.close()


class TestServer(OverSqlite):
    @pytest.fixture
    def index(
        self, store: Store, tmp_path: Path, chroma_server: ChromaServer
    ) -> Iterator[VectorIndex]:
        settings = ChromaSettings(url=chroma_server.url)
        index = chroma_index(store, settings, f"test-{secrets.token_hex(8)}", tmp_path)
        yield index
        index.close()
