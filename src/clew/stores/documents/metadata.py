"""What filters ask a document about: its fields, its metadata, those of its chunks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple

from clew.filters import Values, fields
from clew.text import cached, one_line
from clew.types import DatePrecision, Filter, Metadata, partial_date

COLUMNS = (
    *("title", "source", "media_type", "origin", "created_at", "date_precision", "updated_at"),
    "language",
)
"""Columns of a document that its fields are made of."""
FIELDS = (
    *("title", "source", "path", "type", "media_type", "language"),
    *("date", "created_at", "updated_at"),
)
"""What filters may name beside metadata; an empty one counts as missing.

`path` is the file, `type` the media type and the file's ending, `language` a code or "unknown",
`date` is `created_at` as precisely as it is stated.
"""
UNKNOWN_LANGUAGE = "unknown"
_NEAR, _TOLD = 3, 3
"""Names near to one that no document has, and notes, at most."""
_NAMED, _LISTED = 40, 200
"""Characters of a name, and of all names, in a note."""


class DocumentValues(NamedTuple):
    """What filters may ask of a document."""

    columns: Sequence[str | None]
    """What it holds of `COLUMNS`, in that order, as it is stored."""
    metadata: Metadata

    def of(self, own: Metadata | None = None) -> Values:
        """The values of the document, or of a chunk of it with metadata of its own."""

        def value(name: str) -> object:
            if own and own.get(name) is not None:
                return own[name]
            field = field_value(name, *self.columns) if name in FIELDS else None
            return self.metadata.get(name) if field is None else field

        return value


@cached(16, longest=200)
def field_value(name: str, *columns: str | None) -> str | list[str] | None:
    """A field of a document; `columns` are those of `COLUMNS`, in that order."""
    stored = dict(zip(COLUMNS, columns, strict=True))
    if name == "path":
        return stored["origin"] or None
    if name == "type":
        return _types(stored["media_type"] or "", stored["origin"] or "")
    if name == "language":
        return stored["language"] or UNKNOWN_LANGUAGE
    if name in ("date", "created_at") and stored["created_at"]:
        return _stated(stored["created_at"], stored["date_precision"]) or None
    return stored.get(name) or None


def _types(media_type: str, path: str) -> list[str]:
    """Whatever a user calls it: `text/x-python`, `x-python`, `python`, `.py` and `py`."""
    kind = media_type.rpartition("/")[2]
    ending = PurePosixPath(path).suffix.lower()
    return [media_type, kind, kind.removeprefix("x-"), ending, ending.removeprefix(".")]


def _stated(created_at: str, precision: str | None) -> str:
    known: Mapping[str, DatePrecision] = {"year": "year", "month": "month", "day": "day"}
    date = partial_date(datetime.fromisoformat(created_at), known.get(precision or "", "time"))
    return date.iso if date else ""


def unknown_fields(where: Sequence[Filter], names: Iterable[str]) -> list[str]:
    """What to say of the fields that no document has; `names` are those of all metadata."""
    known = sorted({*FIELDS, *names})
    unknown = {name: None for one in where for name in fields(one) if name not in known}
    listed = ", ".join(one_line(name)[:_NAMED] for name in known)
    there_are = listed if len(listed) <= _LISTED else f"{listed[:_LISTED]}…"
    notes = []
    for name in list(unknown)[:_TOLD]:
        near = " or ".join(map(_named, difflib.get_close_matches(name, known, _NEAR)))
        guess = f"did you mean {near}?" if near else f"there are {there_are}"
        notes.append(f"no document has the field {_named(name)}; {guess}")
    return notes


def _named(name: str) -> str:
    return repr(one_line(name)[:_NAMED])


_LONGEST_KEY = 60
"""Characters of what descriptions are looked up by; types and times are shorter."""


def description_keys(metadata: Metadata) -> dict[str, str]:
    """What a document that describes an entity is looked up by: its type, and when it holds."""
    names = ("entity_type", "start", "last", "end")
    kind, begins, last, end = (str(metadata.get(name) or "")[:_LONGEST_KEY] for name in names)
    return {"describes": kind, "begins": begins, "ends": last or end or begins}
