"""The nearest of a collection in Chroma, as exact as HNSW lets them be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from chromadb.api import ServerAPI

    from clew.stores.chroma_collection import KeptCollection
    from clew.types import Ids, Scores, Vector

# Up to here, reading vectors and comparing them takes less than a filtered search, which gets
# slower with the collection.
_FEW = 256
# Up to here, all records are asked for, so that it shows where HNSW does not reach one.
_SMALL = 1000
_SPARE = 16
# Chroma's distances are float32: scores this near to each other are computed again in float64, so
# that order and ties are exact.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class CollectionSearch:
    """Searching one collection."""

    client: ServerAPI
    collection: KeptCollection
    ids: Ids
    """(n,) sorted chunks that are known to be in it."""

    def nearest(self, vector: Vector, limit: int, eligible: Ids) -> tuple[Ids, Scores]:
        """The nearest of the eligible, best first, with their cosines; ties to the smaller id.

        `eligible` are among `ids`, sorted. The best may be missing some where `ids` are more than
        1,000 and `eligible` more than 256.
        """
        if len(eligible) <= _FEW:
            return _best(eligible, self._cosines(vector, eligible), limit)
        ids, scores, whole = self._candidates(vector, limit, eligible)
        if not whole:  # HNSW does not reach every record
            return _best(eligible, self._cosines(vector, eligible), limit)
        near = np.diff(scores) > -_ROUNDING
        if near.any():
            close = np.append(near, False) | np.append(False, near)
            scores[close] = self._cosines(vector, ids[close])
        return _best(ids, scores, limit)

    def _candidates(self, vector: Vector, limit: int, eligible: Ids) -> tuple[Ids, Scores, bool]:
        """The `limit` nearest and all as near as the last of them; whether there are enough."""
        only = eligible if len(eligible) < len(self.ids) else None
        small = len(self.ids) <= _SMALL
        needed = len(eligible) if small else min(limit, len(eligible))
        wanted = needed + _SPARE
        while True:
            found, scores = self.collection.nearest(self.client, vector, wanted, only)
            # Another process may have brought, or left, chunks that this one does not know.
            known = np.isin(found, eligible)
            ids, scores = found[known], scores[known]
            worst = scores[limit - 1] - _ROUNDING if len(ids) >= limit else -np.inf
            if len(found) < wanted or (len(ids) >= limit and scores[-1] < worst):
                near = scores >= worst
                return ids[near], scores[near], len(ids) >= needed
            wanted *= 4

    def _cosines(self, vector: Vector, ids: Ids) -> Scores:
        rows = self.collection.vectors(self.client, ids).astype(np.float64)
        return (rows * vector).sum(axis=1).astype(np.float32)


def _best(ids: Ids, scores: Scores, limit: int) -> tuple[Ids, Scores]:
    """The best, best first; ties go to the smaller id."""
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], np.clip(scores[order], -1.0, 1.0)
