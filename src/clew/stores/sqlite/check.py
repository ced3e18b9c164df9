"""Checking a store's invariants, and mending whatever can be derived from what is sound."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from clew.derived_files import derived_files, remove_files
from clew.errors import StoreBusyError, StoreError
from clew.stores.entities import delete_orphans
from clew.stores.invariants import (
    broken_files,
    check_and_mend,
    chunk_terms,
    files_ahead,
    sum_up,
)
from clew.stores.sqlite import invariants
from clew.stores.sqlite.backend import SqliteBackend, read_state
from clew.stores.sqlite.connection import Database
from clew.stores.statements.state import COUNT_CHANGE
from clew.stores.validity import recompute_all
from clew.types import CheckReport, Problem

_log = logging.getLogger("clew")

_READING: dict[str, invariants.Invariant] = {
    "references": invariants.references,
    "names": invariants.names,
    "sections": invariants.sections,
    "chunks": invariants.chunks,
    "mentions": invariants.mentions,
    "keywords": invariants.keywords,
    "vectors": invariants.vectors,
    "versions": invariants.versions,
    "times": invariants.times,
    "validity": invariants.validity,
    "memory": invariants.memory,
}
_DERIVED = frozenset(
    {
        *("references", "names", "keywords", "keyword index", "validity", "memory"),
        *("generation", "derived files"),
    }
)
_SECTION_OF_CHUNK = ("chunks", "section_id")
_CHECKED = ("integrity", *_READING, "keyword index", "generation", "derived files")


def check(backend: SqliteBackend, *, repair: bool) -> CheckReport:
    """Verify every invariant; `problems` are those that are left after mending."""
    # Checking the index of keywords takes a transaction that may write.
    unchecked = {"keyword index"} if backend.read_only else frozenset()
    return check_and_mend(
        [name for name in _CHECKED if name not in unchecked],
        lambda: _find(backend.database, backend.folder),
        (lambda: _repair_what_can_be(backend)) if repair else None,
    )


def _find(database: Database, folder: Path) -> list[Problem]:
    """At most one problem an invariant; where the file itself is damaged, that alone."""
    try:
        with database.read() as connection:
            if damage := _problem("integrity", invariants.integrity(connection)):
                return [damage]
            found = [_problem(name, broken(connection)) for name, broken in _READING.items()]
            generation = read_state(connection).generation
        if not database.read_only:
            with database.write() as connection:
                found.append(_problem("keyword index", invariants.keyword_index(connection)))
    except StoreBusyError:
        raise
    except StoreError as error:
        return [Problem(invariant="integrity", detail=str(error), repairable=False)]
    found.append(_problem("generation", files_ahead(folder, generation)))
    found.append(_problem("derived files", broken_files(folder)))
    return [problem for problem in found if problem]


def _problem(invariant: str, details: Iterator[str]) -> Problem | None:
    return sum_up(invariant, _survived(details), repairable=invariant in _DERIVED)


def _survived(details: Iterator[str]) -> Iterator[str]:
    """What breaks an invariant; that it cannot even be examined is one such thing."""
    try:
        yield from details
    except Exception as error:  # noqa: BLE001 - damage makes anything of a value
        yield f"cannot be examined, for the database is damaged: {error}"


def _repair_what_can_be(backend: SqliteBackend) -> None:
    try:
        _repair(backend)
    except StoreBusyError:
        raise
    except Exception as error:  # noqa: BLE001 - what stays broken is found and told once more
        _log.warning("nothing could be mended: %s", error)


def _repair(backend: SqliteBackend) -> None:
    """Mend all that can be: each step may leave work to the next one."""

    def work() -> None:
        with backend.database.read() as connection:
            _repair_references(connection)
            _keep_observed(connection)
            _repair_names(backend, connection)
            _repair_keywords(connection)
            recompute_all(backend, read_state(connection).functional)
        backend.execute(COUNT_CHANGE, changes=1, moves=1)

    backend.write(work)
    # They were built from what was broken, and are made again when they are needed.
    remove_files(derived_files(backend.folder))


def _repair_references(connection: sqlite3.Connection) -> None:
    """Delete what belongs to nothing; an entity comes back from its names."""
    connection.execute("PRAGMA defer_foreign_keys = ON")  # to the end of the transaction
    connection.execute(
        "INSERT INTO entities (id, name, key, entity_type)"
        " SELECT entity_id, name, key, 'name' FROM aliases"
        " WHERE entity_id NOT IN (SELECT id FROM entities) GROUP BY entity_id"
    )
    # A chunk of a known document is text, and is left alone even without its section.
    references = [r for r in invariants.list_references(connection) if r[:2] != _SECTION_OF_CHUNK]
    deleted = 1
    while deleted:  # what is deleted may have been a parent itself
        deleted = sum(
            connection.execute(f"DELETE FROM {r.table} WHERE {r.is_missing}").rowcount
            for r in references
        )


def _keep_observed(connection: sqlite3.Connection) -> None:
    """Take every entity of which something was told for one made by hand."""
    connection.execute(
        "UPDATE entities SET tier = 'manual' WHERE id IN ("
        " SELECT a.entity_id FROM documents d JOIN aliases a ON a.key = substr(d.origin, 8)"
        " WHERE d.origin GLOB 'memory:*')"
    )


def _repair_names(backend: SqliteBackend, connection: sqlite3.Connection) -> None:
    every = [row[0] for row in connection.execute("SELECT id FROM entities")]
    delete_orphans(backend, every)


def _repair_keywords(connection: sqlite3.Connection) -> None:
    """Make a new table, as deleting from a damaged index may fail."""
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'keywords'").fetchone()[0]
    connection.execute("DROP TABLE keywords")
    connection.execute(sql)
    rows = connection.execute("SELECT id, context, text FROM chunks").fetchall()
    connection.executemany(
        "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
        ((chunk_id, chunk_terms(context, text)) for chunk_id, context, text in rows),
    )
