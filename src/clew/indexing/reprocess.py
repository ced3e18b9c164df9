"""Processing stored documents again: whole, or only their relations.

The text comes from the file where that may be read and has not changed, else from the store.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from clew.errors import InputError, UnreadableError
from clew.indexing.access import permitted_path
from clew.indexing.inputs import DocumentInput, FileInput
from clew.indexing.isolation.requests import Extract, Prepare
from clew.indexing.isolation.steps import Prepared
from clew.types import Chunk, Document, Piece, Section, Split
from clew.types.sources import source_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.indexing.inputs import Input
    from clew.indexing.isolation.requests import Runner
    from clew.ports import DocumentStore, ExtractionLog, FoundRelation, Store
    from clew.settings import Settings
    from clew.types import DocumentInfo, StoredChunk, StoredSection

    class RelationStore(DocumentStore, ExtractionLog, Protocol):
        """What extracting relations again needs of a store."""


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
    file = FileInput(permitted_path(source_path(info.source), settings), settings.read)
    if info.read_from != file.read_from or file.digest() != info.sha256:
        raise InputError(f"{info.source!r} has changed since it was indexed")
    return file


def _prepare(
    given: Input, info: DocumentInfo, runner: Runner, waiting: Callable[[], None]
) -> Prepared | None:
    """The document of that source in an input; None where it holds others."""
    prepared = [p for p in runner.run(Prepare(input=given), waiting) if isinstance(p, Prepared)]
    return next((one for one in prepared if one.document.source == info.source), None)


def _from_store(store: DocumentStore, info: DocumentInfo) -> Document:
    sections, chunks = store.document_sections(info.id), store.document_chunks(info.id)
    return _document(info, sections, chunks)


def extract_again(
    info: DocumentInfo,
    sections: Sequence[StoredSection],
    chunks: Sequence[StoredChunk],
    runner: Runner,
) -> Prepared:
    """A stored document, split as it is stored and extracted again. Raises `LimitError`."""
    document = _document(info, sections, chunks)
    ordinals = {section.id: section.ordinal for section in sections}
    parts = Split(
        sections=tuple(_section(section) for section in sections),
        chunks=tuple(_chunk(chunk, ordinals) for chunk in chunks),
    )
    (extraction,) = runner.run(Extract(document=document, chunks=parts.chunks))
    return Prepared(document, parts, extraction)


def _document(
    info: DocumentInfo, sections: Sequence[StoredSection], chunks: Sequence[StoredChunk]
) -> Document:
    """The document as it was read, as far as the store knows it."""
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
        page_starts=_page_starts(chunks),
        pieces=_pieces(info, chunks),
    )


def _page_starts(chunks: Sequence[StoredChunk]) -> tuple[int, ...]:
    """Where pages start, as far as chunks tell: where the first chunk on it or after it starts."""
    paged = [
        (page, start)
        for chunk in chunks
        for start, page in chunk.page_starts or ((chunk.start, chunk.page),)
        if page is not None
    ]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationReport:
    """The outcome of extracting relations again."""

    found: Mapping[int, int]
    """Relations by entity id, new or known, of each entity with all its documents processed."""
    added: int
    """Relations that the store did not hold."""


def extract_relations_again(
    store: RelationStore,
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
    for done, (document_id, mentioned) in enumerate(documents.items()):
        if not proceed(done, len(documents)):
            break
        try:
            found = _relations_of(store, runner, document_id)
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


def _relations_of(store: RelationStore, runner: Runner, document_id: str) -> list[FoundRelation]:
    """(chunk id, relation) of what a stored document states; none where it is gone by now."""
    infos = store.documents(ids=[document_id])
    chunks = store.document_chunks(document_id)
    if not infos or not chunks:
        return []
    found = extract_again(infos[0], store.document_sections(document_id), chunks, runner)
    return [
        (stored.id, relation)
        for stored, chunk in zip(chunks, found.extraction.chunks, strict=True)
        for relation in chunk.relations
    ]


def _section(stored: StoredSection) -> Section:
    return Section(
        ordinal=stored.ordinal, start=stored.start, end=stored.end, headings=stored.headings
    )


def _chunk(stored: StoredChunk, ordinals: Mapping[int, int]) -> Chunk:
    return Chunk(
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
