"""The state of one question on its way through the steps, and what it needs of the engine."""

from __future__ import annotations

import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

import numpy as np

from clew.graph.snapshot import Neighbourhood
from clew.ports import NearbyQuery
from clew.request_end import go_on
from clew.search.channels import DEPTH, Channels, Ranking, RowValues, allowed_chunks, read_earlier
from clew.search.features import (
    ChannelScores,
    Evidence,
    VectorReader,
    gather,
    look_onward,
    read_first_stage_features,
)
from clew.search.options import CONTEXTUAL_DEPTH
from clew.search.question import (
    MAX_TERMS,
    WORDING,
    Analysis,
    analyse,
    candidate_keys,
    question_form,
)
from clew.search.ranker import rank_candidates
from clew.search.reading import Read, can_be_read
from clew.search.walk import MAX_SEED_SENTENCES, Coverage, find_bridges, personalized_pagerank
from clew.text import question_terms, terms
from clew.types import PassageRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.snapshot import Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.ports import Embedder, LanguageModel, Reader, Reranker, VectorIndex
    from clew.search.channels import EarlierPassage
    from clew.search.options import Options
    from clew.search.question import AskedTime, Seed
    from clew.search.ranker import Ranker, SecondHop
    from clew.search.route import Features, Route
    from clew.search.walk import Bridges
    from clew.settings import Settings
    from clew.stores.communities import Communities
    from clew.stores.store import Store
    from clew.types import Ids, Period, Reading, Relation, StoredSection, Vector

    Applied = Literal["filtered", "preferred", "ordered", "none"]


MAX_QUESTION = 20_000
"""Characters of a question that are read."""
ONE_SET = (
    "rag_type traditional searched the vectors of passages with their title and context, as"
    " contextual does: there are no others; embed.vectors 'both' makes those of the texts alone"
)


@dataclass(kw_only=True)
class QuerySession:
    """One question with its filters, and what the steps have found; each is computed when needed.

    `for_question` and `filtered` derive further sessions. These share the notes, the timings and
    the views of the indexes; what depends on the words or on the filters is computed for each.
    """

    resources: SearchResources
    question: str
    options: Options
    allowed: Ids | None
    """Sorted ids of the chunks that pass the filters; None: all."""
    applied: Applied = "none"
    """What was done about the period asked for."""
    timings: Timings
    views: IndexViews
    earlier: Mapping[int, EarlierPassage] = field(default_factory=dict)
    """By chunk id: passages that stood at the moment asked for and were replaced since."""
    notes: list[str] = field(default_factory=list)
    records: PassageRecords = field(default_factory=lambda: PassageRecords(passages={}, names={}))
    """Filled by `read_records`."""
    evidence: Evidence | None = None
    """Filled by `gather`."""
    confidences: dict[int, float] = field(default_factory=dict)
    """Probability that a passage answers, by chunk id; filled by `rank`, shared with `filtered`."""
    second_hop: SecondHop | None = None
    """Filled by `rank`."""
    readings: dict[int, Reading] = field(default_factory=dict)
    """What the reader says of the best passages, by chunk id; filled by `rank`."""
    found_analysis: Analysis | None = None
    """Filled by `analysis`."""
    found_time: AskedTime | None = None
    """Filled by `read_asked_time`."""
    of_period: bool = False
    """Whether all that is let through is of the period that the question names, so that a passage
    need not name it to answer."""

    @classmethod
    def start(cls, resources: SearchResources, question: str, options: Options) -> QuerySession:
        """The session of a question as the caller asks it."""
        timings = Timings()
        by_caller = options.period is not None or options.as_of is not None
        return cls(
            resources=resources,
            question=question,
            options=options,
            allowed=allowed_chunks(resources.store, options),
            applied="filtered" if by_caller else "none",
            timings=timings,
            views=IndexViews(resources, timings),
            earlier=read_earlier(resources.store, options),
            notes=resources.store.unknown_fields(options.where),
        )

    def for_question(self, question: str) -> QuerySession:
        """A session for another question under the same filters."""
        fresh = replace(self, evidence=None, second_hop=None, found_analysis=None)
        return replace(fresh, question=question, confidences={}, readings={}, found_time=None)

    def filtered(self, chunk_ids: Ids) -> QuerySession:
        """A session for the same question, limited to those of these chunks that are allowed."""
        allowed = chunk_ids[self.allows(chunk_ids)]
        found = self.found_analysis if self.views.in_memory else None  # by rows of the snapshot
        fresh = replace(self, evidence=None, second_hop=None)
        return replace(fresh, allowed=allowed, found_analysis=found)

    def note(self, *remarks: str) -> None:
        """Add to the notes, each remark once."""
        self.notes += [remark for remark in remarks if remark not in self.notes]

    def read_records(self, chunk_ids: Sequence[int], entity_ids: Sequence[int]) -> PassageRecords:
        """Read in one trip all that the hits show of chunks and entities."""
        seeds = [seed.entity_id for seed in self.known_seeds]
        held = [id_ for id_ in dict.fromkeys(chunk_ids) if id_ not in self.earlier]
        entities, as_of = [*entity_ids, *seeds], self.options.as_of
        records = self.resources.store.passage_records(held, entities, as_of=as_of)
        earlier = {id_: self.earlier[id_].record for id_ in chunk_ids if id_ in self.earlier}
        self.records = replace(records, passages={**records.passages, **earlier})
        return self.records

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """Sections in the order of the ids; from `records` where all are there."""
        known = {p.section.id: p.section for p in self.records.passages.values()}
        if all(id_ in known for id_ in section_ids):
            return [known[id_] for id_ in section_ids]
        return self.resources.store.sections(section_ids)

    def allows(self, chunk_ids: Ids) -> NDArray[np.bool_]:
        """(n,) whether each chunk may be found."""
        if self.allowed is None:
            return np.ones(len(chunk_ids), dtype=bool)
        return np.isin(chunk_ids, self.allowed)

    @property
    def asked_time(self) -> AskedTime:
        """The time that the question asks for; by its words alone where no step has looked."""
        from clew.search.question import read_time

        if self.found_time is None:
            self.found_time = read_time(self.question, self.options.now)
        return self.found_time

    @property
    def untimed(self) -> str:
        """The question without the words that name its period."""
        phrase = self.asked_time.phrase
        return self.question.replace(phrase, " ") if phrase else self.question

    @property
    def asks_of_period(self) -> bool:
        """Whether all of its period answers: "what was repaired in …?", "notes of …".

        "Why", "who", "how much" and "was there …?" ask for one fact, however few the words.
        """
        of_fact = ("who", "why", "where", "when", "how", "yes_no")
        if self.named_period is None or question_form(self.question) in of_fact:
            return False
        few = len(question_terms(self.untimed)) <= 1 and not self.analysis.seeds
        return few or WORDING["events"].match(self.question) is not None

    @cached_property
    def newest(self) -> datetime | None:
        """The newest date of the store's texts, today at the latest; None where none has a date."""
        return self.resources.store.newest_date(self.options.now)

    @property
    def named_period(self) -> Period | None:
        """The period that the question names; None where the caller gave one, or wants none."""
        if self.options.temporal is False or self.options.period is not None:
            return None
        return self.asked_time.period

    @cached_property
    def route(self) -> Route:
        """The strategy that the question's own words ask for, and why."""
        from clew.search.route import route

        features, model = self._features, self.model
        with self.timings.step("route"):
            if model is None or not self.resources.settings.llm.routing:
                return route(self.question, features, self.resources.preferences.strategies)
            from clew.search.route import route_with_model

            return route_with_model(model, self.question, features)

    @property
    def model(self) -> LanguageModel | None:
        """The language model that is asked: the caller's, else the store's."""
        return self.options.model or self.resources.language_model

    @property
    def alpha(self) -> float:
        """Share of the words in a weighted fusion: the one given, else by the question's kind."""
        from clew.search.route import alpha_for

        given = self.options.alpha
        return alpha_for(self.question, self._features) if given is None else given

    @cached_property
    def _features(self) -> Features:
        from clew.search.route import read_features

        keys = [seed.key for seed in self.analysis.seeds]
        dated = self.resources.store.newest_date() is not None
        return read_features(self.question, keys, asked=self.asked_time, dated=dated)

    @cached_property
    def vector(self) -> Vector:
        """The question's embedding: the caller's, the cache's (`embed_cache`), or the model's."""
        if self.options.vector is not None:
            return np.array(self.options.vector, np.float32)
        kept = self.resources.query_vectors
        step = "embed" if kept.get(self.question) is None else "embed_cache"
        with self.timings.step(step):
            return kept.get_or_make(
                self.question, lambda: self.resources.embedder.embed_query(self.question)
            )

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages of the store's texts."""
        return self.resources.store.languages()

    @property
    def snapshot(self) -> Snapshot:
        """The graph of chunks, sentences and entities, or the part of it around the question."""
        return self.views.snapshot if self.views.in_memory else self._neighbourhood.snapshot

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        with self.timings.step("neighbourhood"):
            return read_neighbourhood(
                self.resources.store,
                Asked(
                    question=self.question,
                    languages=self.languages,
                    vector=self.vector,
                    found=self.channels.both(),
                    allowed=self.allowed,
                    vectors_of=self.vectors_of,
                ),
            )

    @cached_property
    def channels(self) -> Channels:
        """The vector and the keyword channel."""
        kind, resources = self.options.rag_type, self.resources
        if kind == "traditional" and resources.settings.embed.vectors == "one":
            self.note(ONE_SET)
        return Channels(
            vector=lambda: self.vector,
            terms=self._search_terms(),
            vector_index=resources.text_vectors if kind == "traditional" else self.views.vectors,
            keyword_index=resources.store,
            allowed=self.allowed,
            depth=CONTEXTUAL_DEPTH if kind == "contextual" else DEPTH,
        )

    def _search_terms(self) -> list[str]:
        """The question's terms, each once; the rarest where there are very many."""
        found = question_terms(self.question, self.languages)
        if len(found) <= MAX_TERMS:
            return found
        if not self.views.in_memory:
            self.note(f"only the first {MAX_TERMS} words of the question were searched for")
            return found[:MAX_TERMS]
        self.note(f"only the {MAX_TERMS} rarest words of the question were searched for")
        rows = {term: self.views.snapshot.term_rows([term]) for term in found}
        known = [term for term in found if len(rows[term])]
        return sorted(known, key=lambda t: -self.views.snapshot.term_idf[rows[t][0]])[:MAX_TERMS]

    @property
    def analysis(self) -> Analysis:
        """The question's terms and seeds."""
        if self.found_analysis is None:
            names = self.resources.store if self.views.in_memory else self._neighbourhood
            given = self.vector, self.snapshot, names, self.languages
            with self.timings.step("analyse"):
                self.found_analysis = analyse(self.question, *given)
        return self.found_analysis

    @property
    def known_seeds(self) -> Sequence[Seed]:
        """The question's seeds; empty until a step has looked for them."""
        return self.found_analysis.seeds if self.found_analysis else ()

    def gather(self) -> Evidence:
        """Candidates from all channels and from the walk, with their features; made once."""
        if self.evidence is not None:
            return self.evidence
        with self.timings.step("retrieve"):
            found = self.channels.both()
        analysis, snapshot = self.analysis, self.snapshot
        scores = ChannelScores.of(found, snapshot, self.allowed)
        with self.timings.step("bridge"):
            self.evidence = gather(analysis, snapshot, scores, self.vectors_of)
        return self.evidence

    def rank(self, evidence: Evidence) -> Ranking:
        """The candidates in the order of the learned ranker."""
        if not len(evidence.rows):
            return Ranking.empty()
        ids = self.snapshot.chunk_ids[evidence.rows]
        with self.timings.step("rank"):
            vectors = self.vectors_of(ids)
            found = rank_candidates(self.resources.ranker, evidence, self.snapshot, vectors)
        reader = self._reader()
        if reader is not None:
            with self.timings.step("read"):
                asked = self.untimed if self.of_period else self.question
                undated = self.named_period is not None and not self.of_period
                read = Read(asked, evidence, self.snapshot, self.resources.store, undated)
                found = read.order(reader, found, self.readings)
        self.confidences.update(zip(ids.tolist(), found.confidences.tolist(), strict=True))
        self.second_hop = found.second_hop
        return Ranking(ids[found.order], found.scores)

    def _reader(self) -> Reader | None:
        """The reader, where it can read this question.

        It sees no dates of documents: where a period is named it reads what is of that period, and
        of the rest what is of no other. What all of the period answers, or the course of time, has
        no sentence of its own.
        """
        told_apart = self.of_period or self.applied == "preferred" or self.named_period is None
        in_course = self.asks_of_period or self.asked_time.evolution
        if self.options.fast or in_course or not told_apart:
            return None
        return self.resources.reader if can_be_read(self.question) else None

    def judge(self) -> None:
        """Fill `confidences` where the strategy did not rank by what was learned."""
        if self.snapshot.size:
            apart = replace(self, evidence=None)
            apart.rank(apart.gather())

    def trust(self, part: QuerySession) -> None:
        """Have in each passage at least the confidence that a part of the question gives it."""
        for id_, value in part.confidences.items():
            self.confidences[id_] = max(self.confidences.get(id_, 0.0), value)

    @cached_property
    def vectors_of(self) -> VectorReader:
        """Embeddings of chunks; those read before are not read again."""
        return VectorReader(self.views.vectors.vectors)


# The indexes of a store as one question sees them.


IN_MEMORY = 2_000_000
"""Passages of a store whose graph is kept in memory where the settings leave it open."""


def keeps_snapshot(store: Store, settings: Settings) -> bool:
    """Whether questions walk over a snapshot, rather than over what each reads of the store."""
    wanted = settings.search.snapshot
    return wanted == "always" or (wanted == "auto" and store.last_chunk() <= IN_MEMORY)


@dataclass
class IndexViews:
    """The indexes as one question sees them: each is brought up to date once, when first used."""

    resources: SearchResources
    timings: Timings

    @cached_property
    def in_memory(self) -> bool:
        """Whether there is a snapshot; see `QuerySession.snapshot`."""
        return keeps_snapshot(self.resources.store, self.resources.settings)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The graph of chunks, sentences and entities."""
        with self.timings.step("snapshot"):
            return self.resources.snapshot

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index."""
        return self.resources.vectors

    @cached_property
    def communities(self) -> Communities:
        """Communities and topics."""
        return self.resources.communities


# How long the steps of a question take.


@dataclass(slots=True)
class Timings:
    """Milliseconds by step, in order of first use; an inner step counts for itself alone."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    _inner: float = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time spent inside to this step, which is not begun for a request that ended."""
        go_on()
        outer, self._inner = self._inner, 0.0
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = 1000 * (time.perf_counter() - started)
            known = self.milliseconds.get(name, 0.0)
            self.milliseconds[name] = known + spent - self._inner
            self._inner = outer + spent


# What a search needs of the engine.


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a store's domain prefers where a question leaves it open."""

    strategies: Mapping[str, str]
    """By kind of question, in place of the rules' own."""
    hierarchies: tuple[str, ...]
    """As `Options.hierarchy`; the first that has the layer asked for is followed."""


class SearchResources(Protocol):
    """What a search for passages needs."""

    @property
    def store(self) -> Store:
        """Texts, names, relations."""

    @property
    def vectors(self) -> VectorIndex:
        """Vector index over the chunks."""

    @property
    def text_vectors(self) -> VectorIndex:
        """Vector index over the chunks' texts without their context, or the one over both."""

    @property
    def embedder(self) -> Embedder:
        """Embeds questions and names."""

    @property
    def query_vectors(self) -> RecentlyUsed[str, Vector]:
        """Embeddings of earlier questions."""

    @property
    def snapshot(self) -> Snapshot:
        """The graph of chunks, sentences and entities."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the store as its texts spell them."""

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone."""

    @property
    def entity_ranks(self) -> EntityRanks:
        """How important each entity is."""

    @property
    def communities(self) -> Communities:
        """Communities and topics, brought up to date."""

    @property
    def preferences(self) -> Preferences:
        """What is preferred where a question leaves it open."""

    @property
    def ranker(self) -> Ranker:
        """The learned ranker."""

    @property
    def reader(self) -> Reader | None:
        """Reads the best candidates; None where it is off or not installed."""

    @property
    def reranker(self) -> Reranker | None:
        """Cross-encoder; None where none is configured."""

    @property
    def language_model(self) -> LanguageModel | None:
        """None where none is configured."""

    @property
    def settings(self) -> Settings:
        """Settings of the engine."""


# A thread-safe cache of the values used last.


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """At most `size` values by key, and about `megabytes`; the least recently used goes first.

    Threads may share it. A value counts by its length when pickled; one that is larger than all is
    not kept.

    Not `cachetools`: its caches are not thread-safe and refuse a size of 0; this class would stay.
    """

    def __init__(self, size: int, megabytes: float = 16.0) -> None:
        self._size = size
        self._most = self._left = int(megabytes * 1e6)
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value kept under this key; None where there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        return None

    def put(self, key: Key, value: Value) -> None:
        """Keep a value."""
        if not self._size:
            return
        try:
            weight = len(pickle.dumps((key, value), pickle.HIGHEST_PROTOCOL))
        except (TypeError, AttributeError, pickle.PicklingError):
            weight = 1_000_000  # as if it were large
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._left += before
            if weight > self._most:
                return
            self._values[key] = value, weight
            self._left -= weight
            while self._values and (len(self._values) > self._size or self._left < 0):
                _, (_, freed) = self._values.popitem(last=False)
                self._left += freed

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value kept under this key, made and kept where there is none."""
        known = self.get(key)
        if known is None:
            known = make()
            self.put(key, known)
        return known


# The graph, relations and entities under the filters of a question.
#
# A filter selects passages. A tie, a relation or an entity passes where an allowed passage states
# or
# mentions it; what no passage states does not pass. Without filters everything passes.


def filtered_graph(session: QuerySession) -> EntityGraph:
    """The graph of entities, with only those ties whose sentence is in an allowed passage."""
    graph = session.resources.entity_graph
    if session.allowed is None:
        return graph
    return graph.only(np.isin(graph.chunks, session.allowed)[graph.edges])


def filtered_relations(session: QuerySession, relations: Sequence[Relation]) -> list[Relation]:
    """Those relations that an allowed passage states."""
    if session.allowed is None:
        return list(relations)
    stated = np.array([relation.chunk_id or 0 for relation in relations], dtype=np.int64)
    return [r for r, let in zip(relations, session.allows(stated).tolist(), strict=True) if let]


def filtered_entities(session: QuerySession, entity_ids: Sequence[int]) -> list[int]:
    """Those entities, in the order given, that an allowed passage mentions."""
    if session.allowed is None:
        return list(entity_ids)
    snapshot = session.snapshot
    passages = session.allows(snapshot.chunk_ids)
    rows = snapshot.entity_rows(list(entity_ids))
    return [
        id_
        for id_ in entity_ids
        if id_ in rows and passages[snapshot.entity_passages.row(rows[id_])].any()
    ]


# The graph around a question, read from the store in three round trips after the channels' own.
#
# Where a store is larger than this process's memory, it is asked for
#
# 1. the channels' best passages with those beside them, the passages of the entities that the
#    question names, and how common its terms are;
# 2. the passages of the bridges that lead on from there;
# 3. the passages about the entities that the walk then visits most.
#
# Each step runs on what was read before; ranking runs on all of it. An entity of very many
# mentions
# is not followed: its passages are here where something else leads to them.


NEAR = 50
"""Best passages of a channel that are read: as many as have a prior."""
MOST_MENTIONS = 100
"""Mentions of a bridge, or of an entity further on, that is followed, at most."""
ONWARD = 40
"""Entities further on whose own passages are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, and what its channels found."""

    question: str
    languages: frozenset[str]
    vector: Vector
    found: tuple[Ranking, Ranking]
    """By vector and by keyword."""
    allowed: Ids | None
    """Chunks that the filters let through; None for all."""
    vectors_of: VectorReader

    def scores(self, snapshot: Snapshot) -> ChannelScores:
        """What was found, as rows of a snapshot."""
        return ChannelScores.of(self.found, snapshot, self.allowed)


def read_neighbourhood(source: Store, asked: Asked) -> Neighbourhood:
    """The graph around a question, as far as its filters let it reach."""
    near = Neighbourhood(source)
    words = [*question_terms(asked.question, asked.languages), *terms(asked.question)]
    near.read(
        NearbyQuery(
            chunk_ids=np.concatenate([ranking.ids[:NEAR] for ranking in asked.found]).tolist(),
            keys=candidate_keys(asked.question),
            terms=list(dict.fromkeys(words))[: 2 * MAX_TERMS],
            most=MAX_SEED_SENTENCES,
        )
    )
    graph = _Graph(asked, near)
    known, prior = near.snapshot, graph.prior()
    wider = near.read(
        NearbyQuery(
            entity_ids=known.entity_ids[graph.bridges(prior).entities].tolist(),
            counted=known.entity_ids.tolist(),
            most=MOST_MENTIONS,
        )
    )
    rows = wider.rows(known.chunk_ids[prior.rows])
    onward = _Graph(asked, near).onward(RowValues(rows, prior.values)).entities[:ONWARD]
    near.read(NearbyQuery(subjects=wider.entity_ids[onward].tolist(), most=MOST_MENTIONS))
    return near


class _Graph:
    """The question on the graph that has been read so far."""

    def __init__(self, asked: Asked, near: Neighbourhood) -> None:
        self._asked = asked
        self.snapshot = near.snapshot
        given = asked.vector, self.snapshot, near, asked.languages
        self.analysis = analyse(asked.question, *given)
        self.coverage = Coverage(self.analysis, self.snapshot)
        self.channels = asked.scores(self.snapshot)

    def prior(self) -> RowValues:
        """How well each passage answers by itself, 0 to 1."""
        given = self.analysis, self.snapshot, self.channels, self._asked.vectors_of
        return read_first_stage_features(*given).prior

    def bridges(self, prior: RowValues) -> Bridges:
        """The entities that sentences tie to the question."""
        given = self.snapshot, self.coverage, prior, self.channels.allowed
        return find_bridges(self.analysis, *given)

    def onward(self, prior: RowValues) -> Bridges:
        """The entities of the passages that the walk visits most."""
        given = self.bridges(prior), self.snapshot, prior, self.channels.allowed
        walks = personalized_pagerank(self.analysis, *given)
        return look_onward(self.analysis, self.snapshot, self.coverage, walks)
