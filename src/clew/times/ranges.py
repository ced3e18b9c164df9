"""Dates that belong together: "between May and July 2023" is one range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from itertools import pairwise

from clew.times.found import find_periods
from clew.times.phrases import FoundPeriod
from clew.times.yearless import YearlessDate, find_yearless
from clew.types import Period

_Date = FoundPeriod | YearlessDate

_JOINED = re.compile(
    r"(?P<to> ?[-–—] ?| to | until | till | through )(?:the )?|,? (?:and|or) (?:the )?",
    re.IGNORECASE,
)
_YEARS = re.compile(r"(?:the )?(?:\d{4}s?|\d+\w\w[ -]century)", re.IGNORECASE)


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


def find_ranges(text: str, now: datetime) -> Iterator[FoundRange]:
    """Every date and range of dates, in order, none overlapping; `now` as for `find_periods`.

    A month or day without a year takes it from the dates that it is joined to; alone it is the
    latest that has begun.
    """
    for group in _groups(text, now):
        periods = list(_periods(group, now.date()))
        if periods:
            yield FoundRange(
                start=group[0].start,
                end=group[-1].end,
                period=reduce(hull, periods),
                dates=len(group),
                has_year=any(isinstance(one, FoundPeriod) for one in group),
                is_sure=_is_sure(text, group),
            )


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
    yearless = [y for y in find_yearless(text) if not any(_overlap(y, f) for f in found)]
    groups: list[list[_Date]] = []
    dates: list[_Date] = [*found, *yearless]
    for one in sorted(dates, key=lambda one: one.start):
        if groups and _JOINED.fullmatch(text, groups[-1][-1].end, one.start):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _overlap(one: _Date, other: _Date) -> bool:
    return one.start < other.end and other.start < one.end


def _periods(group: Sequence[_Date], today: date) -> Iterator[Period]:
    anchor, year = _anchor(group, today)
    for one in group:
        if isinstance(one, FoundPeriod):
            yield one.period
        elif year is not None and year.start is not None:
            near = one.latest if one.start <= anchor.start else one.following
            placed = near(year.start.date())
            if placed is not None:
                yield placed


def _anchor(group: Sequence[_Date], today: date) -> tuple[_Date, Period | None]:
    """The date by which the others find their year: the first that has one, else the last."""
    for one in group:
        if isinstance(one, FoundPeriod):
            return one, one.period
    last = group[-1]
    assert isinstance(last, YearlessDate)
    return last, last.latest(today)


def _is_sure(text: str, group: Sequence[_Date]) -> bool:
    joins = (_JOINED.fullmatch(text, one.end, other.start) for one, other in pairwise(group))
    if any(join and join["to"] for join in joins):
        return True
    return not all(_YEARS.fullmatch(text, one.start, one.end) for one in group)
