"""Indexing: adding, changing and deleting documents."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.engine.documents import Documents
from clew.errors import UnreadableError
from clew.types import IndexReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clew.engine.resources import Progress
    from clew.ingest.reread import Reread
    from clew.ingest.run import IndexRun
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
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index files and folders; what has not changed is left as it is.

        What cannot be read is reported in `skipped`, and what was stored of it before stays.
        `prune` drops documents whose file below the given paths is gone. Raises `InputError` for a
        path that does not exist.
        """
        from clew.ingest.read import find_files

        roots = [Path(path).expanduser() for path in paths]
        there = [root for root in roots if os.path.exists(root) or not prune]
        read = self.settings.read
        files = list(find_files(there, include=include, exclude=exclude, settings=read))
        run = self._start(progress)
        return self._finish(run, run.changed_files(files), prune=roots if prune else ())

    def add_documents(
        self, documents: Iterable[Document], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that the caller has made; those that are unchanged are left alone."""
        run = self._start(progress)
        return self._finish(run, run.changed_documents(list(documents)))

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
        from clew.ingest.read import document_from_text

        document = document_from_text(
            text, source=source, title=title, media_type=media_type, metadata=metadata
        )
        report = self.add_documents([document])
        for skipped in report.skipped:
            raise UnreadableError(skipped.source, skipped.reason)
        return document.id

    def _start(self, progress: Progress | None) -> IndexRun:
        from clew.ingest.run import IndexRun

        self._claim_embedder()
        return IndexRun(self.store, self._ingest.recipe, self.settings.read, progress)

    def _finish(
        self, run: IndexRun, documents: Iterator[Document], prune: Sequence[Path] = ()
    ) -> IndexReport:
        started = time.perf_counter()
        with self._writing, self.store.grouping():
            done = self._ingest.run(documents, run.saved)
            run.prune(prune)
        if run.added or run.changed or run.pruned:
            self._persist()
        return IndexReport(
            added=run.added,
            changed=run.changed,
            unchanged=run.unchanged,
            pruned=run.pruned,
            chunks=done.chunks,
            skipped=tuple(run.skipped),
            seconds=time.perf_counter() - started,
            embedding_seconds=done.embedding_seconds,
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
    ) -> Reread:
        """Read the passages of entities once more for relations, and add those that are new.

        Without ids, the first `limit` entities of which no passage was read for relations with
        success. `proceed` is told documents done and in all, and may end it by False.
        """
        from clew.ingest.reread import reread

        ids = self.store.unread_entities(limit) if entity_ids is None else entity_ids
        with self.store.grouping():
            return reread(self.store, self._ingest.extractor, ids, proceed)
