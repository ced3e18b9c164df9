"""Rows of a matrix in four bits a number, many times faster to compare than the rows: turbovec.

Codes choose candidates, which are then compared by their rows. They are kept in the matrix's file,
where that has many rows: beside it they cost an eighth of its size.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from turbovec import TurboQuantIndex

    from clew.types import Vector, Vectors

_BITS = 4
_WIDTH = 8
"""Rows have codes that have a multiple of so many numbers."""


def is_coded(shape: tuple[int, int], rows: int | None) -> bool:
    """Whether a matrix of that shape has codes, which are kept from so many `rows`."""
    return rows is not None and shape[0] >= rows and shape[1] % _WIDTH == 0


def make_codes(blocks: Iterable[Vectors], dimension: int) -> NDArray[np.uint8]:
    """The codes of rows that come in blocks, as a file keeps them."""
    from turbovec import TurboQuantIndex

    index = TurboQuantIndex(dim=dimension, bit_width=_BITS)
    for rows in blocks:
        index.add(np.ascontiguousarray(rows))
    return np.frombuffer(index.to_bytes(), dtype=np.uint8)


class Codes:
    """The codes of a file; they are read when they are first asked."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        """`data` as `make_codes` returns it."""
        self._data = data

    def nearest(self, vector: Vector, limit: int, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Positions of about the nearest rows among those of the mask, which has one value a row.

        Raises `ValueError` where another version of turbovec wrote the codes.
        """
        _, found = self._index.search(vector[np.newaxis], limit, mask=mask)
        return found[0].astype(np.intp)

    @cached_property
    def _index(self) -> TurboQuantIndex:
        from turbovec import TurboQuantIndex

        return TurboQuantIndex.from_bytes(self._data.tobytes())
