"""What the question's words say of a passage: which of them it holds, where, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted, term_hash
from clew.search.analysis.analyse import MAX_TERMS, MAX_WORDS
from clew.search.retrieval.term_matches import find_few, sentences_by_owner
from clew.text import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.search.analysis.analyse import Analysis
    from clew.search.retrieval.bridge import Coverage

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
    for name, words in (("marked", _marked(analysis.text)), ("numbers", _numbers(analysis.text))):
        held = np.isin(analysis.term_rows, snapshot.term_rows([t for w in words for t in terms(w)]))
        columns[f"cover_{name}"] = coverage.weighed(masks, coverage.idf * held)
    return columns | _by_order(analysis, snapshot, rows)


def _marked(question: str) -> list[str]:
    """Words that are written as names, identifiers and numbers are, the question's first aside."""
    words = question.split()[:MAX_WORDS]
    numbered = (word for word in words if any(c.isdecimal() for c in word))
    return [*numbered, *(word for word in words[1:] if any(c.isupper() for c in word))]


def _numbers(question: str) -> list[str]:
    words = question.split()[:MAX_WORDS]
    return [word for word in words if any(c.isdecimal() for c in word)]


def _by_order(analysis: Analysis, snapshot: Snapshot, rows: Ints) -> Columns:
    """By the passages' own words, one after the other."""
    asked = np.array([term_hash(term) for term in terms(analysis.text)[:MAX_TERMS]], np.uint64)
    known = distinct(asked)
    steps = np.searchsorted(known, asked)
    starts = snapshot.sentence_starts
    of_context, context = _places(snapshot, known, starts[rows])
    counts = starts[rows + 1] - starts[rows]
    sentences = np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
    sentences += np.arange(counts.sum())
    sentence, places = _places(snapshot, known, sentences)
    owner = np.repeat(np.arange(len(rows)), counts)[sentence]
    idf = _idf(snapshot, known)
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


def _idf(snapshot: Snapshot, known: NDArray[np.uint64]) -> Floats:
    """(len(known),) 0 for a term that the store does not hold."""
    rows, hit = snapshot.find_terms(known)
    idf = np.zeros(len(known), np.float32)
    idf[hit] = snapshot.term_idf[rows[hit]]
    return idf


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
    weights = _weights(runs, length, idf)
    shares[:] = held @ weights / (weights.sum() or 1.0)
    return shares


def _runs(places: Ints, length: int, base: int) -> Ints:
    """Each run of so many places as one number."""
    last = max(len(places) - length + 1, 0)
    total = np.zeros(last, np.int64)
    for step in range(length):
        total = total * base + places[step : last + step]
    return total


def _weights(runs: Ints, length: int, idf: Floats) -> Floats:
    weights = np.zeros(len(runs), np.float32)
    for _ in range(length):
        runs, place = np.divmod(runs, max(len(idf), 1))
        weights += idf[place]
    return weights
