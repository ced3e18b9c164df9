"""Bringing a store's embeddings to Qdrant, and keeping up with it.

Each process remembers which chunks it knows to be in Qdrant. Where the store has changed since, it
sends the difference; where another process was there meanwhile, it asks which points there are.
Points are written and deleted by ids that are never used again: all of it may be done twice, broken
off and begun again, and by several processes at once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import EmbeddingSource
from clew.stores.qdrant_collections import collection_name, ensure_collection
from clew.stores.qdrant_points import NamespacePoints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import PassageRow
    from clew.stores.qdrant_connection import QdrantConnection
    from clew.types import Ids, Vector

_ROUNDS = 3
_COMPARED = 32
_EQUAL = 1e-6

_log = logging.getLogger("clew")


@dataclass(frozen=True, slots=True)
class Synced:
    """What is in Qdrant of one generation of the store; replaced whole, so that none waits."""

    generation: int
    ids: Ids
    """(n,) chunks, sorted."""
    dimension: int
    points: NamespacePoints
    alone: bool
    """Whether the collection is known to hold nothing else."""


class QdrantSync:
    """What a process knows of a namespace's points; threads may share one."""

    def __init__(
        self, store: EmbeddingSource, connection: QdrantConnection, namespace: str
    ) -> None:
        """Nothing is sent before `current` is called."""
        self._store = store
        self._connection = connection
        self._namespace = namespace
        self._lock = threading.Lock()
        self._synced: Synced | None = None

    def current(self) -> Synced:
        """What is in Qdrant, once it is what the store holds; one read where nothing changed."""
        synced = self._synced
        if synced is not None and synced.generation == self._store.generation():
            return synced
        with self._lock:
            synced = self._synced or self._synchronised(None)
            # Again where more was saved meanwhile: another process that was faster to bring it here
            # would not look again at what this one may have deleted. Not for ever, though.
            for _ in range(_ROUNDS):
                if synced.generation == self._store.generation():
                    break
                synced = self._synchronised(synced)
            self._synced = synced
            return synced

    def forget(self) -> None:
        """Ask Qdrant anew what it holds, next time."""
        with self._lock:
            self._synced = None

    def points(self, embedder: tuple[str, int]) -> NamespacePoints:
        """The namespace's points in the collection of an embedder, given as (name, dimension)."""
        return NamespacePoints(self._connection, self._namespace, collection_name(embedder))

    def _synchronised(self, before: Synced | None) -> Synced:
        """Bring to Qdrant what it lacks, and delete there what the store no longer holds."""
        # Read first: whatever is saved from here on is of another generation.
        generation, embedder = self._store.generation(), self._store.embedder()
        points = self.points(embedder or ("", 0))
        if embedder is None:
            return Synced(generation, np.empty(0, dtype=np.int64), 0, points, False)
        ids = self._store.chunk_ids()
        ensure_collection(self._connection, points.collection, embedder[1])
        there = points.generation()
        held = self._held(points, before, there, generation, ids)
        points.delete(np.setdiff1d(held, ids))
        points.upsert(self._rows_of(np.setdiff1d(ids, held), embedder[1]))
        if there != generation or not np.array_equal(held, ids):
            points.set_generation(generation)  # last: what is broken off is begun again
        alone = self._connection.local and points.are_alone(len(ids))
        return Synced(generation, ids, embedder[1], points, alone)

    def _held(
        self,
        points: NamespacePoints,
        before: Synced | None,
        there: int | None,
        generation: int,
        ids: Ids,
    ) -> Ids:
        """Chunks (sorted) whose points are in Qdrant, as the store holds them.

        `there` is the generation that Qdrant holds, `generation` and `ids` are the store's.
        """
        if there is None:
            points.delete_elsewhere()
        if before and there == before.generation and points.collection == before.points.collection:
            held = before.ids
        elif there == generation and points.count() == len(ids):
            held = ids
        else:
            held = points.chunk_ids()
        if self._are_ours(points, np.intersect1d(held, ids)):
            return held
        _log.warning(
            "the points of the namespace %s in Qdrant are not its store's; they are made again."
            " After a backup was brought back this is as it should be; else another store has the"
            " same namespace, and one of them needs another",
            self._namespace,
        )
        points.delete_all()
        return held[:0]

    def _are_ours(self, points: NamespacePoints, shared: Ids) -> bool:
        """Whether the newest chunks that Qdrant and the store share have the same vectors.

        After a backup was brought back, the same ids may stand for other chunks.
        """
        if len(shared) == 0:
            return True
        newest = shared[-_COMPARED:]
        ids, rows = self._store.embeddings(after=int(newest[0]) - 1)
        kept = among(newest, ids)
        there = points.vectors(ids[kept])
        return all(
            chunk_id in there and np.allclose(there[chunk_id], row, rtol=0, atol=_EQUAL)
            for chunk_id, row in zip(ids[kept].tolist(), rows[kept], strict=True)
        )

    def _rows_of(self, chunk_ids: Ids, dimension: int) -> Iterator[tuple[PassageRow, Vector]]:
        """Chunks with their embeddings; those that were deleted meanwhile are left out."""
        if len(chunk_ids) == 0:
            return
        after = int(chunk_ids[0]) - 1
        ids, rows = self._store.embeddings(after=after)
        if rows.shape[1] != dimension:  # another embedder since: the next round sees to it
            return
        wanted = among(chunk_ids, ids)
        row_of = dict(zip(ids[wanted].tolist(), rows[wanted], strict=True))
        for passage in self._store.passages(after=after):
            if passage.chunk_id in row_of:
                yield passage, row_of[passage.chunk_id]


def among(known: Ids, ids: Ids) -> NDArray[np.bool_]:
    """(len(ids),) which of them are among `known`, which is sorted and not empty."""
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return known[places] == ids
