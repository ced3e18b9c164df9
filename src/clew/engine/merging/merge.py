"""Merging shards: their documents are linked and saved as indexing does it, in one order for all.

Nothing is copied by its id. Each document is taken as its shard holds it, split and embedded; what
its text names is found again, since that depends on nothing else, and it is linked to the names of
the store as if it had just been read. Documents come by the path of their file, as indexing reads
them, whatever the order of the shards. Cut short, a merge goes on with the documents that are
missing.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.engine.documents import Documents
from clew.engine.merging.by_hand import combine, say_after, say_before
from clew.engine.packs import Packs
from clew.errors import InputError, StoreMismatchError, UnreadableError
from clew.indexing.reprocess import extract_again
from clew.stores.backend import to_text
from clew.stores.sqlite.shard import Shard, ShardDocument
from clew.types import MergeReport, Skipped

if TYPE_CHECKING:
    from pathlib import Path

    from clew.engine.state import EngineState, Progress
    from clew.indexing.isolation.steps import Prepared
    from clew.indexing.pipeline import IndexCounts
    from clew.ports import Embedder
    from clew.types import Document, DocumentInfo, Vectors

    Extracting = Future[tuple[Prepared, Vectors]]

_AHEAD = 16
"""Documents extracted ahead of the one that is saved, for each worker."""


def merge(state: EngineState, folders: Sequence[Path], progress: Progress | None) -> MergeReport:
    """Merge the stores in some folders (those of one namespace) into the engine's store.

    Raises `InputError` for a folder without a store, for one given twice and for more documents
    than the quota allows, and `StoreMismatchError` where stores were made in another way; then
    nothing is merged.
    """
    started = time.perf_counter()
    with ExitStack() as stack:
        shards = [
            stack.enter_context(closing(Shard(folder, busy_seconds=state.settings.busy_seconds)))
            for folder in _distinct(state, folders)
        ]
        stack.enter_context(state.writing)
        for shard in shards:
            stack.enter_context(shard.reading())
        report = _Merging(state, shards, progress or (lambda step, done, total: None)).run()
    state.persist()
    return replace(report, seconds=time.perf_counter() - started)


def _distinct(state: EngineState, folders: Sequence[Path]) -> list[Path]:
    real = sorted(folder.resolve() for folder in folders)
    twice = [path for path, same in groupby(real) if len(list(same)) > 1]
    if not real or twice or state.settings.folder.resolve() in real:
        raise InputError(
            f"cannot merge {[str(path) for path in real]}; give each store once, and none of them"
            f" as the one merged into, {str(state.settings.folder)!r}"
        )
    return real


class _Found(NamedTuple):
    """A document and the shard that holds it."""

    document: ShardDocument
    shard: Shard


@dataclass(slots=True)
class _Merging:
    """One merge."""

    state: EngineState
    shards: Sequence[Shard]
    progress: Progress
    skipped: list[Skipped] = field(default_factory=list)

    def run(self) -> MergeReport:
        """Merge all; what was done."""
        listed = [[_Found(d, shard) for d in shard.listed()] for shard in self.shards]
        self._check(listed)
        hand, told = combine(
            [shard.by_hand() for shard in self.shards], self.state.store.link_rules()
        )
        found, differing = _chosen([one for of_shard in listed for one in of_shard])
        held = self.state.store.document_digests()
        missing = [f for f in found if held.get(f.document.source) != f.document.digests]
        missing, kept = self._newer(missing)
        new = sum(f.document.source not in held for f in missing)
        if new and (full := Documents(self.state).quota_reached(len(held) + new)):
            raise InputError(full)
        say_before(self.state.store, hand)
        counts = self._save(missing, len(found))
        told += say_after(self.state.store, hand)
        left = sum((Counter(shard.left_behind()) for shard in self.shards), Counter[str]())
        return MergeReport(
            shards=len(self.shards),
            documents=counts.documents,
            unchanged=len(found) - len(missing) - len(kept),
            chunks=counts.chunks,
            contradictions=(*differing, *kept, *told),
            left=tuple(f"{count:,} {kind}" for kind, count in left.items()),
            skipped=tuple(self.skipped),
        )

    def _newer(self, found: Sequence[_Found]) -> tuple[list[_Found], list[str]]:
        """Those that are newer than what is held under their source; what is told of the others."""
        ids = [one.document.id for one in found]
        held = {d.source: d for d in self.state.store.documents(ids=ids)}
        newer, told = [], []
        for one in found:
            document, here = one.document, held.get(one.document.source)
            if here is None or here.sha256 == document.sha256 or _written(here) < _age(one):
                newer.append(one)
            else:
                told.append(
                    f"{document.source!r} has an older text in {str(one.shard.folder)!r}; the one"
                    " held here was kept"
                )
        return newer, told

    # --- may they be merged

    def _check(self, listed: Sequence[Sequence[_Found]]) -> None:
        """Raise where anything was made in another way than the store merged into."""
        state, packs = self.state, self.shards[0].packs()
        for shard in self.shards:
            if set(shard.packs()) != set(packs):
                raise _mismatch(shard, "packs", list(shard.packs()), list(packs))
        held = state.store.packs()
        if set(held) != set(packs):
            if state.store.count_documents():
                raise _mismatch(self.shards[0], "packs", list(packs), list(held))
            for name in packs:
                Packs(state).enable(name)
        embedder = (state.embedder.name, state.embedder.dimension)
        fingerprint = state.ingest.pipeline_fingerprint
        for shard, documents in zip(self.shards, listed, strict=True):
            if shard.embedder() not in (None, embedder):
                raise _mismatch(shard, "embedder", shard.embedder(), embedder)
            for made in {found.document.pipeline_fingerprint for found in documents}:
                if made != fingerprint:
                    raise _mismatch(shard, "way of indexing", made, fingerprint)
        state.bound_ingest()

    # --- documents

    def _save(self, found: Sequence[_Found], total: int) -> IndexCounts:
        """Link and save the documents."""
        done, stored = total - len(found), _StoredVectors(self.state.embedder)
        pipeline = replace(self.state.ingest, embedder=stored)

        def saved(_: Document) -> None:
            nonlocal done
            done += 1
            self.progress("merge", done, total)

        with self.state.store.grouping():
            return pipeline.run(self._prepared(found, stored), saved)

    def _prepared(self, found: Sequence[_Found], stored: _StoredVectors) -> Iterator[Prepared]:
        """The documents in order, their vectors put in `stored`; extracted by all workers."""
        workers = self.state.settings.limits.workers
        waiting: deque[tuple[_Found, Extracting]] = deque()
        with ThreadPoolExecutor(workers, thread_name_prefix="clew-merge") as pool:
            for one in found:
                waiting.append((one, self._extract(pool, one)))
                if len(waiting) > workers * _AHEAD:
                    yield from self._first(waiting, stored)
            while waiting:
                yield from self._first(waiting, stored)

    def _extract(self, pool: ThreadPoolExecutor, one: _Found) -> Extracting:
        info, sections, chunks, vectors = one.shard.parts(one.document.id)
        runner = self.state.ingest.runner
        return pool.submit(lambda: (extract_again(info, sections, chunks, runner), vectors))

    def _first(
        self, waiting: deque[tuple[_Found, Extracting]], stored: _StoredVectors
    ) -> Iterator[Prepared]:
        one, extracting = waiting.popleft()
        try:
            prepared, vectors = extracting.result()
        except UnreadableError as error:
            self.skipped.append(Skipped(source=one.document.source, reason=error.reason))
            return
        stored.rows.append(vectors)
        yield prepared


class _StoredVectors:
    """Stands in for the embedder: gives the vectors of the documents as they come."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension = embedder.name, embedder.dimension
        self.max_tokens = embedder.max_tokens
        self.count_tokens = embedder.count_tokens
        self.embed_query = embedder.embed_query
        self.rows: deque[Vectors] = deque()
        """Of each document that is not saved yet, in order."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The next rows, as many as there are texts."""
        found: list[Vectors] = [np.empty((0, self.dimension), np.float32)]
        left = len(texts)
        while left:
            rows = self.rows.popleft()
            if len(rows):
                found.append(rows)
            left -= len(rows)
        return np.concatenate(found)


def _chosen(found: Sequence[_Found]) -> tuple[list[_Found], list[str]]:
    """Each document once, in the order of indexing; what was told of those that differ.

    Of two texts with the same source the one written last is taken.
    """
    by_source: dict[str, list[_Found]] = {}
    for one in found:
        by_source.setdefault(one.document.source, []).append(one)
    told = [
        f"{source!r} has {len(texts)} texts; the one written last was taken"
        for source, same in sorted(by_source.items())
        if len(texts := {one.document.sha256 for one in same}) > 1
    ]
    last = [max(same, key=_age) for same in by_source.values()]
    return sorted(last, key=_place), told


def _age(found: _Found) -> tuple[str, str, str]:
    """When a text was written, as far as that is known, and when it was indexed."""
    document = found.document
    return document.updated_at or document.indexed_at, document.indexed_at, document.sha256


def _written(held: DocumentInfo) -> tuple[str, str, str]:
    """`_age` of a document that is held."""
    indexed = to_text(held.indexed_at) or ""
    return to_text(held.updated_at) or indexed, indexed, held.sha256


def _place(found: _Found) -> tuple[list[str], int, str]:
    """Files come by their path, as indexing finds them; what one holds in its own order."""
    document = found.document
    return document.origin.split("/"), document.first_chunk, document.source


def _mismatch(shard: Shard, what: str, has: object, expected: object) -> StoreMismatchError:
    return StoreMismatchError(
        f"cannot merge the store {str(shard.folder)!r}: its {what} is {has!r}, but {expected!r} is"
        " expected by the others and the settings; run `clew reindex` there, or merge with the"
        " settings that it was indexed with"
    )
