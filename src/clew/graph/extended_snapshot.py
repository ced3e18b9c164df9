"""A snapshot brought up to date at the cost of what changed: a base, what was added, what is gone.

Chunks never change and their ids are never used again: newer chunks are a small snapshot of their
own, whose rows stand behind those of the base, and rows of chunks that are gone are left out where
a row of terms or entities leads to them. A term or an entity keeps its row in the base; one that
the base lacks has a row behind. Figures of the whole are those of the base and of what was added,
without those of what is gone, and are computed where they are looked at. Where mentions of the
base's chunks change, they are left out, too, and the new ones stand with what was added.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.snapshot import Adjacency, Columns, Snapshot, TermPostings, distinct, find_sorted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints
    from clew.types import Ids

    Behind = Callable[[Ints], Ints]
    """Rows (n,) to their rows in what was added; below 0 where they have none there."""
    Kept = Callable[[Ints], NDArray[np.bool_]]
    """Rows (n,) to whether each still holds."""

# --- columns and rows in two layers ------------------------------------------------------

# Columns and rows of integers that lie in two layers, looked at as if they were one.
#
# They stand in for arrays and `Adjacency` where these are looked up by row; whoever needs one
# array makes it with `numpy.asarray`.


class Computed:
    """A column of `size` numbers that are computed where they are looked at."""

    def __init__(self, of: Callable[[Ints], NDArray[Any]], size: int) -> None:
        """`of` rows (n,) the numbers (n,)."""
        self._of = of
        self._size = size
        self._looked_up: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:  # noqa: ANN401 - as numpy has it
        """At a row, at rows, at a slice, or where a mask (size,) holds."""
        rows = np.arange(self._size)[at] if isinstance(at, slice) else np.asarray(at)
        if rows.ndim == 0:
            return self._one(int(rows))
        return self._of(np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64))

    def _one(self, row: int) -> Any:  # noqa: ANN401 - as numpy has it
        """Kept, since a question looks up a few rows one by one, over and over."""
        if row not in self._looked_up:
            self._looked_up[row] = self._of(np.array([row if row >= 0 else row + self._size]))[0]
        return self._looked_up[row]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.asarray(self._of(np.arange(self._size)), dtype=dtype)


class Layered(Computed):
    """A column of a base with another behind it."""

    def __init__(self, base: NDArray[Any], added: NDArray[Any]) -> None:
        """Neither is copied."""
        super().__init__(self._look, len(base) + len(added))
        self._base, self._added = base, added

    def _look(self, rows: Ints) -> NDArray[Any]:
        later = rows >= len(self._base)
        if not later.any():
            return self._base[rows]
        found = np.empty(len(rows), dtype=np.result_type(self._base, self._added))
        found[~later] = self._base[rows[~later]]
        found[later] = self._added[rows[later] - len(self._base)]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.concatenate([self._base, self._added]).astype(dtype or None, copy=False)


class LayeredAdjacency:
    """Rows of a base, of which some items are gone, each with the items of another behind it."""

    def __init__(
        self,
        base: Adjacency,
        added: Adjacency,
        behind: Behind,
        *,
        there: Kept | None = None,
        kept: Kept | None = None,
        mixed: bool = False,
    ) -> None:
        """`kept` says which rows of the base still hold, `there` which items; without, all do.

        `mixed` says that items of both layers may lie among each other, as they are to be sorted.
        """
        self._base, self._added, self._mixed = base, added, mixed
        self._behind, self._there, self._kept = behind, there, kept
        self.items = Layered(base.items, added.items)
        """(entries,) of both; `entries` gives places in it."""

    def row(self, index: int) -> Ints:
        """The items of one row."""
        found: Ints = self.items[self.entries(np.array([index]))[0]]
        return found

    def sizes(self, rows: Ints) -> Ints:
        """See `Adjacency`; entries that are gone are counted, too."""
        counts = np.zeros(len(rows), dtype=np.int64)
        for layer, at in ((self._base, rows), (self._added, self._behind(rows))):
            there = np.flatnonzero((at >= 0) & (at < len(layer.starts) - 1))
            counts[there] += layer.sizes(at[there])
        return counts

    def entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """See `Adjacency`; entries that are gone are left out."""
        held = rows < len(self._base.starts) - 1
        if self._kept is not None:
            held &= self._kept(rows)
        inside = np.flatnonzero(held)
        old, owner = self._base.entries(rows[inside])
        owner = inside[owner]
        if self._there is not None and len(old):
            held = self._there(self._base.items[old])
            old, owner = old[held], owner[held]
        at = self._behind(rows)
        behind = np.flatnonzero(at >= 0)
        new, of = self._added.entries(at[behind])
        if not len(new):
            return old, owner
        entries = np.concatenate([old, new + len(self._base.items)])
        owners = np.concatenate([owner, behind[of]])
        if self._mixed:
            order = np.lexsort((self.items[entries], owners))
        else:
            order = np.argsort(owners, kind="stable")
        return entries[order], owners[order]


class Figure:
    """A figure of terms or entities: the base's and what was added to it, less what is gone."""

    def __init__(
        self,
        base: NDArray[Any],
        added: NDArray[Any],
        behind: Behind,
        lost: Ints,
        amounts: NDArray[Any] | None = None,
    ) -> None:
        """`lost` are rows of the base, each as often as it lost one, or the amount given."""
        self._base, self._added, self._behind = base, added, behind
        self._lost, place = np.unique(lost, return_inverse=True)
        self._amounts = np.bincount(place, amounts, len(self._lost)).astype(np.int64)

    def of(self, rows: Ints) -> Ints:
        """The figures of rows."""
        places, known = find_sorted(self._lost, rows)
        total: Ints = _at(self._base, rows) + _at(self._added, self._behind(rows))
        total[known] -= self._amounts[places[known]]
        return total


def _at(values: NDArray[Any], rows: Ints) -> Ints:
    """Values of rows; 0 for rows beyond."""
    found: Ints = np.zeros(len(rows), dtype=np.int64)
    inside = (rows >= 0) & (rows < len(values))
    found[inside] = values[rows[inside]]
    return found


def rows_behind(added: NDArray[Any], keys: Layered | None = None) -> Behind:
    """By what stands for each row in what was added (sorted): its key, or without keys itself."""

    def rows_of(rows: Ints) -> Ints:
        places, known = find_sorted(added, rows if keys is None else keys[rows])
        return np.where(known, places, -1)

    return rows_of


def found_in(
    base: NDArray[Any], added: NDArray[Any], wanted: NDArray[Any]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Rows by key: those of the base, else those behind them."""
    places, known = find_sorted(base, wanted)
    others, new = find_sorted(added, wanted)
    return np.where(known, places, len(base) + others), known | new


# --- mentions that changed ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moved:
    """Chunks of a base whose mentions are others by now."""

    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(m,) sorted, none of a chunk that is gone."""
    mentions: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    """(n, 4) all that they have, as `Columns.mentions`."""

    def columns(self, base: Columns) -> Columns:
        """These chunks, without their terms."""
        counts = base.sentence_counts[self.rows].astype(np.int64)
        return Columns(
            chunk_ids=base.chunk_ids[self.rows],
            documents=base.documents[self.rows],
            sentence_counts=counts,
            term_counts=np.zeros(int(counts.sum()), dtype=np.int64),
            term_hashes=np.zeros(0, dtype=np.uint64),
            mentions=self.mentions,
        )


def with_mentions(columns: Columns, chunk_ids: Ints, mentions: Ints) -> Columns:
    """The same with other mentions of some chunks, those in order of chunk id."""
    if not len(chunk_ids):
        return columns
    others = columns.mentions[~np.isin(columns.mentions[:, 0], chunk_ids)]
    both = np.concatenate([others, mentions])
    return replace(columns, mentions=both[np.argsort(both[:, 0], kind="stable")])


def without_terms(columns: Columns) -> Columns:
    """The same chunks as if their texts were empty."""
    none = np.zeros(0, dtype=np.uint64)
    return replace(columns, term_counts=np.zeros_like(columns.term_counts), term_hashes=none)


# --- the snapshot ------------------------------------------------------------------------


FEW = 4.0
"""Chunks, added and gone, for each square root of the base's, up to which a base is extended.

Extending costs as much as has changed, and a base that is written anew as much as it holds."""


class ExtendedSnapshot(Snapshot):
    """`base` without the rows `gone` (sorted), and with the chunks `added`, all of them newer.

    Rows of chunks that are gone stay, and nothing leads to them. Those `moved` have new mentions.
    """

    def __init__(
        self,
        base: Snapshot,
        gone: Ints,
        added: Columns,
        moved: Moved | None = None,
        *,
        generation: int,
        mentions_version: int,
    ) -> None:
        """Costs as much as `gone`, `added` and `moved` hold."""
        self.generation, self.mentions_version = generation, mentions_version
        self.base, self.gone, self.moved = base, gone, moved or Moved()
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
        behind = rows_behind(added.vocabulary, self.vocabulary)
        postings = Adjacency(added.postings.starts, added.postings.items + base.sentences)
        self.postings: Any = LayeredAdjacency(base.postings, postings, behind, there=self._said)
        self.term_counts: Any = Layered(base.term_counts, added.term_counts)
        self.sentence_terms: Any = LayeredAdjacency(
            base.sentence_terms, added.sentence_terms, lambda rows: rows - base.sentences
        )
        sentences = _sentences(base, self.gone)
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
        base, size = self.base, len(self.base.entity_ids)
        self.named = named = self._mentioned()
        self.entity_ids: Any = Layered(base.entity_ids, named.entity_ids)
        places, known = find_sorted(base.entity_ids, named.entity_ids)
        names = np.where(known, places, size + np.arange(len(named.entity_ids)))

        def of_rows(old: Adjacency, new: Adjacency, moved: Ints, rows: Ints) -> LayeredAdjacency:
            kept: Kept | None = (lambda at: ~find_sorted(moved, at)[1]) if len(moved) else None
            renamed = Adjacency(new.starts, names[new.items])
            return LayeredAdjacency(old, renamed, rows_behind(rows), kept=kept)

        moved, spoken = self.moved.rows, _sentences(base, self.moved.rows)
        chunks = np.append(moved, base.size + np.arange(self.added.size))
        sentences = np.append(spoken, base.sentences + np.arange(self.added.sentences))
        self.sentence_entities: Any = of_rows(
            base.sentence_entities, named.sentence_entities, spoken, sentences
        )
        self.passage_entities: Any = of_rows(
            base.passage_entities, named.passage_entities, moved, chunks
        )
        self.passage_strengths: Any = Layered(base.passage_strengths, named.passage_strengths)
        self.entity_about: Any = Layered(base.entity_about, named.entity_about)
        behind = rows_behind(named.entity_ids, self.entity_ids)
        self._lay_mentions(behind, sentences, chunks)
        self._lay_figures(behind)

    def _mentioned(self) -> Snapshot:
        """The chunks whose mentions stand with those of the base: those moved, then those added."""
        if not len(self.moved.rows):
            return self.added
        both = self.moved.columns(self.base.columns).append(without_terms(self.added.columns))
        version = self.mentions_version
        return Snapshot(both, generation=self.generation, mentions_version=version)

    def _lay_mentions(self, behind: Behind, sentences: Ints, chunks: Ints) -> None:
        """By entity; `sentences` and `chunks` are the rows of those of `named`."""
        base, named, mixed = self.base, self.named, len(self.moved.rows) > 0
        said, there = named.entity_sentences, named.entity_passages
        self.entity_sentences: Any = LayeredAdjacency(
            base.entity_sentences,
            Adjacency(said.starts, sentences[said.items]),
            behind,
            there=lambda rows: ~find_sorted(self._left, base.sentence_chunk[rows])[1],
            mixed=mixed,
        )
        self.entity_passages: Any = LayeredAdjacency(
            base.entity_passages,
            Adjacency(there.starts, chunks[there.items]),
            behind,
            there=lambda rows: ~find_sorted(self._left, rows)[1],
            mixed=mixed,
        )

    @cached_property
    def _left(self) -> Ints:
        """Rows of the base whose mentions there hold no more, sorted."""
        return np.union1d(self.gone, self.moved.rows)

    def _lay_figures(self, behind: Behind) -> None:
        base, named, size = self.base, self.named, len(self.entity_ids)
        entries, _ = base.passage_entities.entries(self._left)
        lost, strengths = base.passage_entities.items[entries], base.passage_strengths[entries]
        held = Figure(base.entity_frequency, named.entity_frequency, behind, lost)
        summed = Figure(base.entity_strengths, named.entity_strengths, behind, lost, strengths)
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
        moved, mentions = self.base.chunk_ids[self.moved.rows], self.moved.mentions
        base = with_mentions(self.base.columns, moved, mentions).keep(present)
        return base.append(self.added.columns)

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
        changed = len(self.gone) + len(self.moved.rows) + self.added.size
        return changed > FEW * self.base.size**0.5

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
        rows, known = found_in(self.base.entity_ids, self.named.entity_ids, entity_ids)
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


def _sentences(base: Snapshot, chunks: Ints) -> Ints:
    """Rows of the sentences of some rows of chunks."""
    return Adjacency(base.sentence_starts, base.sentence_starts).entries(chunks)[0]
