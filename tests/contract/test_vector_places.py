from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from clew.plugins.qdrant.remote import NamespacePoints, QdrantConnection, collection_name
from clew.ports import VectorIndex
from clew.settings import ChromaSettings, QdrantSettings
from clew.stores.store import Store
from clew.testing.conformance import EMBEDDER
from tests.chroma_server import ChromaServer
from tests.unit.qdrant_server import stand_in
from tests.unit.vector_stores import OverSqlite, chroma_index, qdrant_index


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


# --- Qdrant.


URL = os.environ.get("QDRANT_URL", "")


class TestQdrantFolder(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        index = qdrant_index(store, QdrantSettings(), "default", tmp_path)
        yield index
        index.close()


class TestQdrantStandIn(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        with stand_in() as server:
            index = qdrant_index(store, QdrantSettings(url=server.url), "default", tmp_path)
            yield index
            index.close()


@pytest.mark.skipif(not URL, reason="needs a Qdrant server: set QDRANT_URL to its address")
@pytest.mark.enable_socket
class TestQdrantServer(OverSqlite):
    @pytest.fixture(params=[False, True], ids=["plain", "quantized"])
    def index(
        self, store: Store, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[VectorIndex]:
        settings = QdrantSettings(
            url=URL,
            api_key=SecretStr(os.environ.get("QDRANT_API_KEY", "")),
            quantization=request.param,
        )
        namespace = f"test-{secrets.token_hex(4)}"
        index = qdrant_index(store, settings, namespace, tmp_path)
        yield index
        index.close()
        connection = QdrantConnection(settings, tmp_path)
        NamespacePoints(store, connection, namespace, collection_name(EMBEDDER)).delete_all()
        connection.close()
