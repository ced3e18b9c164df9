"""Upkeep: figures, checks, copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clew.engine.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import (
        CheckReport,
    )


class Upkeep(Resources):
    """The store as a whole."""

    def stats(self) -> dict[str, Any]:
        """Counts of everything in the store, its embedder, its size on disk."""
        return self.store.statistics()

    def check(self, repair: bool = False) -> CheckReport:
        """Verify every invariant of the store; with `repair`, mend what is derived."""
        return self.store.check(repair=repair)

    def backup(self, path: str | Path) -> int:
        """Write the store as it is now to a new file and check that file; its bytes.

        Raises `InputError` where there is such a file already.
        """
        from clew.stores.sqlite_backup import back_up

        return back_up(self.store, Path(path).expanduser())

    def restore(self, path: str | Path) -> None:
        """Put a backup's content in place of the store's; jobs and the audit log stay.

        Raises `StoreError` for a backup that is not sound or of another embedder; then nothing has
        changed.
        """
        from clew.stores.sqlite_backup import restore

        with self._writing:
            restore(self.store, Path(path).expanduser())

    def export(self, format: Literal["graphml", "jsonl"]) -> Iterator[str]:
        """The store as pieces of text: the graph as GraphML, or everything as JSON Lines."""
        from clew.graph.export import export

        return export(self.store, format)
