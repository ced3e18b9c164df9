"""Upkeep: figures, checks, copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clew.engine.reindexing import Reindexing
from clew.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.ports import AuditEntry
    from clew.stores.sqlite.store import SqliteStore
    from clew.types import CheckReport


class Upkeep(Reindexing):
    """The store as a whole."""

    def stats(self) -> dict[str, Any]:
        """Counts of everything in the store, its embedder, its size on disk, its vector index."""
        return {**self.store.statistics(), "vectors": self._vectors.state()}

    def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """What was changed through tools, by whom: entries below the id `before`, newest first."""
        from clew.wiring import make_audit

        return make_audit(self.journal).entries(before=before, limit=limit)

    def check(self, repair: bool = False) -> CheckReport:
        """Verify every invariant of the store; with `repair`, mend what is derived."""
        return self.store.check(repair=repair)

    def backup(self, path: str | Path) -> int:
        """Write the store as it is now to a new file and check that file; its bytes.

        Raises `InputError` where there is such a file already, and for a store on a server.
        """
        from clew.stores.sqlite.backup import back_up

        return back_up(self._file_store(), Path(path).expanduser())

    def restore(self, path: str | Path, *, own: bool = False) -> None:
        """Put a backup's content in place of the store's; jobs and the audit log stay.

        Raises `StoreError` for a backup that is not sound, of another embedder or, with `own`, of
        another store; then nothing has changed. Raises `InputError` for a store on a server.
        """
        from clew.stores.sqlite.backup import restore

        with self._writing:
            restore(self._file_store(), Path(path).expanduser(), own=own)

    def _file_store(self) -> SqliteStore:
        from clew.stores.sqlite.store import SqliteStore

        if isinstance(self.store, SqliteStore):
            return self.store
        raise InputError(
            f"backup and restore are for a store in a folder, not for {str(self.settings.store)!r};"
            " use the server's own backup, or `clew copy` to and from a folder"
        )

    def export(self, format: Literal["graphml", "jsonl"]) -> Iterator[str]:
        """The store as pieces of text: the graph as GraphML, or everything as JSON Lines."""
        from clew.graph.export import export

        return export(self.store, format)
