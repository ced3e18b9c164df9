"""From chunk ids to hits: texts, parents, entities, relations and the thread to each."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.graph.knowledge import distinct_facts
from clew.graph.snapshot import distinct, term_hashes
from clew.search.question import compared_sides, find_names
from clew.search.walk import find_terms_in, sentences_by_owner
from clew.text import (
    question_language,
    question_terms,
    says_as_much,
    sentence_terms,
    shingles,
    terms,
)
from clew.types import Hit, PathStep, RelationEvidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set
    from datetime import datetime

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


def distinct_hits(session: QuerySession, found: RetrievalResult) -> tuple[Hit, ...]:
    """The hits of what was found: at most `limit`, none of which says what a better one does.

    In the order of what was found, without chunks deleted since.
    """
    limit, ids = session.options.limit, found.ranking.ids
    for depth in _depths(limit, len(ids)):
        view = _GraphView.of(session, ids[:depth])
        steps = [step for thread in view.threads.values() for step in thread]
        ends = {step.entity_id for step in steps}.union(*view.mentioned.values())
        through = sorted({step.chunk_id for step in steps})
        records = session.read_records([*ids[:depth].tolist(), *through], sorted(ends))
        passages = [p for id_ in ids[:depth].tolist() if (p := records.passages.get(id_))]
        shown = _distinct(passages)
        if (most := session.options.per_document) is not None:
            shown = _of_each(shown, most)
        if len(shown) >= limit or len(ids) <= depth:
            break
    answers = _answers(session, passages)
    return _build_hits(session, found, view, shown[:limit], answers)


def _depths(limit: int, found: int) -> Iterator[int]:
    """How many of what was found are looked at: a few, and more while too few differ."""
    depth = ceil(limit * _AT_FIRST)
    yield depth
    depth = limit + _MOST
    while depth < found:
        yield depth
        depth *= 2
    yield depth


def _build_hits(
    session: QuerySession,
    found: RetrievalResult,
    view: _GraphView,
    shown: Sequence[tuple[PassageRecord, Sequence[PassageRecord]]],
    answers: Mapping[int, CharRange],
) -> tuple[Hit, ...]:
    """The hits of passages, each with the others that say the same."""
    scores, records = found.ranking.by_id(), session.records
    channels: dict[str, Mapping[int, float]] = dict(session.channels.scores())
    if (evidence := session.evidence) is not None:
        walked = session.snapshot.chunk_ids[evidence.rows].tolist()
        values = zip(walked, evidence.walk.tolist(), strict=True)
        channels["graph"] = {chunk_id: value for chunk_id, value in values if value > 0}
    channels |= found.scores
    # Public ids of the children that matched, by the chunk that stands for their parent.
    matched = [found.matched.get(passage.chunk.id, ()) for passage, _ in shown]
    children = [child for own in matched for child in own]
    stored = session.resources.store.chunks(children) if children else ()
    public = {chunk.id: chunk.public_id for chunk in stored}
    asked = {seed.entity_id for seed in session.known_seeds}
    hits = []
    for (passage, others), own in zip(shown, matched, strict=True):
        id_ = passage.chunk.id
        chunk = _on_page(passage.chunk, answers)
        by = [name for name in _CHANNELS if id_ in channels.get(name, ())]
        # The passage's relations, those of the question's entities first.
        relations = sorted(
            passage.relations if id_ in view.threads else (),
            key=lambda one: one.from_entity_id not in asked and one.to_entity_id not in asked,
        )
        hits.append(
            Hit(
                chunk=chunk,
                score=scores[id_],
                scores={name: found[id_] for name, found in channels.items() if id_ in found},
                # What none of them found came with its community, parent or neighbour.
                source="hybrid" if len(by) > 1 else by[0] if by else "graph",
                entities=tuple(records.names.get(e, "?") for e in view.mentioned.get(id_, ())),
                relations=tuple(
                    evidence_of(one, records.names, passage) for one in relations[:SHOWN_RELATIONS]
                ),
                path=tuple(_path_step(step, records) for step in view.threads.get(id_, ())),
                matched=tuple(public[child] for child in own if child in public),
                times=passage.times,
                provenance=replace(passage.provenance, page=chunk.page),
                also_in=tuple(_on_page(other.chunk, answers) for other in others),
                answer=answers.get(id_),
                confidence=session.confidences.get(id_),
                reading=session.readings.get(id_),
            )
        )
    return tuple(hits)


def _on_page(chunk: StoredChunk, answers: Mapping[int, CharRange]) -> StoredChunk:
    """The chunk with the page of its answering sentence, if it has one."""
    if not chunk.page_starts:  # it is on one page
        return chunk
    return replace(chunk, page=chunk.page_at(answers.get(chunk.id, (chunk.start,))[0]))


# Passages that say the same: the best is shown, the others are named beside it.


_AT_FIRST = 1.5
"""Passages that are read at first for each that is shown."""
_MOST = 200
"""Passages that are read beyond those shown where too few of them differ."""
_SHARED_WORDS = 0.6
"""Share of a passage's words that another holds which is worth comparing with it."""


def _of_each(
    shown: Sequence[tuple[PassageRecord, list[PassageRecord]]], most: int
) -> list[tuple[PassageRecord, list[PassageRecord]]]:
    """The first passages of each document, `most` at most, in their order."""
    seen: Counter[str] = Counter()
    kept = []
    for passage, others in shown:
        seen[passage.chunk.document_id] += 1
        if seen[passage.chunk.document_id] <= most:
            kept.append((passage, others))
    return kept


def _distinct(
    passages: Sequence[PassageRecord],
) -> list[tuple[PassageRecord, list[PassageRecord]]]:
    """Those that say what no better one says, each with the others that say the same."""
    shingles_of = cache(shingles)
    shown: list[tuple[PassageRecord, list[PassageRecord]]] = []
    held: list[set[str]] = []
    for passage in passages:
        text, words = passage.chunk.text, set(passage.chunk.text.split())
        # Few texts share most of their words, so that few are taken apart.
        same = (
            others
            for (better, others), known in zip(shown, held, strict=True)
            if len(words & known) >= _SHARED_WORDS * len(words)
            and says_as_much(shingles_of(better.chunk.text), shingles_of(text))
        )
        if (others := next(same, None)) is not None:
            others.append(passage)
        else:
            shown.append((passage, []))
            held.append(words)
    return shown


# The entities of passages, and the threads to them, by the ids that the store knows.


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


def read_facts(
    store: Store, relations: Sequence[Relation], moment: datetime
) -> list[RelationEvidence]:
    """Return the relations as people read them, each fact once, counted."""
    facts = distinct_facts(relations, moment)
    read = read_relations(store, [one for one, _ in facts])
    return [replace(one, statements=said) for one, (_, said) in zip(read, facts, strict=True)]


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


# The sentence of a passage that answers, by words of the question and by the thread.


_LEAST_MARGIN = -2.0
"""Margin of a reading from which its span is worth more than other signs of the sentence."""
_HANDED_ON = 0.5
"""Of what a question or a heading in a passage counts, what the sentence behind it does."""
_NAMED = 0.5
"""What a term of a name counts, next to the others."""
_ASKS = tuple("?\uff1f\u061f")


def _answers(session: QuerySession, passages: Sequence[PassageRecord]) -> dict[int, CharRange]:
    """Ranges in their documents of the sentences that answer best, where hits are explained.

    A sentence counts by the share of the question's terms that it holds, each weighed by its rarity
    among the sentences of all these passages (log((n + 1) / (df + 0.5))). Terms of names count
    half: the question asks something of them. A question in the text says nothing: half of what it
    counts goes to the sentence behind it, and so does half of a heading. Passages without any such
    sign have no answering sentence. What the reader holds for likelier than none goes before all
    that. Only what `can_answer` does.
    """
    if not session.options.explain:
        return {}
    languages = {passage.chunk.language for passage in passages}
    asked = question_terms(session.question, languages)
    names = [seed.key for seed in session.known_seeds]
    named = {term for name in names for term in question_terms(name, languages)}
    held = _terms_of_sentences(session, passages, asked)
    everything = [words for of_one in held for words in of_one]
    frequency = Counter(word for words in everything for word in words)
    rarity = {word: math.log((len(everything) + 1) / (frequency[word] + 0.5)) for word in asked}
    counted = {w: max(rare, 0.01) * (_NAMED if w in named else 1) for w, rare in rarity.items()}
    total = math.fsum(counted.values()) or 1.0
    weights = {word: weight / total for word, weight in counted.items()}
    found: dict[int, CharRange] = {}
    for passage, of_sentences in zip(passages, held, strict=True):
        id_, ranges = passage.chunk.id, passage.sentence_ranges
        # Exact sums: in whatever order the words are, sentences with the same are equal.
        values = [math.fsum([weights[word] for word in words]) for words in of_sentences]
        may = [can_answer(passage.chunk, *one) for one in ranges]
        best = _best(passage, values, may)
        reading = session.readings.get(id_)
        if reading is not None and reading.margin > _LEAST_MARGIN:
            at = reading.span[0]
            best = next((n for n, (start, end) in enumerate(ranges) if start <= at < end), best)
        if best is not None and may[best]:
            found[id_] = ranges[best]
    return found


def _terms_of_sentences(
    session: QuerySession, passages: Sequence[PassageRecord], asked: Sequence[str]
) -> list[Sequence[Set[str]]]:
    """Those of the terms asked for that each sentence of each passage holds.

    Of passages that the graph was walked over, as its snapshot has them; of others by their texts.
    """
    known = _terms_by_row(session, [passage.chunk for passage in passages], asked)
    found: list[Sequence[Set[str]]] = []
    for passage in passages:
        if passage.chunk.id in known:
            found.append(known[passage.chunk.id][1:])
        else:
            words = sentence_terms(passage.sentences, passage.chunk.language)
            found.append([set(asked).intersection(own) for own in words])
    return found


def _terms_by_row(
    session: QuerySession, chunks: Sequence[StoredChunk], asked: Sequence[str]
) -> dict[int, list[set[str]]]:
    """By id of chunks that the graph was walked over: terms asked for in context and sentences."""
    if session.evidence is None:
        return {}
    snapshot = session.snapshot
    ids = np.array([chunk.id for chunk in chunks], dtype=np.int64)
    ids = ids[snapshot.known(ids)]
    rows, there = snapshot.find_terms(term_hashes(asked))
    sentences, owner = sentences_by_owner(snapshot, snapshot.rows(ids))
    place, term = find_terms_in(snapshot, rows[there], sentences)
    words = [word for word, held in zip(asked, there.tolist(), strict=True) if held]
    found: dict[int, list[set[str]]] = {id_: [] for id_ in ids.tolist()}
    of_rows: list[set[str]] = [set() for _ in sentences]
    for own, id_ in zip(of_rows, ids[owner].tolist(), strict=True):
        found[id_].append(own)
    for at, which in zip(place.tolist(), term.tolist(), strict=True):
        of_rows[at].add(words[which])
    return found


def _best(passage: PassageRecord, values: Sequence[float], may: Sequence[bool]) -> int | None:
    told, handed_on = [0.0] * len(values), 0.0
    for place, (text, value) in enumerate(zip(passage.sentences, values, strict=True)):
        line = text.strip()
        if may[place] and not line.rstrip("\"'”») ").endswith(_ASKS):
            told[place], handed_on = max(value, handed_on), 0.0
        elif may[place] or line.startswith("#") or line == passage.chunk.title:
            handed_on = max(handed_on, _HANDED_ON * value)
    return told.index(max(told)) if max(told, default=0.0) > 0 else None


def can_answer(chunk: StoredChunk, start: int, end: int) -> bool:
    """Whether a sentence of a passage, by its range in the document, says anything.

    Titles and headings do not, nor do headers of a message, lines quoted from another, and lines
    without letters and digits.
    """
    line = chunk.text[start - chunk.start : end - chunk.start].strip()
    return (
        any(map(str.isalnum, line))
        and not line.startswith(("#", ">"))
        and line != chunk.title
        and start >= header_end(chunk)
        and not is_bare(chunk)
    )


def is_bare(chunk: StoredChunk) -> bool:
    """Whether it is a card without a description: it says no more than the name."""
    return chunk.is_card and ": " not in chunk.text.removeprefix(chunk.title)


def header_end(chunk: StoredChunk) -> int:
    """Where the lines end, in the document, that say who sent a message; 0 where there are none."""
    if not chunk.text.startswith("From: "):
        return 0
    end = chunk.text.find("\n\n")
    return chunk.start + (len(chunk.text) if end < 0 else end)


# What a question asks about its names and no passage says: a name alone is no answer.
#
# The ranker knows the words of a question that the store holds. Of one that it does not hold,
# "salary" in "What is the salary of Marta Kovalenko?", it sees nothing: the name is all there is.


_SHARED_START = 5
"""Letters with which two words of one family begin alike, at least: "repair", "repaired"."""


_MOST_LOST = 0.9
"""Share of the confidence that is lost where nothing asked is said, nor anything like it."""
_ALIKE = (0.1, 0.3)
"""Cosine of what is asked and the best passage: up to the first it says nothing like it, from the
second enough."""
_LIKELY = 0.5
"""Share of the best confidence from which a passage is compared."""


def without_unsaid(session: QuerySession, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits, less sure where none says what is asked about the names of the question.

    Words count by stem and by family. Where words are missing, the passage nearest in meaning to
    all that is asked besides the names decides. Texts in another language than the question's have
    other words for all of it: they are left as they are.
    """
    best = max((hit.confidence or 0.0 for hit in hits), default=0.0)
    likely = [hit.chunk for hit in hits if (hit.confidence or 0.0) >= _LIKELY * best]
    language = question_language(session.question, session.languages)
    if not best or any((chunk.language or "en") != language for chunk in likely):
        return hits
    asked = _asked_words(session)
    unsaid = unsaid_share(session, asked, [hit.chunk for hit in hits])
    lost = unsaid and _MOST_LOST * unsaid * (1 - _said_otherwise(session, asked, likely))
    if not lost:
        return hits
    return tuple(
        hit if hit.confidence is None else replace(hit, confidence=hit.confidence * (1 - lost))
        for hit in hits
    )


def _said_otherwise(
    session: QuerySession, asked: Sequence[str], chunks: Sequence[StoredChunk]
) -> float:
    """0 to 1: how near in meaning the best passage is to what is asked besides the names."""
    terms_of = partial(question_terms, languages=session.languages)
    words = [w for w in session.question.split() if not set(asked).isdisjoint(terms_of(w))]
    held = np.array([c.id for c in chunks if c.id not in session.earlier], np.int64)
    if not words or not len(held):
        return 1.0
    kept, embedder = session.resources.query_vectors, session.resources.embedder
    vector = kept.get_or_make(" ".join(words), partial(embedder.embed_query, " ".join(words)))
    nearest = float((session.vectors_of(held) @ vector).max())
    return float(np.interp(nearest, _ALIKE, (0.0, 1.0)))


def unsaid_share(
    session: QuerySession, asked: Sequence[str], chunks: Sequence[StoredChunk]
) -> float:
    """Share, 0 to 1, of the terms asked that none of the passages says.

    Terms weigh their rarity; one that the store does not hold is as rare as one held once.
    """
    exactly = chain.from_iterable(_terms_by_row(session, chunks, asked).values())
    missing = sorted(set(asked).difference(*exactly), key=asked.index)
    for chunk in chunks:
        if not missing:
            return 0.0
        said = set(terms(f"{chunk.title}\n{chunk.context}\n{chunk.text}", chunk.language))
        missing = [term for term in missing if not _is_said(term, said)]
    if not missing:
        return 0.0
    snapshot = session.snapshot
    most = math.log(snapshot.size + 1)
    found = {term: snapshot.term_rows([term]) for term in asked}
    weights = {t: float(snapshot.term_idf[r[0]]) if len(r) else most for t, r in found.items()}
    return sum(weights[term] for term in missing) / sum(weights.values())


def _asked_words(session: QuerySession) -> list[str]:
    """Terms of the question that belong to no name; none for a question without names."""
    languages, keys = session.languages, [seed.key for seed in session.known_seeds]
    # German writes every noun with a capital.
    by_capitals = question_language(session.question, languages) != "de"
    found = find_names(session.question, keys) if by_capitals else ([], [])
    names = [name for some in found for name in some]
    named = {term for name in (*keys, *names) for term in question_terms(name, languages)}
    # That two things are compared is said by neither.
    asked = " ".join(compared_sides(session.question)) or session.question
    words = question_terms(asked, languages)
    return [term for term in words if term not in named] if named else []


def _is_said(term: str, said: set[str]) -> bool:
    start = term[: max(_SHARED_START, len(term) - 2)]
    return term in said or any(
        word.startswith(start) or (len(word) >= _SHARED_START and term.startswith(word))
        for word in said
    )
