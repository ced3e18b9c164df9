"""Documents as rows, checked and made before the transaction that writes them.

A row is what a back end keeps of one thing, by name: columns of a table, properties of a node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.errors import InputError
from clew.shingles import sketch
from clew.stores.backend import half_character, to_text
from clew.stores.documents.chunk_dates import DateMention, TimeRow, stated_date, time_rows
from clew.stores.documents.metadata import description_keys
from clew.stores.documents.passages import PAGE_STARTS, Version
from clew.stores.names.alias_plans import Named, ResolvedNames, names_by_key
from clew.text import entity_key, name_keys, terms
from clew.times import date_of
from clew.types import (
    Chunk,
    ChunkExtraction,
    Document,
    IndexedDocument,
    Mention,
    Metadata,
    PartialDate,
)

if TYPE_CHECKING:
    from clew.types import Vectors

Row: TypeAlias = dict[str, str | int | float | None]
ABOUT = -1
"""The sentence number of "the chunk's document is about the entity"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedDocument:
    """A document as rows, made before the transaction so that others wait no longer than needed.

    What only the transaction knows is missing: ids, version and the moment.
    """

    entry: IndexedDocument
    document: Row
    sections: list[Row]
    chunks: list[Row]
    terms: list[str]
    """A chunk's words as they are indexed, with spaces between them."""
    vectors: Vectors
    """(chunks, dim) float32"""
    times: list[list[TimeRow]]
    """One list a chunk."""
    names: Mapping[str, Named]
    """By key, in order of appearance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberedRows:
    """The rows of a document with all that they lacked."""

    document: Row
    sections: list[Row]
    chunks: list[Row]
    times: list[Row]
    chunk_ids: range


# --- before the transaction --------------------------------------------------------------


def prepare(entry: IndexedDocument, dimension: int) -> PreparedDocument:
    """Check an entry and turn it into rows.

    Raises `InputError` where counts, dimension or metadata do not fit, or a text is no Unicode:
    nothing of it can be refused once it is being written.
    """
    prepared = _prepare(entry, dimension)
    try:
        for text in _texts(prepared):
            text.encode()
    except UnicodeEncodeError as error:
        raise half_character(error) from error
    return prepared


def _prepare(entry: IndexedDocument, dimension: int) -> PreparedDocument:
    document, split = entry.document, entry.split
    _check_counts(entry, dimension)
    found = entry.extraction.chunks or (ChunkExtraction(),) * len(split.chunks)
    whole = _date(document)
    return PreparedDocument(
        entry=entry,
        document=_document_row(entry),
        sections=[
            {
                "document_id": document.id,
                "ordinal": section.ordinal,
                "start": section.start,
                "end": section.end,
                "headings": _json(list(section.headings)),
                "text": document.text[section.start : section.end],
            }
            for section in split.sections
        ],
        chunks=[
            _chunk_row(entry, chunk, extraction.sentences)
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        terms=[" ".join(terms(chunk.keyword_text, document.language)) for chunk in split.chunks],
        vectors=np.ascontiguousarray(entry.vectors, dtype="<f4"),
        times=[
            time_rows(date_of(chunk.metadata, whole), _dates(extraction.mentions))
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        names=names_of(entry),
    )


def _texts(prepared: PreparedDocument) -> Iterator[str]:
    """Every text that is to be stored."""
    for row in (prepared.document, *prepared.sections, *prepared.chunks):
        yield from (value for value in row.values() if isinstance(value, str))
    yield from (named.name for named in prepared.names.values())
    for link in prepared.entry.links:
        yield link.evidence
    for chunk in prepared.entry.extraction.chunks:
        yield from (relation.relation_type for relation in chunk.relations)


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
    document, date = entry.document, _date(entry.document)
    return {
        "id": document.id,
        "source": document.source,
        "origin": document.origin or document.source,
        "read_from": document.read_from,
        "title": document.title,
        **name_keys(document.title, document.source),
        "sha256": document.sha256,
        "media_type": document.media_type,
        "language": document.language,
        "created_at": to_text(date.start if date else None),
        "date_source": (document.date_source or "metadata") if date else "",
        "date_precision": date.precision if date else "",
        "updated_at": to_text(document.updated_at),
        "characters": len(document.text),
        "recipe": entry.pipeline_fingerprint,
        "metadata": _metadata(document.source, document.metadata),
        **description_keys(document.metadata),
    }


def _date(document: Document) -> PartialDate | None:
    """Its own date, else that of its metadata."""
    if document.date_precision:
        return document.date
    return stated_date(document.metadata, document.created_at)


def _chunk_row(entry: IndexedDocument, chunk: Chunk, sentences: Sequence[tuple[int, int]]) -> Row:
    return {
        "document_id": entry.document.id,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "key": chunk.key,
        "metadata": _metadata(entry.document.source, _with_pages(chunk)),
        "sentences": _json(sentences),
        "context": chunk.context,
        "text": chunk.text,
        "sketch": sketch(chunk.text),
    }


def _with_pages(chunk: Chunk) -> Metadata:
    """The chunk's own metadata, and the further pages that it reaches over."""
    pages = {PAGE_STARTS: chunk.page_starts} if chunk.page_starts else {}
    return {**chunk.metadata, **pages}


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


def names_of(entry: IndexedDocument) -> dict[str, Named]:
    """Every name that a mention, a relation or the title needs, with its first telling type."""
    given = list(entry.extraction.about) if entry.split.chunks else []
    for chunk in entry.extraction.chunks:
        given += [(m.name, m.entity_type) for m in chunk.mentions]
        given += [(r.head, "name") for r in chunk.relations]
        given += [(r.tail, r.tail_type) for r in chunk.relations]
    return names_by_key(given)


# --- within the transaction --------------------------------------------------------------


def number_rows(
    prepared: PreparedDocument,
    version: Version,
    moment: str,
    *,
    first_section: int,
    first_chunk: int,
) -> NumberedRows:
    """Give sections and chunks ids, from those given on, and the document its version."""
    split = prepared.entry.split
    section_ids = {s.ordinal: first_section + i for i, s in enumerate(split.sections)}
    chunk_ids = range(first_chunk, first_chunk + len(prepared.chunks))
    return NumberedRows(
        document={
            **prepared.document,
            "indexed_at": moment,
            "version": version.number,
            "derived_from": version.derived_from,
        },
        sections=[
            {"id": id_, **row}
            for id_, row in zip(section_ids.values(), prepared.sections, strict=True)
        ],
        chunks=[
            {"id": id_, "section_id": section_ids[chunk.section], **row}
            for id_, chunk, row in zip(chunk_ids, split.chunks, prepared.chunks, strict=True)
        ],
        times=[
            {"chunk_id": id_, **row._asdict()}
            for id_, rows in zip(chunk_ids, prepared.times, strict=True)
            for row in rows
        ],
        chunk_ids=chunk_ids,
    )


def mention_rows(
    entry: IndexedDocument, chunk_ids: Sequence[int], resolved: ResolvedNames
) -> list[Row]:
    """Which names each sentence holds, and which entities the document is about."""
    found: dict[tuple[int, int, str], tuple[int, int, int]] = {}
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for mention in chunk.mentions:
            place = (chunk_id, mention.sentence, entity_key(mention.name))
            found[place] = _joined(found.get(place), mention)
    for name, _ in entry.extraction.about:
        found.update({(chunk_id, ABOUT, entity_key(name)): (0, 0, 1) for chunk_id in chunk_ids})
    return [
        {
            "chunk_id": chunk_id,
            "sentence": sentence,
            "alias_id": resolved.alias_ids[key],
            "entity_id": resolved.entity_ids[key],
            "start": start,
            "end": end,
            "count": count,
        }
        for (chunk_id, sentence, key), (start, end, count) in found.items()
        if key in resolved.alias_ids
    ]


def _joined(before: tuple[int, int, int] | None, mention: Mention) -> tuple[int, int, int]:
    """Names with one key in one sentence are one row: the first range, all counts."""
    if before is None:
        return mention.start, mention.end, mention.count
    first = min((before[0], before[1]), (mention.start, mention.end))
    return *first, before[2] + mention.count
