"""What a place that keeps a copy of a store's embeddings must do: on a server, or in a folder."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from clew.errors import ClewError, MissingExtraError, StoreError
from clew.stores.store import Store
from clew.stores.vectors import Embeddings, best_first, check_dimension, unknown_chunks
from clew.types import Ids, Scores, Vector, Vectors


class LostError(StoreError):
    """What was kept is not there any more, or is damaged; it can be made again from the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTraits:
    """How a place is searched best."""

    few: int = 0
    """Up to so many eligible chunks, reading their vectors is faster than a search."""
    small: int = 0
    """Up to so many chunks, all are asked for: it shows where an index does not reach one."""
    filters: bool = True
    """Whether a search is restricted to some chunks faster than it reads on past others."""


class RemoteCollection(Protocol):
    """The vectors of one namespace and embedder, as they were found."""

    key: str
    """Another one where it was made again."""
    generation: int
    """The store's, when all of it was last brought here; -1 for never."""

    def count(self) -> int:
        """How many vectors there are."""
        ...

    def chunk_ids(self) -> Ids:
        """(n,) sorted ids of the chunks whose vectors there are."""
        ...

    def vectors(self, chunk_ids: Ids) -> Vectors:
        """(len(chunk_ids), dimension) in the order of the ids, which may repeat.

        Equal to the store's within 1e-7. Raises `LostError` where one is not there.
        """
        ...

    def nearest(
        self, vector: Vector, limit: int, only: Ids | None, *, exact: bool
    ) -> tuple[Ids, Scores]:
        """At most `limit` nearest, `only` among those given; best first, with their cosines.

        Cosines are within 1e-6. `exact` asks to compare with all where that is a choice; else some
        of the nearest may be missing.
        """
        ...

    def upsert(self, chunk_ids: Ids, rows: Vectors) -> None:
        """Write vectors, in place of those with the same ids."""
        ...

    def delete(self, chunk_ids: Ids) -> None:
        """Delete vectors; ids that are not there are left out."""
        ...

    def set_generation(self, generation: int) -> None:
        """Note that all of the store's generation is here; written last."""
        ...


class Remote(Protocol):
    """A place for vectors, opened when it is first needed; threads may share one.

    Everything is called within `reading` or `writing`, of its collections, too. It raises
    `StoreUnavailableError` where the server cannot be reached, `StoreBusyError` where another
    process is at work for too long, `LostError` for what is not there any more,
    `MissingExtraError` without the client, else `StoreError`.
    """

    name: str
    """As the setting `vectors` and `state` name it."""
    namespace: str
    traits: SearchTraits

    def reading(self) -> AbstractContextManager[None]:
        """While something is asked."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """While something is changed; where processes must take turns, this one has its turn."""
        ...

    def version(self) -> str:
        """The back end's version."""
        ...

    def find(self, embedder: tuple[str, int]) -> RemoteCollection | None:
        """The collection made for an embedder and the settings; None where there is none."""
        ...

    def make(self, embedder: tuple[str, int]) -> RemoteCollection:
        """A new collection, in place of one that was made for something else."""
        ...

    def remove(self, embedder: tuple[str, int]) -> None:
        """Delete the namespace's vectors; nothing where there are none."""
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...


def among(known: Ids, ids: Ids | Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(len(ids),) which of the ids are among `known`, which is sorted."""
    if len(known) == 0:
        return np.zeros(len(ids), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return known[places] == ids


# --- searching one -----------------------------------------------------------------------

# Up to here, comparing with all is asked for rather than the index.
_EXACT = 20_000
_SPARE = 16
# A remote's cosines are float32: those this near to each other are computed again in float64, so
# that order and ties are exact.
_ROUNDING = 1e-6


# Bringing a store's embeddings to a remote, keeping up with the store, and asking the remote.
#
# Each process remembers which chunks it knows to be there. Where the store has changed since, it
# sends the difference; where another process was there meanwhile, it asks which chunks there are.
# Ids of chunks are never used again: all of it may be done twice, broken off and begun again, and
# by several processes at once.


T = TypeVar("T")

_ROUNDS = 3
_COMPARED = 32

_log = logging.getLogger("clew")


@dataclass(frozen=True, slots=True)
class _Synced:
    """What the remote holds of one generation of the store; replaced whole, so that none waits."""

    generation: int
    ids: Ids
    """(n,) chunks, sorted; none where there is no collection."""
    dimension: int
    collection: RemoteCollection | None


class SyncedIndex:
    """`ports.SyncedVectorIndex` in a remote; threads may share one.

    Every namespace of a remote must be one store's alone. Searching and `refresh` raise what
    `Remote` does.
    """

    def __init__(self, store: Store, remote: Remote, embeddings: Embeddings | None = None) -> None:
        """Nothing is opened before it is needed; vectors are the store's, or `embeddings`."""
        self._store = store
        self._vectors = embeddings or store.embeddings
        self._remote = remote
        self._lock = threading.Lock()
        self._synced: _Synced | None = None

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension.

        A remote with an approximate index may miss a few of the best (`Remote.traits`).
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
        """See `ports.SyncedVectorIndex`; it ends with the first call that takes too long."""
        found: dict[str, Any] = {"backend": self._remote.name, "available": True}
        found.update(connected=False, version="", points=None, problem="")
        try:
            with self._remote.reading():
                found["version"] = self._remote.version()
                found["connected"] = True
                embedder = self._store.embedder()
                collection = self._remote.find(embedder) if embedder else None
                found["points"] = collection.count() if collection else 0
        except ClewError as error:
            found["available"] = not isinstance(error, MissingExtraError)
            found["problem"] = str(error)
        return found

    def close(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self._remote.close()

    # --- searching

    def _search(
        self, synced: _Synced, vector: Vector, limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores]:
        """The nearest of the eligible, best first, with their cosines; ties to the smaller id.

        Some of the nearest may be missing where they are more than the traits call `few` and the
        index is approximate.
        """
        ids, traits = synced.ids, self._remote.traits
        eligible = ids if allowed is None else np.intersect1d(ids, allowed)
        if synced.collection is None or len(eligible) == 0 or limit <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        check_dimension(vector, synced.dimension)
        few, wanted, needed = traits.few, limit, min(limit, len(eligible))
        if len(ids) <= traits.small:
            wanted = needed = len(eligible)
        if not traits.filters:  # it is read on until enough of the eligible are found
            few = wanted = wanted * len(ids) // len(eligible)
        with self._remote.reading():
            if len(eligible) > few:
                only = eligible if traits.filters and len(eligible) < len(ids) else None
                near, scores = _candidates(
                    synced.collection, vector, limit, eligible, only, wanted + _SPARE
                )
                if len(near) >= needed:  # else the index does not reach every vector
                    close = np.diff(scores) > -_ROUNDING
                    if close.any():
                        again = np.append(close, False) | np.append(False, close)
                        scores[again] = _cosines(synced.collection, vector, near[again])
                    return best_first(near, scores, limit)
            return best_first(eligible, _cosines(synced.collection, vector, eligible), limit)

    def _rows(self, synced: _Synced, wanted: Ids) -> Vectors:
        known = among(synced.ids, wanted)
        if not known.all():
            raise unknown_chunks(wanted[~known])
        if synced.collection is None or len(wanted) == 0:
            return np.empty((0, synced.dimension), dtype=np.float32)
        with self._remote.reading():
            return synced.collection.vectors(wanted)

    # --- keeping up with the store

    def _asked(self, ask: Callable[[_Synced], T]) -> T:
        """What is asked of the remote, once it holds what the store holds."""
        synced, looked = self._current(), False
        for _ in range(_ROUNDS):
            try:
                return ask(synced)
            except LostError as error:
                # Another process may have deleted a vector, or made the collection again. If the
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
            # Again where more was saved meanwhile: another process that was faster to bring it here
            # would not look again at what this one may have deleted. Not for ever, though.
            for _ in range(_ROUNDS):
                if self._synced and self._synced.generation == self._store.generation():
                    break
                self._synced = self._sync(self._synced)
            assert self._synced is not None
            return self._synced

    def _renewed(self, lost: _Synced, damaged: bool) -> _Synced:
        with self._lock:
            if self._synced is lost:
                self._synced = self._remake() if damaged else self._sync(None)
            assert self._synced is not None
            return self._synced

    def _sync(self, before: _Synced | None) -> _Synced:
        """Bring to the remote what it lacks, and delete there what the store no longer holds."""
        if self._store.embedder() is None:
            return _Synced(self._store.generation(), np.empty(0, dtype=np.int64), 0, None)
        with suppress(LostError), self._remote.reading():  # others may be writing
            found = self._find_whole()
            if found is not None:
                return found
        try:
            with self._remote.writing():
                return self._bring(before)
        except LostError as error:
            _log.warning("%s", error)
        return self._remake()

    def _remake(self) -> _Synced:
        """Delete the collection, and make it from the store."""
        with self._remote.writing():
            embedder = self._store.embedder()
            if embedder is not None:
                self._remote.remove(embedder)
            return self._bring(None)

    def _find_whole(self) -> _Synced | None:
        """The collection, where somebody has brought it up to the store as it is; else None."""
        generation, embedder = self._store.generation(), self._store.embedder()
        collection = self._remote.find(embedder) if embedder else None
        if collection is None or embedder is None or collection.generation != generation:
            return None
        ids = self._store.chunk_ids()
        if collection.count() != len(ids) or not self._is_ours(collection, ids):
            return None
        return _Synced(generation, ids, embedder[1], collection)

    def _bring(self, before: _Synced | None) -> _Synced:
        # Read first: what is saved from here on is another generation.
        generation, embedder = self._store.generation(), self._store.embedder()
        assert embedder is not None
        ids = self._store.chunk_ids()
        collection, held = self._usable(embedder, before, ids)
        collection.delete(np.setdiff1d(held, ids))
        new, rows = self._embeddings(np.setdiff1d(ids, held), embedder[1])
        collection.upsert(new, rows)
        if collection.generation != generation:
            collection.set_generation(generation)  # last: what is broken off is begun again
        held = np.union1d(np.intersect1d(held, ids), new)
        return _Synced(generation, held, embedder[1], collection)

    def _usable(
        self, embedder: tuple[str, int], before: _Synced | None, ids: Ids
    ) -> tuple[RemoteCollection, Ids]:
        """The collection and the chunks that it holds; a new one where it is of no use."""
        collection = self._remote.find(embedder)
        if collection is not None:
            held = _held(collection, before)
            if self._is_ours(collection, np.intersect1d(held, ids)):
                return collection, held
            _log.warning(
                "the vectors of the namespace %s in %s are not its store's; they are made again:"
                " a backup was brought back, or another store has the same namespace, and one of"
                " them needs another",
                self._remote.namespace,
                self._remote.name.capitalize(),
            )
            self._remote.remove(embedder)
        return self._remote.make(embedder), np.empty(0, dtype=np.int64)

    def _is_ours(self, collection: RemoteCollection, shared: Ids) -> bool:
        """Whether the newest chunks that remote and store share have the same vectors.

        After a backup was brought back, or every text was embedded by another model, the same ids
        stand for other vectors. Raises `LostError` where the remote has ids without vectors, for
        which some from all over are asked for.
        """
        if len(shared) == 0:
            return True
        newest = shared[-_COMPARED:]
        ids, rows = self._vectors(int(newest[0]) - 1)
        kept = among(newest, ids)
        spread = shared[:: len(shared) // _COMPARED + 1]
        there = collection.vectors(np.concatenate([ids[kept], spread]))
        return rows.shape[1] == there.shape[1] and np.allclose(
            there[: np.count_nonzero(kept)], rows[kept], rtol=0, atol=_ROUNDING
        )

    def _embeddings(self, ids: Ids, dimension: int) -> tuple[Ids, Vectors]:
        """Those of the chunks that are still there, and their embeddings."""
        if len(ids):
            found, rows = self._vectors(int(ids[0]) - 1)
            wanted = among(ids, found)
            if rows.shape[1] == dimension:  # else another embedder's by now: the next look sees it
                return found[wanted], rows[wanted]
        return ids[:0], np.empty((0, dimension), dtype=np.float32)


def _held(collection: RemoteCollection, before: _Synced | None) -> Ids:
    """The chunks in a collection; not asked for where nobody else has written since."""
    if (
        before is not None
        and before.collection is not None
        and before.collection.key == collection.key
        and before.generation == collection.generation
    ):
        return before.ids
    return collection.chunk_ids()


def _candidates(
    collection: RemoteCollection,
    vector: Vector,
    limit: int,
    eligible: Ids,
    only: Ids | None,
    wanted: int,
) -> tuple[Ids, Scores]:
    """The `limit` nearest of the eligible that a collection finds, and all as near as the last."""
    while True:
        found, scores = collection.nearest(vector, wanted, only, exact=len(eligible) <= _EXACT)
        # Another process may have brought, or left, chunks that this one does not know.
        known = among(eligible, found)
        ids, eligible_scores = found[known], scores[known]
        enough = len(ids) >= limit
        worst = eligible_scores[limit - 1] - _ROUNDING if enough else -np.inf
        if len(found) < wanted or (enough and scores[-1] < worst):
            near = eligible_scores >= worst
            return ids[near], eligible_scores[near]
        wanted *= 4


def _cosines(collection: RemoteCollection, vector: Vector, ids: Ids) -> Scores:
    rows = collection.vectors(ids).astype(np.float64)
    return (rows * vector).sum(axis=1).astype(np.float32)
