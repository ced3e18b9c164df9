"""The nearest of a remote collection, as exact as its index lets them be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import StoreError
from clew.stores.vectors.remote import among

if TYPE_CHECKING:
    from clew.stores.vectors.remote import RemoteCollection, SearchTraits
    from clew.types import Ids, Scores, Vector

# Up to here, comparing with all is asked for rather than the index.
_EXACT = 20_000
_SPARE = 16
# A remote's cosines are float32: those this near to each other are computed again in float64, so
# that order and ties are exact.
_ROUNDING = 1e-6


def check_dimension(vector: Vector, dimension: int) -> None:
    """Raise `StoreError` for a vector that is not of the store's embedder."""
    if vector.shape != (dimension,):
        raise StoreError(
            f"cannot search for a vector of shape {vector.shape!r}; expected {(dimension,)!r},"
            " from the embedder that the store was built with"
        )


def unknown_chunks(unknown: Ids) -> StoreError:
    """The error for ids of chunks that are not in the store now."""
    return StoreError(
        f"no embedding of the chunks {unknown[:5].tolist()!r}; expected ids of chunks that are in"
        " the store now: search again"
    )


def best_first(ids: Ids, scores: Scores, limit: int) -> tuple[Ids, Scores]:
    """The `limit` best with scores from -1 to 1, best first; ties go to the smaller id."""
    scores = np.clip(scores, -1.0, 1.0)
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], scores[order]


@dataclass(frozen=True, slots=True)
class NearestSearch:
    """Searching one collection."""

    collection: RemoteCollection
    traits: SearchTraits
    ids: Ids
    """(n,) sorted chunks that are known to be in it."""

    def nearest(self, vector: Vector, limit: int, eligible: Ids) -> tuple[Ids, Scores]:
        """The nearest of the eligible, best first, with their cosines; ties to the smaller id.

        `eligible` are some of `ids`, sorted; there is at least one. Some of the nearest may be
        missing where they are more than the traits call `few` and the index is approximate.
        """
        wanted = len(eligible) if self._is_small else limit
        if not self.traits.filters:  # it is read on until enough of the eligible are found
            wanted = wanted * len(self.ids) // len(eligible)
        if len(eligible) <= (self.traits.few if self.traits.filters else wanted):
            return self._compared(vector, limit, eligible)
        ids, scores, whole = self._candidates(vector, limit, eligible, wanted + _SPARE)
        if not whole:  # the index does not reach every vector
            return self._compared(vector, limit, eligible)
        near = np.diff(scores) > -_ROUNDING
        if near.any():
            close = np.append(near, False) | np.append(False, near)
            scores[close] = self._cosines(vector, ids[close])
        return best_first(ids, scores, limit)

    @property
    def _is_small(self) -> bool:
        return len(self.ids) <= self.traits.small

    def _candidates(
        self, vector: Vector, limit: int, eligible: Ids, wanted: int
    ) -> tuple[Ids, Scores, bool]:
        """The `limit` nearest and all as near as the last of them; whether there are enough."""
        only = eligible if self.traits.filters and len(eligible) < len(self.ids) else None
        needed = len(eligible) if self._is_small else min(limit, len(eligible))
        exact = len(eligible) <= _EXACT
        while True:
            found, scores = self.collection.nearest(vector, wanted, only, exact=exact)
            # Another process may have brought, or left, chunks that this one does not know.
            known = among(eligible, found)
            ids, eligible_scores = found[known], scores[known]
            enough = len(ids) >= limit
            worst = eligible_scores[limit - 1] - _ROUNDING if enough else -np.inf
            if len(found) < wanted or (enough and scores[-1] < worst):
                near = eligible_scores >= worst
                return ids[near], eligible_scores[near], len(ids) >= needed
            wanted *= 4

    def _compared(self, vector: Vector, limit: int, eligible: Ids) -> tuple[Ids, Scores]:
        return best_first(eligible, self._cosines(vector, eligible), limit)

    def _cosines(self, vector: Vector, ids: Ids) -> Scores:
        rows = self.collection.vectors(ids).astype(np.float64)
        return (rows * vector).sum(axis=1).astype(np.float32)
