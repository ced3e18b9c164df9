from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from clew.plugins.qdrant.remote import NamespacePoints, QdrantConnection, collection_name
from clew.ports import VectorIndex
from clew.settings import QdrantSettings
from clew.stores.store import Store
from clew.testing.conformance import EMBEDDER
from tests.unit.qdrant_server import stand_in
from tests.unit.vector_stores import OverSqlite, qdrant_index

URL = os.environ.get("QDRANT_URL", "")


class TestFolder(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        index = qdrant_index(store, QdrantSettings(), "default", tmp_path)
        yield index
        index.close()


class TestStandIn(OverSqlite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> Iterator[VectorIndex]:
        with stand_in() as server:
            index = qdrant_index(store, QdrantSettings(url=server.url), "default", tmp_path)
            yield index
            index.close()


@pytest.mark.skipif(not URL, reason="needs a Qdrant server: set QDRANT_URL to its address")
@pytest.mark.enable_socket
class TestServer(OverSqlite):
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
