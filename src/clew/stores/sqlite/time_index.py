"""The parts of the store that know time and usage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from clew.stores.sqlite import times as sqlite_times
from clew.stores.sqlite.connection import Database
from clew.types import Period

if TYPE_CHECKING:
    from clew.types import Ids


class SqliteTimeIndex:
    """`ports.TimeIndex` and `ports.UsageLog` on a database."""

    _database: Database

    def chunks_within(self, period: Period) -> Ids:
        """See `ports.TimeIndex`."""
        with self._database.read() as connection:
            return sqlite_times.read_chunks_within(connection, period)

    def chunks_as_of(self, moment: datetime) -> Ids:
        """See `ports.TimeIndex`."""
        with self._database.read() as connection:
            return sqlite_times.read_chunks_as_of(connection, moment)

    def chunk_times(self, chunk_ids: Sequence[int]) -> dict[int, tuple[Period, ...]]:
        """See `ports.TimeIndex`; what a chunk speaks of comes in order of time."""
        with self._database.read() as connection:
            return sqlite_times.read_times(connection, chunk_ids)

    def is_dated(self) -> bool:
        """See `ports.TimeIndex`."""
        with self._database.read() as connection:
            return sqlite_times.read_is_dated(connection)

    def said_at(self, chunk_ids: Sequence[int]) -> dict[int, datetime]:
        """See `ports.TimeIndex`; to the second."""
        with self._database.read() as connection:
            return sqlite_times.read_said_at(connection, chunk_ids)

    def first_recorded(self) -> datetime | None:
        """See `ports.TimeIndex`."""
        with self._database.read() as connection:
            return sqlite_times.read_first_recorded(connection)

    def record_use(self, chunk_ids: Sequence[int], moment: datetime) -> None:
        """See `ports.UsageLog`."""
        with self._database.write() as connection:
            sqlite_times.record_use(connection, chunk_ids, moment)

    def usage(self, chunk_ids: Sequence[int]) -> dict[int, tuple[int, datetime]]:
        """See `ports.UsageLog`."""
        with self._database.read() as connection:
            return sqlite_times.read_usage(connection, chunk_ids)
