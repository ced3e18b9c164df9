"""The vector index of a store on a server: candidates from there, exact scores from here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import StoreError
from clew.stores.vectors.matrix import VectorMatrix

if TYPE_CHECKING:
    from clew.stores.neo4j.store import Neo4jStore
    from clew.types import Ids, Scores, Vector, Vectors

SMALL = 50_000
"""Chunks below which the matrix on this machine is faster than the server's index."""
_SPARE = 100
# The last bits of a cosine differ with the order of its sum.
_EQUAL = 1e-6


class Neo4jVectors:
    """`ports.SyncedVectorIndex` and `ports.HybridIndex` over a `Neo4jStore`; threads may share one.

    Scores are exact and ties go to the smaller id, whoever finds the candidates: the matrix in
    `folder` alone where the store is small, where `allowed` is given, inside a transaction (which
    the server's index does not see) and where a tie goes on beyond the candidates.
    """

    def __init__(self, store: Neo4jStore, folder: Path, *, small: int = SMALL) -> None:
        """Nothing is read before it is needed; below `small` chunks the matrix answers alone."""
        self._store = store
        self._matrix = VectorMatrix(store, folder)
        self._small = small

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.VectorIndex`. Raises `StoreError` for a vector of another dimension."""
        with self._store.pinned_generation():
            if allowed is not None or not self._asks_server(limit):
                return self._matrix.search_vector(vector, limit, allowed)
            return self._rescored(vector, limit, self._store.nearest_chunks(vector, _wanted(limit)))

    def search_both(
        self, vector: Vector, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[tuple[Ids, Scores], tuple[Ids, Scores]]:
        """See `ports.HybridIndex`."""
        with self._store.pinned_generation():
            if allowed is not None or not terms or not self._asks_server(limit):
                by_vector = self._matrix.search_vector(vector, limit, allowed)
                return by_vector, self._store.search_keywords(terms, limit, allowed)
            (near, _), by_keyword = self._store.find_candidates(
                vector, terms, limit, nearest=_wanted(limit)
            )
            return self._rescored(vector, limit, near), by_keyword

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """See `ports.VectorIndex`."""
        return self._matrix.vectors(chunk_ids)

    def refresh(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self._matrix.refresh()

    def persist(self) -> None:
        """See `ports.SyncedVectorIndex`."""
        self._matrix.persist()

    def state(self) -> dict[str, Any]:
        """See `ports.SyncedVectorIndex`."""
        version, points, problem = "", None, ""
        try:
            version, points = self._store.server_state()
        except StoreError as error:
            problem = str(error)
        return {
            "backend": "neo4j",
            "available": True,
            "connected": not problem,
            "version": version,
            "points": points,
            "problem": problem,
        }

    def close(self) -> None:
        """See `ports.SyncedVectorIndex`; the connection is the store's."""

    def _asks_server(self, limit: int) -> bool:
        held = int(self._matrix.state()["points"])
        worth = held >= self._small and limit > 0 and _wanted(limit) < held
        return worth and not self._store.database.in_transaction

    def _rescored(self, vector: Vector, limit: int, candidates: Ids) -> tuple[Ids, Scores]:
        """The best of the candidates, by their exact scores."""
        ids, scores = self._matrix.search_vector(vector, len(candidates), candidates)
        last = scores[ids == candidates[-1:]]
        if len(ids) < limit or len(last) == 0 or scores[limit - 1] <= last[0] + _EQUAL:
            return self._matrix.search_vector(vector, limit)
        return ids[:limit], scores[:limit]


def _wanted(limit: int) -> int:
    """Candidates that hold the best ones: at 10,000 chunks of 384 dimensions, all of them."""
    return 2 * limit + _SPARE
