"""Maintenance: figures, checks, copies, and making documents again.

What a single verb needs is imported inside it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from clew.engine.reindexing import Reindexing
from clew.errors import InputError, check_several
from clew.types import IndexReport
from clew.wiring import file_store, make_audit, make_replies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.engine.state import EngineState, Progress
    from clew.ports import AuditEntry
    from clew.ports.language_model import LoggedReply
    from clew.stores.sqlite.store import SqliteStore
    from clew.types import CheckReport


class Maintenance:
    """The store as a whole."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def stats(self) -> dict[str, Any]:
        """Counts of everything in the store, its embedder, its size on disk, its vector index."""
        state = self._state
        return {**state.store.statistics(), "vectors": state.vector_index.state()}

    def language_model(self) -> dict[str, Any]:
        """Requests to language models that the store keeps, in figures, by task too."""
        from clew.models.llm.metrics import statistics

        return statistics(make_replies(self._state.store).entries())

    def language_model_failures(self) -> list[LoggedReply]:
        """Requests to language models that failed, the latest first."""
        return [e for e in make_replies(self._state.store).entries() if e.reason]

    def check(self, repair: bool = False, *, progress: Progress | None = None) -> CheckReport:
        """Verify every invariant of the store; with `repair`, mend what is derived.

        `progress` is called with each invariant, its number from 0, and how many there are.
        """
        return self._state.store.check(repair=repair, progress=progress)

    def export(self, format: Literal["graphml", "jsonl"]) -> Iterator[str]:
        """The store as pieces of text: the graph as GraphML, or everything as JSON Lines."""
        from clew.graph.export import export

        return export(self._state.store, format)

    def audit(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """What was changed through tools, by whom: entries below the id `before`, newest first."""
        return make_audit(self._state.journal).entries(before=before, limit=limit)

    def outdated(self) -> list[str]:
        """Sources of the documents that were made with other settings or another model, sorted."""
        return Reindexing(self._state, _ignore).outdated()

    def reindex(self, *, progress: Progress | None = None) -> IndexReport:
        """Split, embed and extract again what was made with other settings or another model.

        It is built beside the store and switched to at once; what is written meanwhile is kept.
        Cut short, it goes on where it was when called again. `changed` of the report counts the
        documents switched to, the rest what this call did for it.

        A store on a server is changed document by document, and raises `InputError` for another
        model.
        """
        started = time.perf_counter()
        made = Reindexing(self._state, progress or _ignore).run()
        if made.documents:
            self._state.persist()
        return IndexReport(
            changed=made.documents,
            chunks=made.chunks,
            seconds=time.perf_counter() - started,
            embedding_seconds=made.embedding_seconds,
        )

    def reprocess(self, sources: Sequence[str], *, progress: Progress | None = None) -> None:
        """Do a part of the work of `reindex`, which is still to be called: make some documents.

        Documents that were deleted need nothing.
        """
        check_several(sources=sources)
        Reindexing(self._state, progress or _ignore).make(sources)

    def backup(self, path: str | Path, *, progress: Progress | None = None) -> int:
        """Write the store as it is now to a new file and check that file; its bytes.

        `progress` is called with the pages written, then with the invariants checked. Raises
        `InputError` where there is such a file already, and for a store on a server.
        """
        from clew.stores.sqlite.backup import back_up

        return back_up(self._file_store(), Path(path).expanduser(), progress)

    def restore(self, path: str | Path, *, own: bool = False) -> None:
        """Put a backup's content in place of the store's; jobs and the audit log stay.

        Raises `StoreError` for a backup that is not sound, of another embedder or, with `own`, of
        another store; then nothing has changed. Raises `InputError` for a store on a server.
        """
        from clew.stores.sqlite.backup import restore

        with self._state.writing:
            restore(self._file_store(), Path(path).expanduser(), own=own)

    def vacuum(self) -> None:
        """Write the store's file anew, without any trace of what was deleted.

        Raises `InputError` for a store on a server.
        """
        from clew.derived_files import derived_files, remove_files

        store = self._file_store()
        store.backend.database.vacuum()
        # Made again from what is left when they are needed.
        remove_files(derived_files(store.folder))

    def _file_store(self) -> SqliteStore:
        store = file_store(self._state.store)
        if store is not None:
            return store
        place = str(self._state.settings.store)
        raise InputError(
            f"backup and restore are for a store in a folder, not for {place!r};"
            " use the server's own backup, or `clew copy` to and from a folder"
        )


def _ignore(step: str, done: int, total: int | None) -> None:
    """Takes progress where nobody asked for it."""
