"""Indexing: adding, changing and deleting documents."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.derived_files import folder_size
from clew.engine.documents import Documents
from clew.errors import UnreadableError
from clew.stores.sqlite.backend import free_bytes
from clew.types import IndexReport, document_id
from clew.wiring import make_refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clew.engine.state import Progress
    from clew.indexing.inputs import Input
    from clew.indexing.reprocess import RelationReport
    from clew.types import (
        Document,
    )


class Indexing(Documents):
    """Writing documents."""

    def index(
        self,
        paths: Sequence[str | Path],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        prune: bool = False,
        retry: bool = False,
        follow_links: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index files and folders; what has not changed is left as it is.

        Symbolic links that lead out of the paths given are left out unless `follow_links`. What
        cannot be read is reported in `skipped`, and what was stored of it before stays. What took
        more than a limit of the settings (`limits`) is reported again without being read, until it
        or a limit changes, or `retry` is given. `prune` drops documents whose file below the given
        paths is gone. Raises `InputError` for a path that does not exist.
        """
        from clew.indexing.inputs import FileInput
        from clew.indexing.reading.file_discovery import find_files

        roots = [Path(path).expanduser() for path in paths]
        there = [root for root in roots if os.path.exists(root) or not prune]
        read = self.settings.read
        files = find_files(
            there, include=include, exclude=exclude, settings=read, follow_links=follow_links
        )
        inputs = [FileInput(path, read) for path in files]
        return self._index(inputs, prune=roots if prune else (), retry=retry, progress=progress)

    def add_documents(
        self, documents: Iterable[Document], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that the caller has made; those that are unchanged are left alone."""
        from clew.indexing.inputs import DocumentInput

        return self._index([DocumentInput(document) for document in documents], progress=progress)

    def add_inputs(
        self, inputs: Sequence[Input], *, progress: Progress | None = None
    ) -> IndexReport:
        """Read and index what is given; what is unchanged is left alone."""
        return self._index(inputs, progress=progress)

    def add(
        self,
        text: str,
        *,
        source: str | None = None,
        title: str = "",
        media_type: str = "text/plain",
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Index one text in place of the one with the same `source`; the document's id.

        Raises `UnreadableError` for a text of white space alone.
        """
        from clew.indexing.inputs import DocumentOverrides, TextInput
        from clew.indexing.reading.reader import text_source

        given = TextInput(
            source=source or text_source(text),
            text=text,
            media_type=media_type,
            overrides=DocumentOverrides(title=title, metadata=metadata or {}),
        )
        for skipped in self.add_inputs([given]).skipped:
            raise UnreadableError(skipped.source, skipped.reason)
        return document_id(given.source)

    def _index(
        self,
        inputs: Sequence[Input],
        *,
        prune: Sequence[Path] = (),
        retry: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        from clew.indexing.incremental import IncrementalIndexer

        self._claim_embedder()
        refusals, limits = make_refusals(self.journal), self.settings.limits
        run = IncrementalIndexer(
            self.store,
            self._ingest,
            refusals,
            limits,
            full=self.full,
            retry=retry,
            progress=progress,
        )
        started = time.perf_counter()
        with self.store.grouping():
            done = self._ingest.run(run.changed(inputs), run.saved, self._writing)
        with self._writing:
            run.prune(prune)
        if run.added or run.updated or run.pruned:
            self._persist()
        return IndexReport(
            added=run.added,
            changed=run.updated,
            unchanged=run.unchanged,
            pruned=run.pruned,
            chunks=done.chunks,
            skipped=tuple(run.skipped),
            seconds=time.perf_counter() - started,
            embedding_seconds=done.embedding_seconds,
        )

    def full(self, documents: int = 0) -> str | None:
        """Why the namespace cannot have so many documents, or take anything in; None: it can."""
        quota = self.settings.quota
        if documents > quota.documents:
            return (
                f"a namespace may have {quota.documents} documents (the setting quota.documents);"
                " delete some or raise it"
            )
        with self.journal.read() as connection:
            free = free_bytes(connection)
        megabytes = (folder_size(self.store.folder) - free) / 1e6
        if megabytes < quota.megabytes:
            return None
        return (
            f"the store has {megabytes:.1f} MB, and a namespace may have {quota.megabytes:g} (the"
            " setting quota.megabytes); delete documents or raise it"
        )

    def delete(self, names: Sequence[str]) -> int:
        """Delete documents and whatever only they hold; the number deleted.

        All names are looked up first: where one is unknown, `NotFoundError` is raised and nothing
        is deleted.
        """
        ids = [self.document(name).id for name in names]
        with self._writing:
            deleted = self.store.delete(ids)
        self._persist()
        return deleted

    def extract_relations(
        self,
        entity_ids: Sequence[int] | None = None,
        *,
        limit: int | None = None,
        proceed: Callable[[int, int], bool] = lambda done, total: True,
    ) -> RelationReport:
        """Read the passages of entities once more for relations, and add those that are new.

        Without ids, the first `limit` entities of which no passage was read for relations with
        success. `proceed` is told documents done and in all, and may end it by False.
        """
        from clew.indexing.reprocess import extract_relations_again

        ids = self.store.unread_entities(limit) if entity_ids is None else entity_ids
        with self.store.grouping():
            return extract_relations_again(
                self.store, self._ingest.runner, self._ingest.extractor.name, ids, proceed
            )
