"""The default store: one SQLite file, which is the whole truth of a namespace."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from clew.stores.sqlite.backend import SqliteBackend
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.migrations import open_database
from clew.stores.sqlite.search import SqliteSearch, define_functions
from clew.types import CheckReport


class SqliteStore(SqliteSearch):
    """`ports.Store` on `folder/clew.db`; threads may share one, processes may open their own.

    Raises `StoreMismatchError` for a store of another embedder or of a newer Clew,
    `StoreCorruptError` for a damaged file, and `StoreBusyError` where another process keeps the
    store locked for longer than `busy_seconds`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        busy_seconds: float = 30.0,
        embedder: tuple[str, int] | None = None,
        functional: Collection[str] | None = None,
    ) -> None:
        """Open the store in `folder`, made where it does not exist; the rest as in `Store`."""
        database = open_database(folder, busy_seconds, define_functions)
        super().__init__(SqliteBackend(database), embedder=embedder, functional=functional)

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it."""
        return self.backend.database

    def identity(self) -> str:
        """What tells this store from every other one, for good; its backups carry it."""
        with self.database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()
        return str(row[0])

    def check(self, repair: bool = False) -> CheckReport:
        """See `ports.StoreUpkeep`."""
        from clew.stores.sqlite.check import SqliteCheck

        return SqliteCheck(self.backend).run(repair=repair)
