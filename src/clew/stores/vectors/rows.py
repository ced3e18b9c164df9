"""The rows of a matrix at one generation of its store, and the nearest among them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.derived_files.mapped import MappedArrays
from clew.errors import StoreError
from clew.stores.vectors.codes import Codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Ids, Scores, Vector, Vectors

_FEW = 4  # times as long as in their order takes it to read rows one by one
# Products of a matrix in float32 differ in the last bits with a row's position: rows this near to
# the worst one kept are compared again, in float64, so that order and ties are exact.
_ROUNDING = 1e-4
_BLOCK, _SHARED = 1_000, 100_000
"""Rows that one thread multiplies at a time, and from how many on all threads do so together."""
_CANDIDATES = 4, 100
"""So many times the rows that are wanted, and so many more, are chosen by their codes: among these
were all of the nearest 100 of 27,000 texts (docs/scale.md)."""


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """The matrix at one generation; replaced whole, so that searches need no lock."""

    generation: int
    base: Vectors
    """(b, dim), usually mapped from a file."""
    tail: Vectors
    """(t, dim), saved since."""
    ids: Ids
    """(b + t,) ids of the rows of both, sorted."""
    alive: NDArray[np.bool_]
    """(b + t,) False where the chunk was deleted."""
    file: MappedArrays | None = None
    """What `base` is mapped from."""
    codes: Codes | None = None
    """Of the rows of `base`."""

    def is_sound(self) -> bool:
        """Whether the file is as it was written; waits until all of it has been read."""
        return self.file is None or self.file.is_sound()

    def rows(self, positions: NDArray[np.intp]) -> Vectors:
        """(len(positions), dim) rows of base and tail together."""
        size = len(self.base)
        found = np.empty((len(positions), self.base.shape[1]), dtype=np.float32)
        low = positions < size
        found[low] = self.base[positions[low]]
        found[~low] = self.tail[positions[~low] - size]
        return found

    def scores(self, vector: Vector, positions: NDArray[np.intp]) -> Scores:
        """(len(positions),) cosines, rounded; of few rows without reading all others."""
        if len(positions) * _FEW < len(self.ids):
            return _products(self.rows(positions), vector)
        return np.concatenate([_products(part, vector) for part in (self.base, self.tail)])[
            positions
        ]

    def candidates(
        self, vector: Vector, eligible: NDArray[np.intp], limit: int
    ) -> NDArray[np.intp]:
        """Those of the eligible positions among which are the `limit` nearest.

        Where there are codes, one of the nearest may be missing once in a thousand times.
        """
        wanted = _CANDIDATES[0] * limit + _CANDIDATES[1]
        if self.codes is not None and len(eligible) > _FEW * wanted:
            found = self._by_codes(self.codes, vector, eligible, wanted)
            if len(found) and not self._ends_with_equals(found, vector, limit):
                return found
        scores = self.scores(vector, eligible)
        worst = np.partition(scores, -limit)[-limit]
        return eligible[scores >= worst - _ROUNDING]

    def _by_codes(
        self, codes: Codes, vector: Vector, eligible: NDArray[np.intp], wanted: int
    ) -> NDArray[np.intp]:
        """About the nearest rows of `base`, and all of the tail, which has no codes.

        None where another version of turbovec wrote the codes.
        """
        size = len(self.base)
        mask = np.zeros(size, dtype=np.bool_)
        mask[eligible[eligible < size]] = True
        with suppress(ValueError):
            found = codes.nearest(vector, wanted, mask)
            return np.concatenate([found, eligible[eligible >= size]])
        return eligible[:0]

    def _ends_with_equals(self, found: NDArray[np.intp], vector: Vector, limit: int) -> bool:
        """Whether rows that were not found may be as near as the last one wanted.

        So it is where a text is there hundreds of times.
        """
        scores = self.rows(found) @ vector
        return bool(np.partition(scores, -limit)[-limit] <= scores.min() + _ROUNDING)


def _products(rows: Vectors, vector: Vector) -> Scores:
    """(n,) of each row with the vector.

    A block at a time, unless they are very many: BLAS would share a larger product among threads,
    which go on spinning for a tenth of a second, beside whatever comes next.
    """
    block = _BLOCK if len(rows) < _SHARED else len(rows)
    found = [rows[start : start + block] @ vector for start in range(0, len(rows), block or 1)]
    return np.concatenate([*found, np.empty(0, np.float32)])


def nearest_rows(
    state: MatrixRows, vector: Vector, eligible: NDArray[np.intp], limit: int
) -> tuple[Ids, Scores]:
    """Ids of the best eligible rows and their exact scores; ties go to the smaller id."""
    if len(eligible) > limit:
        eligible = state.candidates(vector, eligible, limit)
    rows = state.rows(eligible).astype(np.float64)
    exact = (rows * vector).sum(axis=1).astype(np.float32)
    return best_first(state.ids[eligible], exact, limit)


def no_rows() -> MatrixRows:
    """The matrix of a store that was never read."""
    empty = np.empty((0, 0), dtype=np.float32)
    return MatrixRows(-1, empty, empty, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def mapped_rows(path: Path, generation: int) -> MatrixRows | None:
    """The rows in a file; None where it cannot be read, since it can be made again."""
    try:
        file = MappedArrays(path)
        ids, vectors = np.array(file.arrays["ids"]), file.arrays["vectors"]
    except (OSError, ValueError, KeyError):
        return None
    codes = Codes(file.arrays["codes"]) if "codes" in file.arrays else None
    alive = np.ones(len(ids), dtype=np.bool_)
    return MatrixRows(generation, vectors, vectors[:0], ids, alive, file, codes)


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
