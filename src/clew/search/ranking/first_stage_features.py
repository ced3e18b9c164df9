"""How well each passage answers by itself: by its vector and its words, alone and in its window.

A passage's window is the passage with its neighbours in the document. A turn of a conversation
often says little without the turns around it; a document of one passage is its own window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot_columns import distinct, find_sorted
from clew.search.retrieval.channels import RRF_K

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.channels import Ranking
    from clew.types import Ids, Vectors

    VectorsOf = Callable[[Ints], Vectors]
    """(n,) rows of the snapshot → (n, dim) their embeddings."""

PRIOR_DEPTH = 50
"""Best passages of each ranking that the prior counts."""
RANKED = 200
"""Passages of a ranking, at most."""
WINDOWED = 80
"""Best passages of each channel whose windows, and those of their neighbours, are compared."""
BM25_K1, BM25_B = 1.2, 0.75
"""Saturation and length normalisation, Robertson and Zaragoza 2009."""


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


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages by one signal, best first, each once."""

    rows: Ints
    scores: Floats

    def reciprocal(self, size: int) -> Floats:
        """(size,) 1 / (1 + rank), rank from 1; 0 for passages that are not ranked."""
        return self._spread(1 / (2 + np.arange(len(self.rows))), size)

    def fused(self, size: int) -> Floats:
        """(size,) 1 / (60 + rank): what reciprocal rank fusion sums."""
        return self._spread(1 / (RRF_K + 1 + np.arange(len(self.rows))), size)

    def prior(self, size: int) -> Floats:
        """(size,) scores of the best passages between 0 and 1; the last of a long list has 0."""
        scores = self.scores[:PRIOR_DEPTH]
        if not len(scores):
            return np.zeros(size, np.float32)
        full = len(self.rows) >= PRIOR_DEPTH
        low = float(scores[-1]) if full else min(float(scores[-1]), 0.0)
        reach = float(scores[0]) - low
        share = (scores - low) / reach if reach > 0 else np.ones(len(scores))
        return self._spread(share, size)

    def _spread(self, values: NDArray[np.floating], size: int) -> Floats:
        spread = np.zeros(size, np.float32)
        spread[self.rows[: len(values)]] = values
        return spread


def best(scores: Floats, limit: int = RANKED) -> Ranked:
    """The best passages of those with a score above 0; ties go to the smaller row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        floor = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= floor]
    rows = rows[np.argsort(-scores[rows], kind="stable")][:limit]
    return Ranked(rows, scores[rows])


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
        total = self.read(rows).copy()
        for there in (before, after):
            total += self.read(there) * (there != rows)[:, None]
        return unit(total)


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1; zero vectors stay as they are."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class FirstStageFeatures:
    """The four rankings of passages by themselves, and what they say together."""

    vector: Ranked
    keyword: Ranked
    window_vector: Ranked
    window_keyword: Ranked
    keyword_scores: Floats
    """(C,) BM25."""
    window_keyword_scores: Floats
    """(C,) BM25 of the windows."""
    prior: Floats
    """(C,) 0 to 1, the mean of the four."""
    hybrid: Floats
    """(C,) reciprocal rank fusion of the two channels as they were retrieved."""
    fused: Floats
    """(C,) the same of all four rankings."""


def read_first_stage_features(
    analysis: Analysis, snapshot: Snapshot, channels: ChannelScores, reader: VectorReader
) -> FirstStageFeatures:
    """Compare the question with passages and windows, those aside that filters forbid."""
    words, window_words = _keyword_scores(analysis, snapshot, channels.allowed)
    vector = Ranked(channels.vector_rows, channels.vector_scores)
    found = Ranked(channels.keyword_rows, channels.keyword_scores)
    keyword, window_keyword = best(words), best(window_words)
    near = [r.rows[:WINDOWED] for r in (vector, keyword, window_keyword)]
    window_vector = _rank_windows(analysis, snapshot, channels, np.concatenate(near), reader)
    rankings = (vector, keyword, window_vector, window_keyword)
    size = snapshot.size
    prior, fused = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for ranking in rankings:
        prior += ranking.prior(size) / len(rankings)
        fused += ranking.fused(size)
    return FirstStageFeatures(
        *rankings,
        keyword_scores=words,
        window_keyword_scores=window_words,
        prior=prior,
        hybrid=vector.fused(size) + found.fused(size),
        fused=fused,
    )


def _keyword_scores(
    analysis: Analysis, snapshot: Snapshot, allowed: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """(C,) BM25 of all passages, and of their windows; those without a term are not looked at."""
    entries, term = snapshot.postings.entries(analysis.term_rows)
    rows, place = np.unique(
        snapshot.sentence_chunk[snapshot.postings.items[entries]], return_inverse=True
    )
    shape = (len(analysis.term_rows), len(rows))
    counted = np.bincount(
        term * len(rows) + place,
        weights=snapshot.term_counts[entries],
        minlength=shape[0] * shape[1],
    )
    counts: Floats = counted.astype(np.float32).reshape(shape)
    mean = snapshot.words / max(snapshot.chunks, 1)
    words = np.zeros(snapshot.size, np.float32)
    words[rows] = _bm25(counts, snapshot.chunk_terms[rows], mean, analysis.term_idf)
    windows = words
    if snapshot.has_neighbours:
        windows = np.zeros(snapshot.size, np.float32)
        near, counts, lengths = _window_counts(snapshot, rows, counts)
        mean = snapshot.window_words / max(snapshot.chunks, 1)
        windows[near] = _bm25(counts, lengths, mean, analysis.term_idf)
    if allowed is not None:
        words, windows = words * allowed, windows * allowed
    return words, windows


def _window_counts(snapshot: Snapshot, rows: Ints, counts: Floats) -> tuple[Ints, Floats, Floats]:
    """Rows beside some (sorted) or among them; the windows' counts (t, n), and lengths (n,)."""
    around = [snapshot.neighbours(rows, step) for step in (-1, 1)]
    near = distinct(np.concatenate([rows, *around]))
    # The last column is of passages without a term.
    counts = np.append(counts, np.zeros((len(counts), 1), np.float32), axis=1)
    total, lengths = np.zeros((len(counts), len(near)), np.float32), np.zeros(len(near), np.float32)
    for step in (0, -1, 1):
        there = snapshot.neighbours(near, step)
        own = np.full(len(near), step == 0) | (there != near)
        places, held = find_sorted(rows, there)
        total += counts[:, np.where(held & own, places, len(rows))]
        lengths += snapshot.chunk_terms[there] * own
    return near, total, lengths


def _bm25(counts: Floats, lengths: Floats, mean: float, idf: Floats) -> Floats:
    norm = BM25_K1 * (1 - BM25_B + BM25_B * lengths / (mean or 1.0))
    scores: Floats = (idf @ (counts * (BM25_K1 + 1) / (counts + norm))).astype(np.float32)
    return scores


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
