"""Documents as wholes: saved, deleted, listed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clew.errors import InputError, StoreError, StoreMismatchError, check_several
from clew.filters import FIELDS, fields, predicate
from clew.stores.aliases import KNOWN, Named, NamePlan, keys_asked, names_by_key
from clew.stores.backend import (
    Backend,
    Row,
    Rows,
    half_character,
    now,
    read_described,
    to_text,
    to_time,
    writing,
)
from clew.stores.dates import stated_date, time_rows
from clew.stores.entities import delete_orphans
from clew.stores.passages import (
    KEEP_VERSIONS,
    PAGE_STARTS,
    EarlierVersions,
    Passages,
    Version,
    earlier_rows,
    extractor_of,
    stored_chunk,
    stored_section,
)
from clew.stores.relations import (
    FactKey,
    History,
    RelationRow,
    count_by_entity,
    derive_again,
    document_rows,
    facts_of,
    keys_stated,
    read_evidence,
    weigh,
)
from clew.stores.state import (
    COUNT_CHANGE,
    DELETE_REPLIES_ABOUT,
    DELETING,
    NEXT_IDS,
    STATE,
    NextIds,
    State,
    note_deleted,
    remember_embedder,
)
from clew.stores.statements import documents as statements
from clew.stores.statements.documents import (
    DOCUMENT,
    VERSIONS,
    DocumentValues,
    description_keys,
    unknown_fields,
)
from clew.stores.statements.relations import EVIDENCE_BY_KEYS
from clew.text import entity_key, name_keys, terms
from clew.times import date_of
from clew.types import (
    TERM,
    UNKNOWN_TYPE,
    Chunk,
    ChunkExtraction,
    Document,
    DocumentInfo,
    DocumentVersion,
    Filter,
    Ids,
    IndexedDocument,
    Metadata,
    NamedDocument,
    StoredChunk,
    StoredSection,
    Vectors,
)


class Documents(Passages, EarlierVersions):
    """Documents as wholes."""

    keep_versions: int = KEEP_VERSIONS
    """Earlier texts of a document that stay readable, at most."""

    _languages: tuple[int, frozenset[str]] = (-1, frozenset())
    """A generation, and the languages of its documents."""

    _names: tuple[int, frozenset[str]] = (-1, frozenset())
    """A generation, and the names of all metadata."""

    def save(self, entry: IndexedDocument) -> None:
        """Write one document whole, in place of the one with the same source: all of it or nothing.

        What only the old version held (chunks, mentions, relations, vectors, entities without
        another source) is gone afterwards. Aliases: a name whose key is known belongs to that key's
        entity; else `entry.links` may tie it to another key's entity; else it is new.

        Raises `InputError` where the entry's parts do not fit.
        """
        embedder = self._bound or self.embedder()
        if embedder is None:
            raise StoreError(
                f"the store {self.backend.place} has no embedder yet; open it with"
                " embedder=(name, dimension) before saving"
            )
        prepared = prepare(entry, embedder[1])
        self.check_lengths(prepared)
        self.write_prepared(prepared, embedder)

    def write_prepared(self, prepared: PreparedDocument, embedder: tuple[str, int]) -> None:
        """Write a document, while nobody else writes."""
        keep = self.keep_versions
        self.backend.write(lambda: write_document(self.backend, prepared, embedder, keep=keep))

    def check_lengths(self, prepared: PreparedDocument) -> None:
        """Raise `InputError` where the back end cannot look up so long a name or source."""

    def batch(self) -> AbstractContextManager[None]:
        """A context whose writes share one commit, which is faster.

        What was done before an exception of the caller's lasts. This thread sees it at once, others
        after the end; other writers wait meanwhile.
        """
        return self.backend.batch()

    @writing
    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete documents and all that only they held; the number that existed."""
        return delete_documents(self.backend, document_ids)

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Filter] = (),
    ) -> list[DocumentInfo]:
        """Documents by id, by origin, by metadata, or all; ordered by source."""
        with self.backend.consistent():
            if where:
                meets = predicate(where)
                matching = [i for i, of in self.document_values().items() if meets(of.of())]
                ids = matching if ids is None else [i for i in ids if i in set(matching)]
            everywhere = statements.DOCUMENTS if origin is None else statements.DOCUMENTS_BY_ORIGIN
            statement = everywhere if ids is None else statements.DOCUMENTS_BY_ID
            wanted = list(dict.fromkeys(ids or ()))
            (rows,) = self.backend.gather(statement, ids=wanted, origin=origin)
        found = (_document_info(row) for row in rows)
        return sorted((d for d in found if origin in (None, d.origin)), key=attrgetter("source"))

    def documents_after(self, source: str, limit: int) -> list[DocumentInfo]:
        """The documents whose sources come next after this one, in that order."""
        (rows,) = self.backend.gather(statements.DOCUMENTS_AFTER, after=source, limit=limit)
        return sorted(map(_document_info, rows), key=attrgetter("source"))

    def described(self, entity_type: str, since: str = "", until: str = "~") -> list[DocumentInfo]:
        """Documents whose metadata have this `entity_type`, ordered by source.

        Of a period, those whose metadata hold a `last` (else `end`, else `start`) from `since` on
        and a `start` before `until`: days as ISO 8601 text, compared as text.
        """
        values = {"type": entity_type, "since": since, "until": until}
        (rows,) = self.backend.gather(statements.DESCRIBED, **values)
        return sorted(map(_document_info, rows), key=attrgetter("source"))

    # --- filters

    def matching_chunks(self, where: Sequence[Filter]) -> Ids:
        """Ids (sorted) of the chunks whose metadata meets every filter, as `clew.filters` decides.

        A chunk's own metadata goes before its document's. `path` is the file, `type` its media type
        or ending. Raises `InputError` for an operator that there is not.
        """
        meets = predicate(where)
        documents, chunks = self._values()
        verdicts = {id_: meets(of.of()) for id_, of in documents.items()}
        found = [
            chunk_id
            for chunk_id, id_, own in chunks
            # A document that was deleted while they were read has no verdict.
            if (meets(documents[id_].of(own)) if own and id_ in documents else verdicts.get(id_))
        ]
        return np.sort(np.array(found, dtype=np.int64))

    def unknown_fields(self, where: Sequence[Filter]) -> list[str]:
        """A note for each field asked for that no document has, with the nearest that there are."""
        if {name for one in where for name in fields(one)} <= {*FIELDS}:
            return []
        if self._names[0] != self.generation():
            self._values()
        return unknown_fields(where, self._names[1])

    def _values(
        self,
    ) -> tuple[Mapping[str, DocumentValues], Sequence[tuple[int, str, Metadata | None]]]:
        """What filters ask of documents and chunks; keeps the names of their metadata."""
        generation = self.generation()
        with self.backend.consistent():
            documents, chunks = self.document_values(), self.chunk_values()
        metadata = [of.metadata for of in documents.values()]
        names = frozenset[str]().union(*metadata, *(own for *_, own in chunks if own))
        self._names = generation, names
        return documents, chunks

    def document_values(self) -> Mapping[str, DocumentValues]:
        """What filters ask of each document, by its id."""
        (rows,) = self.backend.gather(statements.ASKED_DOCUMENTS)
        return {
            id_: DocumentValues(columns, json.loads(metadata)) for id_, metadata, *columns in rows
        }

    def chunk_values(self) -> Sequence[tuple[int, str, Metadata | None]]:
        """(id, id of the document, own metadata) of each chunk."""
        return [
            (chunk_id, id_, json.loads(own) if own else None)
            for chunk_id, id_, own in self.backend.rows(statements.ASKED_CHUNKS)
        ]

    def named_documents(self, keys: Sequence[str]) -> list[NamedDocument]:
        """Documents whose title or file has one of these keys (`clew.text.name_key`), by source.

        Those without chunks are left out, and so are all after the first 200.
        """
        wanted = list(dict.fromkeys(key for key in keys if key))
        rows = self.backend.rows(statements.NAMED_CHUNKS, keys=wanted) if wanted else []
        found: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        for id_, source, title_key, file_key, chunk_id in rows:
            found[id_, source, title_key, file_key].append(chunk_id)
        return [NamedDocument(*names, tuple(chunk_ids)) for names, chunk_ids in found.items()]

    def languages(self) -> frozenset[str]:
        """Codes of the languages that documents are written in, as far as they are known.

        They are read once a generation, since every question asks.
        """
        known, generation = self._languages, self.generation()
        if known[0] != generation:
            found = frozenset(row[0] for row in self.backend.rows(statements.LANGUAGES))
            known = self._languages = generation, found
        return known[1]

    def count_documents(self) -> int:
        """How many there are."""
        return self.backend.count_rows("documents")

    def same_documents(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
        """(source, origin, sha256) of the documents of files that have these digests."""
        rows = self.backend.rows(statements.SAME_DIGESTS, keys=list(digests))
        return [(source, origin, sha256) for source, origin, sha256 in rows]

    def document_digests(
        self, sources: Sequence[str] | None = None, folders: Sequence[str] = ()
    ) -> dict[str, tuple[str, str, str, str]]:
        """(origin, sha256, pipeline fingerprint, read from) by source: of every document, or some.

        `sources` are those documents' own, or what they were read from; with them comes what was
        read from below `folders`.
        """
        statement = statements.DIGESTS if sources is None else statements.DIGESTS_OF
        (rows,) = self.backend.gather(
            statement,
            keys=list(sources or ()),
            below=[folder.rstrip("/") + "/" for folder in folders],
        )
        return {
            source: (origin, sha256, fingerprint, read_from or "")
            for source, origin, sha256, fingerprint, read_from in rows
        }

    def document_chunks(self, *document_ids: str) -> list[StoredChunk]:
        """The documents' chunks, in order within each; none for an unknown document."""
        ids = list(dict.fromkeys(document_ids))
        (rows,) = self.backend.gather(statements.DOCUMENT_CHUNKS, ids=ids)
        return sorted(map(stored_chunk, rows), key=attrgetter("document_id", "ordinal"))

    def document_sections(self, *document_ids: str) -> list[StoredSection]:
        """The documents' sections, in order within each; in a row, a document's are its text."""
        ids = list(dict.fromkeys(document_ids))
        rows = self.backend.rows(statements.DOCUMENT_SECTIONS, ids=ids)
        return [stored_section(row) for row in rows]

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """The versions of a document, oldest first; none for an unknown document."""
        rows = self.backend.rows(VERSIONS, id=document_id)
        return [
            DocumentVersion(
                version=version,
                sha256=sha256,
                derived_from=derived_from,
                indexed_at=datetime.fromisoformat(indexed_at),
                replaced_at=to_time(replaced_at),
                is_kept=bool(is_kept),
            )
            for version, sha256, derived_from, indexed_at, replaced_at, is_kept in rows
        ]


def _document_info(row: Sequence[Any]) -> DocumentInfo:
    """A row of DOCUMENT columns, the numbers of its sections and chunks, and its description."""
    values = dict(zip((*DOCUMENT, "sections", "chunks", "summary"), row, strict=True))
    values["pipeline_fingerprint"] = values.pop("recipe")  # by its former name in the store
    for name in ("language", "read_from", "date_source", "date_precision"):
        values[name] = values[name] or ""
    for name in ("created_at", "updated_at", "indexed_at"):
        values[name] = to_time(values[name])
    summary = read_described(values["summary"])[1]
    try:
        metadata = json.loads(values["metadata"])
    except ValueError:  # what there is of it, so that the document can be seen
        metadata = {"damaged": values["metadata"]}
    return DocumentInfo(**values | {"metadata": metadata, "summary": summary})


# Writing and deleting documents: one transaction each, and nothing is left without a source.


DocumentRow: TypeAlias = dict[str, Any]
ABOUT = -1
"""The sentence number of "the chunk's document is about the entity"."""


class NeedsLockError(StoreError):
    """More than adding is to be done, which nobody may do beside others."""


class _Former(NamedTuple):
    """What a document's former self leaves behind."""

    touched: Set[int] = frozenset()
    """Its entities."""
    heads: Set[int] = frozenset()
    """Those of which it stated functional relations."""
    history: History = {}  # noqa: RUF012 - a NamedTuple's default, which nobody changes
    facts: Set[FactKey] = frozenset()
    """What it stated."""
    texts: Sequence[Row] = ()
    """Its own, where that is another one and is kept."""


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
    entry, document = prepared.entry, prepared.entry.document
    held, texts, state_rows, next_rows, stated, *names = backend.gather(
        statements.HELD_VERSION,
        statements.HELD_TEXT,
        STATE,
        NEXT_IDS,
        EVIDENCE_BY_KEYS,
        *KNOWN,
        id=document.id,
        sha256=document.sha256,
        keys=keys_asked(prepared.names, entry.links),
        stated=[list(fact) for fact in keys_stated(entry)],
    )
    state, next_ids = State(state_rows), NextIds(*next_rows[0])
    _check_vectors(backend, state.vectors, embedder, document.source)
    version, former = Version(1, "", True), _Former()
    if held:
        number, derived_from, sha256 = held[0]
        text = "".join(text for _, text in sorted(texts, key=itemgetter(0)))
        version = Version(number + 1, sha256, True)
        if (sha256, text) == (document.sha256, document.text):
            version = Version(number, derived_from, False)
        kept = earlier_rows(backend, document.id, version.number, keep) if version.is_new else []
        former = _forget_former(backend, document.id, state)._replace(texts=kept)
    plan = NamePlan(backend, prepared.names, entry.links, names, next_ids)
    known = {key: entity_id for key, _, _, entity_id, *_ in names[0]}
    if own is not None and (held or plan.moves or plan.types or set(known.values()) - own):
        raise NeedsLockError("what is stored would change, which others may be reading")
    if worker and plan.aliases:
        named = json.dumps([alias["id"] for alias in plan.aliases])
        prepared.document.update(worker=worker, named=named)
    moment = now()
    rows = _text_rows(prepared, version, next_ids, moment)
    chunk_ids = [row["id"] for row in rows["chunks"]]
    relations = document_rows(
        entry,
        chunk_ids,
        plan.ends,
        first_id=next_ids.relations,
        history=former.history,
        moment=moment,
        extractor=extractor_of(entry.pipeline_fingerprint),
    )
    # What else states its facts; asked again only where names became other entities' names.
    facts, keys = facts_of(relations), {k for h, _, t in keys_stated(entry) for k in (h, t)}
    ends = {plan.ends[key].entity_id for key in keys if plan.ends[key].entity_id != known.get(key)}
    is_known = all(entity_id >= next_ids.entities for entity_id in ends)
    evidence = [RelationRow(*row) for row in stated] if is_known else read_evidence(backend, facts)
    others = [e for e in evidence if e.fact in facts and e.document_id != document.id]
    relations, weights = weigh(relations, document.id, others)
    rows = {
        **rows,
        **plan.new,
        "versions": _open_version(backend, document, version, moment),
        "earlier": former.texts,
        "mentions": mention_rows(entry, chunk_ids, plan),
        "relations": [row._asdict() for row in relations],
        "extraction_log": [
            {"entity_id": entity_id, "relationships_found": count, "extracted_at": moment}
            for entity_id, count in count_by_entity(relations).items()
        ],
    }
    backend.insert(rows, changes=1, weights=weights)
    plan.write_and_count(backend)
    # Derive again what follows from what was written and forgotten.
    delete_orphans(backend, former.touched | plan.moved)
    functional = state.functional
    heads = {row.from_entity_id for row in relations if row.relation_type in functional}
    gone = former.facts - facts_of(relations)
    derive_again(backend, functional, heads=heads | former.heads, facts=gone, moved=plan.moved)


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


def _forget_former(backend: Backend, document_id: str, state: State) -> _Former:
    """Delete what a document was; what it leaves behind, but for its text."""
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
    )


def _text_rows(
    prepared: PreparedDocument, version: Version, next_ids: NextIds, moment: str
) -> Rows:
    """The rows of a document's text, with the ids that come next and the document's version."""
    split = prepared.entry.split
    section_ids = {s.ordinal: id_ for id_, s in enumerate(split.sections, next_ids.sections)}
    chunks = zip(split.chunks, prepared.chunks, prepared.terms, prepared.vectors, strict=True)
    return {
        "documents": [
            {
                **prepared.document,
                "indexed_at": moment,
                "version": version.number,
                "derived_from": version.derived_from,
            }
        ],
        "sections": [
            {"id": id_, **row}
            for id_, row in zip(section_ids.values(), prepared.sections, strict=True)
        ],
        "chunks": [
            {
                "id": id_,
                "section_id": section_ids[chunk.section],
                **row,
                "terms": words,
                "vector": vector.tobytes(),
            }
            for id_, (chunk, row, words, vector) in enumerate(chunks, next_ids.chunks)
        ],
        "times": [
            {"chunk_id": id_, **row._asdict()}
            for id_, rows in enumerate(prepared.times, next_ids.chunks)
            for row in rows
        ],
    }


def _open_version(backend: Backend, document: Document, version: Version, moment: str) -> list[Row]:
    """Close the version before; the row of a new one, none where the version is kept."""
    if not version.is_new:
        return []
    if version.number > 1:
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


def mention_rows(
    entry: IndexedDocument, chunk_ids: Sequence[int], plan: NamePlan
) -> list[DocumentRow]:
    """Which names each sentence holds, and which entities the document is about.

    Names with one key in one sentence are one row: the first range, all counts.
    """
    found: dict[tuple[int, int, str], tuple[int, int, int]] = {}
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for m in chunk.mentions:
            place = (chunk_id, m.sentence, entity_key(m.name))
            start, end, count = found.get(place, (m.start, m.end, 0))
            found[place] = (*min((start, end), (m.start, m.end)), count + m.count)
    for name, _ in entry.extraction.about:
        found.update({(chunk_id, ABOUT, entity_key(name)): (0, 0, 1) for chunk_id in chunk_ids})
    return [
        {
            "chunk_id": chunk_id,
            "sentence": sentence,
            **plan.ends[key]._asdict(),
            "start": start,
            "end": end,
            "count": count,
        }
        for (chunk_id, sentence, key), (start, end, count) in found.items()
        if key in plan.ends
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
        for table in ("versions", "earlier", "documents"):
            backend.delete(table, ids)
        backend.execute(DELETE_REPLIES_ABOUT, ids=ids)
        delete_orphans(backend, [row[0] for row in touched])
        heads = {head for head, _, kind, *_ in stated if kind in functional}
        facts = {(row[0], row[2], row[6]) for row in stated}
        derive_again(backend, functional, heads=heads, facts=facts)
        backend.execute(COUNT_CHANGE, changes=1, moves=0)
    return len(known)


# Documents as rows, checked and made before the transaction that writes them.


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedDocument:
    """A document as rows, made before the transaction so that others wait no longer than needed.

    What only the transaction knows is missing: ids, version and the moment.
    """

    entry: IndexedDocument
    document: DocumentRow
    sections: list[DocumentRow]
    chunks: list[DocumentRow]
    terms: list[str]
    """A chunk's words as they are indexed, with spaces between them."""
    vectors: Vectors
    """(chunks, dim) float32"""
    times: list[list[Any]]
    """A list of `TimeRow` for each chunk."""
    names: Mapping[str, Named]
    """By key, in order of appearance."""


def prepare(entry: IndexedDocument, dimension: int) -> PreparedDocument:
    """Check an entry and turn it into rows.

    Raises `InputError` where counts, dimension or metadata do not fit, or a text is no Unicode:
    nothing of it can be refused once it is being written.
    """
    _check_counts(entry, dimension)
    document, split = entry.document, entry.split
    found = entry.extraction.chunks or (ChunkExtraction(),) * len(split.chunks)
    # Its own date, else that of its metadata.
    date = document.date
    if not document.date_precision:
        date = stated_date(document.metadata, document.created_at)
    prepared = PreparedDocument(
        entry=entry,
        document={
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
            "metadata": _metadata_json(document.source, document.metadata),
            **description_keys(document.metadata),
        },
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
            _chunk_row(document, chunk, extraction.sentences)
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        terms=[" ".join(terms(chunk.keyword_text, document.language)) for chunk in split.chunks],
        vectors=np.ascontiguousarray(entry.vectors, dtype="<f4"),
        times=[
            time_rows(
                date_of(chunk.metadata, date),
                [m for m in extraction.mentions if m.entity_type == "date"],
            )
            for chunk, extraction in zip(split.chunks, found, strict=True)
        ],
        names=names_of(entry),
    )
    try:
        for text in _texts(prepared):
            text.encode()
    except UnicodeEncodeError as error:
        raise half_character(error) from error
    return prepared


def _texts(prepared: PreparedDocument) -> Iterator[str]:
    """Every text that is to be stored."""
    for row in (prepared.document, *prepared.sections, *prepared.chunks):
        yield from (value for value in row.values() if isinstance(value, str))
    yield from (named.name for named in prepared.names.values())
    yield from (link.evidence for link in prepared.entry.links)
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


def _chunk_row(
    document: Document, chunk: Chunk, sentences: Sequence[tuple[int, int]]
) -> DocumentRow:
    """A chunk; with its own metadata are kept the further pages that it reaches over."""
    pages = {PAGE_STARTS: chunk.page_starts} if chunk.page_starts else {}
    return {
        "document_id": document.id,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "key": chunk.key,
        "metadata": _metadata_json(document.source, {**chunk.metadata, **pages}),
        "sentences": _json(sentences),
        "context": chunk.context,
        "text": chunk.text,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _metadata_json(source: str, metadata: Metadata) -> str:
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
        # To be an end of a relation says nothing of what a name is; its mentions do.
        given += [(r.head, TERM) for r in chunk.relations]
        given += [(r.tail, r.tail_type.replace(UNKNOWN_TYPE, TERM)) for r in chunk.relations]
    return names_by_key(given)
