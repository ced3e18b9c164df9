"""When chunks were said and the times that they speak of, as rows.

Times are whole seconds of UTC since 1970, periods half-open; what a fraction of a second touches
counts whole. An open side is the least or the greatest integer of 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from clew.times import in_utc, read_period
from clew.types import Period

LONG = 366 * 24 * 60 * 60
"""Seconds of a long period: more than this is rare, and looked up apart from the others."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_OPEN_START, _OPEN_END = -(2**63), 2**63 - 1


class TimeRow(NamedTuple):
    """A time of a chunk."""

    said: int
    """1: when it was said, 0: what it speaks of."""
    start: int
    end: int
    text: str


class DateMention(NamedTuple):
    """A date as a sentence of a chunk names it."""

    sentence: int
    start: int
    end: int
    name: str
    times: int
    """Occurrences within the sentence."""


# --- making rows -------------------------------------------------------------------------


def time_rows(said: datetime | None, dates: Sequence[DateMention]) -> list[TimeRow]:
    """The times of one chunk: when it was said, if that is known, and those that it speaks of."""
    rows: dict[tuple[int, int, int], TimeRow] = {}
    if said is not None:
        second = seconds(said)
        row = TimeRow(1, second, second + 1, said.date().isoformat())
        rows[row[:3]] = row
    for name in _names_apart(dates):
        named = _named_bounds(name)
        if named is not None:
            rows.setdefault((0, *named), TimeRow(0, *named, name))
    return list(rows.values())


@lru_cache(maxsize=65_536)
def _named_bounds(name: str) -> tuple[int, int] | None:
    period = read_period(name)
    return None if period is None else bounds(period)


def _names_apart(dates: Sequence[DateMention]) -> Iterator[str]:
    """Names of the dates, without those said as a part of another alone: the year of a day."""
    for date in dates:
        wholes = [other for other in dates if _is_part(date, other)]
        nested = any(w.start <= date.start and date.end <= w.end for w in wholes)
        if not (nested and date.times <= sum(w.times for w in wholes)):
            yield date.name


def _is_part(date: DateMention, of: DateMention) -> bool:
    return date.sentence == of.sentence and date.name != of.name and date.name in of.name


# --- seconds and moments -----------------------------------------------------------------


def seconds(moment: datetime) -> int:
    """The second that the moment lies in."""
    return (in_utc(moment) - _EPOCH) // _SECOND


def bounds(period: Period) -> tuple[int, int]:
    """The whole seconds that the period touches."""
    start = _OPEN_START if period.start is None else seconds(period.start)
    end = _OPEN_END if period.end is None else -((_EPOCH - in_utc(period.end)) // _SECOND)
    return start, end


def earliest_short(start: int) -> int:
    """When a period that is not long may have begun at the earliest, if it holds at `start`."""
    return max(start - LONG, _OPEN_START)


def moment_of(second: int) -> datetime | None:
    """The moment at which a second begins; None for an open side."""
    return None if second in (_OPEN_START, _OPEN_END) else _EPOCH + second * _SECOND


def period_of(start: int, end: int, text: str) -> Period:
    """The period of a row."""
    return Period(start=moment_of(start), end=moment_of(end), text=text)
