"""The file for jobs and the audit log of a store that is on a server."""

from __future__ import annotations

from pathlib import Path

from clew.private_files import make_file, make_folder
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.migrations import SCHEMA_VERSION, migrate, schema_version
from clew.stores.sqlite.search import define_functions

_FILE = "journal.db"


def open_journal(folder: Path, busy_seconds: float) -> Database:
    """The journal in a folder, made where there is none; tables of a store stay empty in it."""
    make_folder(folder)
    make_file(folder / _FILE)
    database = Database(folder / _FILE, busy_seconds, define_functions)
    with database.read() as connection:
        current = schema_version(connection) == SCHEMA_VERSION
    if not current:
        with database.write() as connection:
            migrate(connection)
    return database
