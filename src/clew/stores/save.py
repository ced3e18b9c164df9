"""Writing and deleting documents: one transaction each, and nothing is left without a source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from clew.errors import InputError, StoreError, StoreMismatchError, check_several
from clew.stores import aliases as alias_resolution
from clew.stores.aliases import Named, NamePlan, ResolvedNames, keys_asked, names_by_key
from clew.stores.backend import Backend, Found, Row, Rows, half_character, now, to_text
from clew.stores.dates import DateMention, TimeRow, stated_date, time_rows
from clew.stores.deletions import DELETING, note_deleted
from clew.stores.entities import delete_orphans
from clew.stores.passages import (
    FIRST,
    PAGE_STARTS,
    HeldVersion,
    Version,
    earlier_rows,
    extractor_of,
    version_after,
)
from clew.stores.relation_plans import (
    Evidence,
    FactKey,
    facts_of,
    read_evidence,
    recompute_weights,
    recompute_weights_around,
    weigh,
)
from clew.stores.relations import (
    History,
    RelationRow,
    count_by_entity,
    document_rows,
    heads_around,
    heads_of,
    keys_stated,
    recompute_valid_until,
)
from clew.stores.state import (
    COUNT_CHANGE,
    DELETE_REPLIES_ABOUT,
    NEXT_IDS,
    STATE,
    NextIds,
    State,
    remember_embedder,
)
from clew.stores.statements import documents as statements
from clew.stores.statements.documents import description_keys
from clew.stores.statements.relations import EVIDENCE_BY_KEYS
from clew.text import entity_key, name_keys, sketch, terms
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


class NeedsLockError(StoreError):
    """More than adding is to be done, which nobody may do beside others."""


class _Held(NamedTuple):
    """What a save begins with."""

    version: Version
    names: Sequence[Found]
    """What `alias_resolution.KNOWN` returned."""
    state: State
    next_ids: NextIds
    evidence: Sequence[Evidence]
    """All statements of what the document states, by the names that there were."""


class _Former(NamedTuple):
    """What a document's former self leaves behind."""

    touched: Set[int]
    """Its entities."""
    heads: Set[int]
    """Those of which it stated functional relations."""
    history: History
    facts: Set[FactKey]
    """What it stated."""
    texts: Sequence[Row]
    """Its own, where that is another one and is kept."""


_NOTHING = _Former(frozenset(), frozenset(), {}, frozenset(), ())


def write_document(
    backend: Backend,
    prepared: PreparedDocument,
    embedder: tuple[str, int],
    *,
    keep: int = 0,
    worker: int = 0,
    own: Set[int] | None = None,
) -> None:
    """Write a document in place of its former self; call inside `write`.

    Where its text is another one, the texts of the `keep` versions before stay readable. That of a
    `worker` bears its number until it is settled, where names came with it. `own` are entities that
    nobody else changes; others write meanwhile where they are given.

    Raises `StoreMismatchError` where the store's vectors are not this embedder's (any more), and
    `NeedsLockError` where it takes more than adding to its own entities.
    """
    held = _read_held(backend, prepared)
    _check_vectors(backend, held.state.vectors, embedder, prepared.entry.document.source)
    functional, former = held.state.functional, _NOTHING
    if not held.version.is_first:
        document, number = prepared.entry.document.id, held.version.number
        texts = earlier_rows(backend, document, number, keep) if held.version.is_new else []
        former = _forget_former(backend, document, held.state, texts)
    planned = alias_resolution.plan_resolution(
        backend, prepared.names, prepared.entry.links, held.names, held.next_ids
    )
    if own is not None:
        _require_adding(held, planned.plan, own)
    if worker and planned.plan.aliases:
        named = json.dumps([alias.id for alias in planned.plan.aliases])
        prepared.document.update(worker=worker, named=named)
    relations = _insert(backend, prepared, held, planned, former)
    alias_resolution.write_and_count(backend, planned.plan)
    moved = planned.plan.resolved.moved
    delete_orphans(backend, former.touched | moved)
    heads = former.heads | heads_of(relations, functional)
    heads |= heads_around(backend, moved, functional)
    changed = recompute_valid_until(backend, heads, functional)
    recompute_weights(backend, (former.facts - facts_of(relations)) | changed)
    recompute_weights_around(backend, moved)


def _require_adding(held: _Held, plan: NamePlan, own: Set[int]) -> None:
    known = {entity_id for _, _, _, entity_id, *_ in held.names[0]}
    if not held.version.is_first or plan.moves or plan.types or known - own:
        raise NeedsLockError("what is stored would change, which others may be reading")


def _check_vectors(
    backend: Backend, known: tuple[str, int] | None, embedder: tuple[str, int], source: str
) -> None:
    """The store may have been embedded again since it was opened."""
    if known is None:
        remember_embedder(backend, embedder)
    elif known != embedder:
        raise StoreMismatchError(
            f"the store {backend.place} was embedded again meanwhile: its vectors from {known[0]!r}"
            f" have {known[1]} dimensions by now, those of {source!r} have {embedder[1]} and"
            f" {embedder[0]!r} made them; open it again with its embedder, or embed all documents"
            " again with `clew reindex`"
        )


def _read_held(backend: Backend, prepared: PreparedDocument) -> _Held:
    document = prepared.entry.document
    version, texts, state, next_ids, evidence, *names = backend.gather(
        statements.HELD_VERSION,
        statements.HELD_TEXT,
        STATE,
        NEXT_IDS,
        EVIDENCE_BY_KEYS,
        *alias_resolution.KNOWN,
        id=document.id,
        sha256=document.sha256,
        keys=keys_asked(prepared.names, prepared.entry.links),
        stated=[list(fact) for fact in keys_stated(prepared.entry)],
    )
    text = "".join(text for _, text in sorted(texts, key=itemgetter(0)))
    after = version_after(HeldVersion(*version[0]), document, text) if version else FIRST
    found = [Evidence(*row) for row in evidence]
    return _Held(after, names, State(state), NextIds(*next_ids[0]), found)


def _forget_former(
    backend: Backend, document_id: str, state: State, texts: Sequence[Row]
) -> _Former:
    functional = state.functional
    history, touched, *deleting = backend.gather(
        statements.STATED_HISTORY, statements.TOUCHED_ENTITIES, *DELETING, ids=[document_id]
    )
    note_deleted(backend, state.generation, *deleting)
    backend.delete("documents", [document_id])
    return _Former(
        touched={row[0] for row in touched},
        heads={head for head, _, kind, *_ in history if kind in functional},
        history={
            (start, kind, end): (since, until) for _, start, kind, end, since, until, _ in history
        },
        facts={(head, kind, tail) for head, _, kind, _, _, _, tail in history},
        texts=texts,
    )


def _insert(
    backend: Backend,
    prepared: PreparedDocument,
    held: _Held,
    planned: alias_resolution.PlannedNames,
    former: _Former,
) -> list[RelationRow]:
    """Write all that is new, and count the change; the relations that the document states."""
    entry, resolved, moment = prepared.entry, planned.plan.resolved, now()
    text = number_rows(
        prepared,
        held.version,
        moment,
        first_section=held.next_ids.sections,
        first_chunk=held.next_ids.chunks,
    )
    relations = document_rows(
        entry,
        text.chunk_ids,
        resolved,
        first_id=held.next_ids.relations,
        history=former.history,
        moment=moment,
        extractor=extractor_of(entry.pipeline_fingerprint),
    )
    others = _other_evidence(backend, entry, held, resolved, facts_of(relations))
    relations, weights = weigh(relations, entry.document.id, others)
    rows: Rows = {
        **_text_rows(prepared, text),
        **planned.new,
        "versions": _open_version(backend, entry.document, held.version, moment),
        "earlier": former.texts,
        "mentions": mention_rows(entry, text.chunk_ids, resolved),
        "relations": [row._asdict() for row in relations],
        "extraction_log": [
            {"entity_id": entity_id, "relationships_found": count, "extracted_at": moment}
            for entity_id, count in count_by_entity(relations).items()
        ],
    }
    backend.insert(rows, changes=1, weights=weights)
    return relations


def _other_evidence(
    backend: Backend,
    entry: IndexedDocument,
    held: _Held,
    resolved: ResolvedNames,
    facts: Set[FactKey],
) -> list[Evidence]:
    """What else states a document's facts; asked only where names became other entities' names."""
    known = {key: entity_id for key, _, _, entity_id, *_ in held.names[0]}
    keys = {key for head, _, tail in keys_stated(entry) for key in (head, tail)}
    elsewhere = {
        resolved.entity_ids[key] for key in keys if resolved.entity_ids[key] != known.get(key)
    }
    is_known = all(entity_id >= held.next_ids.entities for entity_id in elsewhere)
    evidence = held.evidence if is_known else read_evidence(backend, facts)
    return [e for e in evidence if e.fact in facts and e.document_id != entry.document.id]


def _text_rows(prepared: PreparedDocument, rows: NumberedRows) -> Rows:
    return {
        "documents": [rows.document],
        "sections": rows.sections,
        "chunks": [
            {**row, "terms": terms, "vector": vector.tobytes()}
            for row, terms, vector in zip(
                rows.chunks, prepared.terms, prepared.vectors, strict=True
            )
        ],
        "times": rows.times,
    }


def _open_version(backend: Backend, document: Document, version: Version, moment: str) -> list[Row]:
    """Close the version before; the row of a new one, none where the version is kept."""
    if not version.is_new:
        return []
    if not version.is_first:
        former = {"id": document.id, "version": version.number - 1}
        backend.execute(statements.CLOSE_VERSION, **former, moment=moment)
    return [
        {
            "document_id": document.id,
            "version": version.number,
            "sha256": document.sha256,
            "derived_from": version.derived_from,
            "indexed_at": moment,
        }
    ]


def delete_documents(backend: Backend, document_ids: Sequence[str]) -> int:
    """Delete documents and all that only they held, inside `write`; the number that existed."""
    check_several(document_ids=document_ids)
    ids = list(dict.fromkeys(document_ids))
    known, touched, state, *deleting = backend.gather(
        statements.KNOWN_DOCUMENTS, statements.TOUCHED_ENTITIES, STATE, *DELETING, ids=ids
    )
    if known:
        note_deleted(backend, State(state).generation, *deleting)
        functional = State(state).functional
        stated = backend.rows(statements.STATED_HISTORY, ids=ids)
        backend.delete("versions", ids)
        backend.delete("earlier", ids)
        backend.delete("documents", ids)
        backend.execute(DELETE_REPLIES_ABOUT, ids=ids)
        delete_orphans(backend, [row[0] for row in touched])
        heads = {head for head, _, kind, *_ in stated if kind in functional}
        changed = recompute_valid_until(backend, heads, functional)
        recompute_weights(backend, changed | {(row[0], row[2], row[6]) for row in stated})
        backend.execute(COUNT_CHANGE, changes=1, moves=0)
    return len(known)


# Documents as rows, checked and made before the transaction that writes them.
#
# A row is what a back end keeps of one thing, by name: columns of a table, properties of a node.


Row_row_builder: TypeAlias = dict[str, str | int | float | None]
ABOUT = -1
"""The sentence number of "the chunk's document is about the entity"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedDocument:
    """A document as rows, made before the transaction so that others wait no longer than needed.

    What only the transaction knows is missing: ids, version and the moment.
    """

    entry: IndexedDocument
    document: Row_row_builder
    sections: list[Row_row_builder]
    chunks: list[Row_row_builder]
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

    document: Row_row_builder
    sections: list[Row_row_builder]
    chunks: list[Row_row_builder]
    times: list[Row_row_builder]
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


def _document_row(entry: IndexedDocument) -> Row_row_builder:
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


def _chunk_row(
    entry: IndexedDocument, chunk: Chunk, sentences: Sequence[tuple[int, int]]
) -> Row_row_builder:
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
) -> list[Row_row_builder]:
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
