"""Every period that a text names, by its date or by the day on which it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from clew.times.names import find_names
from clew.times.phrases import FoundPeriod, find_recent, find_relative

YEAR = re.compile(r"[12]\d{3}(?!\d)")
"""Four digits that may be a year."""
NO_YEAR_BEFORE = re.compile(r"(?:[A-Za-z\d$€£¥#/]|\d[.,:])$")
"""What stands right before four digits that are no year."""
NO_YEAR_AFTER = re.compile(
    r"[%°A-Za-z]|[.,]\d"
    r"| ?(?:km|mi|miles?|m|ft|feet|met(?:re|er)s?|kg|[MGk]?W|MHz|hp|acres|ha|hectares|people"
    r"|inhabitants|residents|families|households|students|members|seats|votes|copies|men|soldiers"
    r"|employees|points|runs|times|words|tons|tonnes|dollars|euros)\b"
)
"""What stands right after four digits that are a quantity."""
FIRST_FUTURE = "2100"
"""Numbers from here on are rarely years."""


def find_periods(text: str, now: datetime) -> list[FoundPeriod]:
    """Every period that the text names, in order; the longest words win, and none overlap.

    Dates in all forms that `read_period` knows, in UTC; and words that mean a time by `now`, an
    aware time in the zone in which days begin ("yesterday", "last May", "three weeks ago", "the
    past two months", "in 3 days", "recently"), their periods in UTC, too.
    """
    found = [*_dates(text), *find_relative(text, now), *find_recent(text, now)]
    found.sort(key=lambda f: (f.start - f.end, f.relative, f.start))
    kept: list[FoundPeriod] = []
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda f: f.start)


def _dates(text: str) -> Iterator[FoundPeriod]:
    for start, end, period in find_names(text):
        if not YEAR.fullmatch(text, start, end) or _is_year(text, start, end):
            yield FoundPeriod(start, end, period, relative=False)


def _is_year(text: str, start: int, end: int) -> bool:
    return (
        text[start:end] < FIRST_FUTURE
        and not NO_YEAR_BEFORE.search(text, max(0, start - 2), start)
        and not NO_YEAR_AFTER.match(text, end)
    )
