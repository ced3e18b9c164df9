"""Documents that are indexed once more: as their file has them, or else as the store does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.access import permitted_path
from clew.indexing.inputs import DocumentInput, FileInput
from clew.indexing.isolation.requests import Prepare
from clew.indexing.isolation.steps import Prepared
from clew.indexing.pipeline import Ingest
from clew.types import Document, IndexedDocument, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.indexing.inputs import Input
    from clew.indexing.isolation.requests import Runner
    from clew.ports import DocumentStore, Store
    from clew.settings import Settings
    from clew.types import DocumentInfo, StoredChunk, Vectors


def prepare_again(
    store: Store,
    info: DocumentInfo,
    settings: Settings,
    runner: Runner,
    waiting: Callable[[], None],
) -> Prepared | None:
    """A stored document, whole, split and extracted as it is now done; None where it is gone.

    It is read from its file, which knows more of it (all of its pages), as long as that may be
    read and has not changed. Raises `LimitError` where even what is stored of it takes too much.
    """
    try:
        found = _prepare(_unchanged_file(info, settings), info, runner, waiting)
    except InputError:  # outside the roots, gone, unreadable by now, or no path at all
        found = None
    if found is not None:
        return found
    with store.reading():
        documents = [_from_store(store, known) for known in store.documents(ids=[info.id])]
    return _prepare(DocumentInput(documents[0]), info, runner, waiting) if documents else None


def _unchanged_file(info: DocumentInfo, settings: Settings) -> FileInput:
    """The file of a document. Raises `InputError` where it has changed or may not be read."""
    file = FileInput(permitted_path(info.source, settings), settings.read)
    if file.digest() != info.sha256:
        raise InputError(f"{info.source!r} has changed since it was indexed")
    return file


def _prepare(
    given: Input, info: DocumentInfo, runner: Runner, waiting: Callable[[], None]
) -> Prepared | None:
    """The document of that source in an input; None where it holds others."""
    prepared = [p for p in runner.run(Prepare(input=given), waiting) if isinstance(p, Prepared)]
    return next((one for one in prepared if one.document.source == info.source), None)


def _from_store(store: DocumentStore, info: DocumentInfo) -> Document:
    chunks = store.document_chunks(info.id)
    document = Document(
        source=info.source,
        text="".join(section.text for section in store.document_sections(info.id)),
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


@dataclass(slots=True)
class Making(Ingest):
    """Indexing whose documents are kept elsewhere than in the store.

    They lack their links, which are found out where they are saved.
    """

    keep: Callable[[IndexedDocument], None] = field(kw_only=True)

    def save(self, item: Prepared, vectors: Vectors) -> None:
        """Hand one document over."""
        self.keep(
            IndexedDocument(
                document=item.document,
                split=item.split,
                vectors=vectors,
                extraction=item.extraction,
                recipe=self.recipe,
            )
        )
