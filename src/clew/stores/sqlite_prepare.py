"""Documents as rows, checked and made before the transaction that writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clew.errors import InputError
from clew.stores.sqlite_documents import to_text
from clew.stores.sqlite_links import Named
from clew.stores.sqlite_times import DateMention, TimeRow, time_rows
from clew.text import entity_key, terms
from clew.times import written_at
from clew.types import Chunk, ChunkExtraction, IndexedDocument, Mention, Metadata

Row = tuple[object, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedDocument:
    """A document as rows, made before the transaction so that others wait no longer than needed."""

    entry: IndexedDocument
    document_row: Row
    """(id, source, origin, title, sha256, media_type, created_at, updated_at, characters, recipe,
    metadata)"""
    sections: list[Row]
    """(ordinal, start, end, headings, text)"""
    chunks: list[Row]
    """(ordinal, start, end, page, key, metadata, sentences, context, text)"""
    terms: list[str]
    vectors: list[bytes]
    times: list[list[TimeRow]]
    """One list a chunk."""
    names: Mapping[str, Named]
    """By key, in order of appearance."""


def prepare(entry: IndexedDocument, dimension: int) -> PreparedDocument:
    """Check an entry and turn it into rows.

    Raises `InputError` where counts, dimension or metadata do not fit.
    """
    document, split = entry.document, entry.split
    _check_counts(entry, dimension)
    found = entry.extraction.chunks or (ChunkExtraction(),) * len(split.chunks)
    whole = written_at(document.metadata, document.created_at)
    return PreparedDocument(
        entry=entry,
        document_row=_document_row(entry),
        sections=[
            (s.ordinal, s.start, s.end, _json(list(s.headings)), document.text[s.start : s.end])
            for s in split.sections
        ],
        chunks=[
            _chunk_row(document.source, chunk, extraction.sentences)
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        terms=[" ".join(terms(chunk.embedding_text)) for chunk in split.chunks],
        vectors=[row.tobytes() for row in np.ascontiguousarray(entry.vectors, dtype="<f4")],
        times=[
            time_rows(written_at(chunk.metadata, whole), _dates(extraction.mentions))
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        names=_names(entry),
    )


def _check_counts(entry: IndexedDocument, dimension: int) -> None:
    source, chunks = entry.document.source, len(entry.split.chunks)
    expected = (chunks, dimension)
    if entry.vectors.shape != expected and not (chunks == 0 and len(entry.vectors) == 0):
        raise InputError(
            f"vectors of {source!r} have shape {entry.vectors.shape!r}; expected {expected!r}:"
            " one embedding a chunk, from the embedder that the store was opened with"
        )
    if len(entry.extraction.chunks) not in (0, chunks):
        raise InputError(
            f"extraction of {source!r} has {len(entry.extraction.chunks)} chunks; expected {chunks}"
            " (one a chunk of its split) or none"
        )


def _document_row(entry: IndexedDocument) -> Row:
    document = entry.document
    return (
        document.id,
        document.source,
        document.origin or document.source,
        document.title,
        document.sha256,
        document.media_type,
        to_text(document.created_at),
        to_text(document.updated_at),
        len(document.text),
        entry.recipe,
        _metadata(document.source, document.metadata),
    )


def _chunk_row(source: str, chunk: Chunk, sentences: Sequence[tuple[int, int]]) -> Row:
    return (
        chunk.ordinal,
        chunk.start,
        chunk.end,
        chunk.page,
        chunk.key,
        _metadata(source, chunk.metadata),
        _json(sentences),
        chunk.context,
        chunk.text,
    )


def _dates(mentions: Sequence[Mention]) -> list[DateMention]:
    return [
        DateMention(m.sentence, m.start, m.end, m.name, m.count)
        for m in mentions
        if m.entity_type == "date"
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _metadata(source: str, metadata: Metadata) -> str:
    if not metadata:
        return "{}"
    try:
        return _json(dict(metadata))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metadata of {source!r} is no JSON ({error}): {dict(metadata)!r}; expected strings,"
            " finite numbers, true, false, null, lists and objects of these"
        ) from error


def _names(entry: IndexedDocument) -> dict[str, Named]:
    """Every name that a mention, a relation or the title needs, with its first telling type."""
    given = list(entry.extraction.about) if entry.split.chunks else []
    for chunk in entry.extraction.chunks:
        given += [(m.name, m.entity_type) for m in chunk.mentions]
        given += [(name, "name") for r in chunk.relations for name in (r.head, r.tail)]
    found: dict[str, Named] = {}
    for name, entity_type in given:
        key = entity_key(name)
        if key and (key not in found or found[key].entity_type == "name"):
            first = found[key].name if key in found else name
            found[key] = Named(name=first, entity_type=entity_type)
    return found
