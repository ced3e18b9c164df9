"""Vectors in Qdrant, on a server or in a folder: a collection an embedder, for all namespaces.

Above 20,000 chunks a server searches its index, and may miss a few of the best.
"""

from __future__ import annotations

import math
import pickle
import re
import sqlite3
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clew.errors import StoreBusyError, StoreError, StoreUnavailableError, extra_for
from clew.stores.remote_vectors import LostError, SearchTraits, SyncedIndex

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.http import models
    from qdrant_client.local.qdrant_local import QdrantLocal

    from clew.settings import QdrantSettings, Settings
    from clew.stores.store import Store
    from clew.stores.vectors import Embeddings
    from clew.types import Ids, Scores, Vector, Vectors


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
        self, store: Store, settings: QdrantSettings, namespace: str, folder: Path
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
        """See `Remote`; the collection may be there, for other namespaces, or by others by now."""
        from qdrant_client.http import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        points, settings = self._points(embedder), self._connection.settings
        if not self._exists(points.key):
            dense = models.VectorParams(
                size=embedder[1],
                # Of unit vectors it is the cosine. Told COSINE, Qdrant would scale them once more,
                # and they would not come back as they were given.
                distance=models.Distance.DOT,
                # Every search is within a namespace: a graph for each, and none over all.
                hnsw_config=models.HnswConfigDiff(
                    m=0, payload_m=_HNSW_TIES, on_disk=settings.on_disk
                ),
                quantization_config=_quantization() if settings.quantization else None,
                on_disk=_originals_on_disk(settings),
            )
            with self._connection.client() as client:
                try:
                    client.create_collection(points.key, vectors_config={DENSE: dense})
                except UnexpectedResponse:
                    if not client.collection_exists(points.key):
                        raise
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
            if not self._connection.local:
                _adjust(client, name, self._connection.settings)
            elif files := cast("QdrantLocal", client).collections[name].storage:
                # Local mode knows neither indexes nor quantization. It writes each point in a
                # transaction of its own and waits for the disk each time: 10,000 points took
                # minutes. What a power failure loses is made again from the store.
                files.storage.execute("PRAGMA synchronous = OFF")
        self._adjusted.add(name)


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


# A connection to Qdrant, and the one place where its client's errors become Clew's.


# What the client's local mode lets through of the files that it reads and writes.
_LOCAL_FAILURES = (ValueError, KeyError, EOFError, OSError, sqlite3.Error, pickle.PickleError)
_OVERLOADED = {429, 502, 503, 504}
_SHOWN = 200


class QdrantConnection:
    """Qdrant on a server or in a folder, opened when it is first needed; threads may share one.

    What is called within `client` raises `StoreUnavailableError` where the server cannot be
    reached, `StoreBusyError` where another process has the folder open, `LostError` for a
    collection that is not there, and `StoreError` for all else.
    """

    def __init__(self, settings: QdrantSettings, folder: Path) -> None:
        """`folder` is used where the settings name no server."""
        self.settings = settings
        self.local = not settings.url
        """Whether it is in a folder."""
        self._folder = folder
        self._client: QdrantClient | None = None
        self._closed = False
        self._lock = threading.RLock()

    @contextmanager
    def client(self) -> Iterator[QdrantClient]:
        """The client; errors of what is done with it inside are translated."""
        if self.local:
            with self._in_folder() as client:
                yield client
            return
        client = self._opened()
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException

        try:
            yield client
        except (ApiException, QdrantException) as error:
            raise _translate(error, self.settings) from error

    @contextmanager
    def _in_folder(self) -> Iterator[QdrantClient]:
        try:
            # The client's local mode is not made for several threads at once.
            with self._lock:
                yield self._opened()
        except RuntimeError as error:
            raise StoreBusyError(
                f"the local Qdrant in {str(self._folder)!r} is in use by another process, and one"
                " alone may use it at a time; wait until that has finished, or run a Qdrant server"
                " and set qdrant.url to its address"
            ) from error
        except _LOCAL_FAILURES as error:
            raise StoreError(
                f"the local Qdrant in {str(self._folder)!r} failed ({error}); check the folder's"
                " rights and the free space, or delete it: it is made again from the store"
            ) from error

    def close(self) -> None:
        """Let go of the folder or the server; may be called twice."""
        with self._lock:
            self._closed = True
            if self._client is not None:
                self._client.close()
                self._client = None

    def _opened(self) -> QdrantClient:
        with self._lock:
            if self._closed:
                raise StoreError("the vectors in Qdrant are closed; open the store again")
            if self._client is None:
                self._client = self._open()
            return self._client

    def _open(self) -> QdrantClient:
        with extra_for("vectors in Qdrant"):
            from qdrant_client import QdrantClient
            from qdrant_client.local.qdrant_local import QdrantLocal
        if self.local:
            # What QdrantClient(path=…) calls, and unlike it says where it keeps its collections.
            local = QdrantLocal(str(self._folder), force_disable_check_same_thread=True)
            return cast("QdrantClient", local)
        try:
            return QdrantClient(
                url=self.settings.url,
                api_key=self.settings.api_key.get_secret_value() or None,
                timeout=math.ceil(self.settings.seconds),
                # It would ask for the version in a thread of its own, and warn on stderr.
                check_compatibility=False,
            )
        except ValueError as error:
            raise StoreError(
                f"qdrant.url is {_place(self.settings)!r}, which is no address; expected one such"
                " as http://localhost:6333"
            ) from error


def _place(settings: QdrantSettings) -> str:
    """The server's address as it may be shown: without a login."""
    return re.sub(r"//[^/@]*@", "//", settings.url)


def _translate(error: Exception, settings: QdrantSettings) -> StoreError:
    """Clew's error for one of the client's."""
    import httpx
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

    place = _place(settings)
    source, status = getattr(error, "source", None), getattr(error, "status_code", None)
    if isinstance(source, httpx.TransportError):
        slow = isinstance(source, httpx.TimeoutException)
        reason = f"no answer within {math.ceil(settings.seconds)} s" if slow else str(source)
        return StoreUnavailableError(
            f"cannot reach Qdrant at {place!r} ({reason}); start it there, or set qdrant.url to"
            " where it is" + (", or raise qdrant.seconds" if slow else "")
        )
    if status in (401, 403):
        return StoreError(
            f"Qdrant at {place!r} refused the API key ({status}); set CLEW_QDRANT__API_KEY to one"
            " that may read and write"
        )
    if status == 404:
        return LostError(
            f"Qdrant at {place!r} has no such collection ({_detail(error)}); it is made again from"
            " the store: ask once more, and check qdrant.url if this goes on"
        )
    if status in _OVERLOADED or isinstance(error, ResourceExhaustedResponse):
        return StoreUnavailableError(
            f"Qdrant at {place!r} is overloaded or starting ({_detail(error)}); try again later"
        )
    return StoreError(
        f"Qdrant at {place!r} failed ({_detail(error)}); check that qdrant.url is the address of a"
        " Qdrant server, and see its log"
    )


def _detail(error: Exception) -> str:
    """What the server said, on one line."""
    try:
        said = error.structured()["status"]["error"]  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError, ValueError):
        said = getattr(error, "source", None) or error
    return " ".join(str(said).split())[:_SHOWN]


# A namespace's points in a collection of Qdrant.
#
# A collection holds the chunks of all namespaces that share an embedder, a point a chunk: the
# embedding, and as payload `namespace`, `document_id` and `chunk_id`. One more point a namespace,
# without vectors, says which generation of the store was last brought here whole.


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
        self, store: Store, connection: QdrantConnection, namespace: str, name: str
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
        from qdrant_client.http import models

        if len(chunk_ids) == 0:
            return
        passages = self._store.passages(after=int(chunk_ids[0]) - 1)
        documents = {passage.chunk_id: passage.document_id for passage in passages}
        for part in _parts(zip(chunk_ids.tolist(), rows, strict=True), _UPSERTED):
            # Those that were deleted meanwhile are deleted here the next time.
            points = [
                models.PointStruct(
                    id=self._point(chunk_id),
                    vector={DENSE: row.tolist()},
                    payload={
                        "namespace": self._namespace,
                        "document_id": documents.get(chunk_id, ""),
                        "chunk_id": chunk_id,
                    },
                )
                for chunk_id, row in part
            ]
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


# The plugin's `clew.hookspecs.VectorIndexKind`.


def passages(settings: Settings, store: Store) -> SyncedIndex:
    """See `VectorIndexKind`."""
    remote = QdrantRemote(store, settings.qdrant, settings.namespace, settings.folder)
    return SyncedIndex(store, remote)


def texts(settings: Settings, store: Store, kept: Embeddings) -> None:
    """See `VectorIndexKind`; the store's own does."""
