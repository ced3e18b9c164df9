"""When a text was written, from what its metadata says."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.types import Metadata

_WRITTEN = ("created_at", "date", "timestamp", "time", "sent_at", "published_at", "published")
_SEPARATORS = re.compile(r"[\s-]+")
_LONGEST = 100
"""Characters of a written date, at most."""
_DIGITS = re.compile(r"[+-]?\d+(?:\.\d+)?")


def written_at(metadata: Metadata, created_at: datetime | None) -> datetime | None:
    """When a passage with this metadata was written, in UTC; None where nothing says so.

    The first of `created_at`, `date`, `timestamp`, `time`, `sent_at`, `published_at` and
    `published` (in any case, words joined by anything) that `to_time` understands; else the
    document's `created_at`. A time without a zone is taken for UTC, a year alone for its first day.
    """
    if metadata:
        named = {_SEPARATORS.sub("_", name.strip().casefold()): name for name in metadata}
        for name in _WRITTEN:
            time = to_time(metadata[named[name]]) if name in named else None
            if time is not None:
                return time
    return None if created_at is None else in_utc(created_at)


def to_time(value: object) -> datetime | None:
    """The time in UTC that a value of metadata names; None where it names none.

    Understood are ISO 8601, the usual written forms with a year ("5 May 2021"), bare years, and
    seconds or milliseconds since 1970.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _number_time(value)
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST:
        return None
    text = value.strip()
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        return _number_time(float(text)) if _DIGITS.fullmatch(text) else _written_time(text)


def in_utc(time: datetime) -> datetime:
    """The time in UTC; a time without a zone is taken as UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, moved out of it by its zone
        return time.replace(tzinfo=UTC)


def _number_time(value: float) -> datetime | None:
    if 1000 <= value <= 9999 and value == int(value):
        return datetime(int(value), 1, 1, tzinfo=UTC)
    seconds = value / 1000 if value >= 1e11 else value
    if not 1e8 <= seconds < 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _written_time(text: str) -> datetime | None:
    from dateutil import parser

    try:
        # What the text leaves out is taken from the default, so that year 1 means "no year given".
        time = parser.parse(text, default=datetime(1, 1, 1), tzinfos=_zone)
    except (ValueError, OverflowError):
        return None
    return in_utc(time) if time.year > 1 else None


def _zone(_name: str | None, offset: int | None) -> tzinfo:
    """Zones by their offset; a name alone ("CST") is ambiguous and is taken as UTC."""
    if offset is None or abs(offset) >= 86_400:
        return UTC
    return timezone(timedelta(seconds=offset))
