"""Filters on metadata: which value a condition asks about, and how two values compare."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from clew.errors import InputError
from clew.types import Condition, Metadata

COLUMNS = ("title", "source", "media_type", "created_at", "updated_at")
"""What conditions may name of a document beside its metadata; an empty one counts as missing."""
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def wanted(condition: Condition) -> tuple[str, str]:
    """(operator, value) of a condition. Raises `InputError` for an operator that there is not."""
    if condition.operator not in _OPERATORS:
        raise InputError(
            f"unknown operator {condition.operator!r} in a filter on {condition.name!r};"
            f" expected one of {' '.join(_OPERATORS)}"
        )
    return condition.operator, condition.value


class DocumentValues(NamedTuple):
    """What conditions may ask of a document."""

    columns: Mapping[str, str | None]
    """What it holds of `COLUMNS`, as it is stored."""
    metadata: Metadata


def meets_all(where: Sequence[Condition], document: DocumentValues, own: Metadata) -> bool:
    """Whether a document, or a chunk with metadata of its own, meets every condition."""
    return all(
        meets(_value(condition.name, document, own), *wanted(condition)) for condition in where
    )


def _value(name: str, document: DocumentValues, own: Metadata) -> str | None:
    """The value asked about, as JSON text; None where it is missing or null."""
    for value in (own.get(name), document.columns.get(name) or None, document.metadata.get(name)):
        if value is not None:
            return json.dumps(value, ensure_ascii=False)
    return None


@lru_cache(maxsize=65_536)
def meets(value: str | None, operator: str, wanted: str) -> bool:
    """Whether a metadata value (JSON text; None: missing) stands in that relation to `wanted`.

    Numbers compare as numbers where both are, ISO dates as times where both are (UTC where no
    zone is given), all else as text. A list meets `=` where an item does, `!=` where none is equal,
    and the other operators never.
    """
    if value in (None, "null"):
        return False
    found = json.loads(value)
    if isinstance(found, list):
        equal = any(meets(json.dumps(item), "=", wanted) for item in found)
        return (operator == "=" and equal) or (operator == "!=" and not equal)
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    for convert in (_number, _time):
        left, right = convert(text), convert(wanted)
        if left is not None and right is not None:
            return _OPERATORS[operator](left, right)
    return _OPERATORS[operator](text, wanted)


def _number(text: str) -> int | float | None:
    with suppress(ValueError):
        return int(text)  # exact, however long: record numbers must not meet their neighbours
    with suppress(ValueError):
        number = float(text)
        return number if math.isfinite(number) else None
    return None


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
