"""A snapshot brought up to date at the cost of what changed: a base, what was added, what is gone.

Chunks never change and their ids are never used again: newer chunks are a small snapshot of their
own, whose rows stand behind those of the base, and rows of chunks that are gone are left out where
a row of terms or entities leads to them. A term or an entity keeps its row in the base; one that
the base lacks has a row behind. Figures of the whole are those of the base and of what was added,
without those of what is gone, and are computed where they are looked at. A chunk of the base whose
mentions changed is gone there, and added with the new ones.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.snapshot import Adjacency, Columns, Snapshot, distinct, find_sorted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints
    from clew.types import Ids

    Behind = Callable[[Ints], Ints]
    """Rows (n,) to their rows in what was added; below 0 where they have none there."""

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


class LayeredAdjacency:
    """Rows of a base, of which some items are gone, each with the items of another behind it."""

    def __init__(
        self,
        base: Adjacency,
        added: Adjacency,
        behind: Behind,
        there: Callable[[Ints], NDArray[np.bool_]] | None = None,
    ) -> None:
        """`there` says which items of the base still hold; without, all do."""
        self._base, self._added, self._behind, self._there = base, added, behind, there
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
        inside = np.flatnonzero(rows < len(self._base.starts) - 1)
        old, owner = self._base.entries(rows[inside])
        owner = inside[owner]
        if self._there is not None:
            held = self._there(self._base.items[old])
            old, owner = old[held], owner[held]
        at = self._behind(rows)
        behind = np.flatnonzero(at >= 0)
        new, of = self._added.entries(at[behind])
        entries = np.concatenate([old, new + len(self._base.items)])
        owners = np.concatenate([owner, behind[of]])
        order = np.argsort(owners, kind="stable")
        return entries[order], owners[order]


def behind_by(added: NDArray[Any], keys: NDArray[Any]) -> Behind:
    """Rows in what was added by the key of each row; `added` are the keys there, sorted."""

    def rows_of(rows: Ints) -> Ints:
        places, known = find_sorted(added, keys[rows])
        return np.where(known, places, -1)

    return rows_of


def figure(
    base: NDArray[Any],
    added: NDArray[Any],
    behind: Behind,
    lost: Ints,
    amounts: NDArray[Any] | None = None,
) -> Callable[[Ints], Ints]:
    """Figures of rows: those of the base and of what was added, less what is gone.

    `lost` are rows of the base, each as often as it lost one, or the amount given.
    """
    losing, place = np.unique(lost, return_inverse=True)
    less = np.bincount(place, amounts, len(losing)).astype(np.int64)

    def of(rows: Ints) -> Ints:
        places, known = find_sorted(losing, rows)
        total = np.zeros(len(rows), dtype=np.int64)
        for values, at in ((base, rows), (added, behind(rows))):
            inside = (at >= 0) & (at < len(values))
            total[inside] += values[at[inside]]
        total[known] -= less[places[known]]
        return total

    return of


# --- the snapshot ------------------------------------------------------------------------


FEW = 4.0
"""Chunks, added and gone, for each square root of the base's, up to which a base is extended.

Extending costs as much as has changed, and a base that is written anew as much as it holds."""


class ExtendedSnapshot(Snapshot):
    """`base` without the rows `gone` (sorted), and with the chunks `added`, none of which it has.

    Rows of chunks that are gone stay, and nothing leads to them.
    """

    def __init__(
        self, base: Snapshot, gone: Ints, added: Columns, *, generation: int, mentions_version: int
    ) -> None:
        """Costs as much as `gone` and `added` hold."""
        self.generation, self.mentions_version = generation, mentions_version
        self.base, self.gone = base, gone
        self.added = Snapshot(added, generation=generation, mentions_version=mentions_version)
        self.size = base.size + self.added.size
        self.sentences = base.sentences + self.added.sentences
        self.chunks = self.store_size = self.size - len(gone)
        for name in (
            *("chunk_ids", "documents", "chunk_terms", "vocabulary", "term_counts"),
            *("entity_ids", "passage_strengths", "entity_about"),
        ):
            setattr(self, name, Layered(getattr(base, name), getattr(self.added, name)))
        starts = self.added.sentence_starts + base.sentences
        self.sentence_starts: Any = Layered(base.sentence_starts[:-1], starts)
        self.sentence_chunk: Any = Layered(
            base.sentence_chunk, self.added.sentence_chunk + base.size
        )
        self._lay_terms(base, self.added)
        self._lay_entities(base, self.added)

    def _lay_terms(self, base: Snapshot, added: Snapshot) -> None:
        behind = behind_by(added.vocabulary, self.vocabulary)
        postings = Adjacency(added.postings.starts, added.postings.items + base.sentences)
        self.postings: Any = LayeredAdjacency(base.postings, postings, behind, self._said)
        self.sentence_terms: Any = LayeredAdjacency(
            base.sentence_terms, added.sentence_terms, lambda rows: rows - base.sentences
        )
        sentences, _ = Adjacency(base.sentence_starts, base.sentence_starts).entries(self.gone)
        entries, owner = base.sentence_terms.entries(sentences)
        terms = find_sorted(base.vocabulary, base.sentence_terms.items[entries])[0]
        chunks = base.sentence_chunk[sentences[owner]].astype(np.int64)
        lost, _ = np.divmod(distinct(terms * base.size + chunks), base.size)
        held = figure(base.term_frequency, added.term_frequency, behind, lost)
        self.term_frequency: Any = Computed(held, len(self.vocabulary))
        self.term_idf: Any = Computed(
            lambda rows: self._idf(held(rows)).astype(np.float32), len(self.vocabulary)
        )

    def _lay_entities(self, base: Snapshot, added: Snapshot) -> None:
        # The rows that entities of what was added have here.
        places, known = find_sorted(base.entity_ids, added.entity_ids)
        names = np.where(known, places, len(base.entity_ids) + np.arange(len(places)))
        behind = behind_by(added.entity_ids, self.entity_ids)
        for by_row, by_entity, first, there in (
            ("passage_entities", "entity_passages", base.size, self._there),
            ("sentence_entities", "entity_sentences", base.sentences, self._said),
        ):
            new = getattr(added, by_row)
            named = Adjacency(new.starts, names[new.items])
            shifted = partial(np.add, -first)
            setattr(self, by_row, LayeredAdjacency(getattr(base, by_row), named, shifted))
            new = getattr(added, by_entity)
            placed = Adjacency(new.starts, new.items + first)
            held = LayeredAdjacency(getattr(base, by_entity), placed, behind, there)
            setattr(self, by_entity, held)
        size = len(self.entity_ids)
        entries, _ = base.passage_entities.entries(self.gone)
        lost, strengths = base.passage_entities.items[entries], base.passage_strengths[entries]
        often = figure(base.entity_frequency, added.entity_frequency, behind, lost)
        summed = figure(base.entity_strengths, added.entity_strengths, behind, lost, strengths)
        self.entity_frequency: Any = Computed(often, size)
        self.entity_strengths: Any = Computed(summed, size)
        self.entity_idf: Any = Computed(lambda rows: self._idf(often(rows)), size)
        most = np.log1p(max(self.store_size, 1))
        self.entity_rarity: Any = Computed(
            lambda rows: (self._idf(often(rows)) / most).astype(np.float32), size
        )

    def _idf(self, frequency: Ints) -> NDArray[np.float64]:
        idf: NDArray[np.float64] = np.log1p(self.store_size / np.maximum(frequency, 1))
        return idf

    def _there(self, rows: Ints) -> NDArray[np.bool_]:
        """Whether chunks are still there."""
        return ~find_sorted(self.gone, rows)[1]

    def _said(self, sentences: Ints) -> NDArray[np.bool_]:
        """Whether rows of sentences are of chunks that are still there."""
        return self._there(self.base.sentence_chunk[sentences])

    # --- what is looked up

    @cached_property
    def in_order(self) -> Ints:
        """See `Snapshot`."""
        kept = np.delete(np.arange(self.base.size), self.gone)
        places = np.searchsorted(self.base.chunk_ids[kept], self.added.chunk_ids)
        return np.insert(kept, places, self.base.size + np.arange(self.added.size))

    @cached_property
    def columns(self) -> Columns:  # type: ignore[override]
        """The columns as one."""
        both = self.base.columns.append(self.added.columns)
        lost = np.isin(self.base.columns.mentions[:, 0], self.base.chunk_ids[self.gone])
        held = np.append(~lost, np.ones(len(self.added.columns.mentions), dtype=bool))
        return both.take(self.in_order, both.mentions[held])

    @cached_property
    def whole(self) -> Snapshot:
        """The same as one: all rows without gaps."""
        version = self.mentions_version
        return Snapshot(self.columns, generation=self.generation, mentions_version=version)

    @property
    def large(self) -> bool:
        """Whether so much has changed that a base of its own is worth making."""
        return len(self.gone) + self.added.size > FEW * self.base.size**0.5

    def rows(self, chunk_ids: Ids) -> Ints:
        """See `Snapshot`."""
        return self._find_chunks(chunk_ids)[0]

    def known(self, chunk_ids: Ids) -> NDArray[np.bool_]:
        """See `Snapshot`."""
        return self._find_chunks(chunk_ids)[1]

    def _find_chunks(self, chunk_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows of chunks, and whether each is there."""
        places, known = find_sorted(self.base.chunk_ids, chunk_ids)
        known &= self._there(places)
        later, new = find_sorted(self.added.chunk_ids, chunk_ids)
        return np.where(known, places, self.base.size + later), known | new

    def find_terms(self, hashes: NDArray[np.uint64]) -> tuple[Ints, NDArray[np.bool_]]:
        """See `Snapshot`."""
        return self._find("vocabulary", hashes, self.term_frequency)

    def find_entities(self, entity_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """See `Snapshot`."""
        return self._find("entity_ids", entity_ids, self.entity_frequency)

    def _find(
        self, keys: str, wanted: NDArray[Any], frequency: Computed
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows by key: those of the base, else those behind them; whether any chunk is left."""
        places, known = find_sorted(getattr(self.base, keys), wanted)
        others, new = find_sorted(getattr(self.added, keys), wanted)
        rows = np.where(known, places, len(getattr(self.base, keys)) + others)
        found = known | new
        found[found] = frequency[rows[found]] > 0
        return rows, found
