"""Checking a store's invariants, and mending whatever can be derived from what is sound."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from clew.errors import StoreCorruptError
from clew.stores import sqlite_invariants as invariants
from clew.stores.derived import derived_files, remove_files
from clew.stores.sqlite_connection import Database
from clew.stores.sqlite_documents import id_list
from clew.stores.sqlite_save import count_change, show_living_names, sweep
from clew.stores.sqlite_snapshot import read_number
from clew.text import terms
from clew.types import CheckReport, Problem

_READING: dict[str, invariants.Invariant] = {
    "references": invariants.references,
    "names": invariants.names,
    "sections": invariants.sections,
    "chunks": invariants.chunks,
    "mentions": invariants.mentions,
    "keywords": invariants.keywords,
    "vectors": invariants.vectors,
}
_CHECKED = ("integrity", *_READING, "keyword index", "generation")


def check(database: Database, folder: Path, *, repair: bool) -> CheckReport:
    """Verify every invariant; `problems` are those that are left after mending."""
    problems = _find(database, folder)
    repaired: tuple[str, ...] = ()
    if repair and any(problem.repairable for problem in problems):
        before = problems
        _repair(database, folder, before)
        problems = _find(database, folder)
        left = {problem.invariant for problem in problems}
        repaired = tuple(f"{p.invariant}: {p.detail}" for p in before if p.invariant not in left)
    return CheckReport(checked=_CHECKED, problems=tuple(problems), repaired=repaired)


def _find(database: Database, folder: Path) -> list[Problem]:
    """At most one problem an invariant; where the file itself is damaged, that alone."""
    try:
        with database.read() as connection:
            if damage := _problem("integrity", invariants.integrity(connection)):
                return [damage]
            found = [_problem(name, broken(connection)) for name, broken in _READING.items()]
        with database.write() as connection:
            found.append(_problem("keyword index", invariants.keyword_index(connection)))
            generation = read_number(connection, "generation")
    except StoreCorruptError as error:
        return [Problem(invariant="integrity", detail=str(error), repairable=False)]
    ahead = [path for path, of in derived_files(folder).items() if of > generation]
    details = (f"{path.name} is ahead of the database, at {generation}" for path in ahead)
    found.append(_problem("generation", details))
    return [problem for problem in found if problem]


def _problem(invariant: str, details: Iterable[str]) -> Problem | None:
    """The first detail in full and the number of the others; None where nothing is broken."""
    every = list(details)
    if not every:
        return None
    more = f" (and {len(every) - 1} more)" if len(every) > 1 else ""
    return Problem(invariant=invariant, detail=every[0] + more, repairable=invariant in _REPAIRS)


def _repair(database: Database, folder: Path, problems: Iterable[Problem]) -> None:
    with database.write() as connection:
        for problem in problems:
            if problem.repairable:
                _REPAIRS[problem.invariant](connection)
        _repair_names(connection)  # rows without a parent may have been some name's only source
        count_change(connection, entities_moved=True)
    remove_files(derived_files(folder))  # built from what was broken, and made again when needed


def _repair_references(connection: sqlite3.Connection) -> None:
    """Delete what belongs to nothing; a chunk of a known document is text, and is left alone."""
    for table, column, parent in invariants.list_references(connection):
        if (table, column) != ("chunks", "section_id"):
            missing = invariants.missing_parent(table, column, parent)
            connection.execute(f"DELETE FROM {table} WHERE {missing}")


def _repair_names(connection: sqlite3.Connection) -> None:
    every = [row[0] for row in connection.execute("SELECT id FROM entities")]
    sweep(connection, every)
    show_living_names(connection, id_list(every))


def _repair_keywords(connection: sqlite3.Connection) -> None:
    """Make the table anew, as deleting from a damaged index may fail."""
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'keywords'").fetchone()[0]
    connection.execute("DROP TABLE keywords")
    connection.execute(sql)
    rows = connection.execute("SELECT id, context, text FROM chunks").fetchall()
    connection.executemany(
        "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
        ((chunk_id, " ".join(terms(f"{context}\n{text}"))) for chunk_id, context, text in rows),
    )


def _nothing_more(connection: sqlite3.Connection) -> None:
    """Derived files are removed after every repair."""


_REPAIRS: dict[str, Callable[[sqlite3.Connection], None]] = {
    "references": _repair_references,
    "names": _repair_names,
    "keywords": _repair_keywords,
    "keyword index": _repair_keywords,
    "generation": _nothing_more,
}
