"""Date ranges as a reader writes them: `1860 to 1884`, `since May 2023`, `8 May 2023`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from dateutil.relativedelta import relativedelta

_UNITS: tuple[tuple[relativedelta, Callable[[datetime], bool], str], ...] = (
    (relativedelta(years=1), lambda m: (m.month, m.day) == (1, 1) and _midnight(m), "{m.year}"),
    (relativedelta(months=1), lambda m: m.day == 1 and _midnight(m), "{m:%B} {m.year}"),
    (relativedelta(days=1), lambda m: _midnight(m), "{m.day} {m:%B} {m.year}"),
)
"""Calendar units, longest first: length, whether a moment begins one, how one is written."""
_INSTANT = timedelta(microseconds=1)


def date_range(start: datetime | None, end: datetime | None) -> str:
    """The half-open range `[start, end)`, in UTC, in the longest units that hold it exactly.

    The last unit named belongs to it: `1860 to 1884` ends with that year. Empty where both sides
    are open.
    """
    sides = [side for side in (start, end) if side is not None]
    for unit, begins, form in _UNITS:
        if all(begins(side) for side in sides):
            first = "" if start is None else form.format(m=start)
            last = "" if end is None else form.format(m=end - unit)
            return _joined(first, last)
    first = "" if start is None else moment(start)
    last = "" if end is None else moment(end - _INSTANT)
    return _joined(first, last)


def moment(when: datetime) -> str:
    """A moment to the minute; the last one of a day is written as the day."""
    day = f"{when.day} {when:%B} {when.year}"
    return day if _midnight(when + _INSTANT) else f"{day}, {when:%H:%M}"


def _joined(first: str, last: str) -> str:
    if first and last:
        return first if first == last else f"{first} to {last}"
    if first:
        return f"since {first}"
    return f"until {last}" if last else ""


def _midnight(when: datetime) -> bool:
    return when == when.replace(hour=0, minute=0, second=0, microsecond=0)
