"""What is known of an entity, in order of time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.search.answer.blocks import statement
from clew.search.answer.hits import read_relations
from clew.types import Period, TimelineEntry

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from clew.graph.snapshot import Snapshot
    from clew.stores.store import Store
    from clew.types import StoredChunk


_TITLE = -1
"""Ordinal of the title and headings among a passage's sentences."""
_GOES_ON = re.compile(r"\W{0,3}(?:[Ss]?[Hh]e|[Tt]hey|[Ii]t|[Hh]er|[Hh]is|[Tt]heir|[Ii]ts)\b")
_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Date|Subject|Reply-To|Sender|Resent-Date|Message-ID|Attachments?): "
)
"""A line of a message's header, as it is read: when a message was sent is no event in it."""
RELATIONS = 1000
"""Relations of an entity that are read, the heaviest first."""


def read_timeline(
    store: Store,
    snapshot: Snapshot,
    entity_id: int,
    *,
    limit: int,
    period: Period | None = None,
    as_of: datetime | None = None,
) -> list[TimelineEntry]:
    """The entity's relations and the dated sentences that name it, earliest first.

    At one moment, what ends comes before what begins, and what is shorter before what is longer.
    Of a period, what overlaps it. At most `limit` entries; where there are more, the latest are
    left out. What has no time is not on a timeline.
    """
    # The entity's dated passages, at the time that each speaks of, else when it was said.
    ids = store.entity_chunks(entity_id).tolist()
    if as_of is not None:
        known = set(store.chunks_as_of(as_of).tolist())
        ids = [id_ for id_ in ids if id_ in known]
    times, said, origins = store.chunk_times(ids), store.published_at(ids), store.provenance(ids)
    sentences = store.sentences(ids)
    # Ordinals of the sentences that name an entity by chunk id; -1: the title or a heading.
    row = snapshot.entity_rows([entity_id]).get(entity_id)
    found: dict[int, set[int]] = {}
    for sentence in () if row is None else snapshot.entity_sentences.row(row).tolist():
        chunk = int(snapshot.sentence_chunk[sentence])
        ordinal = sentence - int(snapshot.sentence_starts[chunk]) - 1
        found.setdefault(int(snapshot.chunk_ids[chunk]), set()).add(ordinal)
    entries = [
        *_relations(store, entity_id, as_of),
        *(
            [
                TimelineEntry(
                    period=period,
                    text=" ".join(text.split()),
                    reference=chunk.public_id,
                    provenance=origins.get(chunk.id),
                )
                for chunk in store.chunks(ids)
                for period, text in _told(
                    chunk,
                    sentences.get(chunk.id, ()),
                    found.get(chunk.id, set()),
                    times.get(chunk.id, ()),
                    chunk.id in said,
                )
            ]
        ),
    ]
    if period is not None:
        entries = [entry for entry in entries if entry.period.overlaps(period)]
    last = datetime.max.replace(tzinfo=UTC)
    entries.sort(
        key=lambda entry: (
            *(entry.period.start or entry.period.end or last, entry.period.start is not None),
            *(entry.period.end or last, entry.text, entry.reference),
        )
    )
    distinct = {(entry.period, entry.text): entry for entry in entries}
    return list(distinct.values())[:limit]


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


def _told(
    chunk: StoredChunk,
    sentences: Sequence[str],
    naming: Set[int],
    times: Sequence[Period],
    dated: bool,
) -> list[tuple[Period, str]]:
    """The times of a passage that sentences about the entity name, with these sentences.

    A time that no sentence names in these words was worked out from "last month" and the like: the
    passage tells of it. Without any time, when the passage was said.
    """
    # All speak of it where the title or a heading names it; else those that name it, and those that
    # go on from there with a pronoun.
    about: set[int] = set()
    for ordinal, sentence in enumerate(sentences):
        goes_on = ordinal - 1 in about and _GOES_ON.match(sentence)
        if _TITLE in naming or ordinal in naming or goes_on:
            about.add(ordinal)
    about -= {n for n, sentence in enumerate(sentences) if _HEADER.match(sentence)}
    told = []
    for period in times[1:] if dated else times:
        dating = [n for n, s in enumerate(sentences) if period.text and period.text in s]
        if not dating:
            told.append((period, chunk.text))
        elif spoken := " ".join(sentences[ordinal] for ordinal in dating if ordinal in about):
            told.append((period, spoken))
    return told or [(period, chunk.text) for period in times[:1] if dated]
