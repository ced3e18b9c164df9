"""The arrays of a snapshot: columns of terms and mentions as a store has them, rows of integers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clew.ports import PassageRow

    Ints = NDArray[np.int64]
    """Rows and counts; of 32 bits where an array is kept for long."""

_Number = TypeVar("_Number", bound=np.integer)


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows that a snapshot is made of, in order of chunk id; what is stored on disk."""

    chunk_ids: Ints
    """(C,)"""
    documents: Ints
    """(C,) a number for the document of each chunk."""
    sentence_counts: Ints
    """(C,) rows of sentences a chunk, its context's row among them."""
    term_counts: Ints
    """(S,) terms a row of sentences, repeats counted."""
    term_hashes: NDArray[np.uint64]
    """(N,) the terms of all rows, one row after the other."""
    mentions: Ints
    """(M, 4): chunk id, sentence (-1: about), entity id, count; in order of chunk id."""

    def narrowed(self) -> Columns:
        """The same in 32 bits where that suffices, but for ids that others look up."""
        names = ("sentence_counts", "term_counts", "mentions")
        return replace(self, **{name: narrow(getattr(self, name)) for name in names})

    def keep(self, chunks: NDArray[np.bool_]) -> Columns:
        """Only the chunks marked."""
        rows = np.repeat(chunks, self.sentence_counts)
        kept_ids = self.chunk_ids[chunks]
        return Columns(
            chunk_ids=kept_ids,
            documents=self.documents[chunks],
            sentence_counts=self.sentence_counts[chunks],
            term_counts=self.term_counts[rows],
            term_hashes=self.term_hashes[np.repeat(rows, self.term_counts)],
            mentions=self.mentions[np.isin(self.mentions[:, 0], kept_ids)],
        )

    def by_chunk_id(self) -> Columns:
        """The same chunks in the order of their ids."""
        order = np.argsort(self.chunk_ids)
        starts = starts_of(self.sentence_counts)
        rows, _ = Adjacency(starts, starts).entries(order)
        starts = starts_of(self.term_counts)
        hashes, _ = Adjacency(starts, starts).entries(rows)
        return Columns(
            chunk_ids=self.chunk_ids[order],
            documents=self.documents[order],
            sentence_counts=self.sentence_counts[order],
            term_counts=self.term_counts[rows],
            term_hashes=self.term_hashes[hashes],
            mentions=self.mentions[np.argsort(self.mentions[:, 0], kind="stable")],
        )

    def append(self, other: Columns) -> Columns:
        """These chunks, then the other's."""
        return Columns(
            *(
                np.concatenate([getattr(self, f.name), getattr(other, f.name)])
                for f in fields(Columns)
            )
        )


def read_columns(passages: Iterable[PassageRow], mentions: Ints) -> Columns:
    """Columns of the passages and mention rows that a store gives, both in order of chunk id."""
    hashes = _TermHashes()
    chunk_ids, documents, sentence_counts = [], [], []
    term_counts: list[int] = []
    flat: list[int] = []
    for row in passages:
        chunk_ids.append(row.chunk_id)
        documents.append(_signed(int(row.document_id, 16)))
        sentence_counts.append(1 + len(row.sentences))
        texts = [row.context, *(row.text[start:end] for start, end in row.sentences)]
        for text in texts:
            found = hashes.of(text, row.language)
            term_counts.append(len(found))
            flat.extend(found)
    return Columns(
        chunk_ids=np.array(chunk_ids, dtype=np.int64),
        documents=np.array(documents, dtype=np.int64),
        sentence_counts=np.array(sentence_counts, dtype=np.int64),
        term_counts=np.array(term_counts, dtype=np.int64),
        term_hashes=np.array(flat, dtype=np.uint64),
        mentions=mentions.reshape(-1, 4),
    )


class _TermHashes:
    """Hashes of a text's terms, each term hashed once."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, text: str, language: str) -> list[int]:
        known = self._known
        found = terms(text, language)
        for term in found:
            if term not in known:
                known[term] = term_hash(term)
        return [known[term] for term in found]


def term_hash(term: str) -> int:
    """64 bits of BLAKE2b: the same in every process, collisions negligible."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


# --- rows of integers --------------------------------------------------------------------


class Adjacency:
    """Rows of integers of different length, with a value each where there are values (CSR)."""

    def __init__(self, starts: Ints, items: NDArray[Any]) -> None:
        self.starts = starts
        """(rows + 1,)"""
        self.items = items
        """(entries,)"""

    @classmethod
    def from_pairs(cls, rows: Ints, items: Ints, size: int) -> Adjacency:
        """Of pairs sorted by row."""
        return cls(starts_of(np.bincount(rows, minlength=size)), items)

    @classmethod
    def from_unsorted(cls, rows: Ints, items: Ints, size: int) -> Adjacency:
        """Of pairs in any order, repeats dropped."""
        width = int(items.max()) + 1 if len(items) else 1
        row, item = np.divmod(distinct(rows.astype(np.int64) * width + items), width)
        return cls.from_pairs(row, item, size)

    def narrowed(self) -> Adjacency:
        """The same in 32 bits where that suffices."""
        return Adjacency(narrow(self.starts), narrow(self.items))

    def row(self, index: int) -> Ints:
        """The items of one row."""
        return self.items[self.starts[index] : self.starts[index + 1]]

    def sizes(self, rows: Ints) -> Ints:
        """(n,) how many entries rows have."""
        counts: Ints = self.starts[rows + 1] - self.starts[rows]
        return counts

    def entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """Positions of all entries of the rows given, and which of those rows each belongs to."""
        starts, counts = self.starts[rows], self.sizes(rows)
        owner = np.repeat(np.arange(len(rows)), counts)
        first = np.cumsum(counts) - counts
        return np.arange(counts.sum()) - first[owner] + starts[owner], owner


def starts_of(counts: Ints) -> Ints:
    """(n + 1,) where rows of so many entries begin, and where the last ends."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The integers in 32 bits where that suffices.

    Products of them with others have to be computed in 64.
    """
    most = np.iinfo(np.int32)
    fits = values.dtype == np.int64 and (
        not values.size or (values.min() >= most.min and values.max() <= most.max)
    )
    return values.astype(np.int32) if fits else values


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """The numbers, sorted, each once.

    `numpy.unique` would look for masks first, and load `numpy.ma` for it: a tenth of a cold start.
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def numbered(values: NDArray[Any], size: int) -> tuple[Ints, Ints]:
    """The numbers (below `size`) sorted, each once, and the place of each of the values there.

    Several times as fast as `numpy.unique`, which sorts pairs; of the memory for all numbers only
    what is written to is taken.
    """
    found = distinct(values)
    places = np.empty(size, np.int64)
    places[found] = np.arange(len(found))
    return found, places[values]


def find_sorted(
    values: NDArray[_Number], wanted: NDArray[_Number]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each wanted number stands among sorted ones, and whether it does; a place is valid."""
    places = np.minimum(np.searchsorted(values, wanted), max(len(values) - 1, 0))
    if not len(values):
        return places, np.zeros(len(wanted), dtype=bool)
    return places, values[places] == wanted


# --- terms: built by sorting, extended by merging ------------------------------------------


@dataclass(frozen=True, slots=True)
class TermPostings:
    """Terms with the sentences that hold them."""

    vocabulary: NDArray[np.uint64]
    """(T,) hashes of terms, sorted."""
    postings: Adjacency
    """By term: the rows of sentences that hold it, sorted."""
    counts: NDArray[np.float32]
    """(entries of `postings`,) how often."""

    @classmethod
    def of(cls, columns: Columns, first: int = 0) -> TermPostings:
        """Of the sentences of some columns, whose first row has the number `first`."""
        sentences = len(columns.term_counts)
        width = max(sentences, 1)
        vocabulary = distinct(columns.term_hashes)
        # One array of term and sentence, sorted in place: of a million passages it has 500 MB.
        pairs = np.searchsorted(vocabulary, columns.term_hashes)
        pairs *= width
        pairs += np.repeat(np.arange(sentences), columns.term_counts)
        pairs.sort()
        new = np.flatnonzero(np.diff(pairs, prepend=-1))
        counts = np.diff(new, append=len(pairs)).astype(np.float32)
        pairs = pairs[new]
        starts = np.searchsorted(pairs, np.arange(len(vocabulary) + 1) * width)
        pairs %= width
        pairs += first
        return cls(vocabulary, Adjacency(starts, pairs), counts)

    def keep(self, sentences: NDArray[np.bool_]) -> TermPostings:
        """Only the sentences marked, numbered anew in their order."""
        kept = sentences[self.postings.items]
        number = np.cumsum(sentences) - 1
        before = np.concatenate([[0], np.cumsum(kept)])
        starts = before[self.postings.starts]
        held = starts[1:] > starts[:-1]
        return TermPostings(
            self.vocabulary[held],
            Adjacency(
                np.concatenate([starts[:-1][held], starts[-1:]]),
                number[self.postings.items[kept]],
            ),
            self.counts[kept],
        )

    def append(self, other: TermPostings) -> TermPostings:
        """These, and others whose sentences all come after: nothing is sorted again."""
        starts = self.postings.starts
        place = np.searchsorted(self.vocabulary, other.vocabulary)
        is_new = ~find_sorted(self.vocabulary, other.vocabulary)[1]
        added = np.diff(other.postings.starts)
        # Behind the sentences of the term itself or, where it is new, of the one before it.
        behind = np.repeat(starts[place + ~is_new], added)
        vocabulary = np.insert(self.vocabulary, place[is_new], other.vocabulary[is_new])
        sizes = np.insert(np.diff(starts), place[is_new], 0)
        sizes[np.searchsorted(vocabulary, other.vocabulary)] += added
        items = np.insert(self.postings.items, behind, other.postings.items)
        return TermPostings(
            vocabulary,
            Adjacency(np.concatenate([[0], np.cumsum(sizes)]), items),
            np.insert(self.counts, behind, other.counts),
        )
