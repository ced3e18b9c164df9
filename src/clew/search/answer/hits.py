"""From chunk ids to hits: texts, parents, entities, relations and the thread to each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from clew.search.answer.answering_sentence import answering_sentences
from clew.search.answer.explain import ThreadStep, evidence_of, find_threads, thread_by_hop
from clew.types import Hit, PathStep

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clew.graph.snapshot import Snapshot
    from clew.search.answer.result import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import CharRange, Ids, PassageRecord, PassageRecords, RelationEvidence

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
    ids = found.ranking.ids.tolist()
    scores = dict(zip(ids, found.ranking.scores.tolist(), strict=True))
    channels = _channel_scores(session) | dict(found.scores)
    matched = _matched(session, found)
    view = _GraphView.of(session, found.ranking.ids)
    records = session.read_records([*ids, *view.passages], view.entity_ids)
    passages = [records.passages[id_] for id_ in ids if id_ in records.passages]
    answers = _answers(session, view, passages)
    asked = {seed.entity_id for seed in session.known_seeds}
    hits = []
    for passage in passages:
        id_ = passage.chunk.id
        answer = answers.get(id_)
        page = passage.chunk.page_at((answer or (passage.chunk.start,))[0])
        hits.append(
            Hit(
                chunk=replace(passage.chunk, page=page),
                score=scores[id_],
                scores={name: found[id_] for name, found in channels.items() if id_ in found},
                source=_source([name for name in _CHANNELS if id_ in channels.get(name, ())]),
                entities=tuple(records.names.get(e, "?") for e in view.mentioned.get(id_, ())),
                relations=_relations(passage, records, asked) if id_ in view.threads else (),
                path=tuple(_path_step(step, records) for step in view.threads.get(id_, ())),
                matched=matched.get(id_, ()),
                times=passage.times,
                provenance=replace(passage.provenance, page=page),
                also_in=found.also_in.get(id_, ()),
                answer=answer,
                confidence=session.confidences.get(id_),
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
    return by_name | answering_sentences(session.question, passages, others, names)


def _channel_scores(session: QuerySession) -> dict[str, Mapping[int, float]]:
    found: dict[str, Mapping[int, float]] = dict(session.channels.scores())
    evidence = session.evidence
    if evidence is not None:
        ids = session.snapshot.chunk_ids[evidence.rows].tolist()
        walked = zip(ids, evidence.walk.tolist(), strict=True)
        found["graph"] = {chunk_id: value for chunk_id, value in walked if value > 0}
    return found


def _source(channels: Sequence[Channel]) -> Channel | Literal["hybrid"]:
    """A passage that none of the channels found came with its community, parent or neighbour."""
    if not channels:
        return "graph"
    return channels[0] if len(channels) == 1 else "hybrid"


def _matched(session: QuerySession, found: RetrievalResult) -> dict[int, tuple[str, ...]]:
    """Public ids of the children that matched, by the chunk that stands for their parent."""
    shown = {id_: found.matched[id_] for id_ in found.ranking.ids.tolist() if id_ in found.matched}
    children = [child for matched in shown.values() for child in matched]
    known = (
        {c.id: c.public_id for c in session.resources.store.chunks(children)} if children else {}
    )
    return {id_: tuple(known[c] for c in found if c in known) for id_, found in shown.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class _StoredStep:
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
        return cls(
            mentioned={
                int(snapshot.chunk_ids[hit]): snapshot.entity_ids[
                    _rarest(session, int(hit))
                ].tolist()
                for hit in hits
            },
            threads={
                int(snapshot.chunk_ids[hit]): [_step(snapshot, step) for step in thread]
                for hit, thread in threads.items()
            },
        )

    @property
    def passages(self) -> list[int]:
        """The chunks that the threads lead through."""
        return sorted({step.chunk_id for thread in self.threads.values() for step in thread})

    @property
    def entity_ids(self) -> list[int]:
        """All entities that are shown."""
        on_threads = {step.entity_id for thread in self.threads.values() for step in thread}
        return sorted(on_threads.union(*self.mentioned.values()))


def _step(snapshot: Snapshot, step: ThreadStep) -> _StoredStep:
    row = int(snapshot.sentence_chunk[step.sentence])
    return _StoredStep(
        entity_id=int(snapshot.entity_ids[step.entity]),
        chunk_id=int(snapshot.chunk_ids[row]),
        sentence=step.sentence - int(snapshot.sentence_starts[row]) - 1,
    )


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


def _relations(
    passage: PassageRecord, records: PassageRecords, asked: Collection[int]
) -> tuple[RelationEvidence, ...]:
    """The passage's relations, those of the question's entities first."""
    shown = sorted(
        passage.relations,
        key=lambda one: one.from_entity_id not in asked and one.to_entity_id not in asked,
    )
    return tuple(evidence_of(one, records.names, passage) for one in shown[:SHOWN_RELATIONS])


def _rarest(session: QuerySession, hit: int) -> list[int]:
    """The chunk's entities, the question's first, then the rarest."""
    rows = session.snapshot.passage_entities.row(hit)
    rarity = dict(zip(rows.tolist(), session.snapshot.entity_idf[rows].tolist(), strict=True))
    asked = {seed.row for seed in session.analysis.seeds}
    return sorted(rarity, key=lambda row: (row not in asked, -rarity[row], row))[:SHOWN_ENTITIES]
