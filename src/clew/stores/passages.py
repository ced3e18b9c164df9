"""Chunks and sections by their ids, where they come from, and all that an answer shows of them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from clew.errors import StoreCorruptError
from clew.filters import predicate
from clew.stores.backend import Backend, Row, distinct, pairs, to_text, to_time
from clew.stores.dates import known_until, periods_by_chunk
from clew.stores.relations import RelationRow, Relations, to_relation
from clew.stores.state import STATE, State, StoreState
from clew.stores.statements import documents as statements
from clew.stores.statements.documents import (
    CHUNK,
    CHUNK_DATES,
    COLUMNS,
    DOCUMENT,
    FIRST_RECORDED,
    PROVENANCE,
    SECTION,
    DocumentValues,
)
from clew.stores.statements.names import ENTITY_NAMES
from clew.stores.statements.relations import NAMED_CHUNK_RELATIONS
from clew.times import date_of
from clew.types import (
    EarlierVersion,
    Filter,
    Metadata,
    PassageRecord,
    PassageRecords,
    Period,
    Provenance,
    Relation,
    StoredChunk,
    StoredSection,
    partial_date,
)

PAGE_STARTS = "page_starts"
"""Key under which a chunk's metadata are stored with the further pages that it reaches over."""


class Passages(Relations):
    """Parts of documents, by the ids of their chunks and sections."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """Chunks in the order of the ids given; unknown ids are left out."""
        (rows,) = self.backend.gather(statements.CHUNKS, ids=distinct(chunk_ids))
        found = {row[0]: stored_chunk(row) for row in rows}
        return [found[i] for i in map(int, chunk_ids) if i in found]

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """Sections in the order of the ids given; unknown ids are left out."""
        (rows,) = self.backend.gather(statements.SECTIONS, ids=distinct(section_ids))
        found = {row[0]: stored_section(row) for row in rows}
        return [found[i] for i in map(int, section_ids) if i in found]

    def sentences(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Sentences (their texts, in order) by chunk id; unknown ids are left out."""
        (rows,) = self.backend.gather(statements.SENTENCES, ids=distinct(chunk_ids))
        return {
            id_: tuple(text[start:end] for start, end in json.loads(ranges))
            for id_, text, _, ranges in rows
        }

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
        """Character ranges of the sentences in the document, by chunk id; unknown ids left out."""
        (rows,) = self.backend.gather(statements.SENTENCES, ids=distinct(chunk_ids))
        return {
            id_: tuple((at + start, at + end) for start, end in json.loads(ranges))
            for id_, _, at, ranges in rows
        }

    def provenance(self, chunk_ids: Sequence[int]) -> dict[int, Provenance]:
        """Where each chunk comes from, by chunk id; unknown ids are left out."""
        (rows,) = self.backend.gather(statements.PROVENANCES, ids=distinct(chunk_ids))
        return {row[0]: provenance(_named(PROVENANCE, row[1:])) for row in rows}

    def passage_records(
        self,
        chunk_ids: Sequence[int],
        entity_ids: Sequence[int] = (),
        *,
        as_of: datetime | None = None,
    ) -> PassageRecords:
        """All that an answer shows of chunks, and the names of entities, in one look.

        Unknown ids are left out. `as_of` chooses relations as in `GraphStore.relations`.

        What held at a moment takes a look of its own.
        """
        chunks, entities = distinct(chunk_ids), distinct(entity_ids)
        with self.backend.consistent():
            then = [] if as_of is None else self.chunk_relations(chunks, as_of=as_of)
            ends = [end for r in then for end in (r.from_entity_id, r.to_entity_id)]
            passages, dates, relations, names = self.backend.gather(
                statements.PASSAGES,
                CHUNK_DATES,
                NAMED_CHUNK_RELATIONS,
                ENTITY_NAMES,
                ids=chunks,
                stating=chunks if as_of is None else [],
                entities=distinct(entities + ends),
            )
        now = [to_relation(RelationRow(*row[:_RELATION])) for row in relations]
        stated: dict[int, list[Relation]] = {}
        for relation in sorted([*then, *now], key=attrgetter("id")):
            stated.setdefault(relation.chunk_id or 0, []).append(relation)
        periods, end = periods_by_chunk(dates), len(CHUNK) + len(SECTION)
        return PassageRecords(
            passages={
                row[0]: passage_record(
                    row[: len(CHUNK)],
                    row[len(CHUNK) : end],
                    row[end:-1],
                    row[-1],
                    periods.get(row[0], ()),
                    tuple(stated.get(row[0], ())),
                )
                for row in passages
            },
            names={
                **pairs(names),
                **{row[1]: row[_RELATION] for row in relations},
                **{row[2]: row[_RELATION + 1] for row in relations},
            },
        )


# --- rows as they are shown --------------------------------------------------------------

_RELATION = RelationRow._fields.index("document_id")


def stored_chunk(row: Sequence[Any]) -> StoredChunk:
    """A row of CHUNK columns, with what the chunk shows of its document."""
    values = _named(CHUNK, row)
    own = _object(values["metadata"])
    further = _page_starts(own)
    values["metadata"] = {**_object(values.pop("document_metadata")), **own}
    pages = ((values["start"], values["page"]), *further) if further else ()
    return StoredChunk(**{**values, "language": values["language"] or "", "page_starts": pages})


def _page_starts(own: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Taken from a chunk's own metadata: the further pages that it reaches over."""
    return tuple((start, page) for start, page in own.pop(PAGE_STARTS, ()))


def stored_section(row: Sequence[Any]) -> StoredSection:
    """A row of SECTION columns."""
    values = _named(SECTION, row)
    return StoredSection(**{**values, "headings": tuple(json.loads(values["headings"]))})


def passage_record(
    of_chunk: Sequence[Any],
    of_section: Sequence[Any],
    of_provenance: Sequence[Any],
    sentences: str,
    times: tuple[Period, ...],
    relations: tuple[Relation, ...] = (),
) -> PassageRecord:
    """A passage from rows of CHUNK, SECTION and PROVENANCE columns."""
    chunk, ranges = stored_chunk(of_chunk), json.loads(sentences)
    return PassageRecord(
        chunk=chunk,
        section=stored_section(of_section),
        provenance=provenance(_named(PROVENANCE, of_provenance)),
        times=times,
        sentences=tuple(chunk.text[start:end] for start, end in ranges),
        sentence_ranges=tuple((chunk.start + start, chunk.start + end) for start, end in ranges),
        relations=relations,
    )


def _object(text: str) -> dict[str, Any]:
    """A JSON object; most passages' metadata are empty."""
    found: dict[str, Any] = {} if text == "{}" else json.loads(text)
    return found


def _named(columns: Iterable[str], row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns, row, strict=True))


# --- where what is stored comes from -----------------------------------------------------


class Version(NamedTuple):
    """A text's place among those that its source has had."""

    number: int
    derived_from: str
    is_new: bool
    """Whether the store does not hold it yet."""


def provenance(row: Mapping[str, Any]) -> Provenance:
    """Where a chunk comes from, of what is stored.

    `row`: `document` (id), title, source, version, sha256, derived_from, page, start, end,
    indexed_at, created_at, date_source, date_precision, recipe, `document_metadata` and `metadata`
    (JSON).
    """
    of_document, own = _object(row["document_metadata"]), _object(row["metadata"])
    further = _page_starts(own)
    stated = date_of(own) if own else None  # few passages have metadata of their own
    date = stated or partial_date(to_time(row["created_at"]), row["date_precision"] or "")
    return Provenance(
        document=row["document"],
        title=row["title"],
        source=row["source"],
        version=row["version"],
        sha256=row["sha256"],
        derived_from=row["derived_from"],
        page=row["page"],
        start=row["start"],
        end=row["end"],
        author=_author(own) or _author(of_document),
        written_at=date.start if date else None,
        date=date.iso if date else "",
        date_source="metadata" if stated else row["date_source"] or "",
        indexed_at=datetime.fromisoformat(row["indexed_at"]),
        extractor=extractor_of(row["recipe"]),
        page_starts=further,
    )


def _author(metadata: Metadata) -> str:
    """Who the metadata say wrote or said it; empty where they say nothing."""
    if not metadata:
        return ""
    folded = {name.casefold(): value for name, value in metadata.items()}
    for name in ("author", "authors", "speaker", "from", "by", "creator"):
        value = folded.get(name)
        names = value if isinstance(value, list) else [value]
        if found := ", ".join(n.strip() for n in names if isinstance(n, str) and n.strip()):
            return found
    return ""


@lru_cache(maxsize=64)
def extractor_of(pipeline_fingerprint: str) -> str:
    """The extractor that a pipeline fingerprint names; empty where it names none."""
    try:
        values = json.loads(pipeline_fingerprint)
    except ValueError:
        return ""
    return str(values.get("extractor", "")) if isinstance(values, Mapping) else ""


# Earlier texts of documents: kept where a document changes, and read again as passages.
#
# A version that is kept is one row: its passages as compressed JSON, its vectors as one array. It
# is in no index, so that ordinary search neither finds it nor pays for it.


KEEP_VERSIONS = 3
"""Earlier texts of a document that are kept, where nobody says how many."""
_AT_ONCE = 20
"""Versions that are read at once."""
_SHOWN = (
    *("title", "source", "origin", "media_type", "language", "created_at", "date_source"),
    *("date_precision", "updated_at", "metadata", "recipe"),
)
"""Columns of a document that its passages show, or that filters ask for."""


_OWN = tuple(statements.OF_CHUNK)
_ordinal = itemgetter(_OWN.index("ordinal"))
_METADATA = _OWN.index("metadata")


# --- keeping, inside `write`


def earlier_rows(backend: Backend, document_id: str, number: int, keep: int) -> list[Row]:
    """What keeps the text held, which version `number` is about to replace; none unless `keep`.

    Makes room for it: of the texts kept, no more than `keep` stay.
    """
    backend.execute(statements.FORGET, id=document_id, last=number - 1 - keep)
    if not keep:
        return []
    state, chunks, dates, documents, sections = backend.gather(
        STATE,
        statements.HELD_CHUNKS,
        statements.HELD_DATES,
        statements.DOCUMENTS_BY_ID,
        statements.DOCUMENT_SECTIONS,
        ids=[document_id],
    )
    chunks, sections = sorted(chunks, key=_ordinal), sorted(sections, key=itemgetter(2))
    document = dict(zip(DOCUMENT, documents[0], strict=False))
    text = "".join(row[-1] for row in sections)
    kept = {
        "document": {name: document[name] for name in _SHOWN},
        "embedder": State(state).vectors,
        "text": text,
        "sections": [list(row[:-1]) for row in sections],
        "chunks": [list(row[:-1]) for row in chunks],
        "dates": [list(row) for row in dates],
    }
    vectors = (
        row[-1] if isinstance(row[-1], bytes) else np.array(row[-1], dtype="<f4").tobytes()
        for row in chunks
    )
    return [
        {
            "document_id": document_id,
            "version": number - 1,
            "said_at": document["created_at"],
            "characters": len(text),
            "passages": zlib.compress(json.dumps(kept, ensure_ascii=False).encode()),
            "vectors": b"".join(vectors),
        }
    ]


# --- reading


class EarlierVersions(StoreState):
    """Earlier versions of documents."""

    def earlier_text(self, document_id: str, version: int) -> str | None:
        """The text of a version that was replaced; None where it is not kept."""
        rows = self.backend.rows(statements.KEPT, keys=[[document_id, version]])
        return None if not rows else str(_opened(rows[0])["text"])

    def earlier_at(
        self, moment: datetime, where: Sequence[Filter] = ()
    ) -> Iterator[EarlierVersion]:
        """The versions that were the last at that moment and were replaced since.

        A version was there where the store held it by then, unless the store itself is younger, and
        where its own date is not a later one. Of each, the passages that meet every filter.
        """
        embedder = self.embedder()
        with self.backend.consistent():
            known = known_until(self.backend.rows(FIRST_RECORDED), moment)
            keys = list(_standing(self.backend.rows(statements.DATED), moment, known))
        for first in range(0, len(keys), _AT_ONCE):
            for row in self.backend.rows(statements.KEPT, keys=keys[first : first + _AT_ONCE]):
                version = _version(row, _opened(row), where, embedder)
                if version.passages:
                    yield version


def _standing(
    rows: Sequence[Sequence[Any]], moment: datetime, known: str | None
) -> Iterator[list[str | int]]:
    """(document, version) where the last version that there was is one that is kept.

    A version was there where the store held it by then, and where its text says no later date.
    """
    then = to_text(moment) or ""
    for document_id, of_document in groupby(rows, key=itemgetter(0)):
        there = [
            (version, is_held)
            for _, version, indexed_at, said_at, is_held in of_document
            if (known is None or indexed_at <= known) and (said_at is None or said_at <= then)
        ]
        if there and not there[-1][1]:
            yield [document_id, there[-1][0]]


def _opened(row: Sequence[Any]) -> dict[str, Any]:
    """What is kept of a version; raises `StoreCorruptError` where it cannot be read."""
    try:
        kept: dict[str, Any] = json.loads(zlib.decompress(row[-2]))
    except (zlib.error, ValueError, TypeError) as error:
        raise StoreCorruptError(
            f"what is kept of version {row[1]} of the document {row[0]} is damaged; `clew check"
            " --repair` drops it"
        ) from error
    return kept


def _version(
    row: Sequence[Any],
    kept: Mapping[str, Any],
    where: Sequence[Filter],
    embedder: tuple[str, int] | None,
) -> EarlierVersion:
    """A row of KEPT with those passages that meet the filters."""
    document, metadata = kept["document"], json.loads(kept["document"]["metadata"])
    columns = [document[name] for name in COLUMNS]
    values, meets = DocumentValues(columns, metadata), predicate(where)
    found = [
        (place, record, terms)
        for place, (record, terms) in enumerate(_records(row, kept))
        if meets(values.of(json.loads(kept["chunks"][place][_METADATA])))
    ]
    places = [place for place, _, _ in found]
    vectors = None
    if embedder is not None and tuple(kept["embedder"]) == embedder:
        every, shape = np.frombuffer(row[-1], dtype="<f4"), (len(kept["chunks"]), embedder[1])
        if len(every) != shape[0] * shape[1]:
            raise StoreCorruptError(
                f"the vectors of version {row[1]} of the document {row[0]} are damaged; `clew check"
                " --repair` drops them"
            )
        vectors = every.reshape(shape)[places]
    return EarlierVersion(
        passages=tuple(record for _, record, _ in found),
        terms=tuple(terms for _, _, terms in found),
        vectors=vectors,
    )


def _records(row: Sequence[Any], kept: Mapping[str, Any]) -> Iterator[tuple[PassageRecord, str]]:
    """The passages as they were stored, each with its terms."""
    document_id, version, sha256, derived_from, indexed_at, replaced_at = row[:6]
    document, text = kept["document"], kept["text"]
    about = {
        **document,
        "document": document_id,
        "document_id": document_id,
        "document_metadata": document["metadata"],
        "version": version,
        "sha256": sha256,
        "derived_from": derived_from,
        "indexed_at": indexed_at,
    }
    sections = {s[0]: dict(zip(SECTION, s, strict=False)) for s in kept["sections"]}
    periods = periods_by_chunk(kept["dates"])
    for values in kept["chunks"]:
        own = dict(zip(_OWN, values, strict=True))
        section = sections[own["section_id"]]
        chunk = {**about, **own, "text": text[own["start"] : own["end"]]}
        record = passage_record(
            [chunk[name] for name in CHUNK],
            [{**section, "text": text[section["start"] : section["end"]]}[n] for n in SECTION],
            [chunk[name] for name in PROVENANCE],
            own["sentences"],
            periods.get(own["id"], ()),
        )
        until = to_time(replaced_at)
        yield (
            replace(record, chunk=replace(record.chunk, version=version, replaced_at=until)),
            own["terms"],
        )


# --- checking


def broken_versions(backend: Backend) -> Iterator[tuple[list[str | int], str]]:
    """(key, what is wrong with it) of each version that cannot be asked for."""
    state = StoreState(backend)
    for document_id, version, was_replaced in backend.rows(statements.KEYS):
        key = [document_id, version]
        if not was_replaced:
            yield key, f"an earlier text is kept of {document_id}, version {version}, which is none"
            continue
        try:
            for row in backend.rows(statements.KEPT, keys=[key]):
                _version(row, _opened(row), (), state.embedder())
        except (StoreCorruptError, LookupError, TypeError, ValueError) as error:
            yield key, f"the earlier text {version} of {document_id} cannot be read: {error}"


def drop_broken(backend: Backend) -> None:
    """Delete the texts that cannot be read, inside `write`; there is nothing to mend them from."""
    for document_id, version in [key for key, _ in broken_versions(backend)]:
        backend.execute(statements.DROP, id=document_id, version=version)
