"""Indexing again what was made with other settings or another model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clew.engine.state import Resources
from clew.errors import InputError
from clew.types import IndexReport, document_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from clew.engine.state import Progress
    from clew.indexing.isolation.steps import Prepared
    from clew.indexing.pipeline import IndexCounts
    from clew.stores.sqlite.staging import Staging
    from clew.stores.sqlite.store import SqliteStore
    from clew.types import AliasEvidence, Document, Extraction

MAKE = "reindex"
"""The step that makes documents anew."""
WAIT = "wait for another process that reindexes"
SWITCH = "switch"
"""The step that puts them in their places; others may have to wait for the store in it."""
_PATIENT = 3
"""Attempts at switching that let others write; after these, others wait."""


class Reindexing(Resources):
    """Making documents anew. Where the store is a file, nobody sees any of it before the end."""

    def outdated(self) -> list[str]:
        """Sources of the documents that were made with other settings or another model, sorted."""
        digests, wanted = self.store.document_digests(), self.pipeline_fingerprint
        every = self._holds_other_vectors()
        return sorted(s for s, (*_, stored) in digests.items() if every or stored != wanted)

    def reindex(self, *, progress: Progress | None = None) -> IndexReport:
        """Split, embed and extract again what was made with other settings or another model.

        It is built beside the store and switched to at once; what is written meanwhile is kept.
        Cut short, it goes on where it was when called again. `changed` of the report counts the
        documents switched to, the rest what this call did for it.

        A store on a server is changed document by document, and raises `InputError` for another
        model.
        """
        from clew.stores.sqlite.store import SqliteStore

        say, started = progress or _ignore, time.perf_counter()
        if isinstance(self.store, SqliteStore):
            made = self._build_and_switch(self.store, say)
        else:
            made = self._make_in_place(self.outdated(), say)
        if made.documents:
            self._persist()
        return IndexReport(
            changed=made.documents,
            chunks=made.chunks,
            seconds=time.perf_counter() - started,
            embedding_seconds=made.embedding_seconds,
        )

    def make_again(self, sources: Sequence[str], *, progress: Progress | None = None) -> None:
        """Do a part of the work of `reindex`, which is still to be called: make some documents.

        Documents that were deleted need nothing.
        """
        from clew.stores.sqlite.store import SqliteStore

        say = progress or _ignore
        if isinstance(self.store, SqliteStore):
            with self._staging(self.store, say) as staging:
                self._make_beside(self.store, staging, say, [document_id(s) for s in sources])
        else:
            self._make_in_place(sources, say)

    # --- beside a store that is a file

    def _build_and_switch(self, store: SqliteStore, say: Progress) -> IndexCounts:
        """`documents` are those switched to."""
        from clew.indexing.pipeline import IndexCounts
        from clew.stores.sqlite.switch import is_switched, switch

        made, attempts = IndexCounts(), 0
        with self._staging(store, say) as staging:
            while not is_switched(store.database, staging.target):
                more = self._make_beside(store, staging, say)
                made.chunks += more.chunks
                made.embedding_seconds += more.embedding_seconds
                attempts += 1
                switched = switch(
                    store, staging, self._links_in, _step(SWITCH, say), directly=attempts > _PATIENT
                )
                made.documents += switched or 0
            staging.remove()
        return made

    def _staging(self, store: SqliteStore, say: Progress) -> AbstractContextManager[Staging]:
        from clew.stores.sqlite.staging import Target, open_staging

        store.database.require_writable()
        name, dimension = self.embedder.name, self.embedder.dimension
        target = Target(
            pipeline_fingerprint=self.pipeline_fingerprint, embedder=name, dimension=dimension
        )
        return open_staging(
            store.folder, target, self.settings.busy_seconds, lambda: say(WAIT, 0, None)
        )

    def _make_beside(
        self, store: SqliteStore, staging: Staging, say: Progress, ids: Sequence[str] | None = None
    ) -> IndexCounts:
        """Make what is not ready, of the documents given or of all."""
        from clew.stores.sqlite.switch import read_outdated

        outdated = read_outdated(store.database, staging.target, ids)
        missing = staging.missing(outdated)
        written: dict[str, str] = {}
        count = _Count(MAKE, say, len(outdated) - len(missing), len(outdated))
        return self._ingest.run(
            self._read_again(missing, written, count),
            count,
            keep=lambda entry: staging.put(entry, written[entry.document.id]),
        )

    def _links_in(self, store: SqliteStore) -> Callable[[Extraction], tuple[AliasEvidence, ...]]:
        # One of its own: what it learns of a copy, or of a transaction that fails, is not so.
        return self._make_ingest(store).links

    # --- within a store on a server

    def _make_in_place(self, sources: Sequence[str], say: Progress) -> IndexCounts:
        if self._holds_other_vectors():
            raise InputError(
                f"the store {str(self.settings.store)!r} cannot change to the model"
                f" {self.embedder.name!r} document by document; choose that of its embedder,"
                f" {self.store.embedder()!r}, or index into another namespace (--namespace NAME)"
            )
        known = self.store.documents(ids=[document_id(source) for source in sources])
        ids = [info.id for info in known if info.pipeline_fingerprint != self.pipeline_fingerprint]
        count = _Count(MAKE, say, len(known) - len(ids), len(known))
        return self._ingest.run(self._read_again(ids, {}, count), count, self._writing)

    # --- both

    def _holds_other_vectors(self) -> bool:
        return self.store.embedder() not in (None, (self.embedder.name, self.embedder.dimension))

    def _read_again(
        self, ids: Sequence[str], written: dict[str, str], count: _Count
    ) -> Iterator[Prepared]:
        """The documents of those that are still there; `written` learns when each was written."""
        from clew.indexing.reprocess import prepare_again

        runner = self._ingest.runner
        for id_ in ids:
            for info in self.store.documents(ids=[id_]):
                written[info.id] = info.indexed_at.isoformat()
                prepared = prepare_again(self.store, info, self.settings, runner, count.show)
                if prepared is not None:
                    yield prepared


def _ignore(step: str, done: int, total: int | None) -> None:
    """Whoever asked does not want to know."""


def _step(step: str, say: Progress) -> Callable[[int, int], None]:
    return lambda done, total: say(step, done, total)


class _Count:
    """Says how many documents are done: so many now, and one more each time it is called."""

    def __init__(self, step: str, say: Progress, done: int, total: int) -> None:
        self._step = step
        self._say = say
        self._done = done
        self._total = total
        self.show()

    def __call__(self, _: Document) -> None:
        self._done += 1
        self.show()

    def show(self) -> None:
        """Say it; whoever is told may end the work."""
        self._say(self._step, self._done, self._total)
