"""Documents that took more than a limit allows, in the store's own file: not read again in vain."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from clew.stores.backend import now

if TYPE_CHECKING:
    from clew.stores.sqlite.connection import Database

_TABLE = """
CREATE TABLE refusals (
    source TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    refused_at TEXT NOT NULL
) WITHOUT ROWID
"""


def m006_refusals(connection: sqlite3.Connection) -> None:
    """Documents that took more than a limit allows; none at first."""
    connection.execute(_TABLE)


class SqliteRefusals:
    """`ports.RefusalLog` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reason(self, source: str, state: str) -> str | None:
        """See `ports.RefusalLog`."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT reason FROM refusals WHERE source = ? AND state = ?", (source, state)
            ).fetchone()
        return None if row is None else str(row[0])

    def refuse(self, source: str, state: str, reason: str) -> None:
        """See `ports.RefusalLog`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO refusals VALUES (?, ?, ?, ?)",
                (source, state, reason, now()),
            )
