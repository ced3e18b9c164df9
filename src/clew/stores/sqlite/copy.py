"""Copying a store out of and into its SQLite file, row by row; see `ports.copying`."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from clew.derived_files import derived_files, remove_files
from clew.errors import InputError, StoreError
from clew.ports.copying import SHAPES, Header, Key, Mark, Place, Row, Table
from clew.private_files import make_folder
from clew.stores.copy_marks import (
    NOT_BEGUN,
    built_in_copy,
    copied_twice,
    folder_place,
    mark_from_text,
    mark_to_text,
    written_meanwhile,
)
from clew.stores.sqlite.backend import read_state, refuse_damaged_embeddings
from clew.stores.sqlite.migrations import open_database

COPY_PREFIX = ".clew-copy-"
"""Of folders in which a store is put together; those that were left are removed by `backup`."""
_MARK = "copying"
_NUMBERED = ("sections", "chunks", "entities", "aliases", "relations")
_NAMES: Mapping[Table, str] = {
    "versions": "document_versions",
    "times": "chunk_times",
    "rules": "link_rules",
    "extraction_log": "relationship_extraction_log",
    "partition": "partition_state",
}
# Where rows are read from, if not from one table alone.
_SOURCES: Mapping[Table, str] = {
    "chunks": """chunks LEFT JOIN embeddings e ON e.chunk_id = id
        LEFT JOIN keywords k ON k.rowid = id
        LEFT JOIN usage u ON u.chunk_id = id LEFT JOIN agent_extractions r ON r.chunk_id = id""",
    "extraction_log": """(SELECT DISTINCT entity_id, extracted_at, relationships_found
        FROM relationship_extraction_log)""",
    "topics": """(SELECT topics.*, (SELECT json_group_array(chunk_id) FROM (
        SELECT chunk_id FROM topic_chunks WHERE topic_id = topics.id ORDER BY chunk_id)) AS chunks
        FROM topics)""",
    "partition": "(SELECT name, value FROM partition_state WHERE name <> 'built')",
}
# What goes with a row, after it.
_BESIDE: Mapping[Table, tuple[str, ...]] = {
    "chunks": (
        "INSERT INTO keywords (rowid, terms) SELECT :id, :terms WHERE :terms NOT NULL",
        "INSERT INTO embeddings SELECT :id, :vector, crc32(:vector) WHERE :vector NOT NULL",
        "INSERT INTO usage SELECT :id, :uses, :last_used WHERE :uses NOT NULL",
        "INSERT INTO agent_extractions SELECT :id, :read_at WHERE :read_at NOT NULL",
    ),
    "topics": ("INSERT INTO topic_chunks SELECT :id, value FROM json_each(:chunks)",),
}
_BESIDE_COLUMNS: Mapping[Table, frozenset[str]] = {
    "chunks": frozenset({"terms", "vector", "uses", "last_used", "read_at"}),
    "topics": frozenset({"chunks"}),
}
_BESIDE_TABLES = ("topic_chunks", "agent_extractions", "usage", "embeddings", "keywords")


class SqliteCopy:
    """`ports.copying.CopyTarget`, and thereby `CopySource`, on `folder/clew.db`.

    Its connection is its own: a store under construction cannot be opened as a `SqliteStore`.
    """

    def __init__(self, folder: Path, *, busy_seconds: float = 30.0, make: bool = False) -> None:
        """Open a store; with `make`, one is made where there is none.

        Raises `InputError` where there is none, else what `SqliteStore` raises.
        """
        self._folder = folder
        self._place = folder_place(folder)
        if not make and not (folder / "clew.db").is_file():
            raise InputError(
                f"there is no store {self._place}; give the one to copy with --from and --namespace"
            )
        if make:
            _make(folder, busy_seconds)
        self._database = open_database(folder, busy_seconds, lambda connection: None)

    @property
    def place(self) -> Place:
        """See `ports.copying.CopySource`."""
        return self._place

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `ports.copying.CopySource`; others may write meanwhile."""
        with self._database.read():
            yield

    def close(self) -> None:
        """See `ports.copying.CopySource`."""
        self._database.close()

    # --- reading

    def mark(self) -> Mark | None:
        """See `ports.copying.CopySource`."""
        with self._database.read() as connection:
            return mark_from_text(read_state(connection).copying)

    def header(self) -> Header:
        """See `ports.copying.CopySource`."""
        with self._database.read() as connection:
            built = connection.execute("SELECT value FROM partition_state WHERE name = 'built'")
            free = dict(connection.execute("SELECT name, seq + 1 FROM sqlite_sequence"))
            state = read_state(connection)
            return Header(
                embedder=state.vectors,
                functional=tuple(state.functional),
                generation=state.generation,
                epoch=state.mentions_version,
                communities=int((built.fetchone() or (-1,))[0]),
                next_ids={name: int(free.get(name, 1)) for name in _NUMBERED},
            )

    def count_rows(self, table: Table) -> int:
        """See `ports.copying.CopySource`."""
        source = "chunks" if table == "chunks" else _source(table)
        with self._database.read() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """See `ports.copying.CopySource`."""
        key, columns = SHAPES[table]
        above = "" if after is None else f"WHERE ({_list(key)}) > ({', '.join('?' * len(key))})"
        sql = f"SELECT {_list(columns)} FROM {_source(table)} {above} ORDER BY {_list(key)} LIMIT ?"
        with self._database.read() as connection:
            found = connection.execute(sql, (*(after or ()), limit))
            rows = [dict(zip(columns, row, strict=True)) for row in found]
            if table == "chunks":  # the copy's checksums are its own
                refuse_damaged_embeddings(connection, [row["id"] for row in rows])
            return rows

    # --- writing

    def begin(self, mark: Mark, header: Header) -> None:
        """See `ports.copying.CopyTarget`."""
        with self._database.write() as connection:
            if read_state(connection).generation != mark.held:
                raise written_meanwhile(self._place)
            # At the commit nothing is left that could point at what is gone.
            connection.execute("PRAGMA defer_foreign_keys = ON")
            for name in (*_BESIDE_TABLES, *(_NAMES.get(t, t) for t in reversed(list(SHAPES)))):
                connection.execute(f"DELETE FROM {name}")
            _write_meta(connection, {_MARK: mark_to_text(mark)})

    def write_rows(self, table: Table, rows: Sequence[Row], *, before: Mark, after: Mark) -> None:
        """See `ports.copying.CopyTarget`."""
        with self._database.write() as connection:
            self._check_mark(connection, before)
            for statement in _inserts(table):
                connection.executemany(statement, rows)
            _write_meta(connection, {_MARK: mark_to_text(after)})

    def finish(self, mark: Mark, header: Header) -> None:
        """See `ports.copying.CopyTarget`."""
        with self._database.write() as connection:
            self._check_mark(connection, mark)
            state = read_state(connection)
            generation = 1 + max(state.generation, header.generation)
            epoch = 1 + max(state.mentions_version, header.epoch)
            numbers = {"generation": generation, "epoch": epoch}
            _write_meta(connection, {**numbers, **_remembered(header)})
            _write_next_ids(connection, header.next_ids)
            built = built_in_copy(header, generation)
            if built is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO partition_state VALUES ('built', ?)", (built,)
                )
            connection.execute("DELETE FROM meta WHERE name = ?", (_MARK,))
        remove_files(derived_files(self._folder))

    def _check_mark(self, connection: sqlite3.Connection, mark: Mark) -> None:
        if mark_from_text(read_state(connection).copying) != mark:
            raise copied_twice(self._place)


def _make(folder: Path, busy_seconds: float) -> None:
    """Put a store where there is none, which from its first moment is an unfinished copy."""
    place = folder / "clew.db"
    if place.exists():
        return
    try:
        make_folder(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=COPY_PREFIX) as beside:
            made = open_database(Path(beside), busy_seconds, lambda connection: None)
            with closing(made), made.write() as connection:
                _write_meta(connection, {_MARK: NOT_BEGUN})
            _put(Path(beside) / place.name, place)
    except OSError as error:
        raise StoreError(
            f"cannot make a store in {str(folder)!r} ({error.strerror}); give another place with"
            " --to"
        ) from error


def _put(made: Path, place: Path) -> None:
    try:
        os.link(made, place)
    except FileExistsError:  # another copy was faster
        pass
    except OSError:  # a disk without links
        os.replace(made, place)


def _list(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _source(table: Table) -> str:
    return _SOURCES.get(table) or _NAMES.get(table, table)


def _inserts(table: Table) -> tuple[str, ...]:
    """Statements that take a row by the names of its columns."""
    columns = [name for name in SHAPES[table].columns if name not in _BESIDE_COLUMNS.get(table, ())]
    values = ", ".join(f":{name}" for name in columns)
    return (
        f"INSERT INTO {_NAMES.get(table, table)} ({_list(columns)}) VALUES ({values})",
        *_BESIDE.get(table, ()),
    )


def _remembered(header: Header) -> dict[str, str | int]:
    """What `meta` holds of the embedder and the functional types."""
    values: dict[str, str | int] = {"functional": json.dumps(list(header.functional))}
    if header.embedder is not None:
        values["embedder"], values["dimension"] = header.embedder
    return values


def _write_meta(connection: sqlite3.Connection, values: Mapping[str, str | int]) -> None:
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _write_next_ids(connection: sqlite3.Connection, next_ids: Mapping[str, int]) -> None:
    """Give no id again that the source ever gave."""
    before = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    for name, free in next_ids.items():
        if before.get(name, 0) < free - 1:
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (name, free - 1))
