"""Dates in a text: periods, months and days without a year ("May", "7 May"), and ranges of them.

"Between May and July 2023" is one range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from clew.errors import InputError
from clew.times.names import (
    DAY,
    MONTH,
    Days,
    FoundPeriod,
    calendar_unit,
    date_period,
    find_names,
    find_recent,
    find_relative,
    month_number,
    months_from,
    one_day,
)
from clew.times.years import YEAR, years
from clew.types import Period

_YEARLESS = re.compile(
    rf"(?<!\w)(?:(?P<before>{DAY})(?: of)? )?(?P<month>{MONTH})\b\.?(?: (?P<after>{DAY})(?!\w))?",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:[a-z,] [A-Z]\w*|,| up to| versus| vs\.?) $")
_LONGEST_WORD = 40
_MOST_YEARS_APART = 8
"""Years from one 29 February to the next, at most."""
_JOINED = re.compile(
    r"(?P<to> ?[-–—] ?| to | until | till | through )(?:the )?|,? (?:and|or) (?:the )?",
    re.IGNORECASE,
)
_YEARS = re.compile(r"(?:the )?(?:\d{4}s?|\d+\w\w[ -]century)", re.IGNORECASE)


def find_periods(text: str, now: datetime) -> list[FoundPeriod]:
    """Every period that the text names, in order; the longest words win, and none overlap.

    Dates in all forms that `read_period` knows, in UTC; and words that mean a time by `now`, an
    aware time in the zone in which days begin ("yesterday", "last May", "three weeks ago", "the
    past two months", "in 3 days", "recently"), their periods in UTC, too.
    """
    found = [*find_relative(text, now), *find_recent(text, now)]
    no_years = {
        year.start
        for year in years(text)
        # A question means a year where a text would not: "the Oscar 1994", "pumps, 2020".
        if not year.is_year
        and not (
            year.reason == "alone" and _ASKED.search(text, max(0, year.start - 40), year.start)
        )
    }
    for start, end, period in find_names(text):
        if not (YEAR.fullmatch(text, start, end) and start in no_years):
            found.append(FoundPeriod(start, end, period, relative=False))
    found.sort(key=lambda f: (f.start - f.end, f.relative, f.start))
    kept: list[FoundPeriod] = []
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda f: f.start)


@dataclass(frozen=True, slots=True)
class YearlessDate:
    """A month, or a day of one, whose year the text leaves out."""

    start: int
    """Character range of its words."""
    end: int
    month: int
    day: int | None

    def latest(self, today: date) -> Period | None:
        """The latest that begins no later than `today`."""
        years = range(today.year, max(0, today.year - _MOST_YEARS_APART - 1), -1)
        return next((p for p in self._in(years) if p.start and p.start.date() <= today), None)

    def following(self, first: date) -> Period | None:
        """The earliest that begins on `first` or later."""
        years = range(first.year, min(9998, first.year + _MOST_YEARS_APART) + 1)
        return next((p for p in self._in(years) if p.start and p.start.date() >= first), None)

    def _in(self, years: Iterable[int]) -> Iterator[Period]:
        for year in years:
            try:
                days = one_day(date(year, self.month, self.day)) if self.day else None
            except ValueError:  # 29 February, or a day that no year has
                continue
            yield date_period(*(days or months_from(year, self.month, 1)))


def find_yearless(text: str) -> Iterator[YearlessDate]:
    """Words that may be a month or a day of one; "may" and "march" are, too, and small letters."""
    for match in _YEARLESS.finditer(text):
        day = match["before"] or match["after"]
        yield YearlessDate(
            start=match.start(),
            end=match.end(),
            month=month_number(match["month"]),
            day=int(day.rstrip("stndrhSTNDRH")) if day else None,
        )


_Date = FoundPeriod | YearlessDate


@dataclass(frozen=True, slots=True)
class FoundRange:
    """A date, or dates with "to", "and" or "or" between them."""

    start: int
    """Character range of its words."""
    end: int
    period: Period
    """From the start of the first to the end of the last."""
    dates: int
    """How many dates it is made of."""
    has_year: bool
    """False for "May" or "7 May": by their words alone they might be something else."""
    is_sure: bool
    """Whether it means a time and no name: more than years, decades or centuries alone."""


def find_ranges(text: str, now: datetime, newest: datetime | None = None) -> Iterator[FoundRange]:
    """Every date and range of dates, in order, none overlapping; `now` as for `find_periods`.

    A month or day without a year takes it from the dates that it is joined to; alone it is the
    latest that has begun at `newest`, or else now.
    """
    for group in _groups(text, now):
        periods = list(_periods(group, (newest or now).date()))
        if periods:
            joins = (_JOINED.fullmatch(text, a.end, b.start) for a, b in pairwise(group))
            are_years = all(_YEARS.fullmatch(text, one.start, one.end) for one in group)
            yield FoundRange(
                start=group[0].start,
                end=group[-1].end,
                period=reduce(hull, periods),
                dates=len(group),
                has_year=any(isinstance(one, FoundPeriod) for one in group),
                is_sure=not are_years or any(join and join["to"] for join in joins),
            )


def find_dates(text: str, now: datetime, newest: datetime | None = None) -> list[Period]:
    """Every single date as `find_ranges` reads it, those joined to a range by themselves."""
    today = (newest or now).date()
    return [period for group in _groups(text, now) for period in _periods(group, today)]


def hull(one: Period, other: Period) -> Period:
    """The shortest period that holds both."""
    starts = (one.start, other.start)
    ends = (one.end, other.end)
    return Period(
        start=None if None in starts else min(time for time in starts if time),
        end=None if None in ends else max(time for time in ends if time),
    )


def _groups(text: str, now: datetime) -> list[list[_Date]]:
    found = find_periods(text, now)
    yearless = [
        y
        for y in find_yearless(text)
        if not any((y.start < f.end and f.start < y.end) for f in found)
    ]
    groups: list[list[_Date]] = []
    dates: list[_Date] = [*found, *yearless]
    for one in sorted(dates, key=lambda one: one.start):
        if groups and _JOINED.fullmatch(text, groups[-1][-1].end, one.start):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _periods(group: Sequence[_Date], today: date) -> Iterator[Period]:
    # The date by which the others find their year: the first that has one, else the last.
    dated = next((one for one in group if isinstance(one, FoundPeriod)), None)
    last = group[-1]
    year = dated.period if dated else last.latest(today) if isinstance(last, YearlessDate) else None
    for one in group:
        if isinstance(one, FoundPeriod):
            yield one.period
        elif year is not None and year.start is not None:
            near = one.latest if one.start <= (dated or last).start else one.following
            if placed := near(year.start.date()):
                yield placed


# Ranges of time as assistants name them, by the calendar and in the user's zone.


UNITS = ("week", "month", "year")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_STEPS = {"this": 0, "last": -1, "next": 1}
KNOWN = (*_DAYS, *(f"{which} {unit}" for unit in UNITS for which in _STEPS))
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
    if key in _DAYS:
        return _days(*one_day(today + timedelta(days=_DAYS[key])), now)
    if key in KNOWN:
        which, unit = key.split()
        return _days(*calendar_unit(unit, _STEPS[which], today), now)
    if found := _DATES.fullmatch(key):
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


def _stated(text: str) -> Days:
    """The days of a year, a month or a day. Raises `ValueError` for what is none."""
    if len(text) > 7:
        return one_day(date.fromisoformat(text))
    first = date.fromisoformat(f"{text}-01-01"[:10])
    return months_from(first.year, first.month, 1 if len(text) == 7 else 12)


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
