"""Indexing, as a table of contents: read, split and extract (elsewhere), embed, link, save.

Documents go through in batches. While one batch is embedded in a thread of its own, the batch
before it is linked and saved and the one after it is prepared: read, split and extracted, in a
process that can be ended. Each document is saved in one transaction, in the order given, so that a
run cut short goes on where it stopped.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.indexing.inputs import DocumentInput
from clew.indexing.isolation.requests import Prepare
from clew.indexing.isolation.steps import Prepared
from clew.types import IndexedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from clew.indexing.isolation.requests import Runner
    from clew.indexing.linking.linker import Linker
    from clew.ports import Embedder, Extractor, Store
    from clew.settings import LinkSettings, SplitSettings
    from clew.types import AliasEvidence, Document, Extraction, Vectors


BATCH_CHUNKS = 128
"""Chunks embedded in one go: enough to sort by length, few enough for Ctrl-C not to wait long."""


@dataclass(slots=True)
class Progress:
    """What a run has done so far."""

    documents: int = 0
    chunks: int = 0
    embedding_seconds: float = 0.0


@dataclass(slots=True)
class Ingest:
    """The steps, put together once for one store."""

    store: Store
    embedder: Embedder
    extractor: Extractor
    split_settings: SplitSettings
    link_settings: LinkSettings
    runner: Runner
    """Where documents are read, split and extracted, as `split_settings` say."""
    _linker: Linker | None = field(default=None, init=False)
    _linked: tuple[int, int] = field(default=(0, 0), init=False)

    @property
    def recipe(self) -> str:
        """How documents are split, embedded, extracted; one made otherwise is made anew."""
        parts = {
            "split": self.split_settings.model_dump(),
            "embedder": self.embedder.name,
            "extractor": self.extractor.name,
        }
        return json.dumps(parts, sort_keys=True)

    def run(
        self,
        prepared: Iterator[Prepared],
        saved: Callable[[Document], None],
        writing: AbstractContextManager[object] | None = None,
    ) -> Progress:
        """Index documents; `saved` is told of each one that is stored.

        `writing` is held while documents are linked and saved, not while they are prepared.
        """
        progress, writing = Progress(), writing or nullcontext()
        with (
            closing(_batches(prepared)) as batches,
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="clew-embed") as pool,
        ):
            waiting: tuple[list[Prepared], Future[Vectors]] | None = None
            for batch in batches:
                embedding = pool.submit(self._embed, batch, progress)
                if waiting:
                    self._finish(*waiting, progress, saved, writing)
                waiting = (batch, embedding)
            if waiting:
                self._finish(*waiting, progress, saved, writing)
        return progress

    def prepare(self, document: Document) -> Prepared:
        """Split and extract one document. Raises `LimitError`."""
        *_, prepared = self.runner.run(Prepare(input=DocumentInput(document)))
        assert isinstance(prepared, Prepared)
        return prepared

    def complete(self, documents: Sequence[Document]) -> list[tuple[Prepared, Vectors]]:
        """Documents that only need to be saved, each with its embeddings; for a few at a time."""
        batch = [self.prepare(document) for document in documents]
        vectors, start = self._embed(batch, Progress()), 0
        done = []
        for item in batch:
            end = start + len(item.split.chunks)
            done.append((item, vectors[start:end]))
            start = end
        return done

    def _embed(self, batch: list[Prepared], progress: Progress) -> Vectors:
        started = time.perf_counter()
        texts = [chunk.embedding_text for item in batch for chunk in item.split.chunks]
        vectors = self.embedder.embed_documents(texts)
        progress.embedding_seconds += time.perf_counter() - started
        return vectors

    def _finish(
        self,
        batch: list[Prepared],
        embedding: Future[Vectors],
        progress: Progress,
        saved: Callable[[Document], None],
        writing: AbstractContextManager[object],
    ) -> None:
        vectors, start = embedding.result(), 0
        for item in batch:
            end = start + len(item.split.chunks)
            with writing:
                self.save(item, vectors[start:end])
            start = end
            progress.documents += 1
            progress.chunks += len(item.split.chunks)
            saved(item.document)

    def links(self, extraction: Extraction) -> tuple[AliasEvidence, ...]:
        """Names of an extraction that mean one that the store knows, or each other."""
        return self._current_linker().links(extraction)

    def save(self, item: Prepared, vectors: Vectors) -> None:
        """Link and store one document."""
        self.store.save(
            IndexedDocument(
                document=item.document,
                split=item.split,
                vectors=vectors,
                extraction=item.extraction,
                links=self.links(item.extraction),
                recipe=self.recipe,
            )
        )

    def _current_linker(self) -> Linker:
        """The linker, knowing what this and other processes have saved since."""
        from clew.indexing.linking.linker import Linker

        epoch, last = self._linked
        if self._linker is None or epoch != self.store.epoch():
            epoch, last = self.store.epoch(), 0
            self._linker = Linker([], self.store.link_rules(), self.link_settings)
        new = self.store.aliases(after=last)
        self._linker.add(new)
        self._linked = (epoch, new[-1].id if new else last)
        return self._linker


def _batches(prepared: Iterator[Prepared]) -> Generator[list[Prepared], None, None]:
    """Closed with it, `prepared` ends what it waits for."""
    batch: list[Prepared] = []
    chunks = 0
    for item in prepared:
        batch.append(item)
        chunks += len(item.split.chunks)
        if chunks >= BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch
