"""The rows of `ports.copying` in SQLite's tables: where they are, how they come and go."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from clew.ports.upkeep import SHAPES, Key, Row, Table

if TYPE_CHECKING:
    from clew.stores.backend import Rows

_NAMES: Mapping[Table, str] = {
    "versions": "document_versions",
    "earlier": "earlier_texts",
    "times": "chunk_times",
    "rules": "link_rules",
    "extraction_log": "relationship_extraction_log",
    "partition": "partition_state",
}
# Where whole rows are read from, if not from one table alone.
_SOURCES: Mapping[Table, str] = {
    "chunks": """chunks LEFT JOIN embeddings e ON e.chunk_id = id
        LEFT JOIN keywords k ON k.rowid = id
        LEFT JOIN usage u ON u.chunk_id = id LEFT JOIN agent_extractions r ON r.chunk_id = id
        LEFT JOIN enrichments m ON m.chunk_id = id""",
    "extraction_log": """(SELECT DISTINCT entity_id, extracted_at, relationships_found
        FROM relationship_extraction_log)""",
    "topics": """(SELECT topics.*, (SELECT json_group_array(chunk_id) FROM (
        SELECT chunk_id FROM topic_chunks WHERE topic_id = topics.id ORDER BY chunk_id)) AS chunks
        FROM topics)""",
    "partition": "(SELECT name, value FROM partition_state WHERE name <> 'built')",
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
        "enriched": "INSERT INTO enrichments SELECT :id, :enriched WHERE :enriched NOT NULL",
    },
    "topics": {"chunks": "INSERT INTO topic_chunks SELECT :id, value FROM json_each(:chunks)"},
}
_BESIDE_TABLES = (
    "topic_chunks",
    "enrichments",
    "agent_extractions",
    "usage",
    "embeddings",
    "keywords",
)
# The keyword index knows no foreign keys; all else goes with what it hangs on.
# What was said of documents goes with them.
_DELETE_FIRST: Mapping[Table, tuple[str, ...]] = {
    "documents": (
        """
DELETE FROM keywords WHERE rowid IN (
    SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(:keys)))
""",
        """
DELETE FROM descriptions WHERE EXISTS (
    SELECT 1 FROM json_each(:keys) WHERE instr(documents, '"' || value || '"'))
""",
    ),
    "topics": ("DELETE FROM topic_chunks WHERE topic_id IN (SELECT value FROM json_each(:keys))",),
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
    return (
        *_DELETE_FIRST.get(table, ()),
        f'DELETE FROM {table_name(table)} WHERE "{key}" IN (SELECT value FROM json_each(:keys))',
    )


# --- whole tables


def read_rows(
    connection: sqlite3.Connection, table: Table, after: Key | None, limit: int
) -> list[Row]:
    """See `stores.backend.Backend`."""
    key, columns = SHAPES[table]
    above = "" if after is None else f"WHERE ({column_list(key)}) > ({', '.join('?' * len(key))})"
    found = connection.execute(
        f"SELECT {column_list(columns)} FROM {_source(table)} {above}"
        f" ORDER BY {column_list(key)} LIMIT ?",
        (*(after or ()), limit),
    )
    return [dict(zip(columns, row, strict=True)) for row in found]


def count_rows(connection: sqlite3.Connection, table: Table) -> int:
    """See `stores.backend.Backend`."""
    source = "chunks" if table == "chunks" else _source(table)
    return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])


def _source(table: Table) -> str:
    return _SOURCES.get(table) or table_name(table)


def clear(connection: sqlite3.Connection) -> None:
    """Delete all rows; at the commit nothing is left that could point at what is gone."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for name in (*_BESIDE_TABLES, *map(table_name, reversed(list(SHAPES)))):
        connection.execute(f"DELETE FROM {name}")


class Reference(NamedTuple):
    """A foreign key."""

    table: str
    column: str
    parent: str
    key: str
    """The parent's primary key."""

    @property
    def is_missing(self) -> str:
        """The SQL test for rows of `table` that point at nothing."""
        return (
            f"{self.table}.{self.column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {self.parent}"
            f" WHERE {self.parent}.{self.key} = {self.table}.{self.column})"
        )


def list_references(connection: sqlite3.Connection) -> list[Reference]:
    """Every foreign key; each points at a primary key of one column."""
    rows = connection.execute(
        'SELECT t.name, f."from", f."table", k.name'
        ' FROM sqlite_master t, pragma_foreign_key_list(t.name) f, pragma_table_info(f."table") k'
        " WHERE t.type = 'table' AND k.pk = 1 ORDER BY t.rowid, f.id"
    )
    return [Reference(*row) for row in rows]


def renumber_chunks(connection: sqlite3.Connection, moves: Sequence[tuple[int, int]]) -> None:
    """Give chunks new ids, (new, old), the last one the highest; what hangs on them stays."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    pointing = [r for r in list_references(connection) if r.parent == "chunks"]
    for table, column in [("chunks", "id"), *((r.table, r.column) for r in pointing)]:
        connection.executemany(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", moves)
    connection.executemany("UPDATE keywords SET rowid = ? WHERE rowid = ?", moves)
    connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'chunks'", moves[-1][:1])


_REPLACE = (
    "UPDATE chunks SET context = :context WHERE id = :new_id",
    "UPDATE keywords SET terms = :terms WHERE rowid = :new_id",
    "UPDATE embeddings SET vector = :vector, checksum = crc32(:vector) WHERE chunk_id = :new_id",
)


def replace_passages(connection: sqlite3.Connection, rows: Sequence[Mapping[str, object]]) -> None:
    """See `stores.backend.Backend`."""
    renumber_chunks(connection, [(row["new_id"], row["id"]) for row in rows])  # type: ignore[misc]
    for sql in _REPLACE:
        connection.executemany(sql, rows)
