"""Snapshots: what they count, against plain Python; and extended ones equal those built anew."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import Adjacency, Snapshot, find_sorted, narrow
from clew.graph.snapshot_files import build as build_snapshot
from clew.ports import PassageRow, RelationRows
from clew.text import terms

if TYPE_CHECKING:
    from clew.stores.store import Store
    from clew.types import Ids

WORDS = ("clock", "tower", "bell", "river", "of", "the", "Ада", "時計")


def build(shelf: Shelf, previous: Snapshot | None = None) -> Snapshot:
    return build_snapshot(cast("Store", shelf), previous)


@dataclass
class Shelf:
    """A store in memory: chunk by id, as (document, context, sentences, mentions)."""

    chunks: dict[int, tuple[int, str, list[str], list[tuple[int, int, int]]]] = field(
        default_factory=dict
    )
    commits: int = 0
    hands: int = 0
    dropped: dict[int, int] | None = field(default_factory=dict)
    """When each was, by chunk; None where nobody noted it."""
    noted: dict[int, list[int]] = field(default_factory=dict)
    """Chunks whose mentions changed, by the version that this made; others are not known."""
    reads: int = 0
    """Of all ids."""
    wholes: int = 0
    """Of all mentions."""

    def add(
        self, document: int, context: str, said: list[str], mentions: list[tuple[int, int, int]]
    ) -> None:
        self.commits += 1
        self.chunks[self.commits] = (document, context, said, mentions)

    def drop(self, chunk_id: int) -> None:
        if self.dropped is not None:
            self.dropped[chunk_id] = self.commits
        self.commits += 1
        del self.chunks[chunk_id]

    def move(self, found: dict[int, list[tuple[int, int, int]]], *, noted: bool = True) -> None:
        """Give chunks other mentions."""
        self.commits += 1
        self.hands += 1
        for chunk_id, mentions in found.items():
            document, context, said, _ = self.chunks[chunk_id]
            self.chunks[chunk_id] = (document, context, said, mentions)
        if noted:
            self.noted[self.hands] = list(found)

    def reading(self) -> AbstractContextManager[None]:
        return nullcontext()

    def generation(self) -> int:
        return self.commits

    def mentions_version(self) -> int:
        return self.hands

    def chunk_ids(self) -> Ids:
        self.reads += 1
        return np.array(sorted(self.chunks), dtype=np.int64)

    def deleted_since(self, generation: int) -> Ids | None:
        if self.dropped is None:
            return None
        found = [one for one, at in self.dropped.items() if at >= generation]
        return np.array(sorted(found), dtype=np.int64)

    def moved_since(self, mentions_version: int) -> Ids | None:
        missed = range(mentions_version + 1, self.hands + 1)
        if not all(version in self.noted for version in missed):
            return None
        ids = {one for version in missed for one in self.noted[version]}
        return np.array(sorted(ids), dtype=np.int64)

    def mentions_of(self, chunk_ids: Ids) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        rows = self._mentions(0)
        return rows[np.isin(rows[:, 0], chunk_ids)]

    def chunk_count(self) -> int:
        return len(self.chunks)

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        for chunk_id in sorted(self.chunks):
            document, context, said, _ = self.chunks[chunk_id]
            starts = np.cumsum([0, *(len(s) + 1 for s in said)]).tolist()
            if chunk_id > after:
                yield PassageRow(
                    chunk_id=chunk_id,
                    document_id=f"{document:016x}",
                    ordinal=0,
                    text=" ".join(said),
                    context=context,
                    sentences=tuple((a, a + len(s)) for a, s in zip(starts, said, strict=False)),
                )

    def mention_rows(self, after: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        self.wholes += after == 0
        return self._mentions(after)

    def _mentions(self, after: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        rows = sorted(
            (chunk_id, *mention)
            for chunk_id, (_, _, _, mentions) in self.chunks.items()
            for mention in set(mentions)
            if chunk_id > after
        )
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    def relation_rows(self) -> RelationRows:
        none = np.zeros(0, dtype=np.int64)
        return RelationRows(none, none, none, np.zeros(0, dtype=np.float32), none, none)

    def entities_of_type(self, entity_type: str) -> Ids:
        return np.zeros(0, dtype=np.int64)

    def embeddings(
        self, after: int = 0
    ) -> tuple[Ids, np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
        ids = self.chunk_ids()
        return ids[ids > after], np.zeros((int((ids > after).sum()), 2), np.float32)


def _texts(longest: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), max_size=longest).map(" ".join)


Chunk = tuple[int, str, list[str], list[tuple[int, int, int]]]
"""Document, context, sentences, mentions."""


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    said = draw(st.lists(_texts(4), max_size=3))
    mention = st.tuples(st.integers(-1, len(said) - 1), st.integers(1, 6), st.integers(1, 3))
    found = {(s, e): (s, e, n) for s, e, n in draw(st.lists(mention, max_size=5))}
    return draw(st.integers(1, 3)), draw(_texts(2)), said, list(found.values())


def _same(one: Snapshot, other: Snapshot) -> bool:
    arrays = {n: v for n, v in vars(one).items() if isinstance(v, np.ndarray)}
    tables = {n: v for n, v in vars(one).items() if isinstance(v, Adjacency)}
    return all(np.array_equal(v, getattr(other, n)) for n, v in arrays.items()) and all(
        np.array_equal(v.starts, getattr(other, n).starts)
        and np.array_equal(v.items, getattr(other, n).items)
        for n, v in tables.items()
    )


def _seen(snapshot: Snapshot, chunk_ids: Ids) -> dict[str, object]:
    """All that can be looked up in a snapshot, by the store's ids."""
    rows = snapshot.rows(chunk_ids)
    sentence = {
        int(snapshot.sentence_starts[row]) + at: (id_, at)
        for id_, row in zip(chunk_ids.tolist(), rows.tolist(), strict=True)
        for at in range(int(snapshot.sentence_starts[row + 1] - snapshot.sentence_starts[row]))
    }
    numbers = list(sentence)

    def passage(row: int) -> object:
        entries, _ = snapshot.passage_entities.entries(np.array([row]))
        ids = snapshot.entity_ids[snapshot.passage_entities.items[entries]].tolist()
        weights = snapshot.weights(entries).tolist()
        return sorted(zip(ids, snapshot.passage_strengths[entries].tolist(), weights, strict=True))

    def term(word: str) -> object:
        found = snapshot.term_rows([word])
        entries, _ = snapshot.postings.entries(found)
        assert snapshot.postings.sizes(found).sum() >= len(entries)
        held = [sentence[i] for i in snapshot.postings.items[entries].tolist()]
        counts = snapshot.term_counts[entries].tolist()
        figures = snapshot.term_frequency[found].tolist(), snapshot.term_idf[found].tolist()
        return figures, list(zip(held, counts, strict=True))

    def entity(row: int) -> object:
        entries, _ = snapshot.entity_passages.entries(np.array([row]))
        passages = snapshot.chunk_ids[snapshot.entity_passages.items[entries]].tolist()
        return (
            int(snapshot.entity_frequency[row]),
            float(snapshot.entity_idf[row]),
            float(snapshot.entity_rarity[row]),
            snapshot.entity_totals(np.array([row])).tolist(),
            list(zip(passages, snapshot.entity_about[entries].tolist(), strict=True)),
            [sentence[i] for i in snapshot.entity_sentences.row(row).tolist()],
        )

    return {
        "figures": (snapshot.chunks, snapshot.store_size, snapshot.words, snapshot.window_words),
        "known": snapshot.known(np.arange(40)).tolist(),
        "ids": snapshot.chunk_ids[rows].tolist(),
        "lengths": snapshot.chunk_terms[rows].tolist(),
        "chunk of sentence": snapshot.sentence_chunk[numbers].tolist()
        == [int(snapshot.rows(np.array([id_]))[0]) for id_, _ in sentence.values()],
        "around": [
            snapshot.chunk_ids[snapshot.neighbours(rows, step)].tolist() for step in (-1, 1)
        ],
        "said": [snapshot.sentence_terms.row(i).tolist() for i in numbers],
        "mentions": [
            sorted(snapshot.entity_ids[snapshot.sentence_entities.row(i)].tolist()) for i in numbers
        ],
        "passages": [passage(row) for row in rows.tolist()],
        "terms": [term(word) for word in (*terms(" ".join(WORDS)), "absent")],
        "entities": {i: entity(row) for i, row in snapshot.entity_rows(range(1, 8)).items()},
    }


def _moved(
    shelf: Shelf, entity: int, other: int, kept: int
) -> dict[int, list[tuple[int, int, int]]]:
    """Mentions of an entity as those of another (0: none), in every chunk or every second one."""
    found = {}
    for chunk_id, (_, _, _, mentions) in shelf.chunks.items():
        if chunk_id % kept == 0 and any(e == entity for _, e, _ in mentions):
            moved = [(s, other if e == entity else e, n) for s, e, n in mentions]
            each = {(s, e): (s, e, n) for s, e, n in moved if e}  # of one sentence and entity
            found[chunk_id] = list(each.values())
    return found


@given(
    st.lists(chunks(), min_size=1, max_size=6),
    st.lists(
        st.tuples(
            st.lists(chunks(), max_size=3),
            st.sets(st.integers(1, 20)),
            st.lists(
                st.tuples(st.integers(1, 7), st.integers(0, 7), st.integers(1, 2), st.booleans()),
                max_size=3,
            ),
            st.booleans(),
        ),
        max_size=3,
    ),
    st.booleans(),
)
def test_extending_equals_building_anew(
    early: list[Chunk],
    rounds: list[tuple[list[Chunk], set[int], list[tuple[int, int, int, bool]], bool]],
    noted: bool,
) -> None:
    """After adding, deleting, and merging, splitting or pruning entities, noted or not."""
    shelf = Shelf(dropped={} if noted else None)
    for chunk in early:
        shelf.add(*chunk)
    extended = build(shelf)
    for late, dropped, moves, moved_first in rounds:
        for chunk in () if moved_first else late:
            shelf.add(*chunk)
        for entity, other, kept, is_noted in moves:
            shelf.move(_moved(shelf, entity, other, kept), noted=is_noted)
        for chunk in late if moved_first else ():
            shelf.add(*chunk)
        for chunk_id in dropped & set(shelf.chunks):
            shelf.drop(chunk_id)
        extended, anew = build(shelf, extended), build(shelf)
        assert _seen(extended, shelf.chunk_ids()) == _seen(anew, shelf.chunk_ids())
        assert _same(extended.whole, anew)
        assert (extended.generation, extended.mentions_version) == (
            anew.generation,
            anew.mentions_version,
        )


def test_what_changed_is_all_that_is_read_and_made() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "Clock", ["A bell."], [(0, 1 + number % 6, 1)])
    before = build(shelf)
    shelf.add(40, "Tower", ["A river."], [(0, 7, 1)])
    extended = build(shelf, before)
    assert isinstance(extended, ExtendedSnapshot)
    assert extended.base is before
    assert extended.added.size == 1
    for number in range(41, 80):
        shelf.add(number, "Tower", ["A river."], [(0, 7, 1)])
    assert not isinstance(build(shelf, extended), ExtendedSnapshot), "large changes are merged"


def test_a_deletion_that_is_noted_reads_no_ids_and_one_that_is_not_reads_them() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "Clock", ["A bell."], [(0, 1 + number % 6, 1)])
    before = build(shelf)
    for late in (4, 17, 30):
        shelf.drop(late)
        before = build(shelf, before)
    assert shelf.reads == 0
    assert before.known(np.array([3, 4, 17, 30])).tolist() == [True, False, False, False]

    shelf.drop(5)
    del shelf.chunks[6]  # by a program that notes nothing
    after = build(shelf, before)
    assert shelf.reads == 1
    assert after.known(np.array([3, 4, 5, 6])).tolist() == [True, False, False, False]


@given(st.lists(chunks(), max_size=6))
def test_postings_count_what_the_texts_say(
    given_chunks: list[Chunk],
) -> None:
    shelf = Shelf()
    for chunk in given_chunks:
        shelf.add(*chunk)
    snapshot = build(shelf)
    texts = [text for _, context, said, _ in given_chunks for text in (context, *said)]
    counts = [Counter(terms(text)) for text in texts]
    for term in {term for count in counts for term in count}:
        [row] = snapshot.term_rows([term])
        start, end = snapshot.postings.starts[row : row + 2]
        found = dict(
            zip(
                snapshot.postings.items[start:end].tolist(),
                snapshot.term_counts[start:end].tolist(),
                strict=True,
            )
        )
        assert found == {i: count[term] for i, count in enumerate(counts) if count[term]}
        holding = {snapshot.sentence_chunk[i] for i in found}
        assert snapshot.term_frequency[row] == len(holding)
        assert math.isclose(
            snapshot.term_idf[row], math.log1p(snapshot.size / len(holding)), rel_tol=1e-6
        )
    assert len(snapshot.vocabulary) == len({term for count in counts for term in count})


@given(st.lists(chunks(), max_size=6))
def test_edges_weigh_mentions_and_what_a_passage_is_about(
    given_chunks: list[Chunk],
) -> None:
    shelf = Shelf()
    for chunk in given_chunks:
        shelf.add(*chunk)
    snapshot = build(shelf)
    edges = {}
    for place, (_, _, _, mentions) in enumerate(given_chunks):
        for entity in {m[1] for m in mentions}:
            counted = sum(n for s, e, n in mentions if e == entity and s >= 0)
            about = any(e == entity and s == -1 for s, e, _ in mentions)
            edges[place, entity] = min(counted, 2) + 6 * about
    held = Counter(entity for _, entity in edges)
    rows, owner = snapshot.passage_entities.entries(np.arange(snapshot.size))
    found = {
        (passage, int(snapshot.entity_ids[snapshot.passage_entities.items[row]])): float(
            snapshot.weights(np.array([row]))[0]
        )
        for row, passage in zip(rows.tolist(), owner.tolist(), strict=True)
    }
    assert found.keys() == edges.keys()
    for (passage, entity), weight in edges.items():
        idf = math.log1p(len(given_chunks) / held[entity])
        assert math.isclose(found[passage, entity], weight * idf**2)


def test_the_same_generation_is_the_same_snapshot() -> None:
    shelf = Shelf()
    shelf.add(1, "Clock", ["A bell."], [(0, 1, 1)])
    snapshot = build(shelf)
    assert build(shelf, snapshot) is snapshot


def test_mentions_that_changed_hands_are_read_alone_where_they_are_noted() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "", ["A bell."], [(0, 1 + number % 6, 1)])
    before = build(shelf)
    shelf.move({5: [(0, 9, 1)], 7: [], 9: [(0, 9, 2), (-1, 1, 1)]})
    extended = build(shelf, before)
    assert isinstance(extended, ExtendedSnapshot)
    assert extended.base is before
    assert shelf.wholes == 1, "when it was built first"
    assert _seen(extended, shelf.chunk_ids()) == _seen(build(shelf), shelf.chunk_ids())

    shelf.move({5: [(0, 2, 1)]}, noted=False)
    wholes = shelf.wholes
    assert not isinstance(build(shelf, extended), ExtendedSnapshot)
    assert shelf.wholes == wholes + 1


def test_neighbours_stay_within_the_document() -> None:
    shelf = Shelf()
    for document in (1, 1, 1, 2):
        shelf.add(document, "", ["A bell."], [])
    snapshot = build(shelf)
    rows = np.arange(4)
    assert snapshot.neighbours(rows, 1).tolist() == [1, 2, 2, 3]
    assert snapshot.neighbours(rows, -1).tolist() == [0, 0, 1, 3]
    # Windows of two, three, two and one of four chunks alike.
    assert snapshot.window_words == 8 * snapshot.words / 4 > 0
    assert snapshot.has_neighbours


def test_an_empty_store_has_an_empty_snapshot() -> None:
    snapshot = build(Shelf())
    assert (snapshot.size, snapshot.sentences, snapshot.has_neighbours) == (0, 0, False)
    assert snapshot.term_rows(["clock"]).tolist() == []
    assert snapshot.entity_rows([1]) == {}
    assert snapshot.known(np.array([1])).tolist() == [False]


@given(st.sets(st.integers(-9, 9)), st.lists(st.integers(-9, 9)))
def test_find_sorted_says_where_and_whether(values: set[int], wanted: list[int]) -> None:
    ordered = np.array(sorted(values), dtype=np.int64)
    places, found = find_sorted(ordered, np.array(wanted, dtype=np.int64))
    assert found.tolist() == [w in values for w in wanted]
    assert [int(ordered[p]) for p, hit in zip(places, found, strict=True) if hit] == [
        w for w in wanted if w in values
    ]


@given(st.lists(st.integers(-(2**40), 2**40)))
def test_narrow_changes_no_number(numbers: list[int]) -> None:
    narrowed = narrow(np.array(numbers, dtype=np.int64))
    assert narrowed.tolist() == numbers
    small = all(-(2**31) <= number < 2**31 for number in numbers)
    assert narrowed.dtype == (np.int32 if small else np.int64)


def test_pairs_of_narrow_numbers_do_not_overflow() -> None:
    rows, items = narrow(np.array([70_000, 70_000, 3])), narrow(np.array([69_999, 5, 2]))
    table = Adjacency.from_unsorted(rows, items, 70_001)
    assert table.row(70_000).tolist() == [5, 69_999]
    assert table.row(3).tolist() == [2]
