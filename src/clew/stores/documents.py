"""Documents, sections and chunks, made of the values that stores keep."""

from __future__ import annotations

import json
from datetime import datetime

from clew.stores.values import to_time
from clew.types import DocumentInfo, StoredChunk, StoredSection


def document_info(
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
    """A document as it is stored; times and metadata are text."""
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
        pipeline_fingerprint=recipe,
        characters=characters,
        sections=sections,
        chunks=chunks,
        version=version,
        derived_from=derived_from,
    )


def stored_chunk(
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
    """A chunk as it is stored, with what it shows of its document."""
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


def stored_section(
    id: int, document_id: str, ordinal: int, start: int, end: int, headings: str, text: str
) -> StoredSection:
    """A section as it is stored."""
    return StoredSection(
        id=id,
        document_id=document_id,
        ordinal=ordinal,
        start=start,
        end=end,
        headings=tuple(json.loads(headings)),
        text=text,
    )


def sentence_texts(text: str, sentences: str) -> tuple[str, ...]:
    """The sentences of a chunk's text; `sentences` are their ranges in it, as JSON."""
    return tuple(text[start:end] for start, end in json.loads(sentences))


def sentence_places(chunk_start: int, sentences: str) -> tuple[tuple[int, int], ...]:
    """The ranges of a chunk's sentences in the document."""
    return tuple((chunk_start + start, chunk_start + end) for start, end in json.loads(sentences))
