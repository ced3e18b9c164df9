"""The schema, as numbered steps; each is applied once, in one transaction with its number."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from clew.derived_files import derived_files, remove_files
from clew.errors import StoreCorruptError, StoreError, StoreMismatchError
from clew.private_files import make_file, make_folder
from clew.stores.sqlite.connection import Database, read_meta
from clew.stores.sqlite.first_tables import m001_documents_and_graph, m002_times_and_versions
from clew.stores.sqlite.jobs.audit import m006_refusals, m021_undo, m022_outcomes
from clew.stores.sqlite.jobs.conversations import m018_conversations
from clew.stores.sqlite.jobs.rows import m004_jobs_and_audit
from clew.stores.sqlite.migration_steps import (
    m003_communities_and_topics,
    m005_memory,
    m007_store_id,
    m008_checksums,
    m009_agent_extractions,
    m010_date_precision,
    m011_sketches,
    m012_name_keys,
    m013_languages,
    m014_replies,
    m015_earlier_texts,
    m016_enrichments,
    m017_lookup_keys,
    m019_descriptions,
    m023_read_from,
)
from clew.stores.sqlite.model_descriptions import m020_model_descriptions

MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    m001_documents_and_graph,
    m002_times_and_versions,
    m003_communities_and_topics,
    m004_jobs_and_audit,
    m005_memory,
    m006_refusals,
    m007_store_id,
    m008_checksums,
    m009_agent_extractions,
    m010_date_precision,
    m011_sketches,
    m012_name_keys,
    m013_languages,
    m014_replies,
    m015_earlier_texts,
    m016_enrichments,
    m017_lookup_keys,
    m018_conversations,
    m019_descriptions,
    m020_model_descriptions,
    m021_undo,
    m022_outcomes,
    m023_read_from,
)
SCHEMA_VERSION = len(MIGRATIONS)


def schema_version(connection: sqlite3.Connection) -> int:
    """Number of the last migration applied; 0 for an empty file.

    Raises `StoreCorruptError` where the file holds something, and no number that can be read.
    """
    made = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'"
    if connection.execute(made).fetchone() is None:
        return 0
    return read_meta(connection, "schema_version", _version, None)


def _version(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError("no number of a migration")
    return value


def migrate(connection: sqlite3.Connection, last: int = SCHEMA_VERSION) -> None:
    """Apply what is missing, up to the migration `last`; call inside a write transaction.

    Raises `StoreMismatchError` for a store that a newer version of Clew has written.
    """
    version = schema_version(connection)
    if version > SCHEMA_VERSION:
        raise StoreMismatchError(
            f"the store has schema version {version}, but this Clew knows {SCHEMA_VERSION} at"
            " most: a newer Clew wrote it; upgrade with `pip install --upgrade clew`"
        )
    if version == 0:
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID")
    for number, migration in enumerate(MIGRATIONS[version:last], version + 1):
        migration(connection)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", (number,))


def open_database(folder: Path, busy_seconds: float) -> Database:
    """The file in a store's folder, made or brought up to this version's schema where needed.

    Raises `StoreError` where the folder cannot be made, and what `migrate` raises.
    """
    try:
        make_folder(folder)
        make_file(folder / "clew.db")
    except OSError as error:
        raise StoreError(
            f"cannot make the store's folder {str(folder)!r} ({error.strerror});"
            " give another one with --store"
        ) from error
    database = Database(folder / "clew.db", busy_seconds)
    try:
        _bring_up_to_date(database, folder)
        database.schema = SCHEMA_VERSION
    except BaseException:
        database.close()
        raise
    return database


def _bring_up_to_date(database: Database, folder: Path) -> None:
    derived = derived_files(folder)
    with database.read() as connection:
        version = schema_version(connection)
        generation = read_meta(connection, "generation", int, 0) if version else 0
    if version == 0 and derived:
        raise _emptied(folder, derived)
    if database.read_only:
        _refuse_older(folder, version)
    elif version == SCHEMA_VERSION:
        # A power failure may have taken back what they were derived from.
        remove_files(path for path, of in derived.items() if of > generation)
    else:
        with database.write() as connection:
            migrate(connection)
        remove_files(derived)


def _emptied(folder: Path, derived: Iterable[Path]) -> StoreCorruptError:
    """The error where a database is gone, but not what was derived from it."""
    names = ", ".join(path.name for path in derived)
    return StoreCorruptError(
        f"the store in {str(folder)!r} was emptied or lost: clew.db holds nothing, but what was"
        f" derived from it is there ({names}); copy a backup to {str(folder / 'clew.db')!r}, or"
        " delete that folder to begin an empty store"
    )


def _refuse_older(folder: Path, version: int) -> None:
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"the store in {str(folder)!r} has schema version {version}, this Clew needs"
            f" {SCHEMA_VERSION}, and it cannot be written to here; open it once where it can"
        )
