"""What every reader shares: its input and output, clean text, JSON values, times."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from clew.errors import LimitError, UnreadableError
from clew.settings import LimitSettings
from clew.text import one_line
from clew.times import date_of, in_utc, to_time
from clew.types import DatePrecision, DateSource, Document, Skipped
from clew.types.sources import record_source

if TYPE_CHECKING:
    from clew.settings import ReadSettings

_UPDATED = ("updated_at", "updated", "modified_at", "modified", "last_modified", "lastmod")
TEMPLATE_AUTHORS = frozenset({"python-docx", "Steve Canny", "openpyxl", "PHPOffice"})
"""Whom libraries name in the templates of new files, with the date of the template."""
DEEPEST = 20
"""Levels that indentation shows; what is nested deeper would be mostly blanks."""
LONGEST_VALUE = 2000
"""Characters of a value of metadata, at most: what is longer is for reading, not for filters."""
_TEXT_BREAKS = re.compile(r"\r\n?|[\f\v\u0085\u2028]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadResult:
    """What one file held, and what of it could not be read."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    """Records or pages that could not be read, while others of the same file could."""


Reader: TypeAlias = "Callable[[RawFile], ReadResult | None]"
"""Makes documents of a file; None where the file is of another kind after all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawFile:
    """The bytes of one file, and what a reader needs to know about it."""

    source: str
    """Identity of the document that it holds, and what errors name."""
    data: bytes
    settings: ReadSettings
    name: str = ""
    """Its file name, where the source does not end in one."""
    read_from: str = ""
    """Of its documents; see `Document`."""
    path: Path | None = None
    """Where it lies, for what is read with what lies beside it."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    """What reading it may take."""
    readers: Mapping[str, Sequence[Reader]] = field(default_factory=dict)
    """Asked before the built-in ones: by ending (".ics") or by whole name ("todo.txt")."""

    @property
    def suffix(self) -> str:
        """Ending of the name, in lower case, with the dot."""
        return PurePosixPath(self.name or self.source).suffix.lower()

    @property
    def own_readers(self) -> Iterator[Reader]:
        """Those of `readers` that are for a file of this name."""
        name = PurePosixPath(self.name or self.source).name.lower()
        for key in dict.fromkeys((name, self.suffix)):
            yield from self.readers.get(key, ())

    def record(self, key: object) -> str:
        """The source of a record in it."""
        return record_source(self.source, key)

    def unreadable(self, reason: str) -> UnreadableError:
        """The error that says why this file cannot be read."""
        return UnreadableError(self.source, reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Properties:
    """A document's title and times, taken out of its metadata."""

    title: str = ""
    created_at: datetime | None = None
    date_precision: DatePrecision = ""
    date_source: DateSource = ""
    """`properties` where the file's program and no text states the date."""
    updated_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def document(
        self,
        source: str,
        text: str,
        media_type: str,
        *,
        title: str = "",
        page_starts: tuple[int, ...] = (),
    ) -> Document:
        """A document that has them; `title` is for one whose metadata names none."""
        return Document(
            source=source,
            text=text,
            title=self.title or title,
            media_type=media_type,
            created_at=self.created_at,
            date_precision=self.date_precision,
            date_source=self.date_source if self.created_at else "",
            updated_at=self.updated_at,
            metadata=self.metadata,
            page_starts=page_starts,
        )


def check_limit(limits: LimitSettings, name: str, amount: int, source: str) -> None:
    """Raise `LimitError` where a document has more of something than the setting allows."""
    if amount > getattr(limits, name):
        raise over_limit(limits, name, source, f"{amount:,} {name}")


def over_limit(limits: LimitSettings, name: str, source: str, found: str) -> LimitError:
    """The error of a document that takes more than the setting `limits.<name>` allows."""
    allowed = getattr(limits, name)
    return LimitError(
        source, f"{found}, limit {allowed:,}; raise limits.{name} or split the document"
    )


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


def bounded_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON can hold them, each cut at a bounded length: every hit has a copy."""
    return {name: _bounded(value) for name, value in json_safe(values).items()}


def _bounded(value: object) -> object:
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if isinstance(value, (list, dict)) and len(json.dumps(value)) > LONGEST_VALUE:
        return json.dumps(value, ensure_ascii=False)[:LONGEST_VALUE]
    return value


def properties(values: Mapping[str, Any]) -> Properties:
    """Title and times out of metadata, under the names in common use.

    `title`, `created_at` and `updated_at` leave the metadata when they are understood; every
    other name stays, so that a filter on `date` works as its author wrote it.
    """
    safe: dict[str, Any] = json_safe(values)
    names = {re.sub(r"[\s-]+", "_", name.strip().casefold()): name for name in reversed(safe)}
    title = safe.get(names.get("title", ""))
    date = date_of(safe)
    updated_at = _first_time(safe, names, _UPDATED)
    understood = {"title": isinstance(title, (str, int, float)) and not isinstance(title, bool)}
    for name in ("created_at", "updated_at"):
        understood[name] = to_time(safe.get(names.get(name, ""))) is not None
    taken = {names.get(name) for name, known in understood.items() if known}
    return Properties(
        title=one_line(str(title)) if understood["title"] else "",
        created_at=date.start if date else None,
        date_precision=date.precision if date else "",
        updated_at=updated_at,
        metadata={name: value for name, value in safe.items() if name not in taken},
    )


def _first_time(
    values: Mapping[str, Any], names: Mapping[str, str], wanted: Iterable[str]
) -> datetime | None:
    times = (to_time(values.get(names.get(name, ""))) for name in wanted)
    return next((time for time in times if time is not None), None)


_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{2,5}")
_NO_TITLES = re.compile(
    r"(?:untitled|document|presentation|slide|workbook|title|unknown|no title|microsoft \w{1,20}"
    r"|(?:power ?point|word) presentation)[ \d.-]{0,10}",
    re.IGNORECASE,
)
_PRODUCER = re.compile(r"^Microsoft \w{1,20} -\s*")


def stated_property_title(title: str) -> str:
    """A title as a program writes it into a file; empty for "untitled" and the name of a file."""
    title = _PRODUCER.sub("", one_line(title))
    return "" if _NO_TITLES.fullmatch(title) or _FILE_NAME.fullmatch(title) else title
