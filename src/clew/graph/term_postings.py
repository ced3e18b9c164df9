"""Which rows of sentences hold which terms: built by sorting, extended by merging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot_columns import Adjacency, Columns, find_sorted

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        sentence_of = np.repeat(np.arange(sentences), columns.term_counts)
        vocabulary, term_of = np.unique(columns.term_hashes, return_inverse=True)
        pairs, counts = np.unique(term_of * width + sentence_of, return_counts=True)
        term, sentence = np.divmod(pairs, width)
        postings = Adjacency.from_pairs(term, sentence + first, len(vocabulary))
        return cls(vocabulary, postings, counts.astype(np.float32))

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
