"""A snapshot brought up to date at the cost of what changed: a base, what was added, what is gone.

Chunks never change and their ids are never used again: newer chunks are a small snapshot of their
own, whose rows stand behind those of the base, and rows of chunks that are gone are left out where
a row of terms or entities leads to them. A term or an entity keeps its row in the base; one that
the base lacks has a row behind. Figures of the whole are those of the base and of what was added,
without those of what is gone, and are computed where they are looked at.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.extended.rows import (
    Computed,
    Figure,
    Layered,
    LayeredAdjacency,
    found_in,
    rows_behind,
)
from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_columns import (
    Adjacency,
    Columns,
    TermPostings,
    distinct,
    find_sorted,
    read_columns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.extended.rows import Behind
    from clew.graph.snapshot import Ints
    from clew.ports import SnapshotSource
    from clew.types import Ids

FEW = 4.0
"""Chunks, added and gone, for each square root of the base's, up to which a base is extended.

Extending costs as much as has changed, and a base that is written anew as much as it holds."""


class ExtendedSnapshot(Snapshot):
    """`base` without the rows `gone` (sorted), and with the chunks `added`, all of them newer.

    Rows of chunks that are gone stay, and nothing leads to them.
    """

    def __init__(
        self,
        base: Snapshot,
        gone: Ints,
        added: Columns,
        *,
        generation: int,
        mentions_version: int,
    ) -> None:
        """Costs as much as `gone` and `added` hold."""
        self.generation, self.mentions_version = generation, mentions_version
        self.base, self.gone = base, gone
        self.added = Snapshot(added, generation=generation, mentions_version=mentions_version)
        self._lay_chunks()
        self._lay_terms()
        self._lay_entities()

    def _lay_chunks(self) -> None:
        base, added = self.base, self.added
        self.size, self.sentences = base.size + added.size, base.sentences + added.sentences
        self.chunks = self.store_size = self.size - len(self.gone)
        self.chunk_ids: Any = Layered(base.chunk_ids, added.chunk_ids)
        self.documents: Any = Layered(base.columns.documents, added.columns.documents)
        self.chunk_terms: Any = Layered(base.chunk_terms, added.chunk_terms)
        starts = added.sentence_starts + base.sentences
        self.sentence_starts: Any = Layered(base.sentence_starts[:-1], starts)
        self.sentence_chunk: Any = Layered(base.sentence_chunk, added.sentence_chunk + base.size)

    def _lay_terms(self) -> None:
        base, added = self.base, self.added
        self.vocabulary: Any = Layered(base.vocabulary, added.vocabulary)
        behind = rows_behind(self.vocabulary, added.vocabulary)
        postings = Adjacency(added.postings.starts, added.postings.items + base.sentences)
        self.postings: Any = LayeredAdjacency(base.postings, postings, behind, self._said)
        self.term_counts: Any = Layered(base.term_counts, added.term_counts)
        self.sentence_terms: Any = LayeredAdjacency(
            base.sentence_terms, added.sentence_terms, lambda rows: rows - base.sentences
        )
        sentences, _ = Adjacency(base.sentence_starts, base.sentence_starts).entries(self.gone)
        entries, owner = base.sentence_terms.entries(sentences)
        terms = find_sorted(base.vocabulary, base.sentence_terms.items[entries])[0]
        chunks = base.sentence_chunk[sentences[owner]].astype(np.int64)
        lost, _ = np.divmod(distinct(terms * base.size + chunks), base.size)
        held = Figure(base.term_frequency, added.term_frequency, behind, lost)
        self.term_frequency: Any = Computed(held.of, len(self.vocabulary))
        self.term_idf: Any = Computed(
            lambda rows: self._idf(held.of(rows)).astype(np.float32), len(self.vocabulary)
        )

    def _lay_entities(self) -> None:
        base, added, size = self.base, self.added, len(self.base.entity_ids)
        self.entity_ids: Any = Layered(base.entity_ids, added.entity_ids)
        behind = rows_behind(self.entity_ids, added.entity_ids)
        places, known = find_sorted(base.entity_ids, added.entity_ids)
        names = np.where(known, places, size + np.arange(len(added.entity_ids)))

        def of_rows(old: Adjacency, new: Adjacency, first: int) -> LayeredAdjacency:
            renamed = Adjacency(new.starts, names[new.items])
            return LayeredAdjacency(old, renamed, lambda rows: rows - first)

        self.sentence_entities: Any = of_rows(
            base.sentence_entities, added.sentence_entities, base.sentences
        )
        self.passage_entities: Any = of_rows(
            base.passage_entities, added.passage_entities, base.size
        )
        said, there = added.entity_sentences, added.entity_passages
        self.entity_sentences: Any = LayeredAdjacency(
            base.entity_sentences,
            Adjacency(said.starts, said.items + base.sentences),
            behind,
            self._said,
        )
        self.entity_passages: Any = LayeredAdjacency(
            base.entity_passages,
            Adjacency(there.starts, there.items + base.size),
            behind,
            self._there,
        )
        self.passage_strengths: Any = Layered(base.passage_strengths, added.passage_strengths)
        self.entity_about: Any = Layered(base.entity_about, added.entity_about)
        self._lay_figures(behind, size + len(added.entity_ids))

    def _lay_figures(self, behind: Behind, size: int) -> None:
        base, added = self.base, self.added
        entries, _ = base.passage_entities.entries(self.gone)
        lost, strengths = base.passage_entities.items[entries], base.passage_strengths[entries]
        held = Figure(base.entity_frequency, added.entity_frequency, behind, lost)
        summed = Figure(base.entity_strengths, added.entity_strengths, behind, lost, strengths)
        self.entity_frequency: Any = Computed(held.of, size)
        self.entity_strengths: Any = Computed(summed.of, size)
        self.entity_idf: Any = Computed(lambda rows: self._idf(held.of(rows)), size)
        most = np.log1p(max(self.store_size, 1))
        self.entity_rarity: Any = Computed(
            lambda rows: (self._idf(held.of(rows)) / most).astype(np.float32), size
        )

    def _idf(self, frequency: Ints) -> NDArray[np.float64]:
        idf: NDArray[np.float64] = np.log1p(self.store_size / np.maximum(frequency, 1))
        return idf

    def _there(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether chunks are still there."""
        return ~find_sorted(self.gone, rows)[1]

    def _said(self, sentences: Ints) -> NDArray[np.bool_]:
        """Whether rows of sentences are of chunks that are still there."""
        if not len(self.gone):
            return np.ones(len(sentences), dtype=bool)
        return self._there(self.base.sentence_chunk[sentences])

    # --- what is looked up

    @cached_property
    def columns(self) -> Columns:  # type: ignore[override]
        """The columns as one."""
        present = np.ones(self.base.size, dtype=bool)
        present[self.gone] = False
        return self.base.columns.keep(present).append(self.added.columns)

    @cached_property
    def whole(self) -> Snapshot:
        """The same as one: all rows without gaps."""
        base, present = self.base, np.ones(self.base.size, dtype=bool)
        present[self.gone] = False
        terms = TermPostings(base.vocabulary, base.postings, base.term_counts)
        if len(self.gone):
            terms = terms.keep(np.repeat(present, base.columns.sentence_counts))
        first = len(self.columns.term_counts) - self.added.sentences
        return Snapshot(
            self.columns,
            generation=self.generation,
            mentions_version=self.mentions_version,
            terms=terms.append(TermPostings.of(self.added.columns, first=first)),
        )

    @property
    def large(self) -> bool:
        """Whether so much has changed that a base of its own is worth making."""
        return len(self.gone) + self.added.size > FEW * self.base.size**0.5

    @cached_property
    def has_neighbours(self) -> bool:
        """Whether any document has, or had, more than one chunk."""
        return self.base.has_neighbours or self.added.has_neighbours or bool(self._joined()[0].size)

    @cached_property
    def words(self) -> float:
        """Terms of all chunks."""
        return self.base.words + self.added.words - self._gone_words

    @cached_property
    def window_words(self) -> float:
        """Terms of all chunks, each with its neighbours."""
        parted = distinct(np.concatenate([self.gone - 1, self.gone]))
        parted = parted[(parted >= 0) & (parted < self.base.size - 1)]
        parted = parted[self.documents[parted] == self.documents[parted + 1]]
        pairs = self.chunk_terms[parted] + self.chunk_terms[parted + 1]
        before, after = self._joined()
        joined = self.chunk_terms[before] + self.chunk_terms[after]
        held = self.base.window_words + self.added.window_words - self._gone_words
        return held + float(joined.sum(dtype=np.float64)) - float(pairs.sum(dtype=np.float64))

    def _joined(self) -> tuple[Ints, Ints]:
        """Rows that are neighbours now and were not in the base or in what was added."""
        before = distinct(np.append(self.gone - 1, self.base.size - 1))
        before = before[(before >= 0) & self._there(before)]
        # Of a run at the end, the last chunk before it that is there.
        last = self._row(np.array([self.base.size - len(self.gone) - 1]))
        before = distinct(np.concatenate([before, last[last >= 0]]))
        after = self.neighbours(before, 1)
        apart = after != before
        return before[apart], after[apart]

    def rows(self, chunk_ids: Ids) -> Ints:
        """See `Snapshot`."""
        places, known = find_sorted(self.base.chunk_ids, chunk_ids)
        later = self.base.size + np.searchsorted(self.added.chunk_ids, chunk_ids)
        return np.where(known, places, later)

    def known(self, chunk_ids: Ids) -> NDArray[np.bool_]:
        """See `Snapshot`."""
        places, known = find_sorted(self.base.chunk_ids, chunk_ids)
        return (known & self._there(places)) | self.added.known(chunk_ids)

    def find_terms(self, hashes: NDArray[np.uint64]) -> tuple[Ints, NDArray[np.bool_]]:
        """See `Snapshot`."""
        rows, known = found_in(self.base.vocabulary, self.added.vocabulary, hashes)
        known[known] = self.term_frequency[rows[known]] > 0
        return rows, known

    def find_entities(self, entity_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """See `Snapshot`."""
        rows, known = found_in(self.base.entity_ids, self.added.entity_ids, entity_ids)
        known[known] = self.entity_frequency[rows[known]] > 0
        return rows, known

    def neighbours(self, rows: Ints, step: int) -> Ints:
        """See `Snapshot`; rows of chunks that are gone are passed over."""
        number = rows - np.searchsorted(self.gone, rows) + step
        there = self._row(np.clip(number, 0, max(self.chunks - 1, 0)))
        return np.where(self.documents[there] == self.documents[rows], there, rows)

    @cached_property
    def _gone_words(self) -> float:
        return float(self.base.chunk_terms[self.gone].sum(dtype=np.float64))

    def _row(self, numbers: Ints) -> Ints:
        """Rows of the chunks with these numbers (from 0) among those that are still there."""
        passed = self.gone - np.arange(len(self.gone))
        return numbers + np.searchsorted(passed, numbers, side="right")


def build(source: SnapshotSource, previous: Snapshot | None = None) -> Snapshot:
    """A snapshot of the store as it stands; `previous` is extended where it can be."""
    generation, mentions_version = source.generation(), source.mentions_version()
    if previous is not None and previous.generation == generation:
        return previous
    if previous is None or previous.mentions_version != mentions_version or not previous.chunks:
        columns = _read_after(source, 0)
        return Snapshot(columns, generation=generation, mentions_version=mentions_version)
    base, gone = previous, np.zeros(0, dtype=np.int64)
    new = _read_after(source, int(previous.chunk_ids[-1]))
    added = new
    if isinstance(previous, ExtendedSnapshot):
        base, gone, added = previous.base, previous.gone, previous.added.columns.append(new)
    count = source.chunk_count()
    if count != previous.chunks + len(new.chunk_ids):
        deleted = source.deleted_since(previous.generation)
        if deleted is not None:
            places, known = find_sorted(base.chunk_ids, deleted)
            gone = np.union1d(gone, places[known])
            added = added.keep(~np.isin(added.chunk_ids, deleted))
        if base.size - len(gone) + len(added.chunk_ids) != count:
            present = source.chunk_ids()
            gone = np.flatnonzero(~find_sorted(present, base.chunk_ids)[1])
            added = added.keep(find_sorted(present, added.chunk_ids)[1])
        if base.size - len(gone) + len(added.chunk_ids) < count:
            return build(source)  # ids below those known were saved later
    versions = {"generation": generation, "mentions_version": mentions_version}
    extended = ExtendedSnapshot(base, gone, added, **versions)
    return extended.whole if extended.large else extended


def _read_after(source: SnapshotSource, after: int) -> Columns:
    return read_columns(source.passages(after), source.mention_rows(after))
