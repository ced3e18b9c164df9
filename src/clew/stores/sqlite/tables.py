"""The rows of `ports.copying` in SQLite's tables: where they are, how they come and go."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from clew.ports.copying import SHAPES, Table

if TYPE_CHECKING:
    from clew.stores.backend import Rows

_NAMES: Mapping[Table, str] = {
    "versions": "document_versions",
    "times": "chunk_times",
    "rules": "link_rules",
    "extraction_log": "relationship_extraction_log",
    "partition": "partition_state",
}
# Columns that have a table of their own, and how a row comes into it.
_BESIDE: Mapping[Table, Mapping[str, str]] = {
    "chunks": {
        "terms": "INSERT INTO keywords (rowid, terms) SELECT :id, :terms WHERE :terms NOT NULL",
        "vector": (
            "INSERT INTO embeddings SELECT :id, :vector, crc32(:vector) WHERE :vector NOT NULL"
        ),
        "uses": "INSERT INTO usage SELECT :id, :uses, :last_used WHERE :uses NOT NULL",
        "last_used": "",
        "read_at": "INSERT INTO agent_extractions SELECT :id, :read_at WHERE :read_at NOT NULL",
    },
    "topics": {"chunks": "INSERT INTO topic_chunks SELECT :id, value FROM json_each(:chunks)"},
}
# The keyword index knows no foreign keys; all else goes with what it hangs on.
_DELETE_FIRST: Mapping[Table, str] = {
    "documents": """
DELETE FROM keywords WHERE rowid IN (
    SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(:keys)))
""",
    "topics": "DELETE FROM topic_chunks WHERE topic_id IN (SELECT value FROM json_each(:keys))",
}


def table_name(table: Table) -> str:
    """What SQLite calls a table."""
    return _NAMES.get(table, table)


def column_list(columns: Sequence[str]) -> str:
    """Columns as SQL names them."""
    return ", ".join(f'"{name}"' for name in columns)


def id_list(ids: Iterable[int | str]) -> str:
    """Ids as the JSON array that `json_each(?)` reads: one bound parameter for any number."""
    return json.dumps([i if isinstance(i, str) else int(i) for i in ids])


def insert(connection: sqlite3.Connection, rows: Rows) -> None:
    """Write rows of any tables; what they point at comes before them."""
    for table in SHAPES:
        if of_table := rows.get(table):
            for sql in _insert_sql(table, tuple(of_table[0])):
                connection.executemany(sql, of_table)


@cache
def _insert_sql(table: Table, names: tuple[str, ...]) -> tuple[str, ...]:
    """Statements that take a row with those columns, by their names."""
    beside = _BESIDE.get(table, {})
    own = [name for name in SHAPES[table].columns if name in names and name not in beside]
    values = ", ".join(f":{name}" for name in own)
    return (
        f"INSERT INTO {table_name(table)} ({column_list(own)}) VALUES ({values})",
        *(sql for name, sql in beside.items() if sql and name in names),
    )


@cache
def update_sql(table: Table, names: tuple[str, ...]) -> str:
    """The statement that writes those columns, the key among them, of a row."""
    key = SHAPES[table].key
    values = ", ".join(f'"{name}" = :{name}' for name in names if name not in key)
    found = " AND ".join(f'"{name}" = :{name}' for name in key)
    return f"UPDATE {table_name(table)} SET {values} WHERE {found}"


@cache
def delete_sql(table: Table) -> tuple[str, ...]:
    """Statements that delete the rows of `keys`."""
    key = SHAPES[table].key[0]
    first = (_DELETE_FIRST[table],) if table in _DELETE_FIRST else ()
    return (
        *first,
        f'DELETE FROM {table_name(table)} WHERE "{key}" IN (SELECT value FROM json_each(:keys))',
    )
