"""What the question's words say of a passage: which of them it holds, where, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted, numbered, term_hashes
from clew.search.analysis.question import MAX_TERMS, MAX_WORDS
from clew.search.retrieval.channels import RowValues
from clew.search.retrieval.walk import find_few, find_terms_in, sentences_by_owner
from clew.text import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.question import Analysis
    from clew.search.retrieval.walk import Coverage

    Columns = dict[str, Floats]


WORD_FEATURES = (
    *("cover", "cover_sentence", "cover_unnamed", "cover_unnamed_sentence"),
    # words that tell more than others: rare ones, and those written as names and numbers are
    *("cover_rare", "cover_marked", "cover_numbers"),
    # the title and the headings
    *("context_cover", "context_asked"),
    # words that stand in a row in the question and in the passage
    *("phrase", "phrase_long"),
)
"""Names of the columns that `word_features` makes."""


def word_features(
    analysis: Analysis, snapshot: Snapshot, coverage: Coverage, rows: Ints
) -> Columns:
    """A column (n,) for each of `WORD_FEATURES`: shares of the question's idf, 0 to 1."""
    masks = coverage.passages(rows)
    sentences, owner = sentences_by_owner(snapshot, rows)
    said = coverage.share(coverage.with_context(sentences))
    unnamed = coverage.unnamed_share(coverage.sentences(sentences))
    squares = coverage.idf**2
    columns = {
        "cover": coverage.share(masks),
        "cover_sentence": np.zeros(len(rows), np.float32),
        "cover_unnamed": coverage.unnamed_share(masks),
        "cover_unnamed_sentence": np.zeros(len(rows), np.float32),
        "cover_rare": coverage.weighed(masks, squares),
        "context_cover": coverage.share(coverage.sentences(snapshot.sentence_starts[rows])),
    }
    np.maximum.at(columns["cover_sentence"], owner, said)
    np.maximum.at(columns["cover_unnamed_sentence"], owner, unnamed)
    # Words that are written as names, identifiers and numbers are, the question's first aside.
    asked = analysis.text.split()[:MAX_WORDS]
    numbers = [word for word in asked if any(c.isdecimal() for c in word)]
    marked = [*numbers, *(word for word in asked[1:] if any(c.isupper() for c in word))]
    for name, words in (("marked", marked), ("numbers", numbers)):
        held = np.isin(analysis.term_rows, snapshot.term_rows([t for w in words for t in terms(w)]))
        columns[f"cover_{name}"] = coverage.weighed(masks, coverage.idf * held)
    return columns | _by_order(analysis, snapshot, rows)


def _by_order(analysis: Analysis, snapshot: Snapshot, rows: Ints) -> Columns:
    """By the passages' own words, one after the other."""
    asked = term_hashes(terms(analysis.text)[:MAX_TERMS])
    known = distinct(asked)
    steps = np.searchsorted(known, asked)
    starts = snapshot.sentence_starts
    of_context, context = _places(snapshot, known, starts[rows])
    counts = starts[rows + 1] - starts[rows]
    sentences = np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
    sentences += np.arange(counts.sum())
    sentence, places = _places(snapshot, known, sentences)
    owner = np.repeat(np.arange(len(rows)), counts)[sentence]
    found, hit = snapshot.find_terms(known)
    idf = np.zeros(len(known), np.float32)  # 0 for a term that the store does not hold
    idf[hit] = snapshot.term_idf[found[hit]]
    said = np.bincount(of_context, weights=context >= 0, minlength=len(rows))
    length = np.bincount(of_context, minlength=len(rows))
    return {
        "context_asked": (said / np.maximum(length, 1)).astype(np.float32),
        "phrase": _in_a_row(places, owner, steps, idf, 2, len(rows)),
        "phrase_long": _in_a_row(places, owner, steps, idf, 3, len(rows)),
    }


def _places(snapshot: Snapshot, known: NDArray[np.uint64], sentences: Ints) -> tuple[Ints, Ints]:
    """Of each word of the sentences: the sentence's place, and its own among `known` (-1: none)."""
    entries, owner = snapshot.sentence_terms.entries(sentences)
    places = np.full(len(entries), -1)
    at, which = find_few(known, snapshot.sentence_terms.items[entries])
    places[at] = which
    return owner, places


def _in_a_row(
    places: Ints, owner: Ints, asked: Ints, idf: Floats, length: int, size: int
) -> Floats:
    """(size,) share of the question's runs of so many words that stand in a passage.

    A run weighs the idf of its words; where a word is not in the store, no passage holds the run,
    and it counts all the same. 0 where the question is shorter than a run.
    """
    shares = np.zeros(size, np.float32)
    runs = distinct(_runs(asked, length, len(idf)))
    if not len(runs) or len(places) < length:
        return shares
    found = _runs(places, length, len(idf))
    last = len(places) - length + 1
    whole = owner[:last] == owner[length - 1 :]
    for step in range(length):
        whole &= places[step : last + step] >= 0
    at, hit = find_sorted(runs, found)
    hit &= whole
    held = np.zeros((size, len(runs)), np.float32)
    held[owner[:last][hit], at[hit]] = 1
    weights = np.zeros(len(runs), np.float32)
    for _ in range(length):
        runs, place = np.divmod(runs, max(len(idf), 1))
        weights += idf[place]
    shares[:] = held @ weights / (weights.sum() or 1.0)
    return shares


def _runs(places: Ints, length: int, base: int) -> Ints:
    """Each run of so many places as one number."""
    last = max(len(places) - length + 1, 0)
    total = np.zeros(last, np.int64)
    for step in range(length):
        total = total * base + places[step : last + step]
    return total


# BM25 of the passages around a question, and of their windows.
#
# Up to `READ` the passages of all terms are scored, from the terms' postings. In a large store a
# common word has more passages than a question has time for: there the rare terms choose, with
# what
# retrieval found by all terms, and what was chosen is scored by all terms.


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
    # The passages that hold a term that is read (sorted), and counts (t, n) of these terms.
    entries, term = snapshot.postings.entries(analysis.term_rows[is_read])
    rows, place = numbered(snapshot.sentence_chunk[snapshot.postings.items[entries]], snapshot.size)
    places = np.flatnonzero(is_read)[term] * len(rows) + place
    counts = _counts(places, snapshot.term_counts[entries], len(is_read), len(rows))
    if not is_read.all():
        words = _words(analysis, snapshot, rows, counts)
        chosen = np.concatenate([words.best(CHOSEN).rows, found])
        rows = _with_neighbours(snapshot, distinct(chosen))
        # (t, n) the same of all terms, from what the passages say.
        sentences, owner = sentences_by_owner(snapshot, rows)
        sentence, term = find_terms_in(snapshot, analysis.term_rows, sentences)
        counts = _counts(
            term * len(rows) + owner[sentence], None, len(analysis.term_rows), len(rows)
        )
    words = _words(analysis, snapshot, rows, counts)
    windows = words
    if snapshot.has_neighbours:
        near, total, lengths = _window_counts(snapshot, rows, counts)
        mean = snapshot.window_words / max(snapshot.chunks, 1)
        windows = RowValues(near, _bm25(total, lengths, mean, analysis.term_idf))
    return words.among(allowed), windows.among(allowed)


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


# Scores of different kinds on one scale, so that they can be added or compared.


_LEAST = 1e-6
"""Probabilities nearer to 0 or 1 than this are taken for this far: float32 knows no better."""


def min_max(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) 0 for the least, 1 for the greatest, in proportion between; 1 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    low, reach = values.min(), np.ptp(values)
    return (values - low) / reach if reach > 0 else np.ones(len(values))


def standard_units(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) standard deviations above the mean; 0 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    deviation = values.std()
    centred = values - values.mean()
    return centred / deviation if np.ptp(values) > 0 else np.zeros(len(values))


def log_odds(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) the logistic function undone: among many poor ones, one good would outweigh all else."""
    probability = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
    return np.log(probability / (1 - probability))


def lead(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) how far each is ahead of the best of the others; below 0 where it is behind."""
    if len(values) < 2:
        return values
    second, first = np.partition(values, -2)[-2:]
    return values - np.where(values == first, second, first)
