"""What a place that keeps a copy of a store's embeddings must do: on a server, or in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clew.errors import StoreError
from clew.stores.vectors.rows import best_first

if TYPE_CHECKING:
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

    def count(self, embedder: tuple[str, int]) -> int:
        """Vectors that are there for an embedder, given as (name, dimension); changes nothing."""
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
