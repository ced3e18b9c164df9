"""What is known of an entity, in order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.search.answer.blocks import statement
from clew.search.answer.relation_evidence import read_relations
from clew.types import Period, TimelineEntry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clew.ports import Store
    from clew.types import StoredChunk


RELATIONS = 1000
"""Relations of an entity that are read, the heaviest first."""


def read_timeline(
    store: Store,
    entity_id: int,
    *,
    limit: int,
    period: Period | None = None,
    as_of: datetime | None = None,
) -> list[TimelineEntry]:
    """The entity's relations and the dated sentences that name it, earliest first.

    Of a period, what overlaps it. At most `limit` entries; where there are more, the latest are
    left out. What has no time is not on a timeline.
    """
    entries = [*_relations(store, entity_id, as_of), *_passages(store, entity_id, as_of)]
    if period is not None:
        entries = [entry for entry in entries if entry.period.overlaps(period)]
    entries.sort(key=lambda entry: (_moment(entry.period), entry.reference, entry.text))
    distinct = {(entry.period, entry.text): entry for entry in entries}
    return list(distinct.values())[:limit]


def _moment(period: Period) -> datetime:
    moment = period.start or period.end
    assert moment is not None  # entries without a time were left out
    return moment


def _relations(store: Store, entity_id: int, as_of: datetime | None) -> list[TimelineEntry]:
    found = store.relations([entity_id], RELATIONS, as_of=as_of)
    chunks = {c.id: c for c in store.chunks([r.chunk_id for r in found if r.chunk_id is not None])}
    entries = []
    for relation, evidence in zip(found, read_relations(store, found), strict=True):
        if relation.valid_from is None and relation.valid_until is None:
            continue
        chunk = chunks.get(relation.chunk_id) if relation.chunk_id is not None else None
        entries.append(
            TimelineEntry(
                period=Period(start=relation.valid_from, end=relation.valid_until),
                text=statement(evidence.head, evidence.relation, evidence.tail),
                reference=chunk.public_id if chunk else "",
                provenance=evidence.provenance,
            )
        )
    return entries


def _passages(store: Store, entity_id: int, as_of: datetime | None) -> list[TimelineEntry]:
    """The entity's dated passages, at the time that each speaks of, else when it was said."""
    ids = store.entity_chunks(entity_id).tolist()
    if as_of is not None:
        known = set(store.chunks_as_of(as_of).tolist())
        ids = [id_ for id_ in ids if id_ in known]
    times, said, origins = store.chunk_times(ids), store.published_at(ids), store.provenance(ids)
    sentences = store.sentences(ids)
    return [
        TimelineEntry(
            period=period,
            text=_saying(period, chunk, sentences.get(chunk.id, ())),
            reference=chunk.public_id,
            provenance=origins.get(chunk.id),
        )
        for chunk in store.chunks(ids)
        for period in _times_spoken_of(times.get(chunk.id, ()), chunk.id in said)
    ]


def _saying(period: Period, chunk: StoredChunk, sentences: Sequence[str]) -> str:
    """The sentences that name the time in these words; the whole passage where none does."""
    naming = [s for s in sentences if period.text and period.text in s]
    return " ".join(" ".join(naming or [chunk.text]).split())


def _times_spoken_of(times: Sequence[Period], dated: bool) -> Sequence[Period]:
    """The times that a passage speaks of; when it was said, where it speaks of none."""
    spoken = times[1:] if dated else times
    return spoken or times[:1]
