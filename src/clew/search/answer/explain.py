"""Why a passage answers: the thread that led to it, and what it states.

The thread is made of entities and sentences, from the question to the passage. It is looked for
among the passages found and those that hold the bridges. Passages and entities take turns: a step
leads from an entity, through a passage that mentions it, to another entity of that passage. Steps
through rare entities are shorter (Dijkstra 1959).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct
from clew.types import RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Ints, Snapshot
    from clew.ports import Store
    from clew.search.ranking.second_hop import SecondHop
    from clew.search.retrieval.bridge import Coverage
    from clew.types import PassageRecord, Provenance, Relation


MAX_HOPS = 5
"""Entities on a thread, at most."""
COMMON = 0.2
"""Entities in more than this share of the store's passages (and in ten or more) tie nothing."""


@dataclass(frozen=True, slots=True)
class ThreadStep:
    """From an entity through a sentence; all are rows of the snapshot."""

    entity: int
    sentence: int


def find_threads(
    snapshot: Snapshot, coverage: Coverage, seeds: Sequence[int], hits: Ints, others: Ints
) -> list[tuple[ThreadStep, ...]]:
    """For each hit (rows), the shortest thread from a seed to it; empty where there is none.

    `others` are passages that a thread may also lead through.
    """
    pool = _Pool(snapshot, distinct(np.concatenate([hits, others])))
    came_from, reached = _search(pool, seeds)
    return [_thread(pool, coverage, came_from, reached, int(hit)) for hit in hits]


def thread_by_hop(
    snapshot: Snapshot, coverage: Coverage, hop: SecondHop, to_first: Sequence[ThreadStep]
) -> tuple[ThreadStep, ...]:
    """The thread to a second hop by way of its first, whatever else leads there.

    `to_first` is the thread to the first; where there is none, it begins with what both mention.
    """
    passages = snapshot.sentence_chunk[[step.sentence for step in to_first]]
    start: tuple[ThreadStep, ...] = (ThreadStep(hop.entity, hop.sentence),)
    if len(passages) and hop.second not in passages:
        entity = to_first[-1].entity
        tied = _sentence(snapshot, coverage, hop.first, entity, hop.entity)
        start = (*to_first[:-1], ThreadStep(entity, tied))
    said = _sentence(snapshot, coverage, hop.second, hop.entity, -1)
    return (*start, ThreadStep(hop.entity, said))


class _Pool:
    """The passages that threads may lead through, and what they mention."""

    def __init__(self, snapshot: Snapshot, passages: Ints) -> None:
        self.snapshot = snapshot
        self.entities: dict[int, list[int]] = {passage: [] for passage in passages.tolist()}
        self.passages: dict[int, list[int]] = {}
        entries, owner = snapshot.passage_entities.entries(passages)
        found = snapshot.passage_entities.items[entries]
        often = snapshot.entity_frequency[found]
        ties = (often <= COMMON * snapshot.store_size) | (often < 10)
        mentions = passages[owner].tolist(), found.tolist(), ties.tolist()
        for passage, entity, is_tie in zip(*mentions, strict=True):
            self.passages.setdefault(entity, []).append(passage)
            if is_tie:
                self.entities[passage].append(entity)

    def length(self, entity: int) -> float:
        """Length of a step to this entity: 1 and a little more for frequent ones."""
        return 1.0 + 1.0 / (1.0 + float(self.snapshot.entity_idf[entity]))


def _search(
    pool: _Pool, seeds: Sequence[int]
) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[float, int]]]:
    """(entity and passage before) by entity, and (length, last entity) by passage reached."""
    came_from: dict[int, tuple[int, int]] = {}
    done: set[int] = set()
    reached: dict[int, tuple[float, int]] = {}
    queue = [(0.0, 1, seed, -1, -1) for seed in seeds]
    heapq.heapify(queue)
    while queue:
        length, hops, entity, before, through = heapq.heappop(queue)
        if entity in done:
            continue
        done.add(entity)
        came_from[entity] = (before, through)
        for passage in pool.passages.get(entity, ()):
            if passage in reached:
                continue
            reached[passage] = (length, entity)
            if hops < MAX_HOPS:
                for other in pool.entities[passage]:
                    if other not in done:
                        step = length + pool.length(other)
                        heapq.heappush(queue, (step, hops + 1, other, entity, passage))
    return came_from, reached


def _thread(
    pool: _Pool,
    coverage: Coverage,
    came_from: dict[int, tuple[int, int]],
    reached: dict[int, tuple[float, int]],
    hit: int,
) -> tuple[ThreadStep, ...]:
    if hit not in reached:
        return ()
    entity, passage, onward = reached[hit][1], hit, -1
    steps: list[ThreadStep] = []
    while entity >= 0:
        sentence = _sentence(pool.snapshot, coverage, passage, entity, onward)
        steps.append(ThreadStep(entity, sentence))
        onward = entity
        entity, passage = came_from[entity]
    return tuple(reversed(steps))


def _sentence(
    snapshot: Snapshot, coverage: Coverage, passage: int, entity: int, onward: int
) -> int:
    """The passage's sentence that ties the two entities best, then covers the question best."""
    start, end = snapshot.sentence_starts[passage : passage + 2].tolist()
    first = min(start + 1, end - 1)
    # The sentences are few, and their entities: lists are faster than arrays here.
    entries, owner = snapshot.sentence_entities.entries(np.arange(first, end))
    found = snapshot.sentence_entities.items[entries]
    covered = (0.9 * coverage.of_sentences(passage)[first - end :]).tolist()
    mentions = set(zip(owner.tolist(), found.tolist(), strict=True))
    ties = [
        2 * ((place, onward) in mentions) + ((place, entity) in mentions) + share
        for place, share in enumerate(covered)
    ]
    return int(first) + ties.index(max(ties))


# --- relations as people read them, with the sentence that says so -----------------------


def read_relations(store: Store, relations: Sequence[Relation]) -> list[RelationEvidence]:
    """The relations with names, sentences and where these stand, in the order given."""
    if not relations:
        return []
    ends = {end for r in relations for end in (r.from_entity_id, r.to_entity_id)}
    stating = list(dict.fromkeys(r.chunk_id for r in relations if r.chunk_id is not None))
    found = store.passage_records(stating, sorted(ends))
    return [evidence_of(r, found.names, found.passages.get(r.chunk_id or 0)) for r in relations]


def evidence_of(
    relation: Relation, names: Mapping[int, str], passage: PassageRecord | None
) -> RelationEvidence:
    """A relation with the names of its ends and what its passage says of it, if that is there."""
    return RelationEvidence(
        head=names.get(relation.from_entity_id, "?"),
        relation=relation.relation_type,
        tail=names.get(relation.to_entity_id, "?"),
        evidence="" if passage is None else _sentence_of(relation, passage.sentences),
        valid_from=relation.valid_from,
        valid_until=relation.valid_until,
        provenance=None if passage is None else _origin(relation, passage),
    )


def stating_sentences(store: Store, relations: Sequence[Relation]) -> dict[int, str]:
    """The sentence that states each relation, by relation id; empty where none does."""
    texts = store.sentences([r.chunk_id for r in relations if r.chunk_id is not None])
    return {r.id: _sentence_of(r, texts.get(r.chunk_id or 0, ())) for r in relations}


def _sentence_of(relation: Relation, sentences: Sequence[str]) -> str:
    position = -1 if relation.sentence is None else relation.sentence
    return sentences[position] if 0 <= position < len(sentences) else ""


def _origin(relation: Relation, passage: PassageRecord) -> Provenance:
    """Where the passage comes from, narrowed to the sentence."""
    origin = replace(
        passage.provenance, extractor=relation.extractor, confidence=relation.confidence
    )
    position = -1 if relation.sentence is None else relation.sentence
    if not 0 <= position < len(passage.sentence_ranges):
        return origin
    start, end = passage.sentence_ranges[position]
    return origin.narrowed(start, end)
