"""Aliases of arrays, JSON metadata, periods, filters."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from clew.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# In quotes, so that nobody loads numpy for the sake of types.
Vector: TypeAlias = "NDArray[np.float32]"
"""(dim,) float32, unit length."""
Vectors: TypeAlias = "NDArray[np.float32]"
"""(n, dim) float32, each row of unit length."""
Ids: TypeAlias = "NDArray[np.int64]"
"""(n,) int64 chunk or entity ids."""
Scores: TypeAlias = "NDArray[np.float32]"
"""(n,) float32, higher is better."""

Metadata: TypeAlias = Mapping[str, Any]
"""JSON values by name."""

CharRange: TypeAlias = tuple[int, int]
"""Half-open, in code points."""

Fusion = Literal["rrf", "weighted"]

AliasMethod = Literal["exact", "acronym", "fuzzy", "manual"]

DatePrecision = Literal["", "year", "month", "day", "time"]
"""The unit that a date is stated in; empty for no date."""

DateSource = Literal["", "metadata", "title", "path", "message", "text", "properties"]
"""What of a document says its date: properties and headers, title or first heading, name of file
or folder, time of a message, first lines of the text; empty for no date."""


def random_id(digits: int = 16) -> str:
    """An id of hex digits that nobody guesses.

    The first is a letter: callers who read arguments as JSON would take `639356e100550634`, and
    ids of decimal digits alone, for numbers.
    """
    return secrets.choice("abcdef") + secrets.token_hex(digits)[1:digits]


NUMBER = re.compile(r"\[(\d{1,4})\]")
"""Of a source, behind the statement that rests on it."""


def with_sources(text: str, names: Sequence[str]) -> str:
    """A text with its sources' names in the place of their numbers: of `[1]`, the first name."""

    def name(found: re.Match[str]) -> str:
        place = int(found[1]) - 1
        return f"({names[place]})" if 0 <= place < len(names) else f"({found[1]})"

    return NUMBER.sub(name, text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A stretch of time, half-open `[start, end)`, in UTC; a side that is open is None."""

    start: datetime | None
    end: datetime | None
    text: str = ""
    """As it was worded; empty where it was given as dates."""

    def overlaps(self, other: Period) -> bool:
        """Whether the two share any moment."""
        return _before(self.start, other.end) and _before(other.start, self.end)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


State = Literal["current", "ended", "planned", "earlier"]
"""Of a statement at some moment; `earlier`: something newer was told of the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Whether a statement holds, from when until when it does, and when it was told."""

    state: State
    told_at: datetime | None
    """None where that is not known."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def __str__(self) -> str:
        state = () if self.state == "current" else (self.state,)
        bounds = (("since", self.valid_from), ("until", self.valid_until), ("told", self.told_at))
        return ", ".join([*state, *(f"{word} {time:%Y-%m-%d}" for word, time in bounds if time)])

    def to_dict(self) -> dict[str, str]:
        """As JSON values, without what is not known."""
        times = {name: getattr(self, name) for name in ("valid_from", "valid_until", "told_at")}
        return {"state": self.state} | {
            name: time.isoformat() for name, time in times.items() if time is not None
        }


def state_at(moment: datetime, start: datetime | None, end: datetime | None) -> State:
    """What holds from `start` until `end` is at a moment; a side that is not known is open."""
    if end is not None and end <= moment:
        return "ended"
    return "planned" if start is not None and start > moment else "current"


def in_utc(time: datetime) -> datetime:
    """The time in UTC; a time without a zone is taken as UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, moved out of it by its zone
        return time.replace(tzinfo=UTC)


_ISO_LENGTH: Mapping[DatePrecision, int] = {"year": 4, "month": 7, "day": 10}


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date with the precision in which it is stated: "2019" is no day of that year."""

    start: datetime
    """Its first moment, in UTC."""
    precision: DatePrecision

    @property
    def end(self) -> datetime:
        """The first moment after it; a time lasts for a second."""
        year, month = self.start.year, self.start.month
        first = datetime(year, 1, 1, tzinfo=UTC)
        try:
            match self.precision:
                case "year":
                    return first.replace(year=year + 1)
                case "month":
                    return first.replace(year=year + month // 12, month=month % 12 + 1)
                case "day":
                    return self.start + timedelta(days=1)
            return self.start + timedelta(seconds=1)
        except (ValueError, OverflowError):  # the calendar ends with the year 9999
            return datetime.max.replace(tzinfo=UTC)

    @property
    def period(self) -> Period:
        """From its first moment to the first one after it, named by its ISO form."""
        return Period(start=self.start, end=self.end, text=self.iso)

    @property
    def iso(self) -> str:
        """ISO 8601 as far as it is stated: "2019", "2019-03", "2019-03-02", or a time in UTC."""
        return self.start.isoformat()[: _ISO_LENGTH.get(self.precision)]


_Sign = Literal["=", "!=", ">=", "<=", ">", "<", "~", "!~"]
_Word = Literal["in", "not in", "contains", "not contains", "is null", "is not null"]
Operator = Literal[_Sign, _Word]
Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a field with a value: `year >= 2020`, `path ~ docs/*`."""

    name: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...] | None = None
    """Several for `in`, none for `is null`."""


@dataclass(frozen=True, slots=True)
class And:
    """All of them."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """What the part is not met by, missing fields included."""

    part: Filter


Filter: TypeAlias = Condition | And | Or | Not
"""A filter on metadata; `clew.filters` reads, writes and decides it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What a language model says of something, each statement with the passage that it rests on.

    Where it failed, sentences of these passages.
    """

    text: str
    """A statement ends with the number of its source: `[1]` is the first."""
    sources: tuple[str, ...]
    """Public ids of passages."""

    @property
    def sourced(self) -> str:
        """The text with the ids of passages in the place of their numbers."""
        return with_sources(self.text, self.sources)


# How the source of a document is spelled, so that things of two kinds never have the same one.
#
# A file has its path, a record its file's and a key (`/notes/n.jsonl#1`), what is stated by hand a
# name that nobody else may give (`memory:`, `entity:`), a text any other name.


OBSERVATION, CARD = "memory:", "entity:"
"""What the sources of what is stated by hand begin with."""


def file_source(path: Path) -> str:
    r"""The source of a file's document: its absolute path, links resolved, with forward slashes.

    Bytes of a name that are no UTF-8 are written as `\xNN`, and so are what would make it the
    source of a record, a `#` behind anything but a blank, and the backslash of a `\x` of its own:
    no two files have one source.
    """
    posix = os.fsencode(Path(os.path.realpath(path)).as_posix())
    name = posix.replace(b"\\x", b"\\x5cx").decode("utf-8", "backslashreplace")
    return re.sub(r"(?<=[^/\s])#", r"\\x23", name)


def source_path(source: str) -> Path:
    """The path of the file that has this source, byte for byte."""
    escaped = re.compile(rb"\\x([0-9a-f]{2})")
    name = escaped.sub(lambda found: bytes([int(found[1], 16)]), source.encode())
    return Path(os.fsdecode(name))


def record_source(container: str, key: object) -> str:
    """The source of a record of a file, or of what a caller has named."""
    # So that no file has it, nor a record of a container that ends in the dot itself.
    dot = "." if container.rstrip(".")[-1:].isspace() else ""
    return f"{container}{dot}#{key}"


def check_given(*sources: str) -> None:
    """Raise `InputError` for a source that a caller gave and that another kind of thing has."""
    for source in sources:
        if source.startswith((OBSERVATION, CARD)):
            raise InputError(
                f"source {source!r} cannot be: what begins with {OBSERVATION!r} or {CARD!r} is"
                " stated by hand (memory tools); give the text another source"
            )
