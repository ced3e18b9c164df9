"""Chunks and sections by their ids, and all that an answer shows of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clew.shingles import sketch
from clew.stores.backend import distinct, pairs
from clew.stores.documents.chunk_dates import periods_by_chunk
from clew.stores.documents.versions import provenance
from clew.stores.relations.relations import RelationRow, Relations, to_relation
from clew.stores.statements import documents as statements
from clew.stores.statements.dates import CHUNK_DATES
from clew.stores.statements.documents import CHUNK, PROVENANCE, SECTION
from clew.stores.statements.names import ENTITY_NAMES
from clew.stores.statements.relations import NAMED_CHUNK_RELATIONS
from clew.types import (
    Condition,
    PassageRecord,
    PassageRecords,
    Period,
    Provenance,
    Relation,
    StoredChunk,
    StoredSection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.types import Ids


class Passages(Relations, ABC):
    """`ports.PassageStore` over a back end."""

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """See `ports.PassageStore`."""
        rows = self.backend.rows(statements.CHUNKS, ids=distinct(chunk_ids))
        found = {row[0]: stored_chunk(row) for row in rows}
        return [found[i] for i in map(int, chunk_ids) if i in found]

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """See `ports.PassageStore`."""
        rows = self.backend.rows(statements.SECTIONS, ids=distinct(section_ids))
        found = {row[0]: stored_section(row) for row in rows}
        return [found[i] for i in map(int, section_ids) if i in found]

    def sentences(self, chunk_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """See `ports.PassageStore`."""
        rows = self.backend.rows(statements.SENTENCES, ids=distinct(chunk_ids))
        return {id_: _sentence_texts(text, sentences) for id_, text, _, sentences in rows}

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> dict[int, tuple[tuple[int, int], ...]]:
        """See `ports.PassageStore`."""
        rows = self.backend.rows(statements.SENTENCES, ids=distinct(chunk_ids))
        return {id_: _sentence_ranges(start, sentences) for id_, _, start, sentences in rows}

    def sketches(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """See `ports.PassageStore`; chunks that an older Clew wrote are sketched now."""
        rows = self.backend.rows(statements.SKETCHES, ids=distinct(chunk_ids))
        return {id_: sketch(text) if kept is None else kept for id_, kept, text in rows}

    def provenance(self, chunk_ids: Sequence[int]) -> dict[int, Provenance]:
        """See `ports.PassageStore`."""
        rows = self.backend.rows(statements.PROVENANCES, ids=distinct(chunk_ids))
        return {row[0]: provenance(_named(PROVENANCE, row[1:])) for row in rows}

    @abstractmethod
    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """See `ports.PassageStore`."""

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
    of_document = json.loads(values.pop("document_metadata"))
    return StoredChunk(**{**values, "metadata": {**of_document, **json.loads(values["metadata"])}})


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
    chunk, sentences = stored_chunk(row[:after_chunk]), row[-1]
    return PassageRecord(
        chunk=chunk,
        section=stored_section(row[after_chunk:after_section]),
        provenance=provenance(_named(PROVENANCE, row[after_section:-1])),
        times=periods.get(chunk.id, ()),
        sentences=_sentence_texts(chunk.text, sentences),
        sentence_ranges=_sentence_ranges(chunk.start, sentences),
        relations=tuple(relations.get(chunk.id, ())),
    )


def _named(columns: Iterable[str], row: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns, row, strict=True))


def _by_chunk(relations: Iterable[Relation]) -> dict[int, list[Relation]]:
    found: dict[int, list[Relation]] = {}
    for relation in sorted(relations, key=lambda relation: relation.id):
        found.setdefault(relation.chunk_id or 0, []).append(relation)
    return found


def _sentence_texts(text: str, sentences: str) -> tuple[str, ...]:
    """The sentences of a chunk's text; `sentences` are their ranges in it, as JSON."""
    return tuple(text[start:end] for start, end in json.loads(sentences))


def _sentence_ranges(chunk_start: int, sentences: str) -> tuple[tuple[int, int], ...]:
    """The ranges of a chunk's sentences in the document."""
    return tuple((chunk_start + start, chunk_start + end) for start, end in json.loads(sentences))
