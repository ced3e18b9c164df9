"""What a job of indexing again does: documents that were made otherwise than they would be now."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.ingest.access import permitted_path
from clew.types import Document, Piece, document_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Clew
    from clew.types import DocumentInfo, StoredChunk, Vectors

_BATCH = 128
"""Chunks embedded between two looks at whether to go on."""


class Reindexing:
    """`runner.Kind` that reads, splits and embeds again what has another recipe."""

    def __init__(self, engine: Clew) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Sources of the documents whose recipe is not the present one."""
        recipe = self._engine.recipe
        return [info.source for info in self._engine.documents() if info.recipe != recipe]

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`. A document that was deleted meanwhile needs nothing."""
        engine = self._engine
        if engine.store.embedder() != (engine.embedder.name, engine.embedder.dimension):
            self._change_embedder(advance)

        def progress(_: str, done: int, __: int | None) -> None:
            advance(min(done, len(names)))

        known = engine.store.documents(ids=[document_id(name) for name in names])
        files = [path for path in map(self._file, known) if path is not None]
        texts = [self._from_store(info) for info in known if self._file(info) is None]
        skipped = [
            *engine.index(files, progress=progress).skipped,
            *engine.add_documents(texts, progress=progress).skipped,
        ]
        reasons = {item.source: item.reason for item in skipped}
        return [reasons.get(name) for name in names]

    def _file(self, info: DocumentInfo) -> Path | None:
        """The file that a document is, as far as it may be read and has not changed."""
        from clew.ingest.read import file_digest

        settings = self._engine.settings
        try:
            path = permitted_path(info.source, settings)
            return path if file_digest(path, settings.read) == info.sha256 else None
        except InputError:  # outside the roots, gone, or no path at all: the store has its text
            return None

    def _from_store(self, info: DocumentInfo) -> Document:
        """The document as the store holds it."""
        chunks = self._engine.store.document_chunks(info.id)
        document = Document(
            source=info.source,
            text=self._engine.text(info.id),
            title=info.title,
            sha256=info.sha256,
            media_type=info.media_type,
            origin=info.origin if info.origin != info.source else "",
            created_at=info.created_at,
            updated_at=info.updated_at,
            metadata=info.metadata,
            page_starts=_page_starts(chunks),
        )
        return replace(document, pieces=_pieces(info, chunks))

    def _change_embedder(self, advance: Callable[[int], None]) -> None:
        """Embed every chunk anew, so that the store can be searched while the rest is done."""
        from clew.stores.sqlite_reembed import read_embedding_texts, replace_embeddings

        engine, database = self._engine, self._engine.store.database
        identity = engine.embedder.name, engine.embedder.dimension
        done: dict[int, Vectors] = {}
        while True:
            ids = engine.store.chunk_ids()
            missing = np.array([i for i in ids.tolist() if i not in done], dtype=np.int64)
            for start in range(0, len(missing), _BATCH):
                advance(0)
                part = missing[start : start + _BATCH]
                vectors = engine.embedder.embed_documents(read_embedding_texts(database, part))
                done.update(zip(part.tolist(), vectors[:, None, :], strict=True))
            if replace_embeddings(database, identity, ids, [done[i] for i in ids.tolist()]):
                return


def _page_starts(chunks: Sequence[StoredChunk]) -> tuple[int, ...]:
    """Where pages start, as far as chunks tell: where the first chunk on it or after it starts."""
    paged = [(chunk.page, chunk.start) for chunk in chunks if chunk.page is not None]
    last = max((page for page, _ in paged), default=0)
    return tuple(
        0 if number == 1 else next(start for page, start in paged if page >= number)
        for number in range(1, last + 1)
    )


def _pieces(info: DocumentInfo, chunks: Sequence[StoredChunk]) -> tuple[Piece, ...]:
    """The pieces of a document that came ready split; a long one is several chunks of its name."""
    pieces = []
    for key, group in groupby((c for c in chunks if c.key is not None), attrgetter("key")):
        parts = list(group)
        own = {k: v for k, v in parts[0].metadata.items() if info.metadata.get(k) != v}
        pieces.append(Piece(start=parts[0].start, end=parts[-1].end, key=key, metadata=own))
    return tuple(pieces)
