"""From chunk ids to hits: texts, parents, entities, relations and the thread to each."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.graph.snapshot import distinct
from clew.search.answer.answering_sentence import answering_sentences
from clew.search.walk import sentences_by_owner
from clew.text import says_as_much, shingles
from clew.types import Hit, PathStep, RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Ints, Snapshot
    from clew.search.answer.blocks import RetrievalResult
    from clew.search.ranker import SecondHop
    from clew.search.session import QuerySession
    from clew.search.walk import Coverage
    from clew.stores.store import Store
    from clew.types import (
        CharRange,
        Ids,
        PassageRecord,
        PassageRecords,
        Relation,
        StoredChunk,
    )

    Channel = Literal["vector", "keyword", "graph"]


SHOWN_ENTITIES = 8
"""Entities shown with a hit; the rarest."""
SHOWN_RELATIONS = 8
"""Relations shown with a hit."""
_CHANNELS: tuple[Channel, ...] = ("vector", "keyword", "graph")
EXPLAINED = 20
"""Hits, from the best, whose thread is looked for."""


def build_hits(session: QuerySession, found: RetrievalResult) -> tuple[Hit, ...]:
    """The hits of what was found, in its order, without chunks deleted since."""
    ids, scores = found.ranking.ids.tolist(), found.ranking.by_id()
    channels: dict[str, Mapping[int, float]] = dict(session.channels.scores())
    if (evidence := session.evidence) is not None:
        walked = session.snapshot.chunk_ids[evidence.rows].tolist()
        values = zip(walked, evidence.walk.tolist(), strict=True)
        channels["graph"] = {chunk_id: value for chunk_id, value in values if value > 0}
    channels |= found.scores
    # Public ids of the children that matched, by the chunk that stands for their parent.
    shown = {id_: found.matched[id_] for id_ in ids if id_ in found.matched}
    children = [child for matched in shown.values() for child in matched]
    stored = session.resources.store.chunks(children) if children else ()
    known = {chunk.id: chunk.public_id for chunk in stored}
    view = _GraphView.of(session, found.ranking.ids)
    steps = [step for thread in view.threads.values() for step in thread]
    ends = {step.entity_id for step in steps}.union(*view.mentioned.values())
    through = sorted({step.chunk_id for step in steps})
    records = session.read_records([*ids, *through], sorted(ends))
    passages = [records.passages[id_] for id_ in ids if id_ in records.passages]
    answers = _answers(session, view, passages)
    asked = {seed.entity_id for seed in session.known_seeds}
    hits = []
    for passage in passages:
        id_ = passage.chunk.id
        answer = answers.get(id_)
        page = passage.chunk.page_at((answer or (passage.chunk.start,))[0])
        by = [name for name in _CHANNELS if id_ in channels.get(name, ())]
        # The passage's relations, those of the question's entities first.
        relations = sorted(
            passage.relations if id_ in view.threads else (),
            key=lambda one: one.from_entity_id not in asked and one.to_entity_id not in asked,
        )
        hits.append(
            Hit(
                chunk=replace(passage.chunk, page=page),
                score=scores[id_],
                scores={name: found[id_] for name, found in channels.items() if id_ in found},
                # What none of them found came with its community, parent or neighbour.
                source="hybrid" if len(by) > 1 else by[0] if by else "graph",
                entities=tuple(records.names.get(e, "?") for e in view.mentioned.get(id_, ())),
                relations=tuple(
                    evidence_of(one, records.names, passage) for one in relations[:SHOWN_RELATIONS]
                ),
                path=tuple(_path_step(step, records) for step in view.threads.get(id_, ())),
                matched=tuple(known[c] for c in shown.get(id_, ()) if c in known),
                times=passage.times,
                provenance=replace(passage.provenance, page=page),
                answer=answer,
                confidence=session.confidences.get(id_),
                reading=session.readings.get(id_),
            )
        )
    return tuple(hits)


def _answers(
    session: QuerySession, view: _GraphView, passages: Sequence[PassageRecord]
) -> dict[int, CharRange]:
    """Answering sentences, where hits are explained."""
    if not session.options.explain:
        return {}
    last = {id_: thread[-1] for id_, thread in view.threads.items() if thread}
    within = {id_: step.sentence for id_, step in last.items() if step.chunk_id == id_}
    hop = session.second_hop
    second = None if hop is None else int(session.snapshot.chunk_ids[hop.second])
    # What a second hop answers need not stand beside the name that leads there.
    named = {id_: sentence for id_, sentence in within.items() if id_ == second}
    others = {id_: sentence for id_, sentence in within.items() if id_ != second}
    led_to = [passage for passage in passages if passage.chunk.id == second]
    names = [seed.key for seed in session.known_seeds]
    by_name = answering_sentences(session.question, led_to, named, names)
    by_words = answering_sentences(session.question, passages, others, names)
    # Where the reader holds an answer for likelier than none.
    as_read = {
        passage.chunk.id: (start, end)
        for passage in passages
        if (reading := session.readings.get(passage.chunk.id)) is not None and reading.margin > 0
        for start, end in passage.sentence_ranges
        if start <= reading.span[0] < end
    }
    return by_name | by_words | as_read


class _StoredStep(NamedTuple):
    """A step of a thread, by the ids that the store knows."""

    entity_id: int
    chunk_id: int
    sentence: int
    """Position in the chunk; -1: its context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _GraphView:
    """Entities and threads of the chunks found, by chunk id; empty without graph evidence."""

    mentioned: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Ids of the entities shown."""
    threads: Mapping[int, Sequence[_StoredStep]] = field(default_factory=dict)
    """Of those hits that are explained."""

    @classmethod
    def of(cls, session: QuerySession, chunk_ids: Ids) -> _GraphView:
        """Of the chunks that the snapshot knows."""
        evidence = session.evidence
        if evidence is None or not len(chunk_ids) or not session.options.explain:
            return cls()
        snapshot = session.snapshot
        hits = snapshot.rows(chunk_ids[snapshot.known(chunk_ids)])
        explained = hits[:EXPLAINED]
        bridges = snapshot.sentence_chunk[evidence.bridges.sentences]
        seeds = [seed.row for seed in evidence.analysis.seeds]
        found = find_threads(snapshot, evidence.coverage, seeds, explained, bridges)
        threads = dict(zip(explained.tolist(), found, strict=True))
        hop = session.second_hop
        if hop is not None and hop.second in threads:
            to_first = threads.get(hop.first, ())
            threads[hop.second] = thread_by_hop(snapshot, evidence.coverage, hop, to_first)
        # The question's entities first, then the rarest.
        entries, owner = snapshot.passage_entities.entries(hits)
        rows = snapshot.passage_entities.items[entries]
        best = np.lexsort((rows, -snapshot.entity_idf[rows], ~np.isin(rows, seeds), owner))
        mentioned: dict[int, list[int]] = {id_: [] for id_ in snapshot.chunk_ids[hits].tolist()}
        of_hits, ids = snapshot.chunk_ids[hits[owner[best]]], snapshot.entity_ids[rows[best]]
        for of_hit, entity_id in zip(of_hits.tolist(), ids.tolist(), strict=True):
            if len(mentioned[of_hit]) < SHOWN_ENTITIES:
                mentioned[of_hit].append(entity_id)
        stored: dict[int, list[_StoredStep]] = {}
        for hit, thread in threads.items():
            steps = stored.setdefault(int(snapshot.chunk_ids[hit]), [])
            for step in thread:
                row = int(snapshot.sentence_chunk[step.sentence])
                entity_id = int(snapshot.entity_ids[step.entity])
                sentence = step.sentence - int(snapshot.sentence_starts[row]) - 1
                steps.append(_StoredStep(entity_id, int(snapshot.chunk_ids[row]), sentence))
        return cls(mentioned=mentioned, threads=stored)


def _path_step(step: _StoredStep, records: PassageRecords) -> PathStep:
    """The step in words; its sentence is empty where the chunk has been deleted since."""
    entity = records.names.get(step.entity_id, "?")
    passage = records.passages.get(step.chunk_id)
    if passage is None:
        return PathStep(entity=entity, sentence="", document="")
    known = 0 <= step.sentence < len(passage.sentences)
    text = passage.sentences[step.sentence] if known else passage.chunk.context
    document = passage.chunk.title or passage.chunk.source
    return PathStep(entity=entity, sentence=text.lstrip("# "), document=document)


# Why a passage answers: the thread that led to it, and what it states.
#
# The thread is made of entities and sentences, from the question to the passage. It is looked for
# among the passages found and those that hold the bridges. Passages and entities take turns: a
# step
# leads from an entity, through a passage that mentions it, to another entity of that passage.
# Steps
# through rare entities are shorter (Dijkstra 1959).


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
    entities, passages = _mentions(snapshot, distinct(np.concatenate([hits, others])))
    # (entity and passage before) by entity, and the last entity by passage reached
    came_from: dict[int, tuple[int, int]] = {}
    reached: dict[int, int] = {}
    queue = [(0.0, 1, seed, -1, -1) for seed in seeds]
    heapq.heapify(queue)
    while queue:
        length, hops, entity, before, through = heapq.heappop(queue)
        if entity in came_from:
            continue
        came_from[entity] = before, through
        for passage in passages.get(entity, ()):
            if passage in reached:
                continue
            reached[passage] = entity
            for other in entities[passage] if hops < MAX_HOPS else ():
                if other not in came_from:
                    # 1 and a little more for frequent entities.
                    step = 1.0 + 1.0 / (1.0 + float(snapshot.entity_idf[other]))
                    heapq.heappush(queue, (length + step, hops + 1, other, entity, passage))
    said = _Said(snapshot, coverage, np.array(list(reached), dtype=np.int64))
    threads = []
    for passage in hits.tolist():
        entity, onward = reached.get(passage, -1), -1
        steps: list[ThreadStep] = []
        while entity >= 0:
            steps.append(ThreadStep(entity, said.tying(passage, entity, onward)))
            onward = entity
            entity, passage = came_from[entity]
        threads.append(tuple(reversed(steps)))
    return threads


def _mentions(
    snapshot: Snapshot, passages: Ints
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """What each passage mentions that ties it to others, and what mentions each entity."""
    tied: dict[int, list[int]] = {passage: [] for passage in passages.tolist()}
    mentioning: dict[int, list[int]] = {}
    entries, owner = snapshot.passage_entities.entries(passages)
    found = snapshot.passage_entities.items[entries]
    often = snapshot.entity_frequency[found]
    ties = (often <= COMMON * snapshot.store_size) | (often < 10)
    mentions = passages[owner].tolist(), found.tolist(), ties.tolist()
    for passage, entity, is_tie in zip(*mentions, strict=True):
        mentioning.setdefault(entity, []).append(passage)
        if is_tie:
            tied[passage].append(entity)
    return tied, mentioning


def thread_by_hop(
    snapshot: Snapshot, coverage: Coverage, hop: SecondHop, to_first: Sequence[ThreadStep]
) -> tuple[ThreadStep, ...]:
    """The thread to a second hop by way of its first, whatever else leads there.

    `to_first` is the thread to the first; where there is none, it begins with what both mention.
    """
    passages = snapshot.sentence_chunk[[step.sentence for step in to_first]]
    start: tuple[ThreadStep, ...] = (ThreadStep(hop.entity, hop.sentence),)
    said = _Said(snapshot, coverage, np.array([hop.first, hop.second]))
    if len(passages) and hop.second not in passages:
        entity = to_first[-1].entity
        start = (*to_first[:-1], ThreadStep(entity, said.tying(hop.first, entity, hop.entity)))
    return (*start, ThreadStep(hop.entity, said.tying(hop.second, hop.entity, -1)))


class _Said:
    """What sentences of some passages mention, and how much of the question they cover."""

    def __init__(self, snapshot: Snapshot, coverage: Coverage, passages: Ints) -> None:
        rows, _ = sentences_by_owner(snapshot, passages)
        entries, owner = snapshot.sentence_entities.entries(rows)
        entities = snapshot.sentence_entities.items[entries].tolist()
        self._mentions = set(zip(rows[owner].tolist(), entities, strict=True))
        shares = coverage.share(coverage.sentences(rows))
        self._covered = dict(zip(rows.tolist(), (0.9 * shares).tolist(), strict=True))
        starts, ends = snapshot.sentence_starts[passages], snapshot.sentence_starts[passages + 1]
        self._rows = {
            # Of its context only where it has no sentence.
            passage: range(min(start + 1, end - 1), end)
            for passage, start, end in zip(
                passages.tolist(), starts.tolist(), ends.tolist(), strict=True
            )
        }

    def tying(self, passage: int, entity: int, onward: int) -> int:
        """The passage's sentence that ties the two entities best, then covers the question best."""
        return max(
            self._rows[passage],
            key=lambda row: (
                2 * ((row, onward) in self._mentions)
                + ((row, entity) in self._mentions)
                + self._covered[row]
            ),
        )


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
    origin, said = None, ""
    if passage is not None:
        said = _sentence_of(relation, passage.sentences)
        origin = replace(
            passage.provenance, extractor=relation.extractor, confidence=relation.confidence
        )
        position = -1 if relation.sentence is None else relation.sentence
        if 0 <= position < len(passage.sentence_ranges):
            origin = origin.narrowed(*passage.sentence_ranges[position])
    return RelationEvidence(
        head=names.get(relation.from_entity_id, "?"),
        relation=relation.relation_type,
        tail=names.get(relation.to_entity_id, "?"),
        evidence=said,
        valid_from=relation.valid_from,
        valid_until=relation.valid_until,
        provenance=origin,
    )


def stating_sentences(store: Store, relations: Sequence[Relation]) -> dict[int, str]:
    """The sentence that states each relation, by relation id; empty where none does."""
    texts = store.sentences([r.chunk_id for r in relations if r.chunk_id is not None])
    return {r.id: _sentence_of(r, texts.get(r.chunk_id or 0, ())) for r in relations}


def _sentence_of(relation: Relation, sentences: Sequence[str]) -> str:
    position = -1 if relation.sentence is None else relation.sentence
    return sentences[position] if 0 <= position < len(sentences) else ""


# Passages that say the same: the best is shown, the others are named beside it.


_AT_FIRST = 1.5
"""Passages that are read at first for each that is shown."""
_MOST = 200
"""Passages that are read beyond those shown where too few of them differ."""
_SHARED_WORDS = 0.6
"""Share of a passage's words that another holds which is worth comparing with it."""


def distinct_hits(session: QuerySession, found: RetrievalResult) -> tuple[Hit, ...]:
    """The hits of what was found: at most `limit`, none of which says what a better one does."""
    limit = session.options.limit
    shown: tuple[Hit, ...] = ()
    for depth in (ceil(limit * _AT_FIRST), limit + _MOST):
        hits = build_hits(session, replace(found, ranking=found.ranking.top(depth)))
        shown = _distinct(hits)
        if len(shown) >= limit or len(found.ranking.ids) <= depth:
            break
    return shown[:limit]


def _distinct(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Those that say what no better one says, each with the others that say the same."""
    shingles_of = cache(shingles)
    shown: list[tuple[Hit, set[str]]] = []
    others: dict[int, list[StoredChunk]] = defaultdict(list)
    for hit in hits:
        text, words = hit.chunk.text, set(hit.chunk.text.split())
        # Few texts share most of their words, so that few are taken apart.
        same = (
            better.chunk.id
            for better, held in shown
            if len(words & held) >= _SHARED_WORDS * len(words)
            and says_as_much(shingles_of(better.chunk.text), shingles_of(text))
        )
        if better := next(same, None):
            others[better].append(hit.chunk)
        else:
            shown.append((hit, words))
    return tuple(
        replace(hit, also_in=tuple(others[hit.chunk.id])) if hit.chunk.id in others else hit
        for hit, _ in shown
    )
