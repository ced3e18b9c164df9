"""A store's database in a SQLite file: transactions, statements, and where its rows are."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew.errors import StoreCorruptError
from clew.stores.backend import (
    SHAPES,
    Found,
    Key,
    Place,
    Row,
    Rows,
    Statement,
    Table,
    WholeRow,
)
from clew.stores.sqlite.connection import Database, is_undecodable
from clew.stores.sqlite.journal import NO_WAY_BACK
from clew.stores.state import COUNT_CHANGE, STATE, State

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


def _source(table: Table) -> str:
    return _SOURCES.get(table) or table_name(table)


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
T = TypeVar("T")


_READABLE = partial(str, encoding="utf-8", errors="replace")
"""What can be read of a text that is damaged."""


class SqliteBackend:
    """The file `clew.db` in a folder; see `stores.backend.Backend`.

    Of a text that is damaged `gather` gives what can be read. All else fails over it, so that
    nothing damaged is kept as sound.
    """

    def __init__(self, database: Database) -> None:
        """The database is closed with it."""
        self.database = database
        self._here = threading.local()

    @property
    def folder(self) -> Path:
        """See `Backend`."""
        return self.database.path.parent

    @property
    def place(self) -> Place:
        """See `Backend`."""
        return folder_place(self.folder)

    # --- transactions

    @property
    def read_only(self) -> bool:
        """See `Backend`."""
        return self.database.read_only

    def writable(self) -> SqliteBackend:
        """See `Backend`."""
        if not self.read_only:
            return self
        return SqliteBackend(self.database.copy_for_this_process())

    def write(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """See `Backend`; `work` is called once, and undone also within a batch."""
        if getattr(self._here, "connection", None) is not None:
            return work()
        with self.database.write(durable=durable) as connection:
            self._here.connection = connection
            try:
                return work()
            finally:
                self._here.connection = None

    def _connection(self) -> AbstractContextManager[sqlite3.Connection]:
        """That of the `write` under way, else one that reads."""
        held: sqlite3.Connection | None = getattr(self._here, "connection", None)
        return self.database.read() if held is None else nullcontext(held)

    def batch(self) -> AbstractContextManager[None]:
        """See `Backend`."""
        return self.database.batch()

    def grouping(self) -> AbstractContextManager[None]:
        """See `Backend`."""
        return self.database.grouping()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `Backend`; others may write meanwhile."""
        with self.database.read():
            yield

    def consistent(self) -> AbstractContextManager[None]:
        """See `Backend`."""
        return self.reading()

    # --- statements

    def rows(self, statement: Statement, **parameters: object) -> Found:
        """See `Backend`."""
        with self._connection() as connection:
            return connection.execute(statement.sql, _bound(parameters)).fetchall()

    def gather(self, *statements: Statement, **parameters: object) -> list[Found]:
        """See `Backend`; in the order that each statement gives."""
        values = _bound(parameters)
        with self._connection() as connection:
            try:
                return [connection.execute(s.sql, values).fetchall() for s in statements]
            except sqlite3.OperationalError as error:
                if not is_undecodable(error):
                    raise
            connection.text_factory = _READABLE
            try:
                return [connection.execute(s.sql, values).fetchall() for s in statements]
            finally:
                connection.text_factory = str

    def columns(
        self, statement: Statement, types: Sequence[str], **parameters: object
    ) -> list[NDArray[Any]]:
        """See `Backend`."""
        record = np.dtype([(f"f{i}", type_) for i, type_ in enumerate(types)])
        with self._connection() as connection:
            found = np.fromiter(connection.execute(statement.sql, _bound(parameters)), dtype=record)
        return [np.ascontiguousarray(found[name]) for name in record.names or ()]

    def execute(self, *statements: Statement, **parameters: object) -> None:
        """See `Backend`."""
        values = _bound(parameters)
        with self._connection() as connection:
            for statement in statements:
                connection.execute(statement.sql, values)

    def execute_many(self, statement: Statement, rows: Sequence[Row]) -> int:
        """See `Backend`."""
        with self._connection() as connection:
            return connection.executemany(statement.sql, rows).rowcount

    # --- tables

    def insert(self, rows: Rows, *, changes: int = 0, weights: Sequence[Row] = ()) -> None:
        """See `Backend`."""
        self.update("relations", weights)
        with self._connection() as connection:
            for table in SHAPES:  # what rows point at comes before them
                if of_table := rows.get(table):
                    for sql in _insert_sql(table, tuple(of_table[0])):
                        connection.executemany(sql, of_table)
            if changes:
                connection.execute(COUNT_CHANGE.sql, {"changes": changes, "moves": 0})

    def update(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        if rows:
            key = SHAPES[table].key
            values = ", ".join(f'"{name}" = :{name}' for name in rows[0] if name not in key)
            found = " AND ".join(f'"{name}" = :{name}' for name in key)
            sql = f"UPDATE {table_name(table)} SET {values} WHERE {found}"
            with self._connection() as connection:
                connection.executemany(sql, rows)

    def replace_passages(self, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        with self._connection() as connection:
            renumber_chunks(connection, [(row["new_id"], row["id"]) for row in rows])
            for sql in _REPLACE:
                connection.executemany(sql, rows)

    def delete(self, table: Table, keys: Sequence[int] | Sequence[str]) -> None:
        """See `Backend`."""
        among = f'"{SHAPES[table].key[0]}" IN (SELECT value FROM json_each(:keys))'
        own = f"DELETE FROM {table_name(table)} WHERE {among}"
        with self._connection() as connection:
            for sql in (*_DELETE_FIRST.get(table, ()), own):
                connection.execute(sql, {"keys": json.dumps(list(keys))})

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """See `Backend`."""
        key, columns = SHAPES[table]
        above = (
            "" if after is None else f"WHERE ({column_list(key)}) > ({', '.join('?' * len(key))})"
        )
        with self._connection() as connection:
            found = connection.execute(
                f"SELECT {column_list(columns)} FROM {_source(table)} {above}"
                f" ORDER BY {column_list(key)} LIMIT ?",
                (*(after or ()), limit),
            )
            rows = [dict(zip(columns, row, strict=True)) for row in found]
            if table == "chunks":  # a copy's checksums are its own
                refuse_damaged_embeddings(connection, [int(row["id"] or 0) for row in rows])
            return rows

    def count_rows(self, table: Table) -> int:
        """See `Backend`."""
        source = "chunks" if table == "chunks" else _source(table)
        with self._connection() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])

    def clear(self) -> None:
        """See `Backend`."""
        with self.database.write() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            for name in (*_BESIDE_TABLES, *map(table_name, reversed(list(SHAPES)))):
                connection.execute(f"DELETE FROM {name}")
            connection.execute(NO_WAY_BACK.format(table="audit"))

    def define_vectors(self, dimension: int) -> None:
        """See `Backend`; searched in a matrix beside the file, which takes nothing of it."""

    def close(self) -> None:
        """See `Backend`."""
        self.database.close()


def _bound(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Parameters as SQLite takes them: a list is one value, for `json_each`."""
    return {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


def folder_place(folder: Path) -> Place:
    """The place of a store in a folder: that of a namespace in a folder of stores."""
    whole = folder.resolve()
    return Place(str(whole.parent), whole.name)


def read_state(connection: sqlite3.Connection) -> State:
    """What the store remembers of itself."""
    return State(connection.execute(STATE.sql).fetchall())


def free_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of the file that hold nothing and are used before it grows."""
    pages, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("freelist_count", "page_size")
    )
    return int(pages * size)


def refuse_damaged_embeddings(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> None:
    """Raise `StoreCorruptError` where an embedding is not as it was written."""
    row = connection.execute(
        "SELECT chunk_id FROM embeddings WHERE chunk_id IN (SELECT value FROM json_each(?))"
        " AND checksum IS NOT crc32(vector)",
        (json.dumps(chunk_ids),),
    ).fetchone()
    if row is not None:
        raise damaged_embedding(connection, row[0])


def damaged_embedding(connection: sqlite3.Connection, chunk_id: int) -> StoreCorruptError:
    """The error of an embedding that is not as it was written."""
    row = connection.execute(
        "SELECT d.source FROM chunks c JOIN documents d ON d.id = c.document_id WHERE c.id = ?",
        (chunk_id,),
    ).fetchone()
    source = row[0] if row else "?"
    return StoreCorruptError(
        f"the embedding of chunk {chunk_id}, of the document {source!r}, is damaged; delete that"
        " document and index it again, or restore the store from a backup"
    )
