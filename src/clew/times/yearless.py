"""Months and days without a year: "May", "7 May", "May 7th"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from clew.times.names import DAY, MONTH, date_period, month_number, months_from, one_day
from clew.types import Period

_YEARLESS = re.compile(
    rf"(?<!\w)(?:(?P<before>{DAY})(?: of)? )?(?P<month>{MONTH})\b\.?(?: (?P<after>{DAY})(?!\w))?",
    re.IGNORECASE,
)
_MOST_YEARS_APART = 8
"""Years from one 29 February to the next, at most."""


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
