"""The date that a title, a heading or the path of a file states."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from clew.times.names import find_names
from clew.times.ranges import find_yearless
from clew.times.written import to_date
from clew.types import PartialDate, Period

_LONGEST = 300
"""Characters of a title, at most."""
_NUMERIC = re.compile(
    r"(?<!\d)(?:\d{1,2}([./-])\d{1,2}\1[12]\d{3}|[12]\d{3}([./_-])\d\d\2\d\d)(?!\d)"
)

# In a path, of a file named last and without its ending.
_FOLDERS = 3
"""Folders above a file that may say its date."""
_YEAR = r"(?P<year>19[89]\d|20\d\d)"
_MONTH = r"(?P<month>0[1-9]|1[0-2])"
_DAY = r"(?P<day>0[1-9]|[12]\d|3[01])"
_OTHER = r"(?:[-_. ].*)?"
_SPLIT = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        rf"{_YEAR}/{_MONTH}/{_DAY}{_OTHER}(?:/[^/]*)?",
        rf"{_YEAR}[-_.]{_MONTH}/{_DAY}{_OTHER}",
        rf"{_YEAR}/{_MONTH}[-_.]{_DAY}{_OTHER}(?:/[^/]*)?",
        rf"{_YEAR}/{_MONTH}(?:/[^/]*)?",
    )
)
"""Dates that folders and a file state together."""
_COMPACT = re.compile(rf"(?<!\d){_YEAR}(?P<mark>[-_.]?){_MONTH}(?P=mark){_DAY}(?!\d)")
_YEAR_MONTH = re.compile(rf"(?<![\d.-]){_YEAR}[-_]{_MONTH}(?![\d.-])")
_BARE_YEAR = re.compile(r"(?P<year>199\d|20\d\d)(?:[-_ ]++[^\W\d].*)?", re.DOTALL)
_SEPARATORS = re.compile(r"[-_. ]+")


def find_date(text: str, *, day_first: bool | None = None) -> PartialDate | None:
    """The one day that a title states, else its one month; None where it states none or several.

    A year alone is mostly what a text is about.
    """
    text = text[:_LONGEST]
    found = [date for _, _, period in find_names(text) if (date := _unit(period))]
    written = (match.group().replace("_", "-") for match in _NUMERIC.finditer(text))
    found += filter(None, (to_date(words, day_first=day_first) for words in written))
    return _only(date for date in found if date.precision == "day") or (
        None
        if any(date.precision == "day" for date in found)
        else _only(date for date in found if date.precision == "month")
    )


def _only(dates: Iterable[PartialDate]) -> PartialDate | None:
    distinct = set(dates)
    return distinct.pop() if len(distinct) == 1 else None


def _unit(period: Period) -> PartialDate | None:
    """A day or a month as a date; None for any other period."""
    assert period.start is not None
    assert period.end is not None
    if period.end - period.start == timedelta(days=1):
        return PartialDate(period.start, "day")
    month = PartialDate(period.start, "month")
    return month if period.start.day == 1 and month.end == period.end else None


def path_date(path: str) -> PartialDate | None:
    """The date that the name of a file or the folders above it state; what is nearest counts.

    `2019-03-02.md`, `20190302_notes.txt`, `2019/03/02.md`, `2019-03/march-2.md`, `2019/report.md`.
    """
    *folders, name = [part for part in path.rstrip("/").split("/") if part][-_FOLDERS - 1 :] or [""]
    parts = [*folders, name.rpartition(".")[0] or name]
    tails = ["/".join(parts[at:]) for at in reversed(range(len(parts)))]
    return (
        _part_date(parts[-1])
        or next(filter(None, (_matched(f.fullmatch(t)) for f in _SPLIT for t in tails)), None)
        or _yearless(parts)
        or next(filter(None, map(_part_date, reversed(parts[:-1]))), None)
        or _matched(_BARE_YEAR.fullmatch(parts[-1]))
        or next(filter(None, (_matched(re.fullmatch(_YEAR, p)) for p in reversed(folders))), None)
    )


def _part_date(part: str) -> PartialDate | None:
    """The day or month that one name states."""
    if date := _matched(_COMPACT.search(part)):
        return date
    return find_date(_SEPARATORS.sub(" ", part)) or _matched(_YEAR_MONTH.search(part))


def _yearless(parts: list[str]) -> PartialDate | None:
    """A day or month without a year, in a folder that says the year."""
    for depth in range(len(parts) - 1, 0, -1):
        words = _SEPARATORS.sub(" ", parts[depth])
        found = [one for one in find_yearless(words) if one.day or len(words) == one.end]
        years = (re.match(_YEAR, folder) for folder in reversed(parts[:depth]))
        year = next(filter(None, years), None)
        if year and len(found) == 1:
            return _date(int(year["year"]), found[0].month, found[0].day)
    return None


def _matched(match: re.Match[str] | None) -> PartialDate | None:
    if match is None:
        return None
    said = match.groupdict()
    year, month, day = (int(said.get(name) or 0) for name in ("year", "month", "day"))
    return _date(year, month, day)


def _date(year: int, month: int, day: int | None) -> PartialDate | None:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:  # 30 February
        return None
    return PartialDate(start, "day" if day else "month" if month else "year")
