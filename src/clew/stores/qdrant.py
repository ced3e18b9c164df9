"""Vectors in Qdrant, on a server or in a folder: derived from the store, which stays the truth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.errors import ClewError, MissingExtraError, StoreError
from clew.stores.qdrant_connection import LostError, QdrantConnection
from clew.stores.qdrant_sync import QdrantSync, Synced, among

if TYPE_CHECKING:
    from clew.ports import EmbeddingSource
    from clew.settings import QdrantSettings
    from clew.types import Ids, Scores, Vector, Vectors

T = TypeVar("T")

_EXACT = 20_000
_SPARE = 16
_FUSED = 100
_log = logging.getLogger("clew")


class QdrantIndex:
    """`ports.SyncedVectorIndex` in Qdrant; threads may share one.

    Every namespace of a server must be one store's alone. Searching and `refresh` raise
    `StoreUnavailableError` where the server cannot be reached, `StoreBusyError` where another
    process has the folder open, `MissingExtraError` without the client, else `StoreError`.
    """

    def __init__(
        self, store: EmbeddingSource, settings: QdrantSettings, namespace: str, folder: Path
    ) -> None:
        """Nothing is opened before it is needed.

        Without `settings.url`, Qdrant is kept in `qdrant` in `folder`, the store's, or in the
        namespace's folder in `settings.path`.
        """
        self._store = store
        chosen = settings.path and settings.path.expanduser() / namespace
        self._connection = QdrantConnection(settings, chosen or folder / "qdrant")
        self._sync = QdrantSync(store, self._connection, namespace)

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension.

        Above 20,000 chunks a server searches its index, and may miss a few of the best.
        """
        return self._asked(lambda synced: self._search(synced, vector, limit, allowed))

    def search_fused(
        self, vector: Vector, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Chunks by vector and by BM25 in one request, fused by reciprocal rank; best first.

        `terms` come from `clew.text.terms`. Scores are above 0 and at most 1: the sum of
        1 / (1 + rank) over the two orders, ranks from 1. Ties go to the smaller id.
        """
        return self._asked(lambda synced: self._fused(synced, vector, terms, limit, allowed))

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """See `ports.VectorIndex`; they are the store's, bit for bit."""
        wanted = np.asarray(chunk_ids, dtype=np.int64)
        return self._asked(lambda synced: _rows(synced, wanted))

    def refresh(self) -> None:
        """See `ports.SyncedVectorIndex`; one read of the store where nothing has changed."""
        self._asked(lambda _: None)

    def persist(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self.refresh()

    def state(self) -> dict[str, Any]:
        """See `ports.SyncedVectorIndex`; ends with the first call that `qdrant.seconds` ends."""
        found: dict[str, Any] = {"backend": "qdrant", "available": True, "connected": False}
        found.update(version="", points=None, problem="")
        try:
            with self._connection.client() as client:
                found["version"] = client.info().version
            found["connected"] = True
            found["points"] = self._count()
        except ClewError as error:
            found["available"] = not isinstance(error, MissingExtraError)
            found["problem"] = str(error)
        return found

    def close(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self._connection.close()

    def _asked(self, ask: Callable[[Synced], T]) -> T:
        """What is asked of Qdrant, once it holds what the store holds."""
        try:
            return ask(self._sync.current())
        except LostError as error:
            _log.warning("%s", error)
        self._sync.forget()
        return ask(self._sync.current())

    def _count(self) -> int:
        """Points of the namespace; none where there is no collection yet."""
        embedder = self._store.embedder()
        if embedder is None:
            return 0
        points = self._sync.points(embedder)
        with self._connection.client() as client:
            if not client.collection_exists(points.collection):
                return 0
        return points.count()

    # --- searching

    def _search(
        self, synced: Synced, vector: Vector, limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores]:
        eligible = _eligible(synced, allowed)
        if len(eligible) == 0 or limit <= 0:
            return _nothing()
        _check_dimension(synced, vector)
        local = self._connection.local
        # A filter costs a local Qdrant more than reading on until enough of the allowed are found,
        # and that more than to read the allowed themselves, where they are few.
        read = limit * len(synced.ids) // len(eligible) if local else limit
        if local and allowed is not None and len(eligible) < read:
            return _best(eligible, _cosines(synced, vector, eligible), limit)
        filtered = allowed is not None and not local
        ids, scores = _read_nearest(synced, vector, limit, eligible, read + _SPARE, filtered)
        return _best(ids, scores, limit)

    def _fused(
        self,
        synced: Synced,
        vector: Vector,
        terms: Sequence[str],
        limit: int,
        allowed: Ids | None,
    ) -> tuple[Ids, Scores]:
        eligible = _eligible(synced, allowed)
        if len(eligible) == 0 or limit <= 0:
            return _nothing()
        _check_dimension(synced, vector)
        ids, scores = synced.points.fused(
            vector,
            terms,
            max(_FUSED, limit),
            None if allowed is None else eligible,
            alone=synced.alone,
            exact=len(eligible) <= _EXACT,
        )
        kept = among(eligible, ids)
        return _best(ids[kept], scores[kept], limit)


def _nothing() -> tuple[Ids, Scores]:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)


def _eligible(synced: Synced, allowed: Ids | None) -> Ids:
    """(n,) sorted chunks that may be found. What the store no longer holds is never among them."""
    return synced.ids if allowed is None else np.intersect1d(synced.ids, allowed)


def _read_nearest(
    synced: Synced, vector: Vector, limit: int, eligible: Ids, read: int, filtered: bool
) -> tuple[Ids, Scores]:
    """The `limit` nearest of the eligible, and all that are as near as the last of them."""
    while True:
        ids, scores = synced.points.nearest(
            vector,
            read,
            eligible if filtered else None,
            alone=synced.alone,
            exact=len(eligible) <= _EXACT,
        )
        kept = among(eligible, ids)
        worst = scores[kept][limit - 1] if np.count_nonzero(kept) >= limit else -2
        if len(ids) < read or scores[-1] < worst:
            kept &= scores >= worst
            return ids[kept], scores[kept]
        read *= 4


def _check_dimension(synced: Synced, vector: Vector) -> None:
    if vector.shape != (synced.dimension,):
        raise StoreError(
            f"cannot search for a vector of shape {vector.shape!r}; expected"
            f" {(synced.dimension,)!r}, from the embedder that the store was built with"
        )


def _rows(synced: Synced, wanted: Ids) -> Vectors:
    """(len(wanted), dimension) embeddings, in the order of the ids given."""
    unknown = ~np.isin(wanted, synced.ids)
    if unknown.any():
        raise StoreError(
            f"no embedding of the chunks {wanted[unknown][:5].tolist()!r}; expected ids of chunks"
            " that are in the store now: search again"
        )
    there = synced.points.vectors(np.unique(wanted))
    lost = [chunk_id for chunk_id in wanted.tolist() if chunk_id not in there]
    if lost:
        raise LostError(
            f"the collection {synced.points.collection!r} in Qdrant has lost the points of the"
            f" chunks {lost[:5]!r}; delete the collection: it is made again from the store"
        )
    rows = [there[chunk_id] for chunk_id in wanted.tolist()]
    return np.array(rows, dtype=np.float32).reshape(-1, synced.dimension)


def _cosines(synced: Synced, vector: Vector, ids: Ids) -> Scores:
    rows = _rows(synced, ids).astype(np.float64)
    return (rows * vector).sum(axis=1).astype(np.float32)


def _best(ids: Ids, scores: Scores, limit: int) -> tuple[Ids, Scores]:
    """The best, best first; ties go to the smaller id."""
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], np.clip(scores[order], -1.0, 1.0)
