"""Copies of a store: written while others work on it, and brought back in one transaction."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clew.derived_files import derived_files, make_file, remove_files
from clew.errors import InputError, StoreCorruptError, StoreError
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.journal import NO_WAY_BACK
from clew.stores.sqlite.schema import has_tables, make_tables
from clew.stores.sqlite.store import COPY_PREFIX, SqliteStore

if TYPE_CHECKING:
    from clew.stores.backend import Progress

KEPT = ("jobs", "job_items", "audit", "refusals", "llm_cache", "conversation_messages")
"""Tables that no copy brings back: who did what here, what is being done, what cannot be, what a
language model was asked, and said in conversations."""
_FILE = "clew.db"
_ABANDONED_SECONDS = 3600.0
_PAGES = 2500
"""Written between two reports of progress: some ten megabytes."""
# Never taken back: numbers that tell derived structures and other processes what changed, and which
# store this is.
_NUMBERS = ("generation", "epoch", "schema_version", "store_id")
_TABLES = """
SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
    AND name NOT LIKE 'keywords~_%' ESCAPE '~' AND name NOT IN (SELECT value FROM json_each(?))
"""


# Of the full-text index's own tables the library that made them decides how they are written.
_SCHEMA = """
SELECT type, name, tbl_name, CASE WHEN name LIKE 'keywords~_%' ESCAPE '~' THEN '' ELSE sql END
FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'
"""


def back_up(store: SqliteStore, target: Path, progress: Progress | None = None) -> int:
    """Write the store as it is now to a file of its own, and check that file; its bytes.

    `progress` is called with the pages written, then with the invariants checked. Others may write
    meanwhile. Raises `InputError` where there is such a file already, and `StoreCorruptError` where
    the copy is not sound; then no file is left.
    """
    if os.path.exists(target):  # false, too, for a name that is too long
        raise InputError(f"{str(target)!r} exists already; give the name of a new file")
    with _folder_beside(target.parent) as folder:
        copy = folder / _FILE
        with store.database.read() as connection:
            copy_database(connection, copy, progress)
        _checked(folder, copy, progress)
        os.replace(copy, target)
    return target.stat().st_size


def restore(store: SqliteStore, source: Path, *, own: bool = False) -> None:
    """Put the content of a backup in place of the store's, all at once for everybody who reads.

    Jobs, the audit log and the store's identity stay. With `own`, a backup of another store is
    refused. Before anything is written, its schema must be Clew's to the letter, since triggers and
    views would be run, and all of it sound.

    Raises `StoreCorruptError` for a backup that is not sound, `StoreMismatchError` for one of
    another schema, and `StoreError` for one of another embedder or of another store; then nothing
    has changed. Raises `InputError` where there is no such file.
    """
    if not source.is_file():
        raise InputError(f"there is no file {str(source)!r}; give one that `backup` wrote")
    store.database.require_writable()
    with _folder_beside(store.folder) as folder:
        copy = folder / _FILE
        shutil.copyfile(source, copy)
        _verify(copy, source)
        if own and _store_id(copy) != store.identity():
            raise StoreError(
                f"the backup {source.name!r} is of another store; whoever runs this one restores it"
                " with `clew restore FILE`"
            )
        found = _checked(folder, source)
        if store.embedder() not in (None, found) and found is not None:
            raise StoreError(
                f"the backup {str(source)!r} was made with the embedder {found!r}, the store with"
                f" {store.embedder()!r}; open the store with the former, or restore into a new one"
            )
        with attached(store, copy) as connection:
            replace_content(connection, kept=KEPT)
            connection.execute(NO_WAY_BACK.format(table="main.audit"))
    remove_files(derived_files(store.folder))


def copy_database(
    connection: sqlite3.Connection, file: Path, progress: Progress | None = None
) -> None:
    """Write the state that a transaction sees to a new file, while others write."""

    def tell(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress("pages written", total - remaining, total)

    make_file(file)
    with closing(sqlite3.connect(file)) as written:
        connection.backup(written, pages=_PAGES, progress=tell)


@contextmanager
def attached(store: SqliteStore, copy: Path) -> Iterator[sqlite3.Connection]:
    """A transaction that may write to the store, in which another store's file is `copy`."""

    def attach(connection: sqlite3.Connection) -> None:
        connection.execute("ATTACH DATABASE ? AS copy", (str(copy),))

    database = Database(store.database.path, store.database.busy_seconds, attach)
    try:
        with database.write() as connection:
            yield connection
    finally:
        database.close()


def replace_content(connection: sqlite3.Connection, kept: Sequence[str]) -> None:
    """Put the rows of the attached copy in place of the store's, but for the tables in `kept`.

    Generation and mentions version grow beyond both stores'. Rows in `kept` go with their chunks.
    """
    connection.execute("PRAGMA defer_foreign_keys = ON")
    tables = [row[0] for row in connection.execute(_TABLES, (json.dumps([*kept, "meta"]),))]
    # Deleting from one table may delete from others: all of it comes first.
    for table in tables:
        connection.execute(f"DELETE FROM main.{table}")
    for table in tables:
        _copy_rows(connection, table)
    _copy_meta(connection)


def _copy_rows(connection: sqlite3.Connection, table: str) -> None:
    sql = "SELECT '\"' || replace(name, '\"', '\"\"') || '\"' FROM pragma_table_info(?, 'main')"
    columns = [str(row[0]) for row in connection.execute(sql, (table,))]
    if table == "keywords":  # its rows are found by their number
        columns.append("rowid")
    names = ", ".join(columns)
    connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM copy.{table}")


def _copy_meta(connection: sqlite3.Connection) -> None:
    numbers = json.dumps(_NUMBERS)
    others = "name NOT IN (SELECT value FROM json_each(?))"
    connection.execute(f"DELETE FROM main.meta WHERE {others}", (numbers,))
    connection.execute(f"INSERT INTO main.meta SELECT * FROM copy.meta WHERE {others}", (numbers,))
    for name in ("generation", "epoch"):
        # Higher than either has ever been: nothing built from one is taken for the other's.
        connection.execute(
            "UPDATE main.meta SET value = 1 + max(value, coalesce("
            "(SELECT value FROM copy.meta WHERE name = :name), 0)) WHERE name = :name",
            {"name": name},
        )


def _verify(copy: Path, shown: Path) -> None:
    """Raise `StoreCorruptError` unless the file is a store's by its schema, and whole.

    It is only read, by a connection that trusts nothing in it.
    """
    try:
        with (
            closing(_opened(copy)) as given,
            closing(sqlite3.connect(":memory:")) as made,
        ):
            given.execute("PRAGMA trusted_schema = OFF")
            make_tables(made)
            if has_tables(given, str(shown)) and set(given.execute(_SCHEMA)) == set(
                made.execute(_SCHEMA)
            ):
                (verdict,) = given.execute("PRAGMA integrity_check(1)").fetchone()
                if verdict == "ok":
                    return
    except (sqlite3.Error, StoreCorruptError, TypeError, ValueError):
        pass
    raise StoreCorruptError(
        f"{str(shown)!r} is no store as Clew writes one, or is damaged; take another backup"
    )


def _opened(file: Path) -> sqlite3.Connection:
    """A file that nobody writes to, for reading."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True)


def _store_id(file: Path) -> str:
    with closing(_opened(file)) as connection:
        row = connection.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()
    return str(row[0]) if row else ""


def _checked(folder: Path, shown: Path, progress: Progress | None = None) -> tuple[str, int] | None:
    """Embedder of the store in a folder, which is sound."""
    try:
        store = SqliteStore(folder)
    except StoreCorruptError as error:
        raise StoreCorruptError(
            f"{str(shown)!r} is no store, or is damaged; take another backup"
        ) from error

    def tell(_: str, done: int, total: int | None) -> None:
        if progress is not None:
            progress("invariants checked", done, total)

    try:
        problems = store.check(progress=tell).problems
        if problems:
            raise StoreCorruptError(
                f"{str(shown)!r} is no sound store ({problems[0].invariant}: {problems[0].detail});"
                " take another backup"
            )
        return store.embedder()
    finally:
        store.close()


@contextmanager
def _folder_beside(parent: Path) -> Iterator[Path]:
    """A folder on the disk that the result is to be on, gone afterwards."""
    try:
        _remove_abandoned(parent)
        with tempfile.TemporaryDirectory(dir=parent, prefix=COPY_PREFIX) as folder:
            yield Path(folder)
    except OSError as error:
        raise StoreError(
            f"cannot copy by way of {str(parent)!r} ({error.strerror or error}); check the folder's"
            " rights and the space on its disk"
        ) from error


def _remove_abandoned(parent: Path) -> None:
    """Remove what processes left that were killed: nothing in it has changed for long."""
    for folder in parent.glob(f"{COPY_PREFIX}*"):
        with suppress(OSError):  # it may just have gone
            newest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            if time.time() - newest > _ABANDONED_SECONDS:
                shutil.rmtree(folder)
