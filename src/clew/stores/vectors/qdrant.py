"""Vectors in Qdrant, on a server or in a folder: a collection an embedder, for all namespaces.

Above 20,000 chunks a server searches its index, and may miss a few of the best.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

from clew.stores.vectors.qdrant_connection import QdrantConnection
from clew.stores.vectors.qdrant_points import DENSE, PREFIX, NamespacePoints
from clew.stores.vectors.remote import LostError, SearchTraits

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http import models
    from qdrant_client.local.qdrant_local import QdrantLocal

    from clew.ports import SnapshotSource
    from clew.settings import QdrantSettings

_HNSW_TIES = 16


def collection_name(embedder: tuple[str, int]) -> str:
    """The collection of an embedder, given as (name, dimension)."""
    name = re.sub(r"[^a-z0-9.]+", "-", embedder[0].lower()).strip("-.")[:100]
    return f"{PREFIX}{name or 'embedder'}-{embedder[1]}"


class QdrantRemote:
    """`Remote` in Qdrant: a namespace's points in the collection of an embedder.

    Each call is whole by itself, and processes need not take turns.
    """

    name = "qdrant"

    def __init__(
        self, store: SnapshotSource, settings: QdrantSettings, namespace: str, folder: Path
    ) -> None:
        """Nothing is opened before it is needed.

        Without `settings.url`, Qdrant is kept in `qdrant` in `folder`, the store's, or in the
        namespace's folder in `settings.path`.
        """
        self.namespace = namespace
        self._store = store
        chosen = settings.path and settings.path.expanduser() / namespace
        self._connection = QdrantConnection(settings, chosen or folder / "qdrant")
        # A filter costs a local Qdrant more than to read on until enough of the allowed are found.
        self.traits = SearchTraits(filters=not self._connection.local)
        self._adjusted: set[str] = set()

    def reading(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return nullcontext()

    def writing(self) -> AbstractContextManager[None]:
        """See `Remote`."""
        return nullcontext()

    def close(self) -> None:
        """See `Remote`."""
        self._connection.close()

    def version(self) -> str:
        """See `Remote`."""
        with self._connection.client() as client:
            return client.info().version

    def count(self, embedder: tuple[str, int]) -> int:
        """See `Remote`."""
        points = self._points(embedder)
        return points.count() if self._exists(points.key) else 0

    def find(self, embedder: tuple[str, int]) -> NamespacePoints | None:
        """See `Remote`; what the settings ask of a collection is changed at the first look."""
        points = self._points(embedder)
        if points.key not in self._adjusted:
            if not self._exists(points.key):
                return None
            self._adjust(points.key)
        try:
            points.read_generation()
        except LostError:
            self._adjusted.discard(points.key)
            return None
        return points

    def make(self, embedder: tuple[str, int]) -> NamespacePoints:
        """See `Remote`; the collection may be there, for other namespaces."""
        points = self._points(embedder)
        if not self._exists(points.key):
            with self._connection.client() as client:
                _create(client, points.key, embedder[1], self._connection.settings)
        self._adjust(points.key)
        return points

    def remove(self, embedder: tuple[str, int]) -> None:
        """See `Remote`."""
        points = self._points(embedder)
        if self._exists(points.key):
            points.delete_all()

    def _points(self, embedder: tuple[str, int]) -> NamespacePoints:
        name = collection_name(embedder)
        return NamespacePoints(self._store, self._connection, self.namespace, name)

    def _exists(self, name: str) -> bool:
        with self._connection.client() as client:
            return client.collection_exists(name)

    def _adjust(self, name: str) -> None:
        with self._connection.client() as client:
            if self._connection.local:  # which knows neither indexes nor quantization
                _write_without_waiting(cast("QdrantLocal", client), name)
            else:
                _adjust(client, name, self._connection.settings)
        self._adjusted.add(name)


def _create(client: QdrantClient, name: str, dimension: int, settings: QdrantSettings) -> None:
    """Make a collection; nothing is wrong where another process is faster."""
    from qdrant_client.http import models
    from qdrant_client.http.exceptions import UnexpectedResponse

    dense = models.VectorParams(
        size=dimension,
        # Of unit vectors it is the cosine. Told COSINE, Qdrant would scale them once more, and they
        # would not come back as they were given.
        distance=models.Distance.DOT,
        # Every search is within a namespace: a graph for each, and none over all.
        hnsw_config=models.HnswConfigDiff(m=0, payload_m=_HNSW_TIES, on_disk=settings.on_disk),
        quantization_config=_quantization() if settings.quantization else None,
        on_disk=_originals_on_disk(settings),
    )
    try:
        client.create_collection(name, vectors_config={DENSE: dense})
    except UnexpectedResponse:
        if not client.collection_exists(name):
            raise


def _adjust(client: QdrantClient, name: str, settings: QdrantSettings) -> None:
    """Add the indexes that a collection lacks; change what other settings had asked for."""
    from qdrant_client.http import models

    info = client.get_collection(name)
    indexes: dict[str, models.KeywordIndexParams | models.IntegerIndexParams] = {
        "namespace": models.KeywordIndexParams(
            type=models.KeywordIndexType.KEYWORD, is_tenant=True
        ),
        "chunk_id": models.IntegerIndexParams(
            type=models.IntegerIndexType.INTEGER, lookup=True, range=False
        ),
    }
    for field in indexes.keys() - info.payload_schema.keys():
        client.create_payload_index(name, field, indexes[field], wait=True)
    dense = info.config.params.vectors
    assert isinstance(dense, dict)
    quantized, on_disk = dense[DENSE].quantization_config is not None, bool(dense[DENSE].on_disk)
    if (quantized, on_disk) != (settings.quantization, _originals_on_disk(settings)):
        change = models.VectorParamsDiff(
            quantization_config=(
                _quantization() if settings.quantization else models.Disabled.DISABLED
            ),
            on_disk=_originals_on_disk(settings),
        )
        client.update_collection(name, vectors_config={DENSE: change})


def _write_without_waiting(local: QdrantLocal, name: str) -> None:
    """Let the system choose when what is written to a folder goes to the disk.

    The client's local mode writes each point in a transaction of its own, and waits for the disk
    each time: 10,000 points took minutes. What a power failure loses is made again from the store.
    """
    files = local.collections[name].storage
    if files is not None:
        files.storage.execute("PRAGMA synchronous = OFF")


def _quantization() -> models.ScalarQuantization:
    from qdrant_client.http import models

    return models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=0.99, always_ram=True
        )
    )


def _originals_on_disk(settings: QdrantSettings) -> bool:
    """Whether the vectors themselves need not be in memory: asked for, or int8 stands for them."""
    return settings.on_disk or settings.quantization
