"""Reading documents, sections and chunks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from clew.stores.documents import (
    document_info,
    sentence_places,
    sentence_texts,
    stored_chunk,
    stored_section,
)
from clew.stores.sqlite.filters import document_condition
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
_OF_DOCUMENTS = "document_id IN (SELECT value FROM json_each(?))"
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
    return [document_info(*row) for row in rows]


def read_digests(connection: sqlite3.Connection) -> dict[str, tuple[str, str, str]]:
    """(origin, sha256, recipe) by source, of every document."""
    rows = connection.execute("SELECT source, origin, sha256, recipe FROM documents")
    return {source: (origin, sha256, recipe) for source, origin, sha256, recipe in rows}


def read_chunks(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> list[StoredChunk]:
    """Chunks in the order of the ids; unknown ids are left out."""
    sql = f"{_CHUNK} WHERE c.id IN (SELECT value FROM json_each(?))"
    found = {row[0]: stored_chunk(*row) for row in connection.execute(sql, (id_list(chunk_ids),))}
    return [found[i] for i in map(int, chunk_ids) if i in found]


def read_document_chunks(
    connection: sqlite3.Connection, document_ids: Sequence[str]
) -> list[StoredChunk]:
    """The documents' chunks, in order within each."""
    sql = f"{_CHUNK} WHERE c.{_OF_DOCUMENTS} ORDER BY c.document_id, c.ordinal"
    rows = connection.execute(sql, (id_list(document_ids),))
    return [stored_chunk(*row) for row in rows]


def read_sentences(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Texts of the sentences by chunk id; unknown ids are left out."""
    sql = "SELECT id, text, sentences FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (id_list(chunk_ids),))
    return {chunk_id: sentence_texts(text, sentences) for chunk_id, text, sentences in rows}


def read_sentence_ranges(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Ranges of the sentences in the document by chunk id; unknown ids are left out."""
    sql = "SELECT id, start, sentences FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    rows = connection.execute(sql, (id_list(chunk_ids),))
    return {chunk_id: sentence_places(at, sentences) for chunk_id, at, sentences in rows}


def read_sections(
    connection: sqlite3.Connection, section_ids: Sequence[int]
) -> list[StoredSection]:
    """Sections in the order of the ids; unknown ids are left out."""
    sql = f"{_SECTION} WHERE id IN (SELECT value FROM json_each(?))"
    found = {
        row[0]: stored_section(*row) for row in connection.execute(sql, (id_list(section_ids),))
    }
    return [found[i] for i in map(int, section_ids) if i in found]


def read_document_sections(
    connection: sqlite3.Connection, document_ids: Sequence[str]
) -> list[StoredSection]:
    """The documents' sections, in order within each."""
    sql = f"{_SECTION} WHERE {_OF_DOCUMENTS} ORDER BY document_id, ordinal"
    rows = connection.execute(sql, (id_list(document_ids),))
    return [stored_section(*row) for row in rows]
