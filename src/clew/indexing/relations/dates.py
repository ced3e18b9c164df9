"""Years, decades and dates, as English, ISO and East Asian texts write them.

Dates that a dated text names by its own date, too: "yesterday" in a message of 8 May 2023.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from clew.indexing.ner.spans import NameSpan
from clew.times import find_relative, name_of
from clew.times.names import name_around
from clew.times.years import years


def find_dates(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Dates of `text[start:end]` as written, each full date followed by its year as its own name.

    "7 May 2023", "May 7, 2023", "2023-05-07", "May 2023", "the 1990s", "2008年8月8日", "1990".
    """
    # A year first (a cheap scan), then what stands around it: most text holds no digits at all.
    for verdict in years(text, start, end):
        left, right = verdict.start, verdict.end
        whole = name_around(text, left, right, start, end)
        if whole is None and not verdict.is_year:
            continue
        first, last = whole[:2] if whole else (left, right)
        if text.startswith(("the ", "The "), first):
            first += len("the ")
        yield NameSpan(first, last, text[first:last], "date")
        if whole and name_of(whole[2]) is not None:
            yield NameSpan(left, right, text[left:right], "date", nested=True)


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
