"""The steps of indexing: read ▸ split ▸ contextualise ▸ extract ▸ embed ▸ link ▸ save.

| step | module |
| --- | --- |
| read | `inputs`, over `reading` |
| split, contextualise | `outline`, `split` |
| extract | `ner.pattern_extractor`, with `relations` |
| embed | an `Embedder` |
| link | `linking` |
| save | a `Store` |

The steps up to extraction run in a worker process (`processes`). `IncrementalIndexer` decides which
documents go through, in batches: while a thread embeds one batch, the batch before it is linked and
saved, and the one after it is read. Documents are saved in the order given, several in one
transaction, so that a run that was interrupted continues where it stopped.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import ClewError, InputError, LimitError, UnreadableError
from clew.indexing.inputs import DocumentInput, Extension, FileInput, Input, NoExtension
from clew.indexing.linking import Linker, StoreTerms, without_names
from clew.indexing.processes import Contents, Extract, Prepare, Prepared, Runner
from clew.indexing.reading.files import permitted_path
from clew.text import text_digest
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    DocumentInfo,
    Extraction,
    IndexedDocument,
    IndexPreview,
    Piece,
    Skipped,
    StoredChunk,
    StoredSection,
    Vectors,
    document_id,
    file_source,
    source_path,
)

if TYPE_CHECKING:
    from clew.ports import Embedder, Extractor, FoundRelation
    from clew.settings import LimitSettings, LinkSettings, QuotaSettings, Settings, SplitSettings
    from clew.stores.sqlite.journal import SqliteRefusals
    from clew.stores.store import Store

    Progress = Callable[[str, int, int | None], None]


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
        chunks = [(item.document.vector, chunk) for item in batch for chunk in item.split.chunks]
        texts = [chunk.embedding_text for brought, chunk in chunks if brought is None]
        made = iter(self.embedder.embed_documents(texts))
        vectors = np.empty((len(chunks), self.embedder.dimension), np.float32)
        for row, (brought, _) in enumerate(chunks):
            vectors[row] = next(made) if brought is None else brought
        counts.embedding_seconds += time.perf_counter() - started
        return vectors

    @property
    def _linker(self) -> Linker:
        return Linker(self.store, self.link_settings)

    def resolved(
        self, readings: Mapping[int, ChunkExtraction]
    ) -> tuple[dict[int, ChunkExtraction], tuple[AliasEvidence, ...]]:
        """What a model read in stored passages, in the terms of declared relations; its links."""
        found = self.extension.normalised(Extraction(chunks=tuple(readings.values())))
        return dict(zip(readings, found.chunks, strict=True)), self._linker.links(found)

    def settle(self, worker: int, writing: AbstractContextManager[object]) -> None:
        """Tie what workers saved at the same time, as if they had saved in turn."""
        while unsettled := self.store.unsettled(worker):
            links = tuple(self._linker.late_links(unsettled.names))
            with writing:
                self.store.settle(unsettled, links)

    def linked(self, entry: IndexedDocument) -> IndexedDocument:
        """A document with the terms that the store knows, and its links to names there."""
        terms = StoreTerms(self.store)
        found = terms.found(entry.document, entry.split.chunks, entry.extraction)
        found = without_names(found, self.store.pruned_names())
        links = self._linker.links(found, entry.document.source)
        return replace(entry, extraction=found, links=links)

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


# One run of indexing: which documents are new or changed, which are gone, what was skipped.


INDEX, DOCUMENTS = "index", "documents"
"""Steps of the progress: files that are done, and what is stored of those that hold several."""
_BETWEEN_REPORTS = 100
"""Documents of a file."""
_ASKED_AT_ONCE = 10_000
"""Digests."""
GRACE_SECONDS = 2.0
"""What is gone is looked for once more after these: programs save by deleting and making anew."""


class IncrementalIndexer:
    """Counts one run, and yields the documents to index, in order.

    Input that exceeded a limit is not read again while it and the limits are the same, unless
    `retry`.
    """

    def __init__(
        self,
        store: Store,
        pipeline: IndexingPipeline,
        refusals: SqliteRefusals,
        limits: LimitSettings,
        *,
        full: Callable[[int, str], str | None],
        most: int,
        sources: Sequence[str] | None = None,
        folders: Sequence[str] = (),
        retry: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """`full` says why the store cannot hold so many documents, of `most`, or one more text.

        Given `sources`, the run reads those alone, and of the store what it holds of them and from
        below the `folders`.
        """
        self._store = store
        self._fingerprint = pipeline.pipeline_fingerprint
        self._runner = pipeline.runner
        self._refusals = refusals
        self._limits = limits.model_dump(exclude={"isolation", "workers"})
        self._full = full
        self._retry = retry
        self._progress = progress
        self._known = dict(store.document_digests(sources, folders))
        # To count a million documents takes longer than to add one.
        self._held = store.last_chunk()
        if 2 * self._held > most:
            self._held = store.count_documents()
        self._stored: defaultdict[str, set[str]] = defaultdict(set)
        # Of those, what was read from files and not given by callers.
        self._files: defaultdict[str, set[str]] = defaultdict(set)
        for source, (origin, _, _, read_from) in self._known.items():
            self._stored[origin].add(source)
            if read_from == "file":
                self._files[origin].add(source)
        self._new: set[str] = set()
        self._last: set[str] = set()  # with one of these saved, a file is done
        self._total = 0
        self._done = 0
        self._documents = 0  # in the files that were read, of those that are new or changed
        self.added = 0
        self.updated = 0
        self.unchanged = 0
        self.pruned = 0
        self._arrived: dict[str, str] = {}
        self._vanished: list[tuple[Input, str, set[str]]] = []
        self.skipped: list[Skipped] = []
        self.lacks = set[str]()

    def changed(self, inputs: Sequence[Input]) -> Iterator[Prepared]:
        """Read inputs; yield new and changed documents. Unreadable ones go to `skipped`."""
        self._total = len(inputs)
        for item in inputs:
            try:
                yield from self._changed_in(item)
            except UnreadableError as error:
                self.skipped.append(Skipped(source=error.source, reason=error.reason))
                self._advance()

    def saved(self, document: Document) -> None:
        """Count a document as stored."""
        if document.source in self._known:
            self.updated += 1
        else:
            self.added += 1
            self._arrived.setdefault(document.sha256, document.source)
        if document.source in self._last:
            self._advance()
        elif self._progress and not (done := self.added + self.updated) % _BETWEEN_REPORTS:
            self._progress(DOCUMENTS, done, self._documents)

    def moved(self) -> list[tuple[str, str]]:
        """(former, new) sources of new documents with the text of one whose file is gone."""
        arrived, digests = self._arrived, list(self._arrived)
        same: list[tuple[str, str, str]] = []
        for first in range(0, len(digests), _ASKED_AT_ONCE):
            same += self._store.same_documents(digests[first : first + _ASKED_AT_ONCE])
        former = {sha256: source for source, origin, sha256 in same
                  if source not in self._new and _is_gone(source_path(origin))}  # fmt: skip
        return [(former[digest], arrived[digest]) for digest in digests if digest in former]

    def gone(
        self, roots: Sequence[Path], writing: AbstractContextManager[object] | None
    ) -> tuple[str, ...]:
        """What is stored of files below the roots that no longer exist; given `writing`, delete it.

        Also the records that files which were read now no longer hold. Of what is deleted, none is
        told. It has to stay gone for a moment, and a root that is missing or holds no file at all
        (a disk that is not mounted, a typing error) says nothing about what was read below it: that
        is told. Others may write, but while documents are deleted.
        """
        there = []
        for root in roots:
            if reason := self._not_there(root):
                self.skipped.append(Skipped(source=file_source(root), reason=reason))
            else:
                there.append(root)
        if writing is not None and (self._gone(there) or self._vanished):
            time.sleep(GRACE_SECONDS)
        gone = [source for origin in self._gone(there) for source in self._files[origin]]
        for item, digest, sources in self._vanished:
            with suppress(UnreadableError):
                if writing is None or item.digest() == digest:  # the file is as it was read
                    gone += sources
        if writing is None:
            return tuple(sorted(gone))
        with writing:
            self._drop(gone)
        return ()

    def preview(self, inputs: Sequence[Input], roots: Sequence[Path]) -> IndexPreview:
        """What `changed` would read of the inputs, and `prune` drop below the roots."""
        found: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": []}
        for item in inputs:
            if self._is_unchanged(item, item.digest()):
                found["unchanged"].append(item.source)
            else:
                found["changed" if item.source in self._stored else "new"].append(item.source)
        return IndexPreview(
            **{name: tuple(sources) for name, sources in found.items()},
            gone=tuple(source for origin in self._gone(roots) for source in self._files[origin]),
        )

    def _gone(self, roots: Sequence[Path]) -> list[str]:
        """Origins that were files below the roots and no longer exist."""
        return [origin for origin in self._below(roots) if _is_gone(source_path(origin))]

    def _below(self, roots: Sequence[Path]) -> list[str]:
        below = [file_source(root) for root in roots]
        return [
            origin
            for origin in sorted(self._files)
            if any(origin == b or origin.startswith(b.rstrip("/") + "/") for b in below)
        ]

    def _not_there(self, root: Path) -> str | None:
        """Why a root tells nothing about what was read below it; None where it does."""
        if not os.path.exists(root):
            return "not there: nothing that was read from it is dropped"
        if os.path.isdir(root) and not any(files for _, _, files in os.walk(root)):
            held = len(self._below([root]))
            return f"holds no file: what was read below it stays ({held:,} files)" if held else None
        return None

    def _changed_in(self, item: Input) -> Iterator[Prepared]:
        source, digest = item.source, item.digest()
        if self._is_unchanged(item, digest):
            self._advance()
            return
        state = text_digest(json.dumps([digest, self._fingerprint, self._limits]))
        if not self._retry and (reason := self._refusals.reason(source, state)):
            raise LimitError(source, reason)
        try:
            yield from self._prepared(item, digest)
        except LimitError as error:
            self._refusals.refuse(source, state, error.reason)
            raise

    def _prepared(self, item: Input, digest: str) -> Iterator[Prepared]:
        made = self._fingerprint, item.read_from
        known = {source: self._known[source] for source in self._stored[item.source]}
        same = {source: sha256 for source, (_, sha256, *of) in known.items() if (*of,) == made}
        with closing(self._runner.run(Prepare(input=item, known=same), self._show)) as found:
            for part in found:
                if not isinstance(part, Prepared):
                    self._take(part, item, digest)
                elif self._fits(part.document):
                    yield part

    def _fits(self, document: Document) -> bool:
        """Whether the store may hold one more document; if not, it goes to `skipped`."""
        new = {document.source} - self._known.keys() - self._new
        reason = self._full(self._held + len(self._new) + len(new), document.text)
        if reason is None:
            self._new |= new
            return True
        self.skipped.append(Skipped(source=document.source, reason=reason))
        if document.source in self._last:
            self._advance()
        return False

    def _take(self, contents: Contents, item: Input, digest: str) -> None:
        self.skipped.extend(contents.skipped)
        self.lacks.update(filter(None, [contents.lacks]))
        self.unchanged += len(contents.sources) - len(contents.changed)
        # A record that cannot be read has no name: what it was before may be any of those missing.
        if not contents.skipped:
            missing = self._stored[item.source].difference(contents.sources)
            # One text that is read as records now, or the other way round, is not lost.
            whole = {item.source} if contents.sources else set()
            replaced = missing if item.source in contents.sources else missing & whole
            self._drop(missing if item.read_from != "file" else replaced)
            missing -= replaced
            if item.read_from == "file" and (vanished := missing & self._files[item.source]):
                # The file may be cut short, or half written.
                self._vanished.append((item, digest, vanished))
        self._documents += len(contents.changed)
        if contents.changed:
            self._last.add(contents.changed[-1])
        else:
            self._advance()

    def _is_unchanged(self, item: Input, digest: str) -> bool:
        known = self._known.get(item.source)
        if known is None or not digest or known[1:] != (digest, self._fingerprint, item.read_from):
            return False
        self.unchanged += 1
        return True

    def _drop(self, sources: Iterable[str]) -> None:
        if ids := [document_id(source) for source in sorted(sources)]:
            self.pruned += self._store.delete(ids)

    def _advance(self) -> None:
        self._done += 1
        self._show()

    def _show(self) -> None:
        """Report progress; the callback may raise to end the run."""
        if self._progress:
            self._progress(INDEX, self._done, self._total)


def _is_gone(path: Path) -> bool:
    """Whether there is no such file; False where that cannot be determined."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


# Processing stored documents again: whole, or only their relations.
#
# The text comes from the file where that may be read and has not changed, else from the store.


logger = logging.getLogger("clew")


def prepare_again(
    store: Store,
    info: DocumentInfo,
    settings: Settings,
    runner: Runner,
    waiting: Callable[[], None],
) -> Prepared | None:
    """A stored document, split and extracted by the present settings; None where it is gone.

    The file is preferred because it has all pages. Raises `LimitError` where the stored text, too,
    exceeds a limit.
    """
    try:
        # The file of a document.
        file = FileInput(permitted_path(source_path(info.source), settings), settings.read)
        if info.read_from != file.read_from or file.digest() != info.sha256:
            raise InputError(f"{info.source!r} has changed since it was indexed")
        found = _prepare(file, info, runner, waiting)
    except InputError:  # outside the roots, gone, unreadable by now, or no path at all
        found = None
    if found is not None:
        return found
    with store.reading():
        documents = [
            _document(known, store.document_sections(known.id), store.document_chunks(known.id))
            for known in store.documents(ids=[info.id])
        ]
    return _prepare(DocumentInput(documents[0]), info, runner, waiting) if documents else None


def _prepare(
    given: Input, info: DocumentInfo, runner: Runner, waiting: Callable[[], None]
) -> Prepared | None:
    """The document of that source in an input; None where it holds others."""
    prepared = [p for p in runner.run(Prepare(input=given), waiting) if isinstance(p, Prepared)]
    return next((one for one in prepared if one.document.source == info.source), None)


def _document(
    info: DocumentInfo, sections: Sequence[StoredSection], chunks: Sequence[StoredChunk]
) -> Document:
    """The document as it was read, as far as the store knows it."""
    # Where pages start, as far as chunks tell: where the first chunk on it or after it starts.
    paged = [
        (page, start)
        for chunk in chunks
        for start, page in chunk.page_starts or ((chunk.start, chunk.page),)
        if page is not None
    ]
    last = max((page for page, _ in paged), default=0)
    # The pieces of a document that came ready split; a long one is several chunks of its name.
    pieces = []
    for key, group in groupby((c for c in chunks if c.key is not None), attrgetter("key")):
        parts = list(group)
        own = {k: v for k, v in parts[0].metadata.items() if info.metadata.get(k) != v}
        pieces.append(Piece(start=parts[0].start, end=parts[-1].end, key=key, metadata=own))
    return Document(
        source=info.source,
        text="".join(section.text for section in sections),
        title=info.title,
        sha256=info.sha256,
        media_type=info.media_type,
        language=info.language,
        origin=info.origin if info.origin != info.source else "",
        read_from=info.read_from,
        created_at=info.created_at,
        date_source=info.date_source,
        date_precision=info.date_precision,
        updated_at=info.updated_at,
        metadata=info.metadata,
        page_starts=tuple(
            0 if number == 1 else next(start for page, start in paged if page >= number)
            for number in range(1, last + 1)
        ),
        pieces=tuple(pieces),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationReport:
    """The outcome of extracting relations again."""

    found: Mapping[int, int]
    """Relations by entity id, new or known, of each entity with all its documents processed."""
    added: int
    """Relations that the store did not hold."""


def extract_relations_again(
    store: Store,
    runner: Runner,
    extractor: str,
    entity_ids: Sequence[int],
    proceed: Callable[[int, int], bool],
) -> RelationReport:
    """Extract the documents that mention some entities again; add the relations that are new.

    A second call adds nothing more. `proceed(documents done, documents in all)` is called before
    each document and ends the work by False. Entities with documents left, or with a document that
    exceeds a limit, are not logged as processed. `extractor` is the name of the runner's extractor.
    """
    documents = store.entity_documents(entity_ids)
    left = Counter(id_ for ids in documents.values() for id_ in ids)
    facts: dict[int, set[tuple[int, str, int]]] = {id_: set() for id_ in entity_ids}
    among, added = frozenset(entity_ids), 0
    for done, (document, mentioned) in enumerate(documents.items()):
        if not proceed(done, len(documents)):
            break
        try:
            found = _relations_of(store, runner, document)
        except UnreadableError as error:
            logger.warning("%s", error)
            continue
        stated, new = store.add_found_relations(found, among, extractor)
        added += new
        for fact in stated:
            for end in among.intersection((fact[0], fact[2])):
                facts[end].add(fact)
        left.subtract(mentioned)
    counts = {id_: len(stated) for id_, stated in facts.items() if not left[id_]}
    store.log_reading(counts)
    return RelationReport(found=counts, added=added)


def _relations_of(store: Store, runner: Runner, id_: str) -> list[FoundRelation]:
    """(chunk id, relation) of what a stored document states; none where it is gone by now."""
    infos = store.documents(ids=[id_])
    chunks = store.document_chunks(id_)
    if not infos or not chunks:
        return []
    # A stored document, split as it is stored and extracted again.
    sections = store.document_sections(id_)
    document = _document(infos[0], sections, chunks)
    ordinals = {section.id: section.ordinal for section in sections}
    parts = [
        Chunk(
            ordinal=stored.ordinal,
            section=ordinals.get(stored.section_id, 0),
            start=stored.start,
            end=stored.end,
            text=stored.text,
            context=stored.context,
            page=stored.page,
            page_starts=stored.page_starts[1:],
            key=stored.key,
            metadata=stored.metadata,
        )
        for stored in chunks
    ]
    (found,) = runner.run(Extract(input=DocumentInput(document), chunks=parts))
    return [
        (stored.id, relation)
        for stored, chunk in zip(chunks, found.chunks, strict=True)
        for relation in chunk.relations
    ]


# How much a namespace may hold: it is measured no oftener than what is left demands.


_BYTES_A_CHARACTER, _BYTES_A_DOCUMENT = 100, 20_000
"""More than a text takes up, with its names, words, vectors and all that is derived from it."""


class Quota:
    """What is left of a namespace's quota, for one who takes in one text after the other."""

    def __init__(self, settings: QuotaSettings, measured: Callable[[], int]) -> None:
        """`measured` gives the bytes that the namespace has."""
        self._settings, self._measured = settings, measured
        self._left = 0.0
        """Bytes that texts may take before it is measured again."""

    def reached(self, documents: int, text: str = "") -> str | None:
        """Why the namespace cannot have so many documents, or take in a text; None: it can."""
        most = self._settings
        if documents > most.documents:
            said = f"a namespace may have {most.documents} documents (the setting quota.documents)"
            return f"{said}; delete some or raise it"
        self._left -= _BYTES_A_CHARACTER * len(text) + _BYTES_A_DOCUMENT
        if self._left > 0:
            return None
        used = self._measured()
        self._left = 1e6 * most.megabytes - used
        if self._left > 0:
            return None
        return (
            f"the store has {used / 1e6:.1f} MB, and a namespace may have {most.megabytes:g} (the"
            " setting quota.megabytes); delete documents or raise it"
        )
