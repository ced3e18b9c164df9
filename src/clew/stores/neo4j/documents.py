"""Documents in Neo4j: reading them, and what `neo4j_save` writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError, StoreError
from clew.stores.documents import (
    document_info,
    sentence_places,
    sentence_texts,
    stored_chunk,
    stored_section,
)
from clew.stores.lineage import document_version, provenance
from clew.stores.metadata import DocumentValues, meets_all
from clew.stores.neo4j import save as neo4j_save
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.filters import MetadataFilter
from clew.stores.neo4j.times import distinct
from clew.stores.values import to_text
from clew.types import (
    Condition,
    DocumentInfo,
    DocumentVersion,
    IndexedDocument,
    Provenance,
    StoredChunk,
    StoredSection,
)

if TYPE_CHECKING:
    from clew.stores.row_builder import PreparedDocument
    from clew.types import Ids

_LONGEST = 7000
"""Bytes of a text that is looked up; an index of Neo4j takes 8 kB, with the namespace."""
_DIMENSION = "MATCH (s:ClewStore {namespace: $namespace}) RETURN s.dimension"
_DOCUMENT = """
RETURN d.id, d.source, d.origin, d.title, d.sha256, d.media_type, d.created_at, d.updated_at,
    d.indexed_at, d.metadata, d.recipe, d.characters,
    COUNT { (d)<-[:PART_OF {namespace: $namespace}]-(:ClewSection) },
    COUNT { (d)<-[:PART_OF {namespace: $namespace}]-(:ClewChunk) },
    d.version, d.derived_from
"""
_DOCUMENTS = f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.source >= ''
{_DOCUMENT}
"""
_DOCUMENTS_BY_ORIGIN = f"""
MATCH (d:ClewDocument {{namespace: $namespace, origin: $origin}})
{_DOCUMENT}
"""
_DOCUMENTS_BY_ID = f"""
UNWIND $ids AS id
MATCH (d:ClewDocument {{namespace: $namespace, id: id}})
{_DOCUMENT}
"""
_DIGESTS = """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.source >= ''
RETURN collect([d.source, d.origin, d.sha256, d.recipe])
"""
_CHUNK = """
MATCH (c)-[:PART_OF {namespace: $namespace}]->(d:ClewDocument {namespace: $namespace})
RETURN c.id, c.document_id, d.source, d.title, c.ordinal, c.section_id, c.start, c.end, c.page,
    c.text, c.context, c.key, d.metadata, c.metadata
"""
_CHUNKS = f"""
UNWIND $ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, id: id}})
{_CHUNK}
"""
_CHUNKS_OF = f"""
UNWIND $document_ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, document_id: id}})
{_CHUNK} ORDER BY c.document_id, c.ordinal
"""
_SECTION = "RETURN s.id, s.document_id, s.ordinal, s.start, s.end, s.headings, s.text"
_SECTIONS = f"""
UNWIND $ids AS id
MATCH (s:ClewSection {{namespace: $namespace, id: id}})
{_SECTION}
"""
_SECTIONS_OF = f"""
UNWIND $document_ids AS id
MATCH (s:ClewSection {{namespace: $namespace, document_id: id}})
{_SECTION} ORDER BY s.document_id, s.ordinal
"""
_SENTENCES = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
RETURN id, c.text, c.start, c.sentences
"""
_LINEAGE = """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $document_id}) WHERE v.version > 0
RETURN v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at ORDER BY v.version
"""
_PROVENANCE = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
    -[:PART_OF {namespace: $namespace}]->(d:ClewDocument {namespace: $namespace})
RETURN id, {
    document: d.id, title: d.title, source: d.source, version: d.version, sha256: d.sha256,
    derived_from: d.derived_from, page: c.page, start: c.start, end: c.end,
    indexed_at: d.indexed_at, created_at: d.created_at, recipe: d.recipe,
    document_metadata: d.metadata, metadata: c.metadata
}
"""


class Neo4jDocuments:
    """`ports.DocumentStore` on a database."""

    _database: Neo4jDatabase

    # --- writing

    def save(self, entry: IndexedDocument) -> None:
        """See `ports.DocumentStore`. Raises `InputError` where the entry's parts do not fit."""
        from clew.stores.row_builder import prepare

        prepared = prepare(entry, self._dimension)
        _check_lengths(prepared)
        self._database.write(lambda: neo4j_save.write_document(self._database, prepared))

    @cached_property
    def _dimension(self) -> int:
        dimension = self._database.value(_DIMENSION)
        if dimension is None:
            raise StoreError(
                f"the store {self._database.address!r} has no embedder yet; open it with"
                " embedder=(name, dimension) before saving"
            )
        return int(dimension)

    def delete(self, document_ids: Sequence[str]) -> int:
        """See `ports.DocumentStore`."""
        return self._database.write(
            lambda: neo4j_save.delete_documents(self._database, document_ids)
        )

    # --- documents

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Condition] = (),
    ) -> list[DocumentInfo]:
        """See `ports.DocumentStore`."""
        if ids is not None:
            rows = self._database.rows(_DOCUMENTS_BY_ID, ids=list(dict.fromkeys(ids)))
        elif origin is not None:
            rows = self._database.rows(_DOCUMENTS_BY_ORIGIN, origin=origin)
        else:
            rows = self._database.rows(_DOCUMENTS)
        found = (document_info(*row) for row in rows)
        met = (d for d in found if origin in (None, d.origin) and _meets(where, d))
        return sorted(met, key=attrgetter("source"))

    def document_digests(self) -> dict[str, tuple[str, str, str]]:
        """(origin, sha256, recipe) by source, of every document."""
        rows = self._database.value(_DIGESTS)
        return {source: (origin, sha256, recipe) for source, origin, sha256, recipe in rows}

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_LINEAGE, document_id=document_id)
        return [document_version(*row) for row in rows]

    # --- chunks and sections

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_CHUNKS, ids=distinct(chunk_ids))
        found = {row[0]: stored_chunk(*row) for row in rows}
        return [found[i] for i in map(int, chunk_ids) if i in found]

    def document_chunks(self, *document_ids: str) -> list[StoredChunk]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_CHUNKS_OF, document_ids=list(dict.fromkeys(document_ids)))
        return [stored_chunk(*row) for row in rows]

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_SECTIONS, ids=distinct(section_ids))
        found = {row[0]: stored_section(*row) for row in rows}
        return [found[i] for i in map(int, section_ids) if i in found]

    def document_sections(self, *document_ids: str) -> list[StoredSection]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_SECTIONS_OF, document_ids=list(dict.fromkeys(document_ids)))
        return [stored_section(*row) for row in rows]

    def sentences(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_SENTENCES, ids=distinct(chunk_ids))
        return {id_: sentence_texts(text, sentences) for id_, text, _, sentences in rows}

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_SENTENCES, ids=distinct(chunk_ids))
        return {id_: sentence_places(start, sentences) for id_, _, start, sentences in rows}

    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """See `ports.DocumentStore`."""
        found = self._filter.matching_chunks(where)
        return np.sort(np.array(found, dtype=np.int64))

    @cached_property
    def _filter(self) -> MetadataFilter:
        return MetadataFilter(self._database)

    def provenance(self, chunk_ids: Sequence[int]) -> dict[int, Provenance]:
        """See `ports.DocumentStore`."""
        rows = self._database.rows(_PROVENANCE, ids=distinct(chunk_ids))
        return {id_: provenance(row) for id_, row in rows}


def _check_lengths(prepared: PreparedDocument) -> None:
    document = prepared.entry.document
    for text in (document.source, document.origin, *prepared.names):
        if len(text.encode()) > _LONGEST:
            raise InputError(
                f"{text[:60]!r}… is {len(text.encode())} bytes long; expected names and sources of"
                f" {_LONGEST} bytes at most, which is what Neo4j can look up: shorten it"
            )


def _meets(where: Sequence[Condition], document: DocumentInfo) -> bool:
    columns = {
        "title": document.title,
        "source": document.source,
        "media_type": document.media_type,
        "created_at": to_text(document.created_at),
        "updated_at": to_text(document.updated_at),
    }
    return meets_all(where, DocumentValues(columns, document.metadata), own={})
