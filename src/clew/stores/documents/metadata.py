"""Filters on documents: which value a condition asks about, and how two values compare."""

from __future__ import annotations

import difflib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from clew.errors import InputError
from clew.text import cached, one_line
from clew.times import in_utc
from clew.types import Condition, DatePrecision, Metadata, PartialDate, partial_date

COLUMNS = (
    *("title", "source", "media_type", "origin", "created_at", "date_precision", "updated_at"),
    "language",
)
"""Columns of a document that its fields are made of."""
FIELDS = (
    *("title", "source", "path", "type", "media_type", "language"),
    *("date", "created_at", "updated_at"),
)
"""What conditions may name beside metadata; an empty one counts as missing.

`path` is the file, `type` the media type and the file's ending, `language` a code or "unknown",
`date` is `created_at` as precisely as it is stated.
"""
UNKNOWN_LANGUAGE = "unknown"
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_DATES = ("date", "created_at", "updated_at")
_NEGATED = {"!=": "=", "!~": "~", "!path": "path"}
OPERATORS = ("=", "!=", ">=", "<=", ">", "<", "~", "!~")
_OF_PATHS = {"=": "path", "~": "path", "!=": "!path", "!~": "!path"}
_SHOWN = 30
"""Names of fields that an error lists."""
_ISO_DATE = re.compile(r"([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?)?")
_INSTANT = timedelta(microseconds=1)


def wanted(condition: Condition) -> tuple[str, str]:
    """(operator, value) of a condition. Raises `InputError` for an operator that there is not."""
    name, sign, value = condition.name, condition.operator, condition.value
    allowed = tuple(_OF_PATHS) if name in ("path", "type") else OPERATORS
    if sign not in allowed:
        raise InputError(
            f"unknown operator {sign!r} in a filter on {name!r}; expected one of"
            f" {' '.join(allowed)}"
        )
    if name in _DATES and sign[0] in "<>" and _period(value) is None:
        raise InputError(
            f"{name} {value!r} in a filter is no date; expected one such as 2019, 2019-05,"
            " 2019-05-08 or 2019-05-08T12:00"
        )
    if name != "path":
        return sign, value
    literal = value if "~" in sign else re.sub(r"([*?[])", r"[\1]", value)
    return _OF_PATHS[sign], literal


def check_fields(where: Sequence[Condition], names: Iterable[str]) -> None:
    """Raise `InputError` for a condition on what no document has; `names` are of their metadata."""
    known = sorted({*FIELDS, *names})
    for condition in where:
        if condition.name not in known:
            near = difflib.get_close_matches(condition.name, known, 1)
            guess = f" (did you mean {near[0]!r}?)" if near else ""
            shown = ", ".join(one_line(name)[:60] for name in known[:_SHOWN])
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            raise InputError(
                f"no document has the field {condition.name!r}{guess}; there are {shown}{more}"
            )


_LONGEST_KEY = 60
"""Characters of what descriptions are looked up by; types and times are shorter."""


def description_keys(metadata: Metadata) -> dict[str, str]:
    """What a document that describes an entity is looked up by: its type, and when it holds."""
    names = ("entity_type", "start", "last", "end")
    kind, begins, last, end = (str(metadata.get(name) or "")[:_LONGEST_KEY] for name in names)
    return {"describes": kind, "begins": begins, "ends": last or end or begins}


# --- the value asked about ---------------------------------------------------------------


class DocumentValues(NamedTuple):
    """What conditions may ask of a document."""

    columns: Sequence[str | None]
    """What it holds of `COLUMNS`, in that order, as it is stored."""
    metadata: Metadata


def meets_all(where: Sequence[Condition], document: DocumentValues, own: Metadata) -> bool:
    """Whether a document, or a chunk with metadata of its own, meets every condition."""
    return all(
        meets(_value(condition.name, document, own), *wanted(condition)) for condition in where
    )


def _value(name: str, document: DocumentValues, own: Metadata) -> str | None:
    """The value asked about, as JSON text; None where it is missing or null."""
    if own.get(name) is not None:
        return json.dumps(own[name], ensure_ascii=False)
    field = field_value(name, *document.columns) if name in FIELDS else None
    if field is not None:
        return field
    found = document.metadata.get(name)
    return None if found is None else json.dumps(found, ensure_ascii=False)


@cached(16, longest=200)
def field_value(name: str, *columns: str | None) -> str | None:
    """A field of a document as JSON text; `columns` are those of `COLUMNS`, in that order."""
    stored = dict(zip(COLUMNS, columns, strict=True))
    value: str | list[str] | None
    if name == "path":
        value = stored["origin"]
    elif name == "type":
        value = _types(stored["media_type"] or "", stored["origin"] or "")
    elif name == "language":
        value = stored["language"] or UNKNOWN_LANGUAGE
    elif name in ("date", "created_at") and stored["created_at"]:
        value = _stated(stored["created_at"], stored["date_precision"])
    else:
        value = stored.get(name)
    return json.dumps(value, ensure_ascii=False) if value else None


def _types(media_type: str, path: str) -> list[str]:
    """Whatever a user calls it: `text/x-python`, `x-python`, `python`, `.py` and `py`."""
    kind = media_type.rpartition("/")[2]
    ending = PurePosixPath(path).suffix.lower()
    return [media_type, kind, kind.removeprefix("x-"), ending, ending.removeprefix(".")]


def _stated(created_at: str, precision: str | None) -> str:
    known: Mapping[str, DatePrecision] = {"year": "year", "month": "month", "day": "day"}
    date = partial_date(datetime.fromisoformat(created_at), known.get(precision or "", "time"))
    return date.iso if date else ""


# --- comparing ---------------------------------------------------------------------------


@cached(16, longest=200)
def meets(value: str | None, operator: str, wanted: str) -> bool:
    """Whether a value (JSON text; None: missing) stands in that relation to `wanted`.

    Numbers compare as numbers where both are, all else as text; ISO dates and times compare as
    periods where both are (UTC where no zone is given): `=` where they share a moment, `>` where
    one goes on after the other. `~` matches a glob in any case. A list meets `=` and `~` where an
    item does, `!=` and `!~` where none does, and the other operators never.
    """
    if value in (None, "null"):
        return False
    if operator in _NEGATED:
        return not meets(value, _NEGATED[operator], wanted)
    found = json.loads(value)
    if isinstance(found, list):
        return operator in ("=", "~") and any(
            meets(json.dumps(item), operator, wanted) for item in found
        )
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    if operator == "~":
        return _glob(wanted.casefold()).fullmatch(text.casefold()) is not None
    if operator == "path":
        return _matches_path(text, wanted)
    return _compares(text, operator, wanted)


def _compares(text: str, operator: str, wanted: str) -> bool:
    number, other = _number(text), _number(wanted)
    if number is not None and other is not None:
        return _COMPARE[operator](number, other)
    period, asked = _period(text), _period(wanted)
    if period is None or asked is None:
        return _COMPARE[operator](text, wanted)
    (start, end), (since, until) = period, asked
    match operator:
        case "=":
            return start < until and since < end
        case ">=":
            return end > since
        case ">":
            return end > until
        case "<=":
            return start < until
    return start < since


def _number(text: str) -> int | float | None:
    with suppress(ValueError):
        return int(text)  # exact, however long: record numbers must not meet their neighbours
    with suppress(ValueError):
        number = float(text)
        return number if math.isfinite(number) else None
    return None


def _period(text: str) -> tuple[datetime, datetime] | None:
    """The moments from and before which an ISO date, or a part of one, holds."""
    part = _ISO_DATE.fullmatch(text)
    try:
        if part is None:
            moment = in_utc(datetime.fromisoformat(text))
            return moment, moment + _INSTANT
        precision: DatePrecision = "day" if part[3] else "month" if part[2] else "year"
        start = in_utc(datetime(int(part[1]), int(part[2] or 1), int(part[3] or 1)))
        return start, PartialDate(start, precision).end
    except (ValueError, OverflowError):
        return None


# --- globs -------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """A glob as an expression; what fnmatch writes does not backtrack past a star."""
    return re.compile(translate(pattern))


def _matches_path(path: str, pattern: str) -> bool:
    """Whether a path ends as the glob says, whole folders and names; `**` is any folders.

    From the root where the glob begins with a slash or a drive; all below a folder where it ends
    with a slash.
    """
    names, parts = path.split("/"), pattern.split("/")
    parts = parts if path.startswith(pattern[:1]) and pattern.startswith("/") else ["**", *parts]
    if parts[-1] == "":
        parts[-1] = "**"
    reached = _skipping({0}, parts)
    for name in names:
        after = {at for at in reached if at < len(parts) and parts[at] == "**"}
        after |= {
            at + 1
            for at in reached
            if at < len(parts) and parts[at] != "**" and _glob(parts[at]).fullmatch(name)
        }
        reached = _skipping(after, parts)
    return len(parts) in reached


def _skipping(reached: set[int], parts: Sequence[str]) -> set[int]:
    """Those places in a glob, and those after the `**` at them, which may stand for no folder."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(parts) and parts[at] == "**":
            at += 1
            found.add(at)
    return found
