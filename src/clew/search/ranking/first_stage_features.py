"""How well each passage answers by itself: by its vector and its words, alone and in its window.

A passage's window is the passage with its neighbours in the document. A turn of a conversation
often says little without the turns around it; a document of one passage is its own window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted
from clew.search.ranking.keyword_scores import keyword_scores
from clew.search.retrieval.row_values import RANKED, Ranked, RowValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.channels import Ranking
    from clew.types import Ids, Vectors

    VectorsOf = Callable[[Ints], Vectors]
    """(n,) rows of the snapshot → (n, dim) their embeddings."""

WINDOWED = 80
"""Best passages of each channel whose windows, and those of their neighbours, are compared."""


@dataclass(frozen=True, slots=True)
class ChannelScores:
    """What retrieval found; rows are rows of the snapshot, best first."""

    vector_rows: Ints
    vector_scores: Floats
    """Cosine, -1 to 1."""
    keyword_rows: Ints
    keyword_scores: Floats
    """BM25, above 0."""
    allowed: NDArray[np.bool_] | None
    """(C,) passages that the filters let through; None for all."""

    @classmethod
    def of(cls, found: Iterable[Ranking], snapshot: Snapshot, allowed: Ids | None) -> ChannelScores:
        """What the two channels found of the chunks that a snapshot knows.

        Another process may be ahead of it. `allowed` are sorted ids.
        """
        (vector_rows, vector_scores), (keyword_rows, keyword_scores) = (
            (snapshot.rows(r.ids[known]), r.scores[known])
            for r, known in ((r, snapshot.known(r.ids)) for r in found)
        )
        passing = None if allowed is None else np.isin(snapshot.chunk_ids, allowed)
        return cls(vector_rows, vector_scores, keyword_rows, keyword_scores, passing)


class VectorReader:
    """Embeddings of passages, each asked for once."""

    def __init__(self, vectors_of: VectorsOf) -> None:
        self._vectors_of = vectors_of
        self._rows: Ints = np.zeros(0, np.int64)
        self._vectors: Vectors | None = None

    def read(self, rows: Ints) -> Vectors:
        """(n, dim) the embeddings of the rows."""
        missing = distinct(rows)
        missing = missing[~find_sorted(self._rows, missing)[1]]
        if self._vectors is None or len(missing):
            self._add(missing, self._vectors_of(missing))
        assert self._vectors is not None
        return self._vectors[np.searchsorted(self._rows, rows)]

    def _add(self, rows: Ints, vectors: Vectors) -> None:
        if self._vectors is not None:
            rows = np.concatenate([self._rows, rows])
            vectors = np.concatenate([self._vectors, vectors])
        order = np.argsort(rows)
        self._rows, self._vectors = rows[order], vectors[order]

    def windows(self, snapshot: Snapshot, rows: Ints) -> Vectors:
        """(n, dim) normalised means of the passages' and their neighbours' embeddings."""
        if not snapshot.has_neighbours:
            return self.read(rows)
        before, after = snapshot.neighbours(rows, -1), snapshot.neighbours(rows, 1)
        self.read(distinct(np.concatenate([rows, before, after])))
        total = self.read(rows)
        for there in (before, after):
            beside = np.flatnonzero(there != rows)
            total[beside] += self.read(there[beside])
        return unit(total)


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1; zero vectors stay as they are."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def cosines(vectors: Vectors, others: Vectors) -> Floats:
    """(n, m) products of unit vectors (n, dim) and (m, dim), few of them.

    One after the other: for a product of matrices BLAS wakes threads that go on spinning for far
    longer than so small a product takes.
    """
    found: Floats = np.stack([vectors @ other for other in others], axis=1)
    return found


@dataclass(frozen=True, slots=True)
class FirstStageFeatures:
    """The four rankings of passages by themselves, and what they say together."""

    vector: Ranked
    keyword: Ranked
    window_vector: Ranked
    window_keyword: Ranked
    keyword_scores: RowValues
    """BM25."""
    window_keyword_scores: RowValues
    """BM25 of the windows."""
    prior: RowValues
    """0 to 1, the mean of the four."""
    hybrid: RowValues
    """Reciprocal rank fusion of the two channels as they were retrieved."""
    fused: RowValues
    """The same of all four rankings."""


def read_first_stage_features(
    analysis: Analysis, snapshot: Snapshot, channels: ChannelScores, reader: VectorReader
) -> FirstStageFeatures:
    """Compare the question with passages and windows, those aside that filters forbid."""
    vector = Ranked(channels.vector_rows, channels.vector_scores)
    found = Ranked(channels.keyword_rows, channels.keyword_scores)
    retrieved = np.concatenate([vector.rows, found.rows])
    words, window_words = keyword_scores(analysis, snapshot, retrieved, channels.allowed)
    keyword, window_keyword = words.best(), window_words.best()
    near = [r.rows[:WINDOWED] for r in (vector, keyword, window_keyword)]
    window_vector = _rank_windows(analysis, snapshot, channels, np.concatenate(near), reader)
    rankings = (vector, keyword, window_vector, window_keyword)
    prior = RowValues.total(ranking.prior() for ranking in rankings)
    return FirstStageFeatures(
        *rankings,
        keyword_scores=words,
        window_keyword_scores=window_words,
        prior=RowValues(prior.rows, prior.values * np.float32(1 / len(rankings))),
        hybrid=RowValues.total((vector.fused(), found.fused())),
        fused=RowValues.total(ranking.fused() for ranking in rankings),
    )


def _rank_windows(
    analysis: Analysis,
    snapshot: Snapshot,
    channels: ChannelScores,
    near: Ints,
    reader: VectorReader,
) -> Ranked:
    """The passages retrieved and their neighbours, by the similarity of their windows."""
    rows = distinct(np.concatenate([snapshot.neighbours(near, s) for s in (-1, 0, 1)]))
    if channels.allowed is not None:
        rows = rows[channels.allowed[rows]]
    if not len(rows):
        return Ranked(rows, np.zeros(0, np.float32))
    scores = reader.windows(snapshot, rows) @ analysis.vector
    order = np.argsort(-scores, kind="stable")[:RANKED]
    return Ranked(rows[order], scores[order])
