"""Filters on metadata as SQL: names and values are bound, never written into the statement.

SQL finds the value that a condition asks about, as JSON text; how two values compare (numbers,
times, text, lists) is decided in `meets`, which SQL calls.
"""

from __future__ import annotations

import json
import math
import operator
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from clew.errors import InputError
from clew.types import Condition

# JSON text of one metadata value; NULL where it is missing or null.
_FROM_METADATA = """(
    SELECT CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
        WHEN 'array' THEN value WHEN 'object' THEN value ELSE json_quote(value) END
    FROM json_each({table}.metadata) WHERE key = ? AND type <> 'null')"""
# Columns that conditions may name; an empty column counts as missing.
_COLUMNS = frozenset({"title", "source", "media_type", "created_at", "updated_at"})
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def define_functions(connection: sqlite3.Connection) -> None:
    """Give SQL the function `meets(value, operator, wanted)`."""
    connection.create_function("meets", 3, meets, deterministic=True)


def document_condition(condition: Condition) -> tuple[str, list[str]]:
    """A test on a row of `documents`, and the values to bind."""
    value, names = _document_value(condition.name, "documents")
    return f"meets({value}, ?, ?)", [*names, *_wanted(condition)]


def read_matching_chunks(connection: sqlite3.Connection, where: Sequence[Condition]) -> list[int]:
    """Sorted ids of the chunks that meet every condition; the chunk's own metadata goes first."""
    tests: list[str] = []
    bound: list[str] = []
    own = _FROM_METADATA.format(table="chunks")
    for condition in where:
        value, names = _document_value(condition.name, "documents")
        tests.append(f"meets(coalesce({own}, {value}), ?, ?)")
        bound += [condition.name, *names, *_wanted(condition)]
    sql = f"""
        SELECT chunks.id FROM chunks JOIN documents ON documents.id = chunks.document_id
        WHERE {" AND ".join(tests) or "TRUE"} ORDER BY chunks.id"""
    return [row[0] for row in connection.execute(sql, bound)]


def _document_value(name: str, table: str) -> tuple[str, list[str]]:
    metadata = _FROM_METADATA.format(table=table)
    if name in _COLUMNS:  # the column's name comes from our own list
        column = f"{table}.{name}"
        return f"CASE WHEN {column} <> '' THEN json_quote({column}) ELSE {metadata} END", [name]
    return metadata, [name]


def _wanted(condition: Condition) -> list[str]:
    if condition.operator not in _OPERATORS:
        raise InputError(
            f"unknown operator {condition.operator!r} in a filter on {condition.name!r};"
            f" expected one of {' '.join(_OPERATORS)}"
        )
    return [condition.operator, condition.value]


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
