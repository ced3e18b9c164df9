"""When a text was written, from what its metadata says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING

from clew.times.names import day_comes_first
from clew.types import PartialDate, in_utc

if TYPE_CHECKING:
    from clew.types import DatePrecision, Metadata

_WRITTEN = (
    *("created_at", "created", "date", "timestamp", "ts", "time", "sent_at", "sent"),
    *("published_at", "published", "date_published", "publication_date"),
)
_SEPARATORS = re.compile(r"[\s_-]+")
_LONGEST = 100
"""Characters of a written date, at most."""
_DIGITS = re.compile(r"[+-]?\d+(?:\.\d+)?")
_KEYWORD = re.compile(r"\$(?:Date|LastChangedDate): ([^($]+?) ?(?:\([^()$]*\) ?)?\$")
"""Of RCS, CVS and Subversion."""
_ISO_MONTH = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])")
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|(?<!\d)[12]\d{7}(?!\d)")
"""What a date must hold: two digits may be a year, a month or a day."""
_NUMERIC = re.compile(r"(?<!\d)(\d{1,2})([./-])(\d{1,2})\2([12]\d{3})(?!\d)")
_YEAR_FIRST = re.compile(r"[12]\d{3}[./-]")
_APART: tuple[tuple[str, DatePrecision], ...] = (
    ("month", "year"),
    ("day", "month"),
    ("hour", "day"),
)
"""A field that a text leaves out, and the precision that it then has."""


def date_of(metadata: Metadata, default: PartialDate | None = None) -> PartialDate | None:
    """When a document or a passage with this metadata was written.

    The first of `created_at`, `created`, `date`, `timestamp`, `ts`, `time`, `sent_at`, `sent`,
    `published_at`, `published`, `date_published` and `publication_date` (in any case, words joined
    by anything) that `to_date` understands; else the default.
    """
    if metadata:
        named = {_SEPARATORS.sub("_", name.strip().casefold()): name for name in metadata}
        for name in _WRITTEN:
            found = to_date(metadata[named[name]]) if name in named else None
            if found is not None:
                return found
    return default


def to_time(value: object) -> datetime | None:
    """The first moment, in UTC, of the date that `to_date` understands; None for none."""
    found = to_date(value)
    return None if found is None else found.start


def to_date(value: object, *, day_first: bool | None = None) -> PartialDate | None:
    """The date that a value of metadata names, with its precision; None where it names none.

    Understood are ISO 8601, the usual written forms with a year ("5 May 2021", "2-Mar-2019"), bare
    years, and seconds or milliseconds since 1970. A time without a zone is taken for UTC. Of
    `03/04/2019` nobody knows the month: it is no date unless `day_first` says how to read it. What
    a version control system fills in (`$Date: 2024-08-15 23:39:34 +0200 (…) $`) counts as well.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _number_date(value)
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
        return None
    text = value.strip()
    if keyword := _KEYWORD.fullmatch(text):
        text = keyword[1]
    if month := _ISO_MONTH.fullmatch(text):
        return PartialDate(datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC), "month")
    try:
        time = in_utc(datetime.fromisoformat(text))
    except ValueError:
        number = _DIGITS.fullmatch(text)
        return _number_date(float(text)) if number else _written_date(text, day_first)
    return PartialDate(time, "day" if len(text) <= len("2019-03-02") else "time")


def day_order(text: str) -> bool | None:
    """Whether numeric dates of a text ("25/04/2019") put the day first; None where none tells."""
    # "05/05/2019" tells nothing, and full stops are a custom of their own.
    telling = (m for m in _NUMERIC.finditer(text) if m[2] != "." and int(m[1]) != int(m[3]))
    orders = set(map(_order, telling)) - {None}
    return orders.pop() if len(orders) == 1 else None


def _order(match: re.Match[str]) -> bool | None:
    """Whether the day comes first in a numeric date; None where both orders are possible."""
    return day_comes_first(int(match[1]), int(match[3]), match[2])


def _number_date(value: float) -> PartialDate | None:
    if 1000 <= value <= 9999 and value == int(value):
        return PartialDate(datetime(int(value), 1, 1, tzinfo=UTC), "year")
    seconds = value / 1000 if value >= 1e11 else value
    if not 1e8 <= seconds < 1e11:
        return None
    return PartialDate(datetime.fromtimestamp(seconds, UTC), "time")


def _written_date(text: str, day_first: bool | None) -> PartialDate | None:
    """A date in words. What differs under two defaults is what the text leaves out."""
    from dateutil import parser

    numeric = _NUMERIC.search(text)
    order = _order(numeric) if numeric else None
    order = day_first if order is None else order
    if not _YEAR.search(text) or (numeric and order is None):
        return None
    is_day_first = bool(order) and not _YEAR_FIRST.match(text)
    try:
        one, other = (
            parser.parse(text, default=default, tzinfos=_zone, dayfirst=is_day_first)
            for default in (datetime(1, 1, 1), datetime(4, 2, 2, 1))
        )
    except (ValueError, OverflowError):
        return None
    if one.year != other.year:
        return None
    left_out = (p for name, p in _APART if getattr(one, name) != getattr(other, name))
    precision: DatePrecision = next(left_out, "time")
    # A zone says nothing of a date without a time.
    start = in_utc(one if precision == "time" else one.replace(tzinfo=UTC))
    return PartialDate(start, precision)


def _zone(_name: str | None, offset: int | None) -> tzinfo:
    """Zones by their offset; a name alone ("CST") is ambiguous and is taken as UTC."""
    if offset is None or abs(offset) >= 86_400:
        return UTC
    return timezone(timedelta(seconds=offset))
