"""A namespace's points in a collection of Qdrant.

A collection holds the chunks of all namespaces that share an embedder, a point a chunk: the
embedding, and as payload `namespace`, `document_id` and `chunk_id`. One more point a namespace,
without vectors, says which generation of the store was last brought here whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.stores.vectors.remote import LostError

if TYPE_CHECKING:
    from qdrant_client.http import models

    from clew.ports import SnapshotSource
    from clew.stores.vectors.qdrant_connection import QdrantConnection
    from clew.types import Ids, Scores, Vector, Vectors

PREFIX = "clew-"
"""What the names of collections begin with."""
DENSE = "dense"
"""The name of a point's vector."""

# Any UUID, but always the same: a chunk has the same point whoever writes it.
_POINT_IDS = uuid.UUID("8b5f7a52-3f0e-4c0c-9d43-0d2f6f1c7b1e")
_UPSERTED = 256
_PAGE = 10_000
_READ = 500

_HNSW_CANDIDATES = 128


class NamespacePoints:
    """`RemoteCollection`: the points of one namespace in the collection of one embedder."""

    def __init__(
        self, store: SnapshotSource, connection: QdrantConnection, namespace: str, name: str
    ) -> None:
        """`name` is the collection's; there may be none yet."""
        self._store = store
        self._connection = connection
        self._namespace = namespace
        self.key = name
        self.generation = -1
        self._alone: bool | None = None

    def read_generation(self) -> None:
        """Look which generation was last brought here whole."""
        with self._connection.client() as client:
            found = client.retrieve(self.key, [self._marker()], with_payload=True)
        if found and found[0].payload:
            self.generation = int(found[0].payload["generation"])

    def count(self) -> int:
        """See `RemoteCollection`."""
        with self._connection.client() as client:
            return client.count(self.key, self._scope(), exact=True).count

    def chunk_ids(self) -> Ids:
        """See `RemoteCollection`."""
        found: list[int] = []
        page: Any = None
        while True:
            with self._connection.client() as client:
                records, page = client.scroll(
                    self.key,
                    self._scope(),
                    limit=_PAGE,
                    offset=page,
                    with_payload=["chunk_id"],
                )
            found += _chunk_ids(records)
            if page is None:
                return np.unique(np.array(found, dtype=np.int64))

    def vectors(self, chunk_ids: Ids) -> Vectors:
        """See `RemoteCollection`; they are the store's, bit for bit."""
        ids, places = np.unique(chunk_ids, return_inverse=True)
        found: dict[int, Any] = {}
        for part in _parts(ids.tolist(), _READ):
            with self._connection.client() as client:
                records = client.retrieve(
                    self.key,
                    [self._point(chunk_id) for chunk_id in part],
                    with_payload=["chunk_id"],
                    with_vectors=[DENSE],
                )
            for record in records:
                if record.payload is not None and isinstance(record.vector, dict):
                    found[record.payload["chunk_id"]] = record.vector[DENSE]
        lost = [chunk_id for chunk_id in ids.tolist() if chunk_id not in found]
        if lost:
            raise LostError(
                f"the collection {self.key!r} in Qdrant has lost the points of the chunks"
                f" {lost[:5]!r}; they are made again from the store"
            )
        rows = np.array([found[chunk_id] for chunk_id in ids.tolist()], dtype=np.float32)
        return rows[places]

    def nearest(
        self, vector: Vector, limit: int, only: Ids | None, *, exact: bool
    ) -> tuple[Ids, Scores]:
        """See `RemoteCollection`."""
        from qdrant_client.http import models

        with self._connection.client() as client:
            found = client.query_points(
                self.key,
                query=models.NearestQuery(nearest=vector.tolist()),
                using=DENSE,
                query_filter=None if self._is_alone() else self._scope(only),
                search_params=self._search_params(limit, exact=exact),
                limit=limit,
                with_payload=["chunk_id"],
            ).points
        ids = np.array(_chunk_ids(found), dtype=np.int64)
        return ids, np.array([point.score for point in found], dtype=np.float32)

    def upsert(self, chunk_ids: Ids, rows: Vectors) -> None:
        """See `RemoteCollection`; each point whole."""
        if len(chunk_ids) == 0:
            return
        passages = self._store.passages(after=int(chunk_ids[0]) - 1)
        documents = {passage.chunk_id: passage.document_id for passage in passages}
        for part in _parts(zip(chunk_ids.tolist(), rows, strict=True), _UPSERTED):
            # Those that were deleted meanwhile are deleted here the next time.
            points = [self._struct(i, documents.get(i, ""), row) for i, row in part]
            with self._connection.client() as client:
                client.upsert(self.key, points, wait=True)

    def delete(self, chunk_ids: Ids) -> None:
        """See `RemoteCollection`."""
        from qdrant_client.http import models

        for part in _parts(chunk_ids.tolist(), _PAGE):
            chosen = models.PointIdsList(points=[self._point(chunk_id) for chunk_id in part])
            with self._connection.client() as client:
                client.delete(self.key, chosen, wait=True)

    def delete_all(self) -> None:
        """Delete every point of the namespace, the one of its generation first."""
        from qdrant_client.http import models

        marker = models.PointIdsList(points=[self._marker()])
        with self._connection.client() as client:
            client.delete(self.key, marker, wait=True)
            client.delete(self.key, models.FilterSelector(filter=self._scope()), wait=True)

    def set_generation(self, generation: int) -> None:
        """See `RemoteCollection`; for the first time, once no other collection holds points."""
        from qdrant_client.http import models

        if self.generation < 0:
            self._delete_elsewhere()
        payload = {"generation_of": self._namespace, "generation": generation}
        marker = models.PointStruct(id=self._marker(), vector={}, payload=payload)
        with self._connection.client() as client:
            client.upsert(self.key, [marker], wait=True)

    def _delete_elsewhere(self) -> None:
        """Delete what other collections hold of the namespace: another embedder's points."""
        with self._connection.client() as client:
            names = [found.name for found in client.get_collections().collections]
        for name in names:
            other = NamespacePoints(self._store, self._connection, self._namespace, name)
            if name.startswith(PREFIX) and name != self.key:
                other.read_generation()
                if other.generation >= 0:
                    other.delete_all()

    # --- parts of requests

    def _is_alone(self) -> bool:
        """Whether it is in a folder and holds no other namespace: a filter there is slow."""
        if not self._connection.local:
            return False
        if self._alone is None:
            with self._connection.client() as client:
                every = client.count(self.key, exact=True).count
            self._alone = every == self.count() + 1  # one says the generation
        return self._alone

    def _point(self, chunk_id: int) -> str:
        # A slash stands in no namespace's name: no two namespaces share a point.
        return str(uuid.uuid5(_POINT_IDS, f"{self._namespace}/{chunk_id}"))

    def _marker(self) -> str:
        return str(uuid.uuid5(_POINT_IDS, self._namespace))

    def _struct(self, chunk_id: int, document_id: str, vector: Vector) -> models.PointStruct:
        from qdrant_client.http import models

        return models.PointStruct(
            id=self._point(chunk_id),
            vector={DENSE: vector.tolist()},
            payload={
                "namespace": self._namespace,
                "document_id": document_id,
                "chunk_id": chunk_id,
            },
        )

    def _scope(self, allowed: Ids | None = None) -> models.Filter:
        """The namespace's points, or those of some of its chunks."""
        from qdrant_client.http import models

        own = models.FieldCondition(key="namespace", match=models.MatchValue(value=self._namespace))
        if allowed is None:
            return models.Filter(must=[own])
        chosen = models.FieldCondition(key="chunk_id", match=models.MatchAny(any=allowed.tolist()))
        return models.Filter(must=[own, chosen])

    def _search_params(self, limit: int, *, exact: bool) -> models.SearchParams | None:
        from qdrant_client.http import models

        if self._connection.local:  # which is always exact, and warns of being told
            return None
        if exact:
            return models.SearchParams(exact=True)
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
        return models.SearchParams(
            hnsw_ef=max(_HNSW_CANDIDATES, 2 * limit),
            quantization=rescored if self._connection.settings.quantization else None,
        )


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def _chunk_ids(found: Sequence[models.Record] | Sequence[models.ScoredPoint]) -> list[int]:
    return [point.payload["chunk_id"] for point in found if point.payload is not None]
