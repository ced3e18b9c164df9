"""Putting units together into parts within a limit, split at the best places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from clew.indexing.splitting.units import CHARACTERS_A_TOKEN, Break, Unit

CharRange = tuple[int, int]
"""First unit, and the one after the last."""
Fits = Callable[[Unit, Unit], bool]
"""Whether the text from the first unit to the last is within the limit."""


def pack(
    units: Sequence[Unit],
    limit: int,
    *,
    fits: Fits | None = None,
    overlap: float = 0.0,
    always: Break | None = None,
) -> list[CharRange]:
    """Spans that cover all units in order, each of at most `limit` tokens.

    A span ends at the strongest border that leaves it at least half full; spans are evened out,
    so that no scrap is left at the end. `overlap` (0 to 0.5) is the share of the limit by which
    a span repeats the end of the one before, in whole units and to the nearest unit. A border of
    strength `always` always ends a span. `fits` has the last word where the sum of the
    units' weights comes near the limit, since a tokenizer may see a border otherwise.
    """
    starts = [0]
    if always is not None:
        starts += [i for i in range(1, len(units)) if units[i].strength is always]
    packer = _Packer(units, limit, fits, overlap)
    return [span for a, b in pairwise([*starts, len(units)]) for span in packer.spans(a, b)]


class _Packer:
    def __init__(
        self, units: Sequence[Unit], limit: int, fits: Fits | None, overlap: float
    ) -> None:
        self._units = units
        self._limit = limit
        self._fits = fits
        self._overlap = overlap * limit
        self._totals = list(accumulate((unit.weight for unit in units), initial=0))

    def spans(self, first: int, last: int) -> list[CharRange]:
        """Spans over the units `first` to `last`."""
        found: list[CharRange] = []
        start = done = first
        while done < last:
            start, end = self._longest(start, done, last)
            if end < last:
                end = self._best_border(start, done, end, last)
            found.append((start, end))
            start, done = self._step_back(start, end), end
        return found

    def _weight(self, start: int, end: int) -> int:
        return self._totals[end] - self._totals[start]

    def _longest(self, start: int, done: int, last: int) -> CharRange:
        """The longest span that begins at `start`, later where it could not reach past `done`."""
        end = bisect_right(self._totals, self._totals[start] + self._limit) - 1
        end = min(max(end, done + 1), last)  # a unit over the limit makes a span of its own
        if not self._within(start, end):
            ends = range(done + 1, end)
            end = done + bisect_left(ends, True, key=lambda e: not self._within(start, e))
            end = max(end, done + 1)
        while not self._within(start, end):
            start += 1
        return start, end

    def _within(self, start: int, end: int) -> bool:
        """One unit is within the limit by itself; each border may shift a token or so."""
        if end - start == 1:
            return True
        weight = self._weight(start, end)
        first, last = self._units[start], self._units[end - 1]
        if self._fits is None:
            return True
        # Blank runs between units weigh nothing but have a length.
        if last.end - first.start > self._limit * CHARACTERS_A_TOKEN:
            return False
        return weight + (end - start) <= self._limit or self._fits(first, last)

    def _best_border(self, start: int, done: int, end: int, last: int) -> int:
        """The strongest border up to `end`; among equals the one that fills spans evenly."""
        remaining = self._weight(start, last)
        goal = remaining / max(2, -(-remaining // self._limit))
        half = bisect_left(self._totals, self._totals[start] + goal / 2)
        candidates = range(min(max(done + 1, half), end), end + 1)
        return max(
            candidates,
            key=lambda i: (self._units[i].strength, -abs(self._weight(start, i) - goal)),
        )

    def _step_back(self, start: int, end: int) -> int:
        """Where the span after `[start, end)` begins, so that it repeats about the overlap."""
        best, best_miss = end, self._overlap
        if end >= len(self._units) or not self._overlap:
            return end
        needed = min(self._units[end].strength, Break.SENTENCE)
        for i in range(end - 1, start, -1):
            weight = self._weight(i, end)
            too_much = weight + self._units[end].weight > self._limit
            if too_much or self._units[i + 1].strength >= Break.HEADING:
                break
            if weight - self._overlap >= best_miss:
                break
            miss = abs(weight - self._overlap)
            if self._units[i].strength >= needed and miss < best_miss:
                best, best_miss = i, miss
        return best
