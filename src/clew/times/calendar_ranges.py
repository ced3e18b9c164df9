"""Ranges of time as assistants name them, by the calendar and in the user's zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from clew.errors import InputError

UNITS = ("week", "month", "year")
KNOWN = (
    "today",
    "yesterday",
    "tomorrow",
    *(f"{which} {unit}" for unit in UNITS for which in ("this", "last", "next")),
)
_NEXT = {"this": 0, "last": -1, "next": 1}
_DATE = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_DATES = re.compile(rf"({_DATE})(?:(?:\s*(?:\.\.|/|,|–)\s*|\s+(?:to|until|and)\s+)({_DATE}))?")

_AROUND = timedelta(days=7)


class Range(NamedTuple):
    """From the first moment to the first one after it, in the user's zone."""

    start: datetime
    end: datetime


def read_range(text: str, now: datetime, also: Sequence[str] = ()) -> Range:
    """What a range means at a moment. Raises `InputError` that lists the known ones.

    `also` are further ones that the caller knows.

    A week begins on Monday. Of two dates both are included; a month or a year is all its days.
    """
    key = " ".join(text.casefold().replace("_", " ").split())
    today = now.date()
    if key in ("today", "yesterday", "tomorrow"):
        day = today + timedelta(days={"today": 0, "yesterday": -1, "tomorrow": 1}[key])
        return _days(day, day + timedelta(days=1), now)
    if key in KNOWN:
        which, unit = key.split()
        return _days(*_unit(unit, today, _NEXT[which]), now)
    found = _DATES.fullmatch(key)
    if found:
        try:
            first, last = _stated(found[1]), _stated(found[2] or found[1])
            # Who asks may look some days around, and the calendar has ends.
            if first[0] - _AROUND < last[1] - _AROUND < last[1] + _AROUND:
                return _days(first[0], last[1], now)
        except (ValueError, OverflowError):
            pass
    raise InputError(
        f"the range {text[:80]!r} is not known; expected {', '.join((*also, *KNOWN))}, or one or"
        " two dates such as 2024, 2024-03, 2024-03-01 or 2024-03-01..2024-03-31"
    )


def _unit(unit: str, today: date, step: int) -> tuple[date, date]:
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(weeks=1)
    if unit == "month":
        return _month(today.year, today.month + step)
    return date(today.year + step, 1, 1), date(today.year + step + 1, 1, 1)


def _month(year: int, month: int) -> tuple[date, date]:
    """The first day of a month and of the next; month 0 is December of the year before."""
    first, after = (divmod(year * 12 + month - 1 + more, 12) for more in (0, 1))
    return date(first[0], first[1] + 1, 1), date(after[0], after[1] + 1, 1)


def _stated(text: str) -> tuple[date, date]:
    if len(text) == 4:
        return date(int(text), 1, 1), date(int(text) + 1, 1, 1)
    if len(text) == 7:
        return _month(int(text[:4]), date.fromisoformat(f"{text}-01").month)
    day = date.fromisoformat(text)
    return day, day + timedelta(days=1)


def _days(first: date, after: date, now: datetime) -> Range:
    return Range(*(datetime(d.year, d.month, d.day, tzinfo=now.tzinfo) for d in (first, after)))


def shown(found: Range, now: datetime) -> dict[str, str]:
    """A range as results say it."""
    zone = now.tzinfo
    return {
        "from": found.start.isoformat(),
        "until": found.end.isoformat(),
        "zone": zone.key if isinstance(zone, ZoneInfo) else str(zone),
    }


def ago(moment: datetime, now: datetime) -> str:
    """How long ago something was, or how far ahead it is: "3 days ago", "in 2 hours"."""
    seconds = abs((now - moment).total_seconds())
    for unit, length in (("year", 31_557_600), ("month", 2_629_800), ("week", 604_800),
                         ("day", 86_400), ("hour", 3_600), ("minute", 60)):  # fmt: skip
        count = int(seconds // length)
        if count:
            words = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{words} ago" if moment < now else f"in {words}"
    return "now"
