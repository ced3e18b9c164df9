"""The graph as arrays: passages, sentences, terms and entities, read from a store.

Everything here is derived: it carries the generation that it was built from and can be deleted at
any time. `extended_snapshot` brings one up to date.

Each chunk has one row of sentences more than it has sentences: the first row stands for its
context (title and headings). A chunk that is *about* an entity mentions it there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.graph.snapshot_columns import (
    Adjacency,
    Columns,
    TermPostings,
    find_sorted,
    narrow,
    starts_of,
    term_hash,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.types import Ids

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float32]

ABOUT_WEIGHT = 6
"""Weight of an edge from a passage to what it is about; a mention weighs 1, two or more weigh 2."""


ARRAYS = (
    *("sentence_starts", "sentence_chunk", "vocabulary", "term_counts", "chunk_terms"),
    *("term_frequency", "term_idf", "entity_ids", "entity_frequency", "entity_idf"),
    *("passage_strengths", "entity_about", "entity_strengths"),
)
ADJACENCIES = (
    *("postings", "sentence_terms", "sentence_entities", "entity_sentences"),
    *("passage_entities", "entity_passages"),
)
"""Attributes of a snapshot that are computed from its columns."""


class StoreCounts(NamedTuple):
    """Figures of a whole store, for a snapshot of a part of it."""

    chunks: int
    terms: Mapping[int, int]
    """Chunks that hold a term, by its hash; others count as in the part."""
    entities: Ints
    """(m, 4), sorted: entity id, chunks, mentions with two a chunk at most, chunks about it."""


class Snapshot:
    """The graph of one store at one generation. Indices are rows here; ids are the store's."""

    def __init__(
        self,
        columns: Columns,
        *,
        generation: int,
        mentions_version: int,
        terms: TermPostings | None = None,
        counts: StoreCounts | None = None,
    ) -> None:
        """`terms` are those of the columns, where they are known.

        `counts` are those of the store of which the columns are a part; without, they are all.
        """
        self._count(columns.narrowed(), generation, mentions_version)
        if counts is not None:
            self.store_size = counts.chunks
        self._index_sentences()
        self._index_terms(terms or TermPostings.of(columns), counts)
        self._index_mentions(columns.mentions, counts)
        for name in ADJACENCIES:
            setattr(self, name, getattr(self, name).narrowed())

    @classmethod
    def restore(
        cls,
        columns: Columns,
        arrays: Mapping[str, NDArray[Any]],
        *,
        generation: int,
        mentions_version: int,
    ) -> Snapshot:
        """The snapshot whose `arrays` these are, without computing them again."""
        snapshot = cls.__new__(cls)
        snapshot._count(columns, generation, mentions_version)
        for name in ARRAYS:
            setattr(snapshot, name, arrays[name])
        for name in ADJACENCIES:
            rows = Adjacency(arrays[f"{name}.starts"], arrays[f"{name}.items"])
            setattr(snapshot, name, rows)
        return snapshot

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What was computed from the columns, by name."""
        found: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in ARRAYS}
        for name in ADJACENCIES:
            rows: Adjacency = getattr(self, name)
            found |= {f"{name}.starts": rows.starts, f"{name}.items": rows.items}
        return found

    def _count(self, columns: Columns, generation: int, mentions_version: int) -> None:
        self.columns = columns
        self.generation = generation
        self.mentions_version = mentions_version
        self.chunk_ids: Ids = columns.chunk_ids
        self.size = len(columns.chunk_ids)
        """Number of rows of chunks."""
        self.chunks = self.size
        """Number of chunks; fewer than rows where some are gone (`extended_snapshot`)."""
        self.store_size = self.size
        """Number of chunks of the store, where this is a part of it."""
        self.sentences = len(columns.term_counts)
        """Number of rows of sentences."""

    def _index_sentences(self) -> None:
        columns = self.columns
        self.sentence_starts: Ints = narrow(starts_of(columns.sentence_counts))
        rows: Ints = narrow(np.arange(self.size))
        self.sentence_chunk: Ints = np.repeat(rows, columns.sentence_counts)
        self.sentence_terms = Adjacency(starts_of(columns.term_counts), columns.term_hashes)
        """By row of sentences: the hashes of its terms, in order."""

    def _index_terms(self, terms: TermPostings, counts: StoreCounts | None) -> None:
        self.vocabulary, self.term_counts = terms.vocabulary, terms.counts
        self.postings = terms.postings
        """By term: the rows of sentences that hold it; `term_counts` says how often."""
        self.chunk_terms = np.bincount(
            self.sentence_chunk, weights=self.columns.term_counts, minlength=self.size
        ).astype(np.float32)
        """(C,) terms a chunk, its context's among them."""
        term = np.repeat(np.arange(len(self.vocabulary)), np.diff(self.postings.starts))
        chunk = self.sentence_chunk[self.postings.items]
        first = np.ones(len(term), dtype=bool)
        first[1:] = (term[1:] != term[:-1]) | (chunk[1:] != chunk[:-1])
        self.term_frequency = narrow(np.bincount(term[first], minlength=len(self.vocabulary)))
        """(T,) chunks that hold the term."""
        if counts is not None and counts.terms:
            hashes = np.array(list(counts.terms), dtype=np.uint64)
            rows, hit = find_sorted(self.vocabulary, hashes)
            self.term_frequency[rows[hit]] = np.array(list(counts.terms.values()))[hit]
        self.term_idf = np.log1p(self.store_size / self.term_frequency).astype(np.float32)
        """(T,) ln(1 + N / df), df in chunks."""

    def _index_mentions(self, mentions: Ints, counts: StoreCounts | None) -> None:
        chunk = np.searchsorted(self.chunk_ids, mentions[:, 0])
        row = self.sentence_starts[chunk] + 1 + mentions[:, 1]
        ids, entity = np.unique(mentions[:, 2], return_inverse=True)
        self.entity_ids: Ids = ids.astype(np.int64)
        size = len(self.entity_ids)
        self.sentence_entities = Adjacency.from_unsorted(row, entity, self.sentences)
        """By row of sentences: the entities mentioned."""
        self.entity_sentences = Adjacency.from_unsorted(entity, row, size)
        """By entity: the rows of sentences that mention it."""
        self._index_passages(chunk, entity, mentions, counts)

    def _index_passages(
        self, chunk: Ints, entity: Ints, mentions: Ints, store: StoreCounts | None
    ) -> None:
        size = len(self.entity_ids)
        pairs, inverse = np.unique(chunk * max(size, 1) + entity, return_inverse=True)
        about = mentions[:, 1] == -1
        counts = np.bincount(inverse, weights=np.where(about, 0, mentions[:, 3]))
        is_about = np.bincount(inverse, weights=about) > 0
        passage, member = np.divmod(pairs, max(size, 1))
        self.entity_frequency = narrow(np.bincount(member, minlength=size))
        """(E,) chunks that mention the entity or are about it."""
        strength = np.minimum(counts, 2) + ABOUT_WEIGHT * is_about
        totals = np.bincount(member, weights=strength, minlength=size)
        if store is not None:
            rows, hit = find_sorted(self.entity_ids, store.entities[:, 0])
            _, frequency, mentioned, subject = store.entities[hit].T
            self.entity_frequency[rows[hit]] = frequency
            totals[rows[hit]] = mentioned + ABOUT_WEIGHT * subject
        self.entity_idf = np.log1p(self.store_size / np.maximum(self.entity_frequency, 1))
        """(E,) ln(1 + N / df)."""
        self.passage_entities = Adjacency.from_pairs(passage, member, self.size)
        """By chunk: its entities."""
        self.passage_strengths = strength.astype(np.uint8)
        """(entries of `passage_entities`,) min(count, 2) + 6 where the chunk is about it."""
        order = np.argsort(member, kind="stable")
        self.entity_passages = Adjacency.from_pairs(member[order], passage[order], size)
        """By entity: its chunks."""
        self.entity_about = is_about[order]
        self.entity_strengths = narrow(totals.astype(np.int64))
        """(E,) the sum of its strengths."""

    def weights(self, entries: Ints) -> NDArray[np.float64]:
        """Of entries of `passage_entities`: strength · idf²."""
        idf: NDArray[np.float64] = self.entity_idf[self.passage_entities.items[entries]]
        return self.passage_strengths[entries] * idf**2

    @cached_property
    def entity_rarity(self) -> Floats:
        """(E,) idf relative to that of an entity of one passage, 0 to 1."""
        rarity: Floats = (self.entity_idf / np.log1p(max(self.store_size, 1))).astype(np.float32)
        return rarity

    def entity_totals(self, rows: Ints) -> NDArray[np.float64]:
        """Of entities: the sum of the weights of all their edges."""
        totals: NDArray[np.float64] = self.entity_strengths[rows] * self.entity_idf[rows] ** 2
        return totals

    @property
    def whole(self) -> Snapshot:
        """The same as one, for what reads all of it."""
        return self

    @cached_property
    def has_neighbours(self) -> bool:
        """Whether any document has more than one chunk."""
        return bool(self._follows.any())

    @cached_property
    def words(self) -> float:
        """Terms of all chunks."""
        return float(self.chunk_terms.sum(dtype=np.float64))

    @cached_property
    def window_words(self) -> float:
        """Terms of all chunks, each with its neighbours."""
        pairs = self.chunk_terms[1:] + self.chunk_terms[:-1]
        return self.words + float(pairs[self._follows].sum(dtype=np.float64))

    @property
    def _follows(self) -> NDArray[np.bool_]:
        """(C - 1,) whether each chunk but the first is of the same document as the one before."""
        follows: NDArray[np.bool_] = self.columns.documents[1:] == self.columns.documents[:-1]
        return follows

    def rows(self, chunk_ids: Ids) -> Ints:
        """Rows of chunk ids, all of which are known."""
        return np.searchsorted(self.chunk_ids, chunk_ids)

    def known(self, chunk_ids: Ids) -> NDArray[np.bool_]:
        """Whether each chunk id is in this snapshot."""
        return find_sorted(self.chunk_ids, chunk_ids)[1]

    def entity_rows(self, entity_ids: Sequence[int]) -> dict[int, int]:
        """Row by entity id, for those that any chunk mentions."""
        ids = np.asarray(entity_ids, dtype=np.int64)
        rows, hit = self.find_entities(ids)
        return dict(zip(ids[hit].tolist(), rows[hit].tolist(), strict=True))

    def term_rows(self, found: Sequence[str]) -> Ints:
        """Rows of the terms that the store holds, each once, in order of the question."""
        hashes = np.array([term_hash(t) for t in dict.fromkeys(found)], dtype=np.uint64)
        rows, hit = self.find_terms(hashes)
        return rows[hit]

    def find_terms(self, hashes: NDArray[np.uint64]) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows of terms by their hashes, and whether any chunk holds each."""
        return find_sorted(self.vocabulary, hashes)

    def find_entities(self, entity_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows of entities, and whether any chunk mentions each."""
        return find_sorted(self.entity_ids, entity_ids)

    def neighbours(self, rows: Ints, step: int) -> Ints:
        """The chunk `step` places on in the same document; the chunk itself where there is none."""
        there = np.clip(rows + step, 0, max(self.size - 1, 0))
        same = self.columns.documents[there] == self.columns.documents[rows]
        return np.where(same, there, rows)
