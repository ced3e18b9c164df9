"""Who changed what through which tool, in the store's own file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.ports import AuditEntry
from clew.stores.values import now

if TYPE_CHECKING:
    from clew.stores.sqlite.connection import Database


class SqliteAudit:
    """`ports.AuditLog` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, caller: str, tool: str, subjects: Mapping[str, Any]) -> None:
        """See `ports.AuditLog`."""
        row = (now(), caller, tool, json.dumps(subjects, ensure_ascii=False, sort_keys=True))
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO audit (recorded_at, caller, tool, subjects) VALUES (?, ?, ?, ?)", row
            )

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """See `ports.AuditLog`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, recorded_at, caller, tool, subjects FROM audit"
                " WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
                (before, before, limit),
            )
            return [
                AuditEntry(
                    id=entry,
                    recorded_at=datetime.fromisoformat(moment),
                    caller=caller,
                    tool=tool,
                    subjects=json.loads(subjects),
                )
                for entry, moment, caller, tool, subjects in rows
            ]
