"""Copies of a store: written while others work on it, brought back or switched to all at once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.derived_files import FileLock, derived_files, make_file, make_folder, remove_files
from clew.errors import InputError, StoreBusyError, StoreCorruptError, StoreError
from clew.stores.backend import Progress, now
from clew.stores.documents import DocumentRow as Row
from clew.stores.documents import PreparedDocument, names_of, prepare, write_document
from clew.stores.passages import extractor_of
from clew.stores.sqlite.backend import id_list, read_state, renumber_chunks
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.journal import NO_WAY_BACK
from clew.stores.sqlite.schema import has_tables, make_tables
from clew.stores.sqlite.store import COPY_PREFIX, SqliteStore
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, NextIds, remember_embedder
from clew.types import Document, Extraction, IndexedDocument, Split

if TYPE_CHECKING:
    from pydantic import TypeAdapter


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
    quoted = "SELECT '\"' || replace(name, '\"', '\"\"') || '\"' FROM pragma_table_info(?, 'main')"
    for table in tables:
        columns = [str(row[0]) for row in connection.execute(quoted, (table,))]
        if table == "keywords":  # its rows are found by their number
            columns.append("rowid")
        names = ", ".join(columns)
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM copy.{table}")
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
        # What processes left that were killed: nothing in it has changed for long.
        for left in parent.glob(f"{COPY_PREFIX}*"):
            with suppress(OSError):  # it may just have gone
                newest = max(path.stat().st_mtime for path in (left, *left.iterdir()))
                if time.time() - newest > _ABANDONED_SECONDS:
                    shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=parent, prefix=COPY_PREFIX) as folder:
            yield Path(folder)
    except OSError as error:
        raise StoreError(
            f"cannot copy by way of {str(parent)!r} ({error.strerror or error}); check the folder's"
            " rights and the space on its disk"
        ) from error


# Documents made again, kept beside the store until all of them can take their places at once.
#
# The folder `.reindex` holds a file for one way of making documents (the target): of each
# document,
# all that saving it takes, and when its former self was written, which tells whether it has
# changed
# since. It is written document by document, so that whoever comes after a crash goes on.
#
# One process at a time builds: it holds a lock on a file beside the folder.


FORMAT = 1
"""Grows whenever what is staged means something else."""
_FOLDER = ".reindex"
_LOCK = ".reindex.lock"
_LOOK_SECONDS = 0.2
_STAGED = """
CREATE TABLE IF NOT EXISTS staged (
    id TEXT PRIMARY KEY,
    written_at TEXT NOT NULL,
    parts TEXT NOT NULL,
    vectors BLOB NOT NULL
)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """How documents are to be made."""

    pipeline_fingerprint: str
    embedder: str
    dimension: int

    @property
    def file_name(self) -> str:
        """The same for the same target, in every process."""
        said = json.dumps([FORMAT, self.pipeline_fingerprint, self.embedder, self.dimension])
        return f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.db"


@dataclass(frozen=True, slots=True)
class _Parts:
    document: Document
    split: Split
    extraction: Extraction


class Staging:
    """The documents that are ready; made by `open_staging`."""

    def __init__(self, folder: Path, database: Database, target: Target) -> None:
        self.target = target
        self._folder = folder
        self._database = database

    def put(self, entry: IndexedDocument, written_at: str) -> None:
        """Keep a document, made from the one that was written at that moment."""
        parts = _Parts(entry.document, entry.split, entry.extraction)
        vectors = np.ascontiguousarray(entry.vectors, dtype="<f4").tobytes()
        row = (entry.document.id, written_at, _adapter().dump_json(parts).decode(), vectors)
        sql = "INSERT OR REPLACE INTO staged VALUES (?, ?, ?, ?)"
        self._database.change(sql, row, durable=False)  # it can be made again

    def get(self, document_id: str) -> IndexedDocument:
        """A document that is ready, but for its links."""
        sql = "SELECT parts, vectors FROM staged WHERE id = ?"
        ((parts, vectors),) = self._database.rows(sql, (document_id,))
        made = _adapter().validate_json(parts)
        return IndexedDocument(
            document=made.document,
            split=made.split,
            vectors=np.frombuffer(vectors, dtype="<f4").reshape(-1, self.target.dimension),
            extraction=made.extraction,
            pipeline_fingerprint=self.target.pipeline_fingerprint,
        )

    def missing(self, wanted: Mapping[str, str]) -> list[str]:
        """Those of the documents (when each was written, by id) that are not ready, in order."""
        sql = "SELECT id, written_at FROM staged WHERE id IN (SELECT value FROM json_each(?))"
        ready = dict(self._database.rows(sql, (id_list(wanted),)))
        return [id_ for id_, written_at in wanted.items() if ready.get(id_) != written_at]

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder that is gone afterwards: on a full disk it must not be what fills it."""
        folder = self._folder / "copy"
        try:
            with _writing_to(self._folder):
                shutil.rmtree(folder, ignore_errors=True)
                make_folder(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self) -> None:
        """Forget everything; nothing can be read or written afterwards."""
        self._database.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def open_staging(
    store_folder: Path, target: Target, busy_seconds: float, wait: Callable[[], None]
) -> Iterator[Staging]:
    """What is ready for a target; what was made for another one is removed.

    `wait` is called again and again while another process (or thread) builds. Raises `StoreError`
    where the folder cannot be written.
    """
    folder, busy = store_folder / _FOLDER, "another process reindexes this store; ask again later"
    lock = FileLock(store_folder / _LOCK, _LOOK_SECONDS, busy)
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(lock.held())
                break
            except StoreBusyError:
                wait()
        with _writing_to(folder):
            make_folder(folder)
            for path in folder.iterdir():
                if path.is_dir():  # a copy that was not finished
                    shutil.rmtree(path)
                elif not path.name.startswith(target.file_name):
                    path.unlink()
            make_file(folder / target.file_name)
        database = Database(folder / target.file_name, busy_seconds)
        try:
            database.change(_STAGED)
            yield Staging(folder, database, target)
        finally:
            database.close()


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot build in {str(folder)!r} ({error.strerror or error}); check the folder's"
            " rights and the space on its disk"
        ) from error


@cache
def _adapter() -> TypeAdapter[_Parts]:
    """Reads and writes a document's parts as JSON; made when it is first needed."""
    from pydantic import TypeAdapter

    return TypeAdapter(_Parts)


# Switching a store to documents that were made again: all at once, and nothing is lost.
#
# Others read and write the store while documents are made again, by hand and by indexing. So the
# store stays the truth, and what is staged is only how each of its documents is to be split, read
# and embedded. When all are ready:
#
# 1. A copy of the store is made beside it, and the documents are saved there, one by one, by what
#    saves any document: links, entities and relations by hand, retractions and versions stay.
# 2. In one transaction the content of the copy takes the place of the store's, provided that the
#    store is still at the generation that was copied. Where it is not, all begins with a new
#    copy;
#    only documents that changed have to be made once more, the others are still ready.
#
# Chunks in the copy have ids that the store has not given before, nor has it given them since:
# giving
# one changes its generation. What was derived from its former content is thus never taken for the
# new one's. What changes without a new generation stays the store's own: how often passages were
# used, communities and topics, jobs and the audit log.
#
# A store that is written to without a pause would never stand still for long enough. It is
# switched
# directly in the end: the same documents are saved in one transaction of its own, for which other
# writers wait some times longer.
#
# Of a document of which nothing but the vectors is new, all that hangs on its passages stays:
# what
# assistants found in a passage, what was retracted and how often it was used cannot be made again
# from its text. The passages get new ids all the same: whatever was derived from the former
# vectors
# goes by ids.


def differs_in_vectors_alone(connection: sqlite3.Connection, prepared: PreparedDocument) -> bool:
    """Whether the store holds this document with the same passages, read by the same extractor."""
    document = prepared.entry.document.id
    (pipeline_fingerprint,) = connection.execute(
        "SELECT recipe FROM documents WHERE id = ?", (document,)
    ).fetchone()
    return (
        extractor_of(pipeline_fingerprint) == extractor_of(prepared.entry.pipeline_fingerprint)
        and _holds(
            connection,
            "documents",
            [{**prepared.document, "recipe": pipeline_fingerprint}],
            document,
        )
        and _holds(connection, "sections", prepared.sections, document)
        and _holds(connection, "chunks", prepared.chunks, document)
    )


def _holds(
    connection: sqlite3.Connection, table: str, rows: Sequence[Row], document_id: str
) -> bool:
    """Whether these, and no others, are the document's rows, but for what they do not say."""
    names = list(rows[0]) if rows else ["ordinal"]
    columns = ", ".join(f'"{name}"' for name in names)
    by, order = ("id", "id") if table == "documents" else ("document_id", "ordinal")
    held = connection.execute(
        f"SELECT {columns} FROM {table} WHERE {by} = ? ORDER BY {order}", (document_id,)
    )
    return held.fetchall() == [tuple(row.values()) for row in rows]


def write_vectors(connection: sqlite3.Connection, prepared: PreparedDocument) -> None:
    """Give the document's passages new vectors and new ids; call inside a write transaction."""
    document = prepared.entry.document.id
    free = NextIds(*connection.execute(NEXT_IDS.sql).fetchone()).chunks
    rows = connection.execute(
        "SELECT id FROM chunks WHERE document_id = ? ORDER BY ordinal", (document,)
    )
    moves = [(free + number, chunk_id) for number, (chunk_id,) in enumerate(rows)]
    if moves:
        renumber_chunks(connection, moves)
    connection.executemany(
        "UPDATE embeddings SET vector = ?1, checksum = crc32(?1) WHERE chunk_id = ?2",
        [(row.tobytes(), new) for row, (new, _) in zip(prepared.vectors, moves, strict=True)],
    )
    connection.execute(
        "UPDATE documents SET recipe = ?, indexed_at = ? WHERE id = ?",
        (prepared.entry.pipeline_fingerprint, now(), document),
    )
    connection.execute(COUNT_CHANGE.sql, {"changes": 1, "moves": 0})


Linker: TypeAlias = Callable[[IndexedDocument], IndexedDocument]
"""Adds what a store knows: terms in a document, and which of its names it has by another name."""
Say: TypeAlias = Callable[[int, int], None]
"""Told documents done, and of how many."""

_OWN = (*KEPT, "usage", "communities", "themes", "topics", "topic_chunks", "partition_state")
_OUTDATED = """
SELECT id, indexed_at FROM documents
WHERE (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))
    AND (:every OR recipe <> :recipe)
ORDER BY source
"""
_USES = """
SELECT c.document_id AS document, c.start, c."end", u.uses, u.last_used
FROM usage u JOIN chunks c ON c.id = u.chunk_id
"""
# To the same passage, else to the one that the middle of its text lies in now.
_USE = """
INSERT INTO usage SELECT id, :uses, :last_used FROM (
    SELECT id FROM chunks WHERE document_id = :document AND start <= (:start + :end) / 2
    ORDER BY start = :start AND "end" = :end DESC, start DESC LIMIT 1)
WHERE true ON CONFLICT (chunk_id) DO UPDATE SET
    uses = uses + excluded.uses, last_used = max(last_used, excluded.last_used)
"""


def read_outdated(
    database: Database, target: Target, ids: Sequence[str] | None = None
) -> dict[str, str]:
    """When each document was written that is not made as the target says; by id, by source.

    Of the documents given, or of all.
    """
    with database.read() as connection:
        return _outdated(connection, target, ids)


def is_switched(database: Database, target: Target) -> bool:
    """Whether the store holds nothing that is made otherwise."""
    with database.read() as connection:
        same = read_state(connection).vectors in (None, (target.embedder, target.dimension))
        return same and not _outdated(connection, target)


def switch(
    store: SqliteStore,
    staging: Staging,
    linker: Callable[[SqliteStore], Linker],
    say: Say,
    *,
    directly: bool = False,
) -> int | None:
    """Put everything that is staged in its place, all at once, see this module; documents switched.

    None, and nothing changed, where a document is not ready or was changed meanwhile or, unless
    `directly`, where anything else was.
    """
    if directly:
        return _save_staged(store, staging, linker(store), say)
    with staging.scratch() as folder:
        copy = folder / "clew.db"
        with store.database.read() as connection:
            generation = read_state(connection).generation
            copy_database(connection, copy)
        with closing(SqliteStore(folder)) as copied:
            saved = _save_staged(copied, staging, linker(copied), say)
        if saved is None:
            return None
        # Its content takes the place of the store's, if that is still what was copied.
        with attached(store, copy) as connection:
            if read_state(connection).generation != generation:
                return None
            with _uses_kept(connection):
                replace_content(connection, kept=_OWN)
        return saved


def _save_staged(store: SqliteStore, staging: Staging, links: Linker, say: Say) -> int | None:
    """Save all that is outdated, in one transaction; None, and nothing, where any is not ready."""
    backend, target = store.backend, staging.target

    def work() -> int | None:
        with store.database.read() as connection, _uses_kept(connection):
            outdated = _outdated(connection, target)
            if staging.missing(outdated):
                return None
            remember_embedder(backend, (target.embedder, target.dimension))
            for done, document_id in enumerate(outdated):
                say(done, len(outdated))
                prepared = prepare(staging.get(document_id), target.dimension)
                if differs_in_vectors_alone(connection, prepared):
                    write_vectors(connection, prepared)
                else:
                    linked = links(prepared.entry)
                    named = replace(prepared, entry=linked, names=names_of(linked))
                    embedder = (target.embedder, target.dimension)
                    write_document(backend, named, embedder, keep=store.keep_versions)
        backend.execute(COUNT_CHANGE, changes=1, moves=1)
        return len(outdated)

    return backend.write(work)


def _outdated(
    connection: sqlite3.Connection, target: Target, ids: Sequence[str] | None = None
) -> dict[str, str]:
    every = read_state(connection).vectors != (target.embedder, target.dimension)
    among = None if ids is None else id_list(ids)
    values = {"ids": among, "every": every, "recipe": target.pipeline_fingerprint}
    return dict(connection.execute(_OUTDATED, values))


@contextmanager
def _uses_kept(connection: sqlite3.Connection) -> Iterator[None]:
    """Passages that take the place of others are as useful as these were."""
    rows = connection.execute(_USES)
    names = [column[0] for column in rows.description]
    uses = [dict(zip(names, row, strict=True)) for row in rows]
    yield
    connection.execute("DELETE FROM usage")
    connection.executemany(_USE, uses)
