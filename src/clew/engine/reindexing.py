"""Indexing again what was made with other settings or another model.

Where the store is a file, nobody sees any of it before the end. The steps of indexing and of
switching are imported inside the functions: opening a store needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.types import document_id
from clew.wiring import file_store

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from clew.engine.state import EngineState, Progress
    from clew.indexing.isolation.steps import Prepared
    from clew.indexing.pipeline import IndexCounts
    from clew.stores.sqlite.reindex.staging import Staging
    from clew.stores.sqlite.store import SqliteStore
    from clew.types import Document, IndexedDocument

MAKE = "reindex"
"""The step that makes documents again."""
WAIT = "wait for another process that reindexes"
SWITCH = "switch"
"""The step that puts them in their places; others may have to wait for the store in it."""
_PATIENT = 3
"""Attempts at switching that let others write; after these, others wait."""


@dataclass(frozen=True, slots=True)
class Reindexing:
    """Making documents again, and putting them in the place of what they were."""

    state: EngineState
    progress: Progress

    def outdated(self) -> list[str]:
        """Sources of the documents that were made with other settings or another model, sorted."""
        digests = self.state.store.document_digests()
        wanted, every = self.state.ingest.pipeline_fingerprint, self._holds_other_vectors()
        return sorted(s for s, (_, _, stored, _) in digests.items() if every or stored != wanted)

    def run(self) -> IndexCounts:
        """Make all that is outdated; `documents` are those put in their places."""
        store = file_store(self.state.store)
        if store is None:
            return self._make_in_place(self.outdated())
        return self._build_and_switch(store)

    def make(self, sources: Sequence[str]) -> None:
        """Make some documents; those that were deleted need nothing."""
        store = file_store(self.state.store)
        if store is None:
            self._make_in_place(sources)
            return
        with self._staging(store) as staging:
            self._make_beside(store, staging, [document_id(source) for source in sources])

    # --- beside a store that is a file

    def _build_and_switch(self, store: SqliteStore) -> IndexCounts:
        from clew.indexing.pipeline import IndexCounts
        from clew.stores.sqlite.reindex.switch import is_switched, switch

        made, attempts = IndexCounts(), 0
        with self._staging(store) as staging:
            while not is_switched(store.database, staging.target):
                more = self._make_beside(store, staging)
                made.chunks += more.chunks
                made.embedding_seconds += more.embedding_seconds
                attempts += 1
                switched = switch(
                    store,
                    staging,
                    self._links_in,
                    lambda done, total: self.progress(SWITCH, done, total),
                    directly=attempts > _PATIENT,
                )
                made.documents += switched or 0
            staging.remove()
        return made

    def _staging(self, store: SqliteStore) -> AbstractContextManager[Staging]:
        from clew.stores.sqlite.reindex.staging import Target, open_staging

        store.database.require_writable()
        embedder = self.state.embedder
        target = Target(
            pipeline_fingerprint=self.state.ingest.pipeline_fingerprint,
            embedder=embedder.name,
            dimension=embedder.dimension,
        )
        busy_seconds = self.state.settings.busy_seconds
        return open_staging(
            store.folder, target, busy_seconds, lambda: self.progress(WAIT, 0, None)
        )

    def _make_beside(
        self, store: SqliteStore, staging: Staging, ids: Sequence[str] | None = None
    ) -> IndexCounts:
        """Make what is not ready, of the documents given or of all."""
        from clew.stores.sqlite.reindex.switch import read_outdated

        old = read_outdated(store.database, staging.target, ids)
        missing = staging.missing(old)
        written: dict[str, str] = {}
        count = _Count(self.progress, len(old) - len(missing), len(old))
        return self.state.ingest.run(
            self._read_again(missing, written, count),
            count,
            keep=lambda entry: staging.put(entry, written[entry.document.id]),
        )

    def _links_in(self, store: SqliteStore) -> Callable[[IndexedDocument], IndexedDocument]:
        # Names are looked up in the store that is written.
        return self.state.make_ingest(store).linked

    # --- within a store on a server

    def _make_in_place(self, sources: Sequence[str]) -> IndexCounts:
        state = self.state
        if self._holds_other_vectors():
            raise InputError(
                f"the store {str(state.settings.store)!r} cannot change to the model"
                f" {state.embedder.name!r} document by document; choose that of its embedder,"
                f" {state.store.embedder()!r}, or index into another namespace (--namespace NAME)"
            )
        known = state.store.documents(ids=[document_id(source) for source in sources])
        ids = [
            info.id
            for info in known
            if info.pipeline_fingerprint != state.ingest.pipeline_fingerprint
        ]
        count = _Count(self.progress, len(known) - len(ids), len(known))
        return state.ingest.run(self._read_again(ids, {}, count), count, state.writing)

    # --- both

    def _holds_other_vectors(self) -> bool:
        embedder = self.state.embedder
        return self.state.store.embedder() not in (None, (embedder.name, embedder.dimension))

    def _read_again(
        self, ids: Sequence[str], written: dict[str, str], count: _Count
    ) -> Iterator[Prepared]:
        """The documents of those that are still there; `written` learns when each was written."""
        from clew.indexing.reprocess import prepare_again

        store, settings, runner = self.state.store, self.state.settings, self.state.ingest.runner
        for id_ in ids:
            for info in store.documents(ids=[id_]):
                written[info.id] = info.indexed_at.isoformat()
                prepared = prepare_again(store, info, settings, runner, count.show)
                if prepared is not None:
                    yield prepared


class _Count:
    """Counts the documents that are done: one more each time it is called."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self._progress = progress
        self._done = done
        self._total = total
        self.show()

    def __call__(self, _: Document) -> None:
        self._done += 1
        self.show()

    def show(self) -> None:
        """Report the count; the function that is called may end the work."""
        self._progress(MAKE, self._done, self._total)
