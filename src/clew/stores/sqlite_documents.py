"""Reading documents, sections and chunks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from clew.stores.sqlite_filters import document_condition
from clew.stores.values import to_time
from clew.types import Condition, DocumentInfo, StoredChunk, StoredSection

_DOCUMENT = """
SELECT id, source, origin, title, sha256, media_type, created_at, updated_at, indexed_at,
    metadata, recipe, characters,
    (SELECT count(*) FROM sections s WHERE s.document_id = documents.id),
    (SELECT count(*) FROM chunks c WHERE c.document_id = documents.id),
    version, derived_from
FROM documents
"""
_CHUNK = """
SELECT c.id, c.document_id, d.source, d.title, c.ordinal, c.section_id, c.start, c."end", c.page,
    c.text, c.context, c.key, d.metadata, c.metadata
FROM chunks c JOIN documents d ON d.id = c.document_id
"""
_SECTION = 'SELECT id, document_id, ordinal, start, "end", headings, text FROM sections'


def id_list(ids: Iterable[int | str]) -> str:
    """Ids as the JSON array that `json_each(?)` reads: one bound parameter for any number."""
    return json.dumps([i if isinstance(i, str) else int(i) for i in ids])


def read_documents(
    connection: sqlite3.Connection,
    ids: Sequence[str] | None,
    origin: str | None,
    where: Sequence[Condition],
) -> list[DocumentInfo]:
    """Documents that meet all that is asked, ordered by source."""
    tests: list[str] = []
    values: list[str] = []
    if ids is not None:
        tests.append("id IN (SELECT value FROM json_each(?))")
        values.append(id_list(ids))
    if origin is not None:
        tests.append("origin = ?")
        values.append(origin)
    for condition in where:
        sql, bound = document_condition(condition)
        tests.append(sql)
        values.extend(bound)
    clause = f"WHERE {' AND '.join(tests)}" if tests else ""
    rows = connection.execute(f"{_DOCUMENT} {clause} ORDER BY source", values)
    return [_document(*row) for row in rows]


def read_digests(connection: sqlite3.Connection) -> dict[str, tuple[str, str, str]]:
    """(origin, sha256, recipe) by source, of every document."""
    rows = connection.execute("SELECT source, origin, sha256, recipe FROM documents")
    return {source: (origin, sha256, recipe) for source, origin, sha256, recipe in rows}


def read_chunks(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> list[StoredChunk]:
    """Chunks in the order of the ids; unknown ids are left out."""
    sql = f"{_CHUNK} WHERE c.id IN (SELECT value FROM json_each(?))"
    found = {row[0]: _chunk(*row) for row in connection.execute(sql, (id_list(chunk_ids),))}
    return [found[i] for i in map(int, chunk_ids) if i in found]


def read_document_chunks(connection: sqlite3.Connection, document_id: str) -> list[StoredChunk]:
    """A document's chunks in order."""
    rows = connection.execute(
        f"{_CHUNK} WHERE c.document_id = ? ORDER BY c.ordinal", (document_id,)
    )
    return [_chunk(*row) for row in rows]


def read_sentences(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Texts of the sentences by chunk id; unknown ids are left out."""
    sql = "SELECT id, text, sentences FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (id_list(chunk_ids),))
    return {
        chunk_id: tuple(text[start:end] for start, end in json.loads(sentences))
        for chunk_id, text, sentences in rows
    }


def read_sentence_ranges(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Ranges of the sentences in the document by chunk id; unknown ids are left out."""
    sql = "SELECT id, start, sentences FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (id_list(chunk_ids),))
    return {
        chunk_id: tuple((at + start, at + end) for start, end in json.loads(sentences))
        for chunk_id, at, sentences in rows
    }


def read_sections(
    connection: sqlite3.Connection, section_ids: Sequence[int]
) -> list[StoredSection]:
    """Sections in the order of the ids; unknown ids are left out."""
    sql = f"{_SECTION} WHERE id IN (SELECT value FROM json_each(?))"
    found = {row[0]: _section(*row) for row in connection.execute(sql, (id_list(section_ids),))}
    return [found[i] for i in map(int, section_ids) if i in found]


def read_document_sections(connection: sqlite3.Connection, document_id: str) -> list[StoredSection]:
    """A document's sections in order."""
    rows = connection.execute(f"{_SECTION} WHERE document_id = ? ORDER BY ordinal", (document_id,))
    return [_section(*row) for row in rows]


def _document(
    id: str,
    source: str,
    origin: str,
    title: str,
    sha256: str,
    media_type: str,
    created_at: str | None,
    updated_at: str | None,
    indexed_at: str,
    metadata: str,
    recipe: str,
    characters: int,
    sections: int,
    chunks: int,
    version: int,
    derived_from: str,
) -> DocumentInfo:
    return DocumentInfo(
        id=id,
        source=source,
        origin=origin,
        title=title,
        sha256=sha256,
        media_type=media_type,
        created_at=to_time(created_at),
        updated_at=to_time(updated_at),
        indexed_at=datetime.fromisoformat(indexed_at),
        metadata=json.loads(metadata),
        recipe=recipe,
        characters=characters,
        sections=sections,
        chunks=chunks,
        version=version,
        derived_from=derived_from,
    )


def _chunk(
    id: int,
    document_id: str,
    source: str,
    title: str,
    ordinal: int,
    section_id: int,
    start: int,
    end: int,
    page: int | None,
    text: str,
    context: str,
    key: str | None,
    document_metadata: str,
    metadata: str,
) -> StoredChunk:
    return StoredChunk(
        id=id,
        document_id=document_id,
        source=source,
        title=title,
        ordinal=ordinal,
        section_id=section_id,
        start=start,
        end=end,
        page=page,
        text=text,
        context=context,
        key=key,
        metadata={**json.loads(document_metadata), **json.loads(metadata)},
    )


def _section(
    id: int, document_id: str, ordinal: int, start: int, end: int, headings: str, text: str
) -> StoredSection:
    return StoredSection(
        id=id,
        document_id=document_id,
        ordinal=ordinal,
        start=start,
        end=end,
        headings=tuple(json.loads(headings)),
        text=text,
    )
