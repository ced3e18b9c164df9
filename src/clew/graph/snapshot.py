"""The graph as arrays: passages, sentences, terms and entities, read from a store.

Everything here is derived: it carries the generation that it was built from and can be deleted at
any time. `extended_snapshot` brings one up to date.

Each chunk has one row of sentences more than it has sentences: the first row stands for its
context (title and headings). A chunk that is *about* an entity mentions it there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from clew.ports import NearbyQuery, PassageRow
    from clew.stores.store import Store
    from clew.types import Ids

    Ints = NDArray[np.int64]
    """Rows and counts; of 32 bits where an array is kept for long."""
    Floats = NDArray[np.float32]

# --- columns, as a store has them --------------------------------------------------------

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
    hash_of = cache(term_hash)
    chunk_ids, documents, sentence_counts = [], [], []
    term_counts: list[int] = []
    flat: list[int] = []
    for row in passages:
        chunk_ids.append(row.chunk_id)
        documents.append(int(row.document_id, 16))
        sentence_counts.append(1 + len(row.sentences))
        texts = [row.context, *(row.text[start:end] for start, end in row.sentences)]
        for text in texts:
            found = terms(text, row.language)
            term_counts.append(len(found))
            flat.extend(map(hash_of, found))
    return Columns(
        chunk_ids=np.array(chunk_ids, dtype=np.int64),
        documents=np.array(documents, dtype=np.uint64).astype(np.int64),
        sentence_counts=np.array(sentence_counts, dtype=np.int64),
        term_counts=np.array(term_counts, dtype=np.int64),
        term_hashes=np.array(flat, dtype=np.uint64),
        mentions=mentions.reshape(-1, 4),
    )


def term_hash(term: str) -> int:
    """64 bits of BLAKE2b: the same in every process, collisions negligible."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")


def term_hashes(found: Iterable[str]) -> NDArray[np.uint64]:
    """(n,) the hash of each of some terms."""
    return np.array([term_hash(term) for term in found], dtype=np.uint64)


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


# --- the snapshot ------------------------------------------------------------------------


ABOUT_WEIGHT = 6
"""Weight of an edge from a passage to what it is about; a mention weighs 1, two or more weigh 2."""


ARRAYS = (
    *("sentence_starts", "sentence_chunk", "term_starts", "vocabulary", "term_counts"),
    *("chunk_terms", "term_frequency", "term_idf", "entity_ids", "entity_frequency"),
    *("entity_idf", "passage_strengths", "entity_about", "entity_strengths"),
)
ADJACENCIES = (
    *("postings", "sentence_entities", "entity_sentences"),
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
        snapshot.sentence_terms = Adjacency(snapshot.term_starts, columns.term_hashes)
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
        self.term_starts: Ints = narrow(starts_of(columns.term_counts))
        self.sentence_terms = Adjacency(self.term_starts, columns.term_hashes)
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
        rows, hit = self.find_terms(term_hashes(dict.fromkeys(found)))
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


# --- a part of the graph, for one question -----------------------------------------------

# A part of the graph, read from the store for one question: a snapshot of a few hundred
# passages.
#
# All that walks and ranks takes it for a snapshot of the whole store. What depends on the whole
# comes from the store with the passages, as `StoreCounts`:
#
# - the number of chunks, and of those that hold each term of the question (inverse frequencies);
# - of each entity that the passages mention, the number of its chunks (its inverse frequency,
#   thus the weight of all its edges) and the sum of its edges' weights: what a walk takes out of
#   an entity to passages that are not here is lost, as it is to passages that a walk over a
#   snapshot leaves aside.
#
# Of a passage all mentions come along, so that the sum of its edges is exact. The mean length of
# passages (for BM25) is that of the passages here.


_APART = np.uint64(0x9E3779B97F4A7C15)
"""Any large odd number."""


class Neighbourhood:
    """What was read for a question so far, and the graph of it."""

    def __init__(self, source: Store) -> None:
        self._source = source
        self._entities: dict[str, int] = {}
        self._columns = read_columns([], _no_rows())
        self._counted = _no_rows()
        self._terms: dict[int, int] = {}
        self.snapshot = Snapshot(self._columns, generation=0, mentions_version=0)

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Entity id by key, as `Store.resolve` has it, of the names that were asked for."""
        return {key: self._entities[key] for key in keys if key in self._entities}

    def read(self, query: NearbyQuery) -> Snapshot:
        """The graph of all that was read so far, what is asked now among it; see `snapshot`."""
        wanted = np.array(query.counted, dtype=np.int64)
        missing = wanted[~np.isin(wanted, self._counted[:, 0])].tolist()
        known = self._columns.chunk_ids.tolist()
        found = self._source.nearby(replace(query, known=known, counted=missing))
        self._entities |= found.entities
        self._terms |= {term_hash(term): number for term, number in found.term_counts.items()}
        new = read_columns(found.passages, found.mentions)
        self._columns = self._columns.append(new).by_chunk_id()
        self._counted = np.concatenate([self._counted, found.entity_counts])
        counts = StoreCounts(found.chunks, self._terms, self._counted)
        # Another number for each run of chunks whose ids follow each other: rows that follow each
        # other are neighbours in a snapshot; here, chunks between them may lack.
        ids, documents = self._columns.chunk_ids, self._columns.documents
        apart = (ids - np.arange(len(ids))).astype(np.uint64) * _APART
        numbers = (documents.astype(np.uint64) ^ apart).astype(np.int64)
        columns = replace(self._columns, documents=numbers)
        self.snapshot = Snapshot(columns, generation=0, mentions_version=0, counts=counts)
        return self.snapshot


def _no_rows() -> Ints:
    return np.zeros((0, 4), dtype=np.int64)
