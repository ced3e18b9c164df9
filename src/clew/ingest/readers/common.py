"""What every reader shares: its input and output, clean text, JSON values, times."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import PurePosixPath
from typing import Any

from clew.errors import UnreadableError
from clew.settings import ReadSettings
from clew.types import Document, Skipped

_CREATED = ("created_at", "created", "date", "published_at", "published", "date_published")
_UPDATED = ("updated_at", "updated", "modified_at", "modified", "last_modified", "lastmod")
_TEXT_BREAKS = re.compile(r"\r\n?|[\u0085\u2028]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadResult:
    """What one file held, and what of it could not be read."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    """Records or pages that could not be read, while others of the same file could."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawFile:
    """The bytes of one file, and what a reader needs to know about it."""

    source: str
    """Identity of the document that it holds, and what errors name."""
    data: bytes
    settings: ReadSettings

    @property
    def suffix(self) -> str:
        """Ending of the name, in lower case, with the dot."""
        return PurePosixPath(self.source).suffix.lower()

    def unreadable(self, reason: str) -> UnreadableError:
        """The error that says why this file cannot be read."""
        return UnreadableError(self.source, reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Properties:
    """A document's title and times, taken out of its metadata."""

    title: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def text_digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def clean_text(text: str) -> str:
    r"""Newlines as `\n`, no NUL, no lone surrogate: what every store and encoder accepts."""
    text = _TEXT_BREAKS.sub("\n", text).replace("\x00", "")
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def json_safe(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """The value as JSON can hold it: times as ISO text, NaN and infinities as text."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return in_utc(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {clean_text(str(key)): json_safe(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [json_safe(item) for item in value]
    return clean_text(str(value))


def properties(values: Mapping[str, Any]) -> Properties:
    """Title and times out of metadata, under the names in common use.

    `title`, `created_at` and `updated_at` leave the metadata when they are understood; every
    other name stays, so that a filter on `date` works as its author wrote it.
    """
    safe: dict[str, Any] = json_safe(values)
    names = {re.sub(r"[\s-]+", "_", name.strip().casefold()): name for name in reversed(safe)}
    title = safe.get(names.get("title", ""))
    created_at = _first_time(safe, names, _CREATED)
    updated_at = _first_time(safe, names, _UPDATED)
    understood = {"title": isinstance(title, (str, int, float)) and not isinstance(title, bool)}
    for name in ("created_at", "updated_at"):
        understood[name] = to_time(safe.get(names.get(name, ""))) is not None
    taken = {names.get(name) for name, known in understood.items() if known}
    return Properties(
        title=one_line(str(title)) if understood["title"] else "",
        created_at=created_at,
        updated_at=updated_at,
        metadata={name: value for name, value in safe.items() if name not in taken},
    )


def _first_time(
    values: Mapping[str, Any], names: Mapping[str, str], wanted: Iterable[str]
) -> datetime | None:
    times = (to_time(values.get(names.get(name, ""))) for name in wanted)
    return next((time for time in times if time is not None), None)


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def in_utc(time: datetime) -> datetime:
    """The time in UTC; a time without a zone is taken as UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, moved out of it by its zone
        return time.replace(tzinfo=UTC)


def to_time(value: object) -> datetime | None:
    """The time in UTC that a value of metadata names; None where it names none.

    Understood are ISO 8601, the usual written forms with a year ("5 May 2021"), bare years, and
    seconds or milliseconds since 1970.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _number_time(value)
    if not isinstance(value, str) or not value.strip() or len(value) > 100:
        return None
    text = value.strip()
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        return _written_time(text)


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
