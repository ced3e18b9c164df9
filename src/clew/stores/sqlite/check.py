"""What only a SQLite file can break: its pages, its foreign keys and its full-text index."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from clew.errors import StoreBusyError, StoreError
from clew.stores.check import invariants
from clew.stores.check.check import StoreCheck
from clew.stores.check.invariants import Invariant
from clew.stores.sqlite.backend import SqliteBackend
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.tables import list_references
from clew.types import Problem

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
_SECTION_OF_CHUNK = ("chunks", "section_id")


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
            _mend_references(connection)
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
    with database.read() as connection:
        for (message,) in connection.execute("PRAGMA integrity_check"):
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
    with database.read() as connection:
        for (chunk_id,) in connection.execute(
            "SELECT rowid FROM keywords WHERE rowid NOT IN (SELECT id FROM chunks)"
        ):
            yield f"the keyword index holds chunk {chunk_id}, which does not exist"


def _keyword_index(connection: sqlite3.Connection) -> Iterator[str]:
    """The inverted index agrees with the terms that it was made from; needs a write transaction."""
    try:
        connection.execute("INSERT INTO keywords (keywords) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"the inverted index of the keywords is damaged ({error})"


def _mend_references(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA defer_foreign_keys = ON")  # to the end of the transaction
    connection.execute(
        "INSERT INTO entities (id, name, key, entity_type)"
        " SELECT entity_id, name, key, 'name' FROM aliases"
        " WHERE entity_id NOT IN (SELECT id FROM entities) GROUP BY entity_id"
    )
    # A chunk of a known document is text, and is left alone even without its section.
    references = [r for r in list_references(connection) if r[:2] != _SECTION_OF_CHUNK]
    deleted = 1
    while deleted:  # what is deleted may have been a parent itself
        deleted = sum(
            connection.execute(f"DELETE FROM {r.table} WHERE {r.is_missing}").rowcount
            for r in references
        )
