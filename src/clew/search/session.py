"""One question on its way through the steps, and what it is asked of."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from clew.search.analysis.analyse import MAX_TERMS, Analysis, analyse
from clew.search.ranking.features import Channels as ChannelScores
from clew.search.ranking.features import Evidence, gather
from clew.search.ranking.pairwise_features import pairwise_features
from clew.search.retrieval.channels import Channels, Ranking
from clew.text import terms
from clew.types import PassageRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints, Snapshot
    from clew.ports import CommunityStore, Embedder, LanguageModel, Reranker, Store, VectorIndex
    from clew.search.analysis.analyse import Seed
    from clew.search.analysis.period import AskedTime
    from clew.search.analysis.route import Features, Route
    from clew.search.cache import RecentlyUsed
    from clew.search.options import Options
    from clew.search.ranking.ranker import Ranker
    from clew.settings import Settings
    from clew.types import Ids, Period, StoredSection, Vector, Vectors

    Applied = Literal["filtered", "preferred", "ordered", "none"]


class SearchResources(Protocol):
    """What questions are asked of."""

    @property
    def store(self) -> Store:
        """The truth: texts, names, relations."""
        ...

    @property
    def vectors(self) -> VectorIndex:
        """Nearness of meaning."""
        ...

    @property
    def embedder(self) -> Embedder:
        """Turns the question into a vector."""
        ...

    @property
    def query_vectors(self) -> RecentlyUsed[str, Vector]:
        """Embeddings of questions asked before."""
        ...

    @property
    def name_vectors(self) -> RecentlyUsed[str, Vector]:
        """Embeddings of entities' names."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The graph, as it stands."""
        ...

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone, as it stands."""
        ...

    @property
    def communities(self) -> CommunityStore:
        """Communities and topics, brought up to date."""
        ...

    @property
    def ranker(self) -> Ranker:
        """Ranks candidates by their features."""
        ...

    @property
    def reranker(self) -> Reranker | None:
        """Reads question and passage together; None where none is configured."""
        ...

    @property
    def language_model(self) -> LanguageModel | None:
        """None where none is configured."""
        ...

    @property
    def settings(self) -> Settings:
        """What is not a question's own."""
        ...


@dataclass(slots=True)
class Timings:
    """Milliseconds a step, in the order of the first use; a step within another counts alone."""

    milliseconds: dict[str, float] = field(default_factory=dict)
    _inner: float = 0.0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time spent inside under this name."""
        outer, self._inner = self._inner, 0.0
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = 1000 * (time.perf_counter() - started)
            known = self.milliseconds.get(name, 0.0)
            self.milliseconds[name] = known + spent - self._inner
            self._inner = outer + spent


class QuerySession:
    """A question, what it is asked of, and what the steps found so far (each when first needed)."""

    def __init__(self, resources: SearchResources, question: str, options: Options) -> None:
        self.resources = resources
        self.question = question
        self.options = options
        self.timings = Timings()
        self.notes: list[str] = []
        self.evidence: Evidence | None = None
        self.records = PassageRecords(passages={}, names={})
        """What has been read of the passages found; see `read_records`."""
        by_hand = options.period is not None or options.as_of is not None
        self.applied: Applied = "filtered" if by_hand else "none"
        self.allowed: Ids | None = _allowed(resources.store, options)
        """Sorted ids of the chunks that filters and times given by hand let through; None: all."""

    def note(self, *remarks: str) -> None:
        """Add to the notes, each remark once."""
        self.notes += [remark for remark in remarks if remark not in self.notes]

    def read_records(self, chunk_ids: Sequence[int], entity_ids: Sequence[int]) -> PassageRecords:
        """Read all that is shown of chunks and entities, the question's own among them, at once."""
        seeds = [seed.entity_id for seed in self.known_seeds]
        self.records = self.resources.store.passage_records(
            list(dict.fromkeys(chunk_ids)), [*entity_ids, *seeds], as_of=self.options.as_of
        )
        return self.records

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """Sections in the order of the ids, from what has been read where they are all there."""
        known = {p.section.id: p.section for p in self.records.passages.values()}
        if all(id_ in known for id_ in section_ids):
            return [known[id_] for id_ in section_ids]
        return self.resources.store.sections(section_ids)

    def allows(self, chunk_ids: Ids) -> NDArray[np.bool_]:
        """(n,) whether each chunk may be found."""
        if self.allowed is None:
            return np.ones(len(chunk_ids), dtype=bool)
        return np.isin(chunk_ids, self.allowed)

    def for_question(self, question: str) -> QuerySession:
        """Another question, asked of the same under the same conditions."""
        session = QuerySession.__new__(QuerySession)
        session.__dict__.update(self._shared(), question=question, evidence=None)
        return session

    def filtered(self, chunk_ids: Ids) -> QuerySession:
        """The same question, asked of some of these chunks alone."""
        session = QuerySession.__new__(QuerySession)
        known = {n: self.__dict__[n] for n in ("vector", "analysis") if n in self.__dict__}
        session.__dict__.update(
            self._shared(),
            **known,
            question=self.question,
            allowed=chunk_ids[self.allows(chunk_ids)],
            evidence=None,
        )
        return session

    def _shared(self) -> dict[str, Any]:
        """What does not depend on the question's words; notes and timings go to one account."""
        names = (
            *("library", "options", "timings", "notes", "applied", "allowed", "records"),
            *("snapshot", "vectors", "communities"),
        )
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    @cached_property
    def asked_time(self) -> AskedTime:
        """The time words of the question."""
        from clew.search.analysis.period import read_time

        return read_time(self.question, self.options.now)

    @property
    def named_period(self) -> Period | None:
        """The period that the question names; None where the caller gave one, or wants none."""
        if self.options.temporal is False or self.options.period is not None:
            return None
        return self.asked_time.period

    @cached_property
    def route(self) -> Route:
        """The strategy that the question's own words ask for, and why."""
        from clew.search.analysis.route import route, route_with_model

        features, model = self._features, self.resources.language_model
        with self.timings.step("route"):
            if model is not None:
                return route_with_model(model, self.question, features)
            return route(self.question, features)

    @property
    def alpha(self) -> float:
        """Share of the words in a weighted fusion: the one given, else by the question's kind."""
        from clew.search.analysis.route import alpha_for

        given = self.options.alpha
        return alpha_for(self.question, self._features) if given is None else given

    @cached_property
    def _features(self) -> Features:
        from clew.search.analysis.route import read_features

        keys = [seed.key for seed in self.analysis.seeds]
        dated = self.resources.store.is_dated()
        return read_features(self.question, keys, asked=self.asked_time, dated=dated)

    @cached_property
    def vector(self) -> Vector:
        """The question's embedding, from the cache (`embed_cache` in the timings) or the model."""
        kept = self.resources.query_vectors
        step = "embed" if kept.get(self.question) is None else "embed_cache"
        with self.timings.step(step):
            return kept.get_or_make(
                self.question, lambda: self.resources.embedder.embed_query(self.question)
            )

    @cached_property
    def channels(self) -> Channels:
        """The vector and the keyword channel."""
        return Channels(
            vector=lambda: self.vector,
            terms=self._search_terms(),
            vector_index=self.vectors,
            keyword_index=self.resources.store,
            allowed=self.allowed,
        )

    def _search_terms(self) -> list[str]:
        """The question's terms, each once; the rarest where there are very many."""
        found = list(dict.fromkeys(terms(self.question)))
        if len(found) <= MAX_TERMS:
            return found
        self.notes.append(f"only the {MAX_TERMS} rarest words of the question were searched for")
        rows = {term: self.snapshot.term_rows([term]) for term in found}
        known = [term for term in found if len(rows[term])]
        return sorted(known, key=lambda t: -self.snapshot.term_idf[rows[t][0]])[:MAX_TERMS]

    @cached_property
    def snapshot(self) -> Snapshot:
        """The graph, the same one for the whole of this question."""
        with self.timings.step("snapshot"):
            return self.resources.snapshot

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index, brought up to date once for the whole of this question."""
        return self.resources.vectors

    @cached_property
    def communities(self) -> CommunityStore:
        """Communities and topics, brought up to date once for the whole of this question."""
        return self.resources.communities

    @cached_property
    def analysis(self) -> Analysis:
        """The question's terms and seeds."""
        vector, snapshot = self.vector, self.snapshot
        with self.timings.step("analyse"):
            return analyse(self.question, vector, snapshot, self.resources.store)

    @property
    def known_seeds(self) -> Sequence[Seed]:
        """The question's seeds, if any step has looked for them."""
        return self.analysis.seeds if "analysis" in self.__dict__ else ()

    def gather(self) -> Evidence:
        """Candidates from all channels and from the walk, with what speaks for each; made once."""
        if self.evidence is not None:
            return self.evidence
        with self.timings.step("retrieve"):
            found = self._graph_channels()
        analysis, snapshot = self.analysis, self.snapshot
        with self.timings.step("bridge"):
            self.evidence = gather(analysis, snapshot, found, self._vectors_of)
        return self.evidence

    def rank(self, evidence: Evidence) -> Ranking:
        """The candidates in the order of the learned ranker."""
        if not len(evidence.rows):
            return Ranking.empty()
        ranker = self.resources.ranker
        with self.timings.step("rank"):
            first = ranker.rank_first(evidence.matrix)
            related = pairwise_features(
                evidence, self.snapshot, self._vectors_of(evidence.rows), first
            )
            scores = ranker.rank_second(np.concatenate([evidence.matrix, related], axis=1))
        order = np.argsort(-scores, kind="stable")
        between_0_and_1 = 1 / (1 + np.exp(-scores[order].astype(np.float64)))
        return Ranking(
            self.snapshot.chunk_ids[evidence.rows[order]], between_0_and_1.astype(np.float32)
        )

    def _graph_channels(self) -> ChannelScores:
        by_vector, by_keyword = map(self._rows, self.channels.both())
        allowed = None if self.allowed is None else self.allows(self.snapshot.chunk_ids)
        return ChannelScores(*by_vector, *by_keyword, allowed)

    def _rows(self, ranking: Ranking) -> tuple[Ints, np.ndarray]:
        """Rows and scores of the chunks that the snapshot knows (another process may be ahead)."""
        known = self.snapshot.known(ranking.ids)
        return self.snapshot.rows(ranking.ids[known]), ranking.scores[known]

    def _vectors_of(self, rows: Ints) -> Vectors:
        return self.vectors.vectors(self.snapshot.chunk_ids[rows])


def _allowed(store: Store, options: Options) -> Ids | None:
    allowed: list[Ids] = []
    if options.where:
        allowed.append(store.matching_chunks(options.where))
    if options.period is not None:
        allowed.append(store.chunks_within(options.period))
    if options.as_of is not None:
        allowed.append(store.chunks_as_of(options.as_of))
    if not allowed:
        return None
    common = allowed[0]
    for other in allowed[1:]:
        common = common[np.isin(common, other)]
    return common
