"""Reading stored documents once more for the relations of some entities."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from clew.errors import UnreadableError
from clew.indexing.isolation.requests import Extract
from clew.types import Chunk, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.indexing.isolation.requests import Runner
    from clew.ports import DocumentStore, FoundRelation, RelationLog
    from clew.types import DocumentInfo, StoredChunk

    class RelationStore(DocumentStore, RelationLog, Protocol):
        """What reading again needs of a store."""


logger = logging.getLogger("clew")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reread:
    """What reading passages again for relations came to."""

    found: Mapping[int, int]
    """Relations by entity id, of each entity that was read to the end; new or known before."""
    added: int
    """Relations that the store did not hold."""


def reread(
    store: RelationStore,
    runner: Runner,
    extractor: str,
    entity_ids: Sequence[int],
    proceed: Callable[[int, int], bool],
) -> Reread:
    """Extract the documents that mention some entities again; add the relations that are new.

    Reading twice adds nothing more. `proceed` is told documents done and in all before each one;
    where it says False, the entities that have documents left are not logged as read. Nor are those
    of a document that takes more than a limit allows. `extractor` is the name of the one that
    `runner` asks.
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
    return Reread(found=counts, added=added)


def _relations_of(store: RelationStore, runner: Runner, document_id: str) -> list[FoundRelation]:
    """(chunk id, relation) of what a stored document states; none where it is gone by now."""
    infos = store.documents(ids=[document_id])
    chunks = store.document_chunks(document_id)
    if not infos or not chunks:
        return []
    sections = store.document_sections(document_id)
    document = _document(infos[0], "".join(section.text for section in sections))
    ordinals = {section.id: section.ordinal for section in sections}
    request = Extract(document=document, chunks=[_chunk(chunk, ordinals) for chunk in chunks])
    (extraction,) = runner.run(request)
    return [
        (stored.id, relation)
        for stored, chunk in zip(chunks, extraction.chunks, strict=True)
        for relation in chunk.relations
    ]


def _document(info: DocumentInfo, text: str) -> Document:
    return Document(
        source=info.source,
        text=text,
        title=info.title,
        sha256=info.sha256,
        media_type=info.media_type,
        origin=info.origin,
        created_at=info.created_at,
        updated_at=info.updated_at,
        metadata=info.metadata,
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
        key=stored.key,
        metadata=stored.metadata,
    )
