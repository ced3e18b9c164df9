"""The default store: one SQLite file, which is the whole truth of a namespace, and its search.

Words: BM25 in FTS5, over terms that Clew has analysed itself. The tokenizer is `ascii`: it splits
at the spaces between terms and leaves every letter beyond ASCII alone, so that terms of any script
come back as they were given.

Beside it: the journal of a store that is on a server, and opening a file to copy it, or to copy
into it.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np

from clew.derived_files import make_folder
from clew.errors import InputError, StoreBusyError, StoreError
from clew.stores import check as invariants
from clew.stores.backend import Progress
from clew.stores.check import Invariant, StoreCheck
from clew.stores.keywords import DerivedKeywords
from clew.stores.passages import KEEP_VERSIONS
from clew.stores.sqlite.backend import (
    SqliteBackend,
    damaged_embedding,
    folder_place,
    list_references,
)
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.schema import open_database
from clew.stores.state import REMEMBER
from clew.stores.store import NOT_BEGUN, Store
from clew.types import CheckReport, Ids, Problem, Scores, Vectors


class SqliteStore(Store):
    """The store in `folder/clew.db`; threads may share one, processes may open their own.

    Raises `StoreMismatchError` for a store of another embedder or schema,
    `StoreCorruptError` for a damaged file, and `StoreBusyError` where another process keeps the
    store locked for longer than `busy_seconds`. Of `indexed_from` chunks or more, words are sought
    in an index beside it, where that is up to the store.
    """

    backend: SqliteBackend

    def __init__(
        self,
        folder: Path,
        *,
        busy_seconds: float = 30.0,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
        keep_versions: int = KEEP_VERSIONS,
        indexed_from: int | None = None,
    ) -> None:
        """Open the store in `folder`, made where it does not exist; the rest as in `Store`."""
        backend = SqliteBackend(open_database(folder, busy_seconds))
        super().__init__(
            backend, embedder=embedder, functional=functional, keep_versions=keep_versions
        )
        self.keyword_index: DerivedKeywords | None = None
        if indexed_from is not None:
            self.keyword_index = DerivedKeywords(self, folder, least=indexed_from)

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it."""
        return self.backend.database

    def identity(self) -> str:
        """What tells this store from every other one, for good; its backups carry it."""
        ((found,),) = self.database.rows("SELECT value FROM meta WHERE name = 'store_id'")
        return str(found)

    def check(self, repair: bool = False, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant; with `repair`, mend whatever can be derived from the texts.

        `progress` is called with each invariant, its number, and how many there are.
        """
        return SqliteCheck(self.backend, progress).run(repair=repair)

    # --- searching

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`; by the index beside the store where that is up to it."""
        if self.keyword_index is not None:
            found = self.keyword_index.search(terms, limit, allowed)
            if found is not None:
                return found
        return self._search_table(terms, limit, allowed)

    def _search_table(
        self, terms: Sequence[str], limit: int, allowed: Ids | None
    ) -> tuple[Ids, Scores]:
        phrases = " OR ".join('"' + term.replace('"', '""') + '"' for term in dict.fromkeys(terms))
        values: list[str | int] = [phrases]
        among = ""
        if allowed is not None:
            # The plus keeps SQLite from running the whole query once for each rowid.
            among = "AND +rowid IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(allowed.tolist()))
        rows: list[tuple[int, float]] = []
        if phrases and limit > 0:
            sql = f"""
                SELECT rowid, -bm25(keywords) AS score FROM keywords
                WHERE keywords MATCH ? {among} ORDER BY score DESC, rowid LIMIT ?"""
            rows = self.database.rows(sql, [*values, limit])
        return (
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float32),
        )

    def write_indexes(self) -> None:
        """Bring what the store keeps beside itself up to it, where enough has changed.

        Searching does without what is behind, and takes longer.
        """
        if self.keyword_index is not None:
            self.keyword_index.persist()

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings.

        Raises `StoreCorruptError` for one that is damaged.
        """
        with self.database.read() as connection:
            sql = "SELECT count(*) FROM embeddings WHERE chunk_id > ?"
            count = connection.execute(sql, (after,)).fetchone()[0]
            dimension = self.embedder()
            ids = np.empty(count, dtype=np.int64)
            vectors = np.empty((count, dimension[1] if dimension else 0), dtype=np.float32)
            rows = connection.execute(
                "SELECT chunk_id, vector, checksum FROM embeddings"
                " WHERE chunk_id > ? ORDER BY chunk_id",
                (after,),
            )
            for position, (chunk_id, vector, checksum) in enumerate(rows):
                if not isinstance(vector, bytes) or zlib.crc32(vector) != checksum:
                    raise damaged_embedding(connection, chunk_id)
                ids[position] = chunk_id
                vectors[position] = np.frombuffer(vector, dtype="<f4")
        return ids, vectors


# --- beside the store --------------------------------------------------------------------

_JOURNAL = "journal.db"
"""Jobs and the audit log of a store that is on a server."""


def open_journal(folder: Path, busy_seconds: float) -> Database:
    """The journal in a folder, made where there is none; tables of a store stay empty in it."""
    return open_database(folder, busy_seconds, _JOURNAL)


COPY_PREFIX = ".clew-copy-"
"""Of folders in which a store is put together; those that were left are removed by `backup`."""


def open_for_copying(
    folder: Path, *, busy_seconds: float = 30.0, make: bool = False
) -> SqliteBackend:
    """Open `folder/clew.db`; with `make`, one is made where there is none.

    Raises `InputError` where there is none, else what `SqliteStore` raises.
    """
    if make:
        _make(folder, busy_seconds)
    elif not (folder / "clew.db").is_file():
        raise InputError(
            f"there is no store {folder_place(folder)}; give the one to copy with --from and"
            " --namespace"
        )
    return SqliteBackend(open_database(folder, busy_seconds))


def _make(folder: Path, busy_seconds: float) -> None:
    """Put a store where there is none, which from its first moment is an unfinished copy."""
    place = folder / "clew.db"
    if place.exists():
        return
    try:
        make_folder(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=COPY_PREFIX) as beside:
            made = open_database(Path(beside), busy_seconds)
            with closing(made), made.write() as connection:
                connection.execute(REMEMBER.sql, {"name": "copying", "value": NOT_BEGUN})
            ready = Path(beside) / place.name
            try:
                os.link(ready, place)
            except FileExistsError:  # another copy was faster
                pass
            except OSError:  # a disk without links
                os.replace(ready, place)
    except OSError as error:
        raise StoreError(
            f"cannot make a store in {str(folder)!r} ({error.strerror}); give another place with"
            " --to"
        ) from error


# What only a SQLite file can break: its pages, its foreign keys and its full-text index.


_log = logging.getLogger("clew")

_JSON = (
    *(("documents", "metadata"), ("sections", "headings"), ("chunks", "metadata")),
    *(("chunks", "sentences"), ("relations", "context")),
)
_NO_JSON = "SELECT rowid FROM {table} WHERE NOT json_valid({column})"
_TABLES = """
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'keywords%'
    AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name
"""


class SqliteCheck(StoreCheck[SqliteBackend]):
    """`StoreCheck` of a SQLite file, which may be damaged anywhere; it never fails itself."""

    derived = frozenset({"references", "keyword index", "titles"})

    def own(self) -> Mapping[str, Invariant]:
        """See `StoreCheck`."""
        database = self.backend.database
        return {
            "references": lambda _: _references(database),
            "texts": lambda _: _unreadable(database, titles=False),
            "titles": lambda _: _unreadable(database, titles=True),
            "keywords": lambda backend: chain(
                invariants.keywords(backend), _strange_keywords(database)
            ),
        }

    def checked(self) -> tuple[str, ...]:
        """See `StoreCheck`."""
        # Checking the full-text index takes a transaction that may write.
        index = () if self.backend.read_only else ("keyword index",)
        return ("integrity", *super().checked(), *index)

    def find(self) -> list[Problem]:
        """See `StoreCheck`; where the file itself is damaged, that alone."""
        try:
            with self.backend.reading():
                if damage := self.problem("integrity", _integrity(self.backend.database)):
                    return [damage]
                found = super().find()
            if not self.backend.read_only:
                with self.backend.database.write() as connection:
                    index = self.problem("keyword index", _keyword_index(connection))
                found += [index] if index else []
        except StoreBusyError:
            raise
        except StoreError as error:
            return [Problem(invariant="integrity", detail=str(error), repairable=False)]
        return found

    def examined(self, details: Iterable[str]) -> Iterator[str]:
        """See `StoreCheck`; that it cannot even be examined is one such thing."""
        try:
            yield from details
        except Exception as error:  # noqa: BLE001 - damage makes anything of a value
            yield f"cannot be examined, for the database is damaged: {error}"

    def mend(self) -> None:
        """See `StoreCheck`."""
        try:
            super().mend()
        except StoreBusyError:
            raise
        except Exception as error:  # noqa: BLE001 - what stays broken is found and told once more
            _log.warning("nothing could be mended: %s", error)

    def mend_references(self) -> None:
        """Delete what belongs to nothing; an entity comes back from its names.

        Of titles that cannot be read stays what can be.
        """
        with self.backend.database.read() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")  # to the end of the transaction
            connection.execute(
                "INSERT INTO entities (id, name, key, entity_type)"
                " SELECT entity_id, name, key, 'name' FROM aliases"
                " WHERE entity_id NOT IN (SELECT id FROM entities) GROUP BY entity_id"
            )
            # A chunk of a known document is text, and is left alone even without its section.
            references = [
                r for r in list_references(connection) if r[:2] != ("chunks", "section_id")
            ]
            deleted = 1
            while deleted:  # what is deleted may have been a parent itself
                deleted = sum(
                    connection.execute(f"DELETE FROM {r.table} WHERE {r.is_missing}").rowcount
                    for r in references
                )
            titles = connection.execute("SELECT id, CAST(title AS BLOB) FROM documents").fetchall()
            connection.executemany(
                "UPDATE documents SET title = ? WHERE id = ? AND CAST(title AS BLOB) <> ?",
                (
                    (read := data.decode("utf-8", "replace"), id_, read.encode())
                    for id_, data in titles
                ),
            )

    def mend_keywords(self) -> None:
        """Make a new table, as deleting from a damaged index may fail."""
        with self.backend.database.read() as connection:
            chunks = connection.execute(
                "SELECT c.id, d.language, c.context, c.text"
                " FROM chunks c LEFT JOIN documents d ON d.id = c.document_id"
            ).fetchall()
            row = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'keywords'")
            (sql,) = row.fetchone()
            connection.execute("DROP TABLE keywords")
            connection.execute(sql)
            connection.executemany(
                "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
                ((id_, invariants.terms_of(*chunk)) for id_, *chunk in chunks),
            )


def _integrity(database: Database) -> Iterator[str]:
    """SQLite's own pages, indexes and constraints are sound."""
    for (message,) in database.rows("PRAGMA integrity_check"):
        if message != "ok":
            yield message


def _unreadable(database: Database, *, titles: bool) -> Iterator[str]:
    """Every text is UTF-8: those of all columns, or the titles of documents, which can be mended.

    The words that passages are found by are compared with their texts instead.
    """
    with database.read() as connection:
        for (table,) in connection.execute(_TABLES).fetchall():
            about = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
            columns = about.fetchall()
            key = [f'"{name}"' for name, _, pk in columns if pk] or ["rowid"]
            texts = [
                name
                for name, kind, _ in columns
                if kind in ("TEXT", "") and ((table, name) == ("documents", "title")) == titles
            ]
            if texts:
                yield from _not_utf8(connection, table, key, texts)
        for table, column in () if titles else _JSON:
            for (number,) in connection.execute(_NO_JSON.format(table=table, column=column)):
                yield f"the {column} of {table}, row {number}, is no JSON"


def _not_utf8(
    connection: sqlite3.Connection, table: str, key: Sequence[str], texts: Sequence[str]
) -> Iterator[str]:
    as_bytes = "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) ELSE {1} END"
    names = [*key, *(f'"{name}"' for name in texts)]
    read = [as_bytes.format(name, name if name in key else "x''") for name in names]
    for row in connection.execute(f"SELECT {', '.join(read)} FROM {table}"):
        of = "/".join(_shown(part) for part in row[: len(key)])
        for name, data in zip(texts, row[len(key) :], strict=True):
            try:
                data.decode()
            except UnicodeDecodeError as error:
                yield f"the {name} of {table} {of} is no text at byte {error.start}: {_shown(data)}"


def _shown(value: object) -> str:
    """A value of a key, or of what is damaged, as far as it can be read."""
    return (
        value.decode("utf-8", "backslashreplace")[:80] if isinstance(value, bytes) else str(value)
    )


def _references(database: Database) -> Iterator[str]:
    """Every row that points at another finds it."""
    with database.read() as connection:
        for reference in list_references(connection):
            orphans = connection.execute(
                f"SELECT count(*) FROM {reference.table} WHERE {reference.is_missing}"
            ).fetchone()[0]
            if orphans:
                yield (
                    f"{orphans} rows of {reference.table} have a {reference.column}"
                    f" that is not in {reference.parent}"
                )


def _strange_keywords(database: Database) -> Iterator[str]:
    """The keyword index holds nothing but chunks."""
    strange = "SELECT rowid FROM keywords WHERE rowid NOT IN (SELECT id FROM chunks)"
    for (chunk_id,) in database.rows(strange):
        yield f"the keyword index holds chunk {chunk_id}, which does not exist"


def _keyword_index(connection: sqlite3.Connection) -> Iterator[str]:
    """The inverted index agrees with the terms that it was made from; needs a write transaction."""
    try:
        connection.execute("INSERT INTO keywords (keywords) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"the inverted index of the keywords is damaged ({error})"
