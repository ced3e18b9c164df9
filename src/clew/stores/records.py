"""All that an answer shows of passages, put together from what a store reads one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from clew.ports import GraphStore, PassageStore, TimeIndex
from clew.types import PassageRecord, PassageRecords

if TYPE_CHECKING:
    from clew.types import Relation


class _Reads(PassageStore, TimeIndex, GraphStore, Protocol):
    """What records are read with."""


def read_records(
    store: _Reads, chunk_ids: Sequence[int], entity_ids: Sequence[int], as_of: datetime | None
) -> PassageRecords:
    """See `ports.PassageStore`; call where several reads see one state and cost little."""
    chunks = store.chunks(chunk_ids)
    ids = [chunk.id for chunk in chunks]
    sections = {s.id: s for s in store.sections(list({chunk.section_id for chunk in chunks}))}
    origins, times = store.provenance(ids), store.chunk_times(ids)
    sentences, ranges = store.sentences(ids), store.sentence_ranges(ids)
    relations: dict[int, list[Relation]] = {}
    for relation in store.chunk_relations(ids, as_of=as_of):
        assert relation.chunk_id is not None  # it was asked for by its chunk
        relations.setdefault(relation.chunk_id, []).append(relation)
    ends = {e for r in relations.values() for x in r for e in (x.from_entity_id, x.to_entity_id)}
    return PassageRecords(
        passages={
            chunk.id: PassageRecord(
                chunk=chunk,
                section=sections[chunk.section_id],
                provenance=origins[chunk.id],
                times=times.get(chunk.id, ()),
                sentences=tuple(sentences[chunk.id]),
                sentence_ranges=tuple(ranges[chunk.id]),
                relations=tuple(relations.get(chunk.id, ())),
            )
            for chunk in chunks
        },
        names=store.entity_names(sorted({*entity_ids, *ends})),
    )
