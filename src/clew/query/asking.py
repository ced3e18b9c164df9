"""One question on its way through the steps, and what it is asked of."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from clew.query.analyse import MAX_TERMS, Analysis, analyse
from clew.query.features import Channels as GraphChannels
from clew.query.features import Evidence, gather
from clew.query.retrieve import Channels, Ranking
from clew.query.second_hop import relate
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.graph.snapshot import Ints, Snapshot
    from clew.ports import Embedder, Store, VectorIndex
    from clew.types import Condition, Ids, Vector, Vectors


class Library(Protocol):
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
    def snapshot(self) -> Snapshot:
        """The graph, as it stands."""
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


class Asking:
    """A question, what it is asked of, and what the steps found so far (each when first needed)."""

    def __init__(self, library: Library, question: str, where: Sequence[Condition] = ()) -> None:
        self.library = library
        self.question = question
        self.timings = Timings()
        self.notes: list[str] = []
        self.evidence: Evidence | None = None
        self.allowed: Ids | None = library.store.matching_chunks(where) if where else None

    @cached_property
    def vector(self) -> Vector:
        """The question's embedding."""
        with self.timings.step("embed"):
            return self.library.embedder.embed_query(self.question)

    @cached_property
    def channels(self) -> Channels:
        """The vector and the keyword channel."""
        return Channels(
            vector=lambda: self.vector,
            terms=self._search_terms(),
            vector_index=self.library.vectors,
            keyword_index=self.library.store,
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
            return self.library.snapshot

    @cached_property
    def analysis(self) -> Analysis:
        """The question's terms and seeds."""
        vector, snapshot = self.vector, self.snapshot
        with self.timings.step("analyse"):
            return analyse(self.question, vector, snapshot, self.library.store)

    def gather(self) -> Evidence:
        """Candidates from all channels and from the walk, with what speaks for each."""
        with self.timings.step("retrieve"):
            found = self._graph_channels()
        analysis, snapshot = self.analysis, self.snapshot
        with self.timings.step("bridge"):
            self.evidence = gather(analysis, snapshot, found, self._vectors_of)
        return self.evidence

    def rank(self, evidence: Evidence) -> Ranking:
        """The candidates in the order of the learned ranker."""
        if not len(evidence.rows):
            return Ranking(np.zeros(0, np.int64), np.zeros(0, np.float32))
        from clew.query import ranker

        with self.timings.step("rank"):
            first = ranker.rank_first(evidence.matrix)
            related = relate(evidence, self.snapshot, self._vectors_of(evidence.rows), first)
            scores = ranker.rank_second(np.concatenate([evidence.matrix, related], axis=1))
        order = np.argsort(-scores, kind="stable")
        between_0_and_1 = 1 / (1 + np.exp(-scores[order].astype(np.float64)))
        return Ranking(
            self.snapshot.chunk_ids[evidence.rows[order]], between_0_and_1.astype(np.float32)
        )

    def _graph_channels(self) -> GraphChannels:
        by_vector = self._rows(self.channels.by_vector())
        by_keyword = self._rows(self.channels.by_keyword())
        allowed = None
        if self.allowed is not None:
            allowed = np.isin(self.snapshot.chunk_ids, self.allowed)
        return GraphChannels(*by_vector, *by_keyword, allowed)

    def _rows(self, ranking: Ranking) -> tuple[Ints, np.ndarray]:
        """Rows and scores of the chunks that the snapshot knows (another process may be ahead)."""
        known = self.snapshot.known(ranking.ids)
        return self.snapshot.rows(ranking.ids[known]), ranking.scores[known]

    def _vectors_of(self, rows: Ints) -> Vectors:
        return self.library.vectors.vectors(self.snapshot.chunk_ids[rows])
