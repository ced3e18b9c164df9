"""Rows of a store as derived structures read them: what needs no database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Ids


def merge_mentions(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows (n, 4) of chunk, sentence, entity and count, sorted; one for each of the first three.

    Two aliases of one entity in one sentence are two rows of a store and one of the graph.
    """
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    if len(rows) == 0:
        return rows
    first = np.append(True, (rows[1:, :3] != rows[:-1, :3]).any(axis=1)).nonzero()[0]
    return np.column_stack([rows[first, :3], np.add.reduceat(rows[:, 3], first)])


def id_ranges(ids: Ids, size: int) -> Iterator[tuple[int, int]]:
    """(above, up to) of ranges that hold at most `size` of the sorted ids, all of them together."""
    for start in range(0, len(ids), size):
        batch = ids[start : start + size]
        yield int(batch[0]) - 1, int(batch[-1])
