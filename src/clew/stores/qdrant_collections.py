"""Collections in Qdrant: one an embedder, for the chunks of all namespaces that use it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http import models

    from clew.settings import QdrantSettings
    from clew.stores.qdrant_connection import QdrantConnection

PREFIX = "clew-"
"""What the names of collections begin with."""
DENSE, SPARSE = "dense", "bm25"
"""The names of a point's vectors."""

_HNSW_TIES = 16


def collection_name(embedder: tuple[str, int]) -> str:
    """The collection of an embedder, given as (name, dimension)."""
    name = re.sub(r"[^a-z0-9.]+", "-", embedder[0].lower()).strip("-.")[:100]
    return f"{PREFIX}{name or 'embedder'}-{embedder[1]}"


def ensure_collection(connection: QdrantConnection, name: str, dimension: int) -> None:
    """Make a collection where there is none, and let one that there is be as the settings ask."""
    with connection.client() as client:
        if not client.collection_exists(name):
            _create(client, name, dimension, connection.settings)
        if connection.local:  # which knows neither indexes nor quantization
            _write_without_waiting(client, name)
        else:
            _adjust(client, name, connection.settings)


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
    sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
    try:
        client.create_collection(
            name, vectors_config={DENSE: dense}, sparse_vectors_config={SPARSE: sparse}
        )
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


def _write_without_waiting(client: QdrantClient, name: str) -> None:
    """Let the system choose when what is written to a folder goes to the disk.

    The client's local mode writes each point in a transaction of its own, and waits for the disk
    each time: 10,000 points took minutes. What a power failure loses is made again from the store.
    """
    opened: Any = client
    # There is no other way to it; where a version keeps it elsewhere, it is slower and no more.
    with suppress(AttributeError):
        database = opened._client.collections[name].storage.storage
        database.execute("PRAGMA synchronous = OFF")


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
