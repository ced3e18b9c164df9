"""Vectors in Chroma, on a server or in a folder: derived from the store, which stays the truth.

Each process remembers which chunks the collection holds. Where the store has changed since, it
sends the difference; where another process was here first, or none was, it asks which records
there are. All of it may be broken off and begun again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.errors import ClewError, MissingExtraError, StoreError
from clew.ports import EmbeddingSource
from clew.stores.chroma_collection import CollectionPlace, KeptCollection
from clew.stores.chroma_connection import ChromaConnection, LostError
from clew.stores.chroma_folder import ChromaFolder
from clew.stores.chroma_search import CollectionSearch
from clew.stores.chroma_server import ChromaServer

if TYPE_CHECKING:
    from chromadb.api import ServerAPI

    from clew.settings import ChromaSettings
    from clew.types import Ids, Scores, Vector, Vectors

T = TypeVar("T")

_ROUNDS = 3
_COMPARED = 32
_ROUNDING = 1e-6

_log = logging.getLogger("clew")


@dataclass(frozen=True, slots=True)
class _Synced:
    """What is in Chroma of one generation of the store; replaced whole, so that none waits."""

    generation: int
    ids: Ids
    """(n,) chunks, sorted; none where there is no collection."""
    dimension: int
    collection: KeptCollection | None

    def eligible(self, allowed: Ids | None) -> Ids:
        """(n,) sorted chunks that may be found."""
        return self.ids if allowed is None else np.intersect1d(self.ids, allowed)


class ChromaIndex:
    """`ports.SyncedVectorIndex` in Chroma; threads may share one.

    Every namespace of a Chroma must be one store's alone. Searching and `refresh` raise
    `StoreUnavailableError` where the server cannot be reached, `StoreBusyError` where another
    process is at work for longer than `settings.seconds`, `MissingExtraError` without the client,
    else `StoreError`.
    """

    def __init__(
        self, store: EmbeddingSource, settings: ChromaSettings, namespace: str, folder: Path
    ) -> None:
        """Nothing is opened before it is needed; `folder` is the store's.

        Raises `InputError` for a namespace, `SettingsError` for an address or token that cannot be.
        """
        self._store = store
        self._place = CollectionPlace(settings, namespace)
        self._connection: ChromaConnection
        if settings.url:
            self._connection = ChromaServer(settings, folder)
        else:
            path = settings.path.expanduser() if settings.path else folder / "chroma"
            self._connection = ChromaFolder(path, settings.seconds, self._place.address)
        self._lock = threading.Lock()
        self._synced: _Synced | None = None

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension.

        In a store of more than 1,000 chunks it may miss a few of the best: HNSW is approximate.
        """
        return self._asked(lambda synced: self._search(synced, vector, limit, allowed))

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """See `ports.VectorIndex`; they equal the store's within 1e-7."""
        wanted = np.asarray(chunk_ids, dtype=np.int64)
        return self._asked(lambda synced: self._rows(synced, wanted))

    def refresh(self) -> None:
        """See `ports.SyncedVectorIndex`; one read of the store where nothing has changed."""
        self._current()

    def persist(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self.refresh()

    def state(self) -> dict[str, Any]:
        """See `ports.SyncedVectorIndex`; three calls, each of at most `settings.seconds`."""
        found: dict[str, Any] = {"backend": "chroma", "available": True, "connected": False}
        found.update(version="", points=None, problem="")
        try:
            with self._connection.reading() as client:
                found["version"] = client.get_version()
                found["connected"] = True
                collection = self._place.find(client)
                found["points"] = collection.count(client) if collection else 0
        except ClewError as error:
            found["available"] = not isinstance(error, MissingExtraError)
            found["problem"] = str(error)
        return found

    def close(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self._connection.close()

    # --- searching

    def _search(
        self, synced: _Synced, vector: Vector, limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores]:
        eligible = synced.eligible(allowed)
        if len(eligible) == 0 or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if vector.shape != (synced.dimension,):
            raise StoreError(
                f"cannot search for a vector of shape {vector.shape!r}; expected"
                f" {(synced.dimension,)!r}, from the embedder that the store was built with"
            )
        assert synced.collection is not None
        with self._connection.reading() as client:
            search = CollectionSearch(client, synced.collection, synced.ids)
            return search.nearest(vector, limit, eligible)

    def _rows(self, synced: _Synced, wanted: Ids) -> Vectors:
        unknown = ~np.isin(wanted, synced.ids)
        if unknown.any():
            raise StoreError(
                f"no embedding of the chunks {wanted[unknown][:5].tolist()!r}; expected ids of"
                " chunks that are in the store now: search again"
            )
        if synced.collection is None:
            return np.empty((0, synced.dimension), dtype=np.float32)
        with self._connection.reading() as client:
            return synced.collection.vectors(client, wanted)

    # --- keeping up with the store

    def _asked(self, ask: Callable[[_Synced], T]) -> T:
        """What is asked of Chroma, once it holds what the store holds."""
        synced, looked = self._current(), False
        for _ in range(_ROUNDS):
            try:
                return ask(synced)
            except LostError as error:
                # Another process may have deleted a record, or made the collection again. If the
                # store has not changed and it happens once more, the collection is damaged.
                damaged = looked and synced.generation == self._store.generation()
                _log.log(logging.WARNING if damaged else logging.INFO, "%s", error)
                synced, looked = self._renewed(synced, damaged), True
        return ask(synced)

    def _current(self) -> _Synced:
        synced = self._synced
        if synced is not None and synced.generation == self._store.generation():
            return synced
        with self._lock:
            synced = self._synced  # another thread may have been faster
            if synced is None or synced.generation != self._store.generation():
                synced = self._synced = self._sync(synced)
            return synced

    def _renewed(self, lost: _Synced, damaged: bool) -> _Synced:
        with self._lock:
            if self._synced is lost:
                self._synced = self._remake() if damaged else self._sync(None)
            assert self._synced is not None
            return self._synced

    def _sync(self, before: _Synced | None) -> _Synced:
        """Bring to Chroma what it lacks, and delete there what the store no longer holds."""
        if self._store.embedder() is None:
            empty = np.empty(0, dtype=np.int64)
            return _Synced(self._store.generation(), empty, 0, None)
        with suppress(LostError), self._connection.reading() as client:  # others may be writing
            found = self._find_whole(client)
            if found is not None:
                return found
        try:
            with self._connection.writing() as client:
                return self._bring(client, before)
        except LostError as error:
            _log.warning("%s", error)
        return self._remake()

    def _remake(self) -> _Synced:
        """Delete the collection, and make it from the store."""
        with self._connection.writing() as client:
            self._place.remove(client)
            return self._bring(client, None)

    def _find_whole(self, client: ServerAPI) -> _Synced | None:
        """The collection, where somebody has brought it up to the store as it is; else None."""
        generation, embedder = self._store.generation(), self._store.embedder()
        collection = self._place.find(client)
        if collection is None or embedder is None or collection.generation != generation:
            return None
        ids = self._store.chunk_ids()
        if (
            collection.recipe != self._place.recipe(embedder)
            or collection.count(client) != len(ids)
            or not self._is_ours(client, collection, ids)
        ):
            return None
        return _Synced(generation, ids, embedder[1], collection)

    def _bring(self, client: ServerAPI, before: _Synced | None) -> _Synced:
        # Read first: what is saved from here on is another generation.
        generation, embedder = self._store.generation(), self._store.embedder()
        assert embedder is not None
        ids = self._store.chunk_ids()
        collection, held = self._usable(client, embedder, before, ids)
        collection.delete(client, np.setdiff1d(held, ids))
        new, rows = self._embeddings(np.setdiff1d(ids, held), embedder[1])
        collection.upsert(client, new, rows)
        if collection.generation != generation:
            collection.set_generation(client, generation)
        held = np.union1d(np.intersect1d(held, ids), new)
        return _Synced(generation, held, embedder[1], collection)

    def _usable(
        self, client: ServerAPI, embedder: tuple[str, int], before: _Synced | None, ids: Ids
    ) -> tuple[KeptCollection, Ids]:
        """The collection and the chunks that it holds; a new one where it is of no use."""
        recipe = self._place.recipe(embedder)
        collection = self._place.find(client)
        if collection is not None and collection.recipe == recipe:
            held = _held(client, collection, before)
            if len(held) == 0 or self._is_ours(client, collection, np.intersect1d(held, ids)):
                return collection, held
            _log.warning(
                "the vectors of tenant %s in Chroma are not the store's: a backup was brought back,"
                " or another store has the same namespace; they are made again",
                self._place.address[1],
            )
        self._place.remove(client)
        return self._place.make(client, recipe), np.empty(0, dtype=np.int64)

    def _is_ours(self, client: ServerAPI, collection: KeptCollection, shared: Ids) -> bool:
        """Whether the newest chunks that Chroma and the store share have the same vectors.

        After a backup was brought back, or every text was embedded by another model, the same ids
        stand for other vectors. Raises `LostError` where Chroma has ids without vectors, for which
        some from all over are asked for.
        """
        if len(shared) == 0:
            return False
        newest = shared[-_COMPARED:]
        ids, rows = self._store.embeddings(after=int(newest[0]) - 1)
        kept = np.isin(ids, newest)
        spread = shared[:: len(shared) // _COMPARED + 1]
        there = collection.vectors(client, np.concatenate([ids[kept], spread]))
        return rows.shape[1] == there.shape[1] and np.allclose(
            there[: np.count_nonzero(kept)], rows[kept], rtol=0, atol=_ROUNDING
        )

    def _embeddings(self, ids: Ids, dimension: int) -> tuple[Ids, Vectors]:
        """Those of the chunks that are still there, and their embeddings."""
        if len(ids):
            found, rows = self._store.embeddings(after=int(ids[0]) - 1)
            wanted = np.isin(found, ids)
            if rows.shape[1] == dimension:  # else another embedder's by now: the next look sees it
                return found[wanted], rows[wanted]
        return ids[:0], np.empty((0, dimension), dtype=np.float32)


def _held(client: ServerAPI, collection: KeptCollection, before: _Synced | None) -> Ids:
    """The chunks in a collection; not asked for where nobody else has written since."""
    if (
        before is not None
        and before.collection is not None
        and before.collection.id == collection.id
        and before.generation == collection.generation
    ):
        return before.ids
    return collection.chunk_ids(client)
