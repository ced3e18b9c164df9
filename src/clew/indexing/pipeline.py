"""The steps of indexing: read ▸ split ▸ contextualise ▸ extract ▸ embed ▸ link ▸ save.

| step | module |
| --- | --- |
| read | `reading.reader`, asked by `inputs` |
| split, contextualise | `splitting.split`, `contextualise` |
| extract | `ner.pattern_extractor`, with `relations` |
| embed | an `Embedder` |
| link | `linking.linker` |
| save | a `Store` |

The steps up to extraction run in a worker process (`isolation`). `incremental` decides which
documents go through, in batches: while a thread embeds one batch, the batch before it is linked and
saved, and the one after it is read. Documents are saved in the order given, several in one
transaction, so that a run that was interrupted continues where it stopped.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.indexing.extension import Extension, NoExtension
from clew.indexing.inputs import DocumentInput
from clew.indexing.isolation.worker import Prepare, Prepared, Runner
from clew.indexing.linking import StoreTerms, without_names
from clew.types import (
    AliasEvidence,
    ChunkExtraction,
    Document,
    Extraction,
    IndexedDocument,
    Vectors,
)

if TYPE_CHECKING:
    from clew.ports import Embedder, Extractor
    from clew.settings import LinkSettings, SplitSettings
    from clew.stores.store import Store


GROUP_SECONDS = 0.5
"""How long documents are saved in one transaction: other writers wait meanwhile."""
BATCH_CHUNKS = 128
"""Chunks embedded in one go: enough to sort by length, few enough for Ctrl-C not to wait long."""


@dataclass(slots=True)
class IndexCounts:
    """What a run has done so far."""

    documents: int = 0
    chunks: int = 0
    embedding_seconds: float = 0.0


@dataclass(slots=True)
class IndexingPipeline:
    """The steps for one store."""

    store: Store
    embedder: Embedder
    extractor: Extractor
    split_settings: SplitSettings
    link_settings: LinkSettings
    runner: Runner
    """Where documents are read, split and extracted, as `split_settings` say."""
    extension: Extension = field(default_factory=NoExtension)

    @property
    def pipeline_fingerprint(self) -> str:
        """How documents are split, embedded and extracted, as JSON."""
        parts = {
            "split": self.split_settings.model_dump(),
            "embedder": self.embedder.name,
            "extractor": self.extractor.name,
        }
        if self.extension.fingerprint:
            parts["extension"] = self.extension.fingerprint
        return json.dumps(parts, sort_keys=True)

    def run(
        self,
        prepared: Iterator[Prepared],
        saved: Callable[[Document], None],
        writing: AbstractContextManager[object] | None = None,
        *,
        keep: Callable[[IndexedDocument], None] | None = None,
    ) -> IndexCounts:
        """Index documents; `saved` is called after each one that is stored.

        `writing` is held while documents are linked and saved, not while they are prepared. Given
        `keep`, documents go there instead of into the store, without links.
        """
        counts, writing = IndexCounts(), writing or nullcontext()
        unsaved: deque[tuple[deque[Prepared], Future[Vectors]]] = deque()

        def save_first() -> None:
            batch, embedding = unsaved[0]
            for item in self._save_batch(batch, embedding.result(), keep, writing):
                counts.documents += 1
                counts.chunks += len(item.split.chunks)
                saved(item.document)
            unsaved.popleft()

        with (
            closing(_batches(prepared)) as batches,
            ThreadPoolExecutor(max_workers=1, thread_name_prefix="clew-embed") as pool,
        ):
            try:
                for batch in batches:
                    unsaved.append((deque(batch), pool.submit(self._embed, batch, counts)))
                    if len(unsaved) > 1:
                        save_first()
                while unsaved:
                    save_first()
            except KeyboardInterrupt:
                # What is embedded took long. Whoever cannot wait for it interrupts once more.
                while unsaved:
                    save_first()
                raise
        return counts

    def _save_batch(
        self,
        batch: deque[Prepared],
        vectors: Vectors,
        keep: Callable[[IndexedDocument], None] | None,
        writing: AbstractContextManager[object],
    ) -> Iterator[Prepared]:
        """Save the documents of a batch; each leaves it when it is stored."""
        together = keep is None
        while batch:
            try:
                with writing:
                    done: list[Prepared] = []
                    until = time.monotonic() + (GROUP_SECONDS if together else 0.0)
                    with self.store.batch() if together else nullcontext():
                        for item, rows in _with_vectors(batch, vectors):
                            if keep:
                                keep(self._indexed(item, rows))
                            else:
                                self.save(item, rows)
                            done.append(item)
                            if time.monotonic() >= until:
                                break
            except ClewError:
                if not together:
                    raise
                together = False  # what comes before the one that cannot be saved is to last
                continue
            for _ in done:
                yield batch.popleft()

    def prepare(self, document: Document) -> Prepared:
        """Split and extract one document. Raises `LimitError`."""
        *_, prepared = self.runner.run(Prepare(input=DocumentInput(document)))
        assert isinstance(prepared, Prepared)
        return prepared

    def complete(self, documents: Sequence[Document]) -> list[tuple[Prepared, Vectors]]:
        """A few documents with their embeddings, ready for `save`."""
        batch = [self.prepare(document) for document in documents]
        return list(_with_vectors(batch, self._embed(batch, IndexCounts())))

    def _embed(self, batch: list[Prepared], counts: IndexCounts) -> Vectors:
        started = time.perf_counter()
        texts = [chunk.embedding_text for item in batch for chunk in item.split.chunks]
        vectors = self.embedder.embed_documents(texts)
        counts.embedding_seconds += time.perf_counter() - started
        return vectors

    def links(self, extraction: Extraction) -> tuple[AliasEvidence, ...]:
        """Names of an extraction that mean one that the store knows, or each other."""
        from clew.indexing.linking import Linker

        return Linker(self.store, self.link_settings).links(extraction)

    def resolved(
        self, readings: Mapping[int, ChunkExtraction]
    ) -> tuple[dict[int, ChunkExtraction], tuple[AliasEvidence, ...]]:
        """What a model read in stored passages, in the terms of declared relations; its links."""
        found = self.extension.normalised(Extraction(chunks=tuple(readings.values())))
        return dict(zip(readings, found.chunks, strict=True)), self.links(found)

    def settle(self, worker: int, writing: AbstractContextManager[object]) -> None:
        """Tie what workers saved at the same time, as if they had saved in turn."""
        from clew.indexing.linking import Linker

        linker = Linker(self.store, self.link_settings)
        while unsettled := self.store.unsettled(worker):
            links = tuple(linker.late_links(unsettled.names))
            with writing:
                self.store.settle(unsettled, links)

    def linked(self, entry: IndexedDocument) -> IndexedDocument:
        """A document with the terms that the store knows, and its links to names there."""
        terms = StoreTerms(self.store)
        found = terms.found(entry.document, entry.split.chunks, entry.extraction)
        found = without_names(found, self.store.pruned_names())
        return replace(entry, extraction=found, links=self.links(found))

    def save(self, item: Prepared, vectors: Vectors) -> None:
        """Link and store one document."""
        self.store.save(self.linked(self._indexed(item, vectors)))

    def _indexed(self, item: Prepared, vectors: Vectors) -> IndexedDocument:
        return IndexedDocument(
            document=item.document,
            split=item.split,
            vectors=vectors,
            extraction=item.extraction,
            pipeline_fingerprint=self.pipeline_fingerprint,
        )


def _with_vectors(
    batch: Collection[Prepared], vectors: Vectors
) -> Iterator[tuple[Prepared, Vectors]]:
    """Each document with the rows that are its own, (chunks, dimension).

    Of a batch whose first documents were saved, the rows are the last ones.
    """
    start = len(vectors) - sum(len(item.split.chunks) for item in batch)
    for item in batch:
        end = start + len(item.split.chunks)
        yield item, vectors[start:end]
        start = end


def _batches(prepared: Iterator[Prepared]) -> Generator[list[Prepared], None, None]:
    """Batches of `BATCH_CHUNKS` chunks or more; the last one may have fewer."""
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
