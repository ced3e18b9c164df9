"""Columns and rows of integers that lie in two layers, looked at as if they were one.

They stand in for arrays and `Adjacency` where these are looked up by row; whoever needs one array
makes it with `numpy.asarray`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.snapshot_columns import find_sorted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints
    from clew.graph.snapshot_columns import Adjacency

    Behind = Callable[[Ints], Ints]
    """Rows (n,) to their rows in what was added; below 0 where they have none there."""
    Kept = Callable[[Ints], NDArray[np.bool_]]
    """Rows (n,) to whether each still holds."""


class Computed:
    """A column of `size` numbers that are computed where they are looked at."""

    def __init__(self, of: Callable[[Ints], NDArray[Any]], size: int) -> None:
        """`of` rows (n,) the numbers (n,)."""
        self._of = of
        self._size = size
        self._looked_up: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - as numpy has it
        """At a row, at rows, at a slice, or where a mask (size,) holds."""
        rows = np.arange(self._size)[at] if isinstance(at, slice) else np.asarray(at)
        if rows.ndim == 0:
            return self._one(int(rows))
        return self._of(np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64))

    def _one(self, row: int) -> Any:  # noqa: ANN401 - as numpy has it
        """Kept, since a question looks up a few rows one by one, over and over."""
        if row not in self._looked_up:
            self._looked_up[row] = self._of(np.array([row if row >= 0 else row + self._size]))[0]
        return self._looked_up[row]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.asarray(self._of(np.arange(self._size)), dtype=dtype)


class Layered(Computed):
    """A column of a base with another behind it."""

    def __init__(self, base: NDArray[Any], added: NDArray[Any]) -> None:
        """Neither is copied."""
        super().__init__(self._look, len(base) + len(added))
        self._base, self._added = base, added

    def _look(self, rows: Ints) -> NDArray[Any]:
        later = rows >= len(self._base)
        if not later.any():
            return self._base[rows]
        found = np.empty(len(rows), dtype=np.result_type(self._base, self._added))
        found[~later] = self._base[rows[~later]]
        found[later] = self._added[rows[later] - len(self._base)]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.concatenate([self._base, self._added]).astype(dtype or None, copy=False)


class LayeredAdjacency:
    """Rows of a base, of which some items are gone, each with the items of another behind it."""

    def __init__(
        self,
        base: Adjacency,
        added: Adjacency,
        behind: Behind,
        *,
        there: Kept | None = None,
        kept: Kept | None = None,
        mixed: bool = False,
    ) -> None:
        """`kept` says which rows of the base still hold, `there` which items; without, all do.

        `mixed` says that items of both layers may lie among each other, as they are to be sorted.
        """
        self._base, self._added, self._mixed = base, added, mixed
        self._behind, self._there, self._kept = behind, there, kept
        self.items = Layered(base.items, added.items)
        """(entries,) of both; `entries` gives places in it."""

    def row(self, index: int) -> Ints:
        """The items of one row."""
        found: Ints = self.items[self.entries(np.array([index]))[0]]
        return found

    def sizes(self, rows: Ints) -> Ints:
        """See `Adjacency`; entries that are gone are counted, too."""
        counts = np.zeros(len(rows), dtype=np.int64)
        for layer, at in ((self._base, rows), (self._added, self._behind(rows))):
            there = np.flatnonzero((at >= 0) & (at < len(layer.starts) - 1))
            counts[there] += layer.sizes(at[there])
        return counts

    def entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """See `Adjacency`; entries that are gone are left out."""
        held = rows < len(self._base.starts) - 1
        if self._kept is not None:
            held &= self._kept(rows)
        inside = np.flatnonzero(held)
        old, owner = self._base.entries(rows[inside])
        owner = inside[owner]
        if self._there is not None and len(old):
            held = self._there(self._base.items[old])
            old, owner = old[held], owner[held]
        at = self._behind(rows)
        behind = np.flatnonzero(at >= 0)
        new, of = self._added.entries(at[behind])
        if not len(new):
            return old, owner
        entries = np.concatenate([old, new + len(self._base.items)])
        owners = np.concatenate([owner, behind[of]])
        if self._mixed:
            order = np.lexsort((self.items[entries], owners))
        else:
            order = np.argsort(owners, kind="stable")
        return entries[order], owners[order]


class Figure:
    """A figure of terms or entities: the base's and what was added to it, less what is gone."""

    def __init__(
        self,
        base: NDArray[Any],
        added: NDArray[Any],
        behind: Behind,
        lost: Ints,
        amounts: NDArray[Any] | None = None,
    ) -> None:
        """`lost` are rows of the base, each as often as it lost one, or the amount given."""
        self._base, self._added, self._behind = base, added, behind
        self._lost, place = np.unique(lost, return_inverse=True)
        self._amounts = np.bincount(place, amounts, len(self._lost)).astype(np.int64)

    def of(self, rows: Ints) -> Ints:
        """The figures of rows."""
        places, known = find_sorted(self._lost, rows)
        total: Ints = _at(self._base, rows) + _at(self._added, self._behind(rows))
        total[known] -= self._amounts[places[known]]
        return total


def _at(values: NDArray[Any], rows: Ints) -> Ints:
    """Values of rows; 0 for rows beyond."""
    found: Ints = np.zeros(len(rows), dtype=np.int64)
    inside = (rows >= 0) & (rows < len(values))
    found[inside] = values[rows[inside]]
    return found


def rows_behind(keys: Layered, added: NDArray[Any]) -> Behind:
    """By the keys of rows."""

    def rows_of(rows: Ints) -> Ints:
        places, known = find_sorted(added, keys[rows])
        return np.where(known, places, -1)

    return rows_of


def rows_at(places: Ints) -> Behind:
    """By where the rows of what was added stand, sorted."""

    def rows_of(rows: Ints) -> Ints:
        found, known = find_sorted(places, rows)
        return np.where(known, found, -1)

    return rows_of


def found_in(
    base: NDArray[Any], added: NDArray[Any], wanted: NDArray[Any]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Rows by key: those of the base, else those behind them."""
    places, known = find_sorted(base, wanted)
    others, new = find_sorted(added, wanted)
    return np.where(known, places, len(base) + others), known | new
