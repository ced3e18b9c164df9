"""Chunks and sections by their ids, where they come from, and all that an answer shows of them."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.stores.backend import distinct, pairs, to_time
from clew.stores.documents.chunk_dates import periods_by_chunk
from clew.stores.relations.relations import RelationRow, Relations, to_relation
from clew.stores.statements import documents as statements
from clew.stores.statements.dates import CHUNK_DATES
from clew.stores.statements.documents import CHUNK, PROVENANCE, SECTION
from clew.stores.statements.names import ENTITY_NAMES
from clew.stores.statements.relations import NAMED_CHUNK_RELATIONS
from clew.times import date_of
from clew.types import (
    Document,
    DocumentVersion,
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

if TYPE_CHECKING:
    pass

PAGE_STARTS = "page_starts"
"""Key under which a chunk's metadata are stored with the further pages that it reaches over."""


class Passages(Relations, ABC):
    """`ports.PassageStore` over a back end."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """See `ports.PassageStore`."""
        (rows,) = self.backend.gather(statements.CHUNKS, ids=distinct(chunk_ids))
        found = {row[0]: stored_chunk(row) for row in rows}
        return [found[i] for i in map(int, chunk_ids) if i in found]

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """See `ports.PassageStore`."""
        (rows,) = self.backend.gather(statements.SECTIONS, ids=distinct(section_ids))
        found = {row[0]: stored_section(row) for row in rows}
        return [found[i] for i in map(int, section_ids) if i in found]

    def sentences(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """See `ports.PassageStore`."""
        (rows,) = self.backend.gather(statements.SENTENCES, ids=distinct(chunk_ids))
        return {
            id_: tuple(text[start:end] for start, end in json.loads(ranges))
            for id_, text, _, ranges in rows
        }

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
        """See `ports.PassageStore`."""
        (rows,) = self.backend.gather(statements.SENTENCES, ids=distinct(chunk_ids))
        return {
            id_: tuple((at + start, at + end) for start, end in json.loads(ranges))
            for id_, _, at, ranges in rows
        }

    def sketches(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """See `ports.PassageStore`."""
        return pairs(self.backend.rows(statements.SKETCHES, ids=distinct(chunk_ids)))

    def provenance(self, chunk_ids: Sequence[int]) -> dict[int, Provenance]:
        """See `ports.PassageStore`."""
        (rows,) = self.backend.gather(statements.PROVENANCES, ids=distinct(chunk_ids))
        return {row[0]: provenance(_named(PROVENANCE, row[1:])) for row in rows}

    def passage_records(
        self,
        chunk_ids: Sequence[int],
        entity_ids: Sequence[int] = (),
        *,
        as_of: datetime | None = None,
    ) -> PassageRecords:
        """See `ports.PassageStore`; what held at a moment takes a look of its own."""
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
        stated, periods = _by_chunk([*then, *now]), periods_by_chunk(dates)
        records = (_record(row, stated, periods) for row in passages)
        return PassageRecords(
            passages={record.chunk.id: record for record in records},
            names={
                **pairs(names),
                **{row[1]: row[_RELATION] for row in relations},
                **{row[2]: row[_RELATION + 1] for row in relations},
            },
        )


# --- rows as they are shown --------------------------------------------------------------

_RELATION = len(RelationRow._fields)


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


def _record(
    row: Sequence[Any],
    relations: Mapping[int, list[Relation]],
    periods: Mapping[int, tuple[Period, ...]],
) -> PassageRecord:
    """A row of PASSAGES."""
    after_chunk, after_section = len(CHUNK), len(CHUNK) + len(SECTION)
    return passage_record(
        row[:after_chunk],
        row[after_chunk:after_section],
        row[after_section:-1],
        row[-1],
        periods.get(row[0], ()),
        tuple(relations.get(row[0], ())),
    )


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


def _by_chunk(relations: Iterable[Relation]) -> dict[int, list[Relation]]:
    found: dict[int, list[Relation]] = {}
    for relation in sorted(relations, key=lambda relation: relation.id):
        found.setdefault(relation.chunk_id or 0, []).append(relation)
    return found


# --- where what is stored comes from -----------------------------------------------------


_AUTHOR_NAMES = ("author", "authors", "speaker", "from", "by", "creator")


class Version(NamedTuple):
    """A text's place among those that its source has had."""

    number: int
    derived_from: str
    is_new: bool
    """Whether the store does not hold it yet."""

    @property
    def is_first(self) -> bool:
        """Whether the store holds nothing of this source yet."""
        return self.is_new and self.number == 1


FIRST = Version(1, "", True)


class HeldVersion(NamedTuple):
    """The version of a document that a store holds."""

    number: int
    derived_from: str
    sha256: str


def version_after(held: HeldVersion, document: Document, held_text: str) -> Version:
    """The version that saving the document makes, or keeps where its text is the one held."""
    if held.sha256 == document.sha256 and held_text == document.text:
        return Version(held.number, held.derived_from, False)
    return Version(held.number + 1, held.sha256, True)


def document_version(
    version: int,
    sha256: str,
    derived_from: str,
    indexed_at: str,
    replaced_at: str | None,
    is_kept: bool,
) -> DocumentVersion:
    """A version as it is stored."""
    return DocumentVersion(
        version=version,
        sha256=sha256,
        derived_from=derived_from,
        indexed_at=datetime.fromisoformat(indexed_at),
        replaced_at=to_time(replaced_at),
        is_kept=bool(is_kept),
    )


def provenance(row: Mapping[str, Any]) -> Provenance:
    """Where a chunk comes from, of what is stored.

    `row`: `document` (id), title, source, version, sha256, derived_from, page, start, end,
    indexed_at, created_at, date_source, date_precision, recipe, `document_metadata` and `metadata`
    (JSON).
    """
    of_document, own = _object(row["document_metadata"]), _object(row["metadata"])
    further = _page_starts(own)
    stated = date_of(own)
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
    for name in _AUTHOR_NAMES:
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
