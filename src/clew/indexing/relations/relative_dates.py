"""Dates that a dated text names by its own date: "yesterday" in a message of 8 May 2023."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from clew.indexing.ner.spans import NameSpan
from clew.times import find_relative, name_of


def find_relative_dates(text: str, start: int, end: int, written: datetime) -> Iterator[NameSpan]:
    """Relative dates of `text[start:end]` under the names that the same dates have in full.

    "yesterday" is "7 May 2023" in a text `written` on 8 May 2023, "last month" is "April 2023",
    "last week" is "week of 1 May 2023"; each is followed by its year as its own name. Days are
    those of `written`, which is in UTC. What is no day, week, weekend, month, season, quarter or
    year of the calendar ("the past ten days") has no such name and is left out.
    """
    for found in find_relative(text, written, start, end):
        name = name_of(found.period)
        if name is None or found.period.start is None:
            continue
        yield NameSpan(found.start, found.end, name, "date")
        year = str(found.period.start.year)
        if name != year:
            yield NameSpan(found.start, found.end, year, "date", nested=True)
