"""BM25 of the passages around a question, and of their windows.

Up to `READ` the passages of all terms are scored, from the terms' postings. In a large store a
common word has more passages than a question has time for: there the rare terms choose, with what
retrieval found by all terms, and what was chosen is scored by all terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted, numbered
from clew.search.retrieval.row_values import RowValues
from clew.search.retrieval.term_matches import find_terms_in, sentences_by_owner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis

BM25_K1, BM25_B = 1.2, 0.75
"""Saturation and length normalisation, Robertson and Zaragoza 2009."""
READ = 20_000
"""Sentences of all terms together that are read, the rarest terms first."""
CHOSEN = 500
"""Best passages by these, where not all were read."""


def keyword_scores(
    analysis: Analysis, snapshot: Snapshot, found: Ints, allowed: NDArray[np.bool_] | None
) -> tuple[RowValues, RowValues]:
    """Scores of passages and of windows; `found` are rows that retrieval found, in any order."""
    sizes = snapshot.postings.sizes(analysis.term_rows)
    order = np.argsort(sizes, kind="stable")
    is_read = np.zeros(len(order), dtype=bool)
    is_read[order] = np.cumsum(sizes[order]) <= READ
    rows, counts = _by_postings(analysis, snapshot, is_read)
    if not is_read.all():
        words = _words(analysis, snapshot, rows, counts)
        chosen = np.concatenate([words.best(CHOSEN).rows, found])
        rows = _with_neighbours(snapshot, distinct(chosen))
        counts = _by_words(analysis, snapshot, rows)
    words = _words(analysis, snapshot, rows, counts)
    windows = words
    if snapshot.has_neighbours:
        near, total, lengths = _window_counts(snapshot, rows, counts)
        mean = snapshot.window_words / max(snapshot.chunks, 1)
        windows = RowValues(near, _bm25(total, lengths, mean, analysis.term_idf))
    return words.among(allowed), windows.among(allowed)


def _by_postings(
    analysis: Analysis, snapshot: Snapshot, is_read: NDArray[np.bool_]
) -> tuple[Ints, Floats]:
    """The passages that hold a term that is read (sorted), and counts (t, n) of these terms."""
    entries, term = snapshot.postings.entries(analysis.term_rows[is_read])
    rows, place = numbered(snapshot.sentence_chunk[snapshot.postings.items[entries]], snapshot.size)
    places = np.flatnonzero(is_read)[term] * len(rows) + place
    return rows, _counts(places, snapshot.term_counts[entries], len(is_read), len(rows))


def _by_words(analysis: Analysis, snapshot: Snapshot, rows: Ints) -> Floats:
    """(t, n) the same of all terms, from what the passages say."""
    sentences, owner = sentences_by_owner(snapshot, rows)
    sentence, term = find_terms_in(snapshot, analysis.term_rows, sentences)
    return _counts(term * len(rows) + owner[sentence], None, len(analysis.term_rows), len(rows))


def _counts(places: Ints, weights: Floats | None, terms: int, passages: int) -> Floats:
    counted = np.bincount(places, weights=weights, minlength=terms * passages)
    counts: Floats = counted.astype(np.float32).reshape(terms, passages)
    return counts


def _words(analysis: Analysis, snapshot: Snapshot, rows: Ints, counts: Floats) -> RowValues:
    mean = snapshot.words / max(snapshot.chunks, 1)
    return RowValues(rows, _bm25(counts, snapshot.chunk_terms[rows], mean, analysis.term_idf))


def _with_neighbours(snapshot: Snapshot, rows: Ints) -> Ints:
    around = [snapshot.neighbours(rows, step) for step in (-1, 1)]
    return distinct(np.concatenate([rows, *around]))


def _window_counts(snapshot: Snapshot, rows: Ints, counts: Floats) -> tuple[Ints, Floats, Floats]:
    """Rows beside some (sorted) or among them; the windows' counts (t, n), and lengths (n,)."""
    near = _with_neighbours(snapshot, rows)
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
