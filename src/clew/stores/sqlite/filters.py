"""Filters on metadata as SQL: names and values are bound, never written into the statement.

SQL finds the value that a condition asks about, as JSON text; how two values compare (numbers,
times, text, lists) is decided in `metadata.meets`, which SQL calls.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from clew.stores.metadata import COLUMNS, meets, wanted
from clew.types import Condition

# JSON text of one metadata value; NULL where it is missing or null.
_FROM_METADATA = """(
    SELECT CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
        WHEN 'array' THEN value WHEN 'object' THEN value ELSE json_quote(value) END
    FROM json_each({table}.metadata) WHERE key = ? AND type <> 'null')"""


def define_functions(connection: sqlite3.Connection) -> None:
    """Give SQL the function `meets(value, operator, wanted)`."""
    connection.create_function("meets", 3, meets, deterministic=True)


def document_condition(condition: Condition) -> tuple[str, list[str]]:
    """A test on a row of `documents`, and the values to bind."""
    value, names = _document_value(condition.name, "documents")
    return f"meets({value}, ?, ?)", [*names, *wanted(condition)]


def read_matching_chunks(connection: sqlite3.Connection, where: Sequence[Condition]) -> list[int]:
    """Sorted ids of the chunks that meet every condition; the chunk's own metadata goes first."""
    tests: list[str] = []
    bound: list[str] = []
    own = _FROM_METADATA.format(table="chunks")
    for condition in where:
        value, names = _document_value(condition.name, "documents")
        tests.append(f"meets(coalesce({own}, {value}), ?, ?)")
        bound += [condition.name, *names, *wanted(condition)]
    sql = f"""
        SELECT chunks.id FROM chunks JOIN documents ON documents.id = chunks.document_id
        WHERE {" AND ".join(tests) or "TRUE"} ORDER BY chunks.id"""
    return [row[0] for row in connection.execute(sql, bound)]


def _document_value(name: str, table: str) -> tuple[str, list[str]]:
    metadata = _FROM_METADATA.format(table=table)
    if name in COLUMNS:  # the column's name comes from our own list
        column = f"{table}.{name}"
        return f"CASE WHEN {column} <> '' THEN json_quote({column}) ELSE {metadata} END", [name]
    return metadata, [name]
