"""Years, decades and dates, as English, ISO and East Asian texts write them.

Dates that a dated text names by its own date, too: "yesterday" in a message of 8 May 2023.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from clew.indexing.ner.spans import NameSpan
from clew.times import find_relative, name_of
from clew.times.names import DAY, MONTH
from clew.times.ranges import (
    FIRST_FUTURE,
    NO_YEAR_AFTER,
    NO_YEAR_BEFORE,
    YEAR,
    is_counted,
    is_numbered,
)

_BEFORE = re.compile(rf"(?<!\w)(?:(?:{DAY}(?: of)? )?(?:{MONTH})\.?,? ?|(?:{MONTH})\.? {DAY},? )$")
_AFTER = re.compile(
    r"s(?!\w)|-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?: ?[年년](?: ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?)?)"
)
_TIMESTAMP = re.compile(r"[T_]\d\d:?\d\d|[ ]\d\d:\d\d:\d\d")
"""What follows the date of a moment that a program wrote."""
_COUNTED_BEFORE = re.compile(
    r"(?:\b(?:[A-Z]{2,6}|Box|Room|Suite|No\.|[Tt]han|[Oo]ver|[Aa]bout|[Nn]early|[Ll]east|[Mm]ost"
    r"|[Aa]lmost|approximately|roughly|exactly|only|some|pages?|pp?\.|issues?|line|port) |#|\[)$"
)
_WITH_YEARS = re.compile(
    r"(?:\b(?:in|of|the|since|by|from|until|till|to|between|before|after|during|around|circa|ca?\."
    r"|early|late|mid|year|and|or|for|on|anno|AD|summer|spring|winter|fall|autumn) |[(–-])$",
    re.IGNORECASE,
)
_COUNTED_AFTER = re.compile(r" [a-z]{3,20}s\b")
_FIRST_USUAL = "1500"
"""Years before it are rarely told without a word that says so."""
_LONGEST_CUE = 15
_LONGEST_BEFORE = 20
"""Characters of "30th of September, "."""


def find_dates(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Dates of `text[start:end]` as written, each full date followed by its year as its own name.

    "7 May 2023", "May 7, 2023", "2023-05-07", "May 2023", "the 1990s", "2008年8月8日", "1990".
    """
    # A year first (a cheap scan), then what stands around it: most text holds no digits at all.
    for match in YEAR.finditer(text, start, end):
        yield from _around(text, match.start(), match.end(), start, end)


def _around(text: str, left: int, right: int, start: int, end: int) -> Iterator[NameSpan]:
    if text[left:right] >= FIRST_FUTURE:
        return
    if NO_YEAR_BEFORE.search(text, max(start, left - 2), left):
        return
    before = _BEFORE.search(text, max(start, left - _LONGEST_BEFORE), left)
    after = _AFTER.match(text, right, end)
    if after is None and before is None and not _is_year(text, left, right, start, end):
        return
    first = before.start() if before else left
    last = after.end() if after else right
    if _TIMESTAMP.match(text, last, end):
        return
    yield NameSpan(first, last, text[first:last], "date")
    is_decade = after is not None and after.group() == "s"
    if (first, last) != (left, right) and not is_decade:
        yield NameSpan(left, right, text[left:right], "date", nested=True)


def _is_year(text: str, left: int, right: int, start: int, end: int) -> bool:
    """Whether four digits alone are a year and no amount, number or address."""
    if NO_YEAR_AFTER.match(text, right, end) or is_counted(text, left, right):
        return False
    if is_numbered(text, left):
        return False
    cue = max(start, left - _LONGEST_CUE)
    if _WITH_YEARS.search(text, cue, left):
        return True
    counted = _COUNTED_BEFORE.search(text, cue, left) or _COUNTED_AFTER.match(text, right, end)
    return not counted and text[left:right] >= _FIRST_USUAL


def find_relative_dates(text: str, start: int, end: int, written: datetime) -> Iterator[NameSpan]:
    """Relative dates of `text[start:end]` under the names that the same dates have in full.

    "yesterday" is "7 May 2023" in a text `written` on 8 May 2023, "last month" is "April 2023",
    "last week" is "week of 1 May 2023"; each is followed by its year as its own name. Days are
    those of `written`, which is in UTC. What is no day, week, weekend, month, season, quarter or
    year of the calendar ("the past ten days") has no such name and is left out.
    """
    for found in find_relative(text, written, start, end):
        name = name_of(found.period)
        if name is None or found.period.start is None or _is_vague(text[found.start :][:7]):
            continue
        yield NameSpan(found.start, found.end, name, "date")
        year = str(found.period.start.year)
        if name != year:
            yield NameSpan(found.start, found.end, year, "date", nested=True)


def _is_vague(text: str) -> bool:
    """Whether a text begins with "today's", which mostly means nowadays."""
    return text.casefold().replace("’", "'") == "today's"
