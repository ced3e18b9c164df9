"""`stores.backend.Backend` on a SQLite file."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.errors import StoreCorruptError
from clew.ports.upkeep import Key, Place, Table
from clew.ports.upkeep import Row as WholeRow
from clew.stores.backend import Found, Row, Rows, Statement
from clew.stores.sqlite import tables
from clew.stores.sqlite.connection import Database, is_undecodable
from clew.stores.sqlite.journal import NO_WAY_BACK
from clew.stores.state import COUNT_CHANGE, STATE, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

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
            tables.insert(connection, rows)
            if changes:
                connection.execute(COUNT_CHANGE.sql, {"changes": changes, "moves": 0})

    def update(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        if rows:
            with self._connection() as connection:
                connection.executemany(tables.update_sql(table, tuple(rows[0])), rows)

    def replace_passages(self, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        with self._connection() as connection:
            tables.replace_passages(connection, rows)

    def delete(self, table: Table, keys: Sequence[int] | Sequence[str]) -> None:
        """See `Backend`."""
        with self._connection() as connection:
            for sql in tables.delete_sql(table):
                connection.execute(sql, {"keys": json.dumps(list(keys))})

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """See `Backend`."""
        with self._connection() as connection:
            rows = tables.read_rows(connection, table, after, limit)
            if table == "chunks":  # a copy's checksums are its own
                refuse_damaged_embeddings(connection, [int(row["id"] or 0) for row in rows])
            return rows

    def count_rows(self, table: Table) -> int:
        """See `Backend`."""
        with self._connection() as connection:
            return tables.count_rows(connection, table)

    def clear(self) -> None:
        """See `Backend`."""
        with self.database.write() as connection:
            tables.clear(connection)
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
