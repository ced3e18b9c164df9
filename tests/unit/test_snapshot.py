"""The snapshot in memory, extended and made anew."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import Adjacency, Snapshot, find_sorted, narrow
from clew.graph.snapshot_files import build
from clew.graph.snapshot_files import build as build_snapshot
from clew.ports import PassageRow
from clew.stores import state as moved_mentions
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_link
from clew.text import terms
from clew.types import ChunkExtraction, Mention, NewEntity, NewRelation

if TYPE_CHECKING:
    from clew.stores.store import Store
    from clew.types import Ids


# --- Snapshots: what they count, against plain Python; and extended ones equal those built
# anew.


WORDS = ("clock", "tower", "bell", "river", "of", "the", "Ада", "時計")


def snapshot_build(shelf: Shelf, previous: Snapshot | None = None) -> Snapshot:
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
        return figures, sorted(zip(held, counts, strict=True))

    def entity(row: int) -> object:
        entries, _ = snapshot.entity_passages.entries(np.array([row]))
        passages = snapshot.chunk_ids[snapshot.entity_passages.items[entries]].tolist()
        return (
            int(snapshot.entity_frequency[row]),
            float(snapshot.entity_idf[row]),
            float(snapshot.entity_rarity[row]),
            snapshot.entity_totals(np.array([row])).tolist(),
            sorted(zip(passages, snapshot.entity_about[entries].tolist(), strict=True)),
            sorted(sentence[i] for i in snapshot.entity_sentences.row(row).tolist()),
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
    st.lists(chunks(), max_size=6),
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
    extended = snapshot_build(shelf)
    for late, dropped, moves, moved_first in rounds:
        for chunk in () if moved_first else late:
            shelf.add(*chunk)
        for entity, other, kept, is_noted in moves:
            shelf.move(_moved(shelf, entity, other, kept), noted=is_noted)
        for chunk in late if moved_first else ():
            shelf.add(*chunk)
        for chunk_id in dropped & set(shelf.chunks):
            shelf.drop(chunk_id)
        extended, anew = snapshot_build(shelf, extended), snapshot_build(shelf)
        assert columns_of(extended.whole) == columns_of(anew)
        assert _seen(extended, shelf.chunk_ids()) == _seen(anew, shelf.chunk_ids())
        assert snapshot_build(shelf, extended) is extended
        assert (extended.generation, extended.mentions_version) == (
            anew.generation,
            anew.mentions_version,
        )


def test_what_changed_is_all_that_is_read_and_made() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "Clock", ["A bell."], [(0, 1 + number % 6, 1)])
    before = snapshot_build(shelf)
    shelf.add(40, "Tower", ["A river."], [(0, 7, 1)])
    extended = snapshot_build(shelf, before)
    assert isinstance(extended, ExtendedSnapshot)
    assert extended.base is before
    assert extended.added.size == 1
    for number in range(41, 80):
        shelf.add(number, "Tower", ["A river."], [(0, 7, 1)])
    assert not isinstance(snapshot_build(shelf, extended), ExtendedSnapshot), (
        "large changes are merged"
    )


def test_a_deletion_that_is_noted_reads_no_ids_and_one_that_is_not_reads_them() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "Clock", ["A bell."], [(0, 1 + number % 6, 1)])
    before = snapshot_build(shelf)
    for late in (4, 17, 30):
        shelf.drop(late)
        before = snapshot_build(shelf, before)
    assert shelf.reads == 0
    assert before.known(np.array([3, 4, 17, 30])).tolist() == [True, False, False, False]

    shelf.drop(5)
    del shelf.chunks[6]  # by a program that notes nothing
    after = snapshot_build(shelf, before)
    assert shelf.reads == 1
    assert after.known(np.array([3, 4, 5, 6])).tolist() == [True, False, False, False]


@given(st.lists(chunks(), max_size=6))
def test_postings_count_what_the_texts_say(
    given_chunks: list[Chunk],
) -> None:
    shelf = Shelf()
    for chunk in given_chunks:
        shelf.add(*chunk)
    snapshot = snapshot_build(shelf)
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
    assert snapshot.term_rows(["absent"]).tolist() == []
    # Windows of neighbours, which stay within the document.
    owners, lengths = [d for d, *_ in given_chunks], snapshot.chunk_terms.tolist()
    follows = [one == other for one, other in pairwise(owners)]
    pairs = zip(follows, pairwise(lengths), strict=True)
    assert snapshot.has_neighbours == any(follows)
    assert snapshot.window_words == sum(lengths) + sum(sum(p) for near, p in pairs if near)
    rows = np.arange(len(owners))
    assert snapshot.neighbours(rows, 1).tolist() == [
        row + (row < len(follows) and follows[row]) for row in rows.tolist()
    ]


@given(st.lists(chunks(), max_size=6))
def test_edges_weigh_mentions_and_what_a_passage_is_about(
    given_chunks: list[Chunk],
) -> None:
    shelf = Shelf()
    for chunk in given_chunks:
        shelf.add(*chunk)
    snapshot = snapshot_build(shelf)
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


def test_mentions_that_changed_hands_are_read_alone_where_they_are_noted() -> None:
    shelf = Shelf()
    for number in range(30):
        shelf.add(number, "", ["A bell."], [(0, 1 + number % 6, 1)])
    before = snapshot_build(shelf)
    shelf.move({5: [(0, 9, 1)], 7: [], 9: [(0, 9, 2), (-1, 1, 1)]})
    extended = snapshot_build(shelf, before)
    assert isinstance(extended, ExtendedSnapshot)
    assert extended.base is before
    assert shelf.wholes == 1, "when it was built first"
    assert _seen(extended, shelf.chunk_ids()) == _seen(snapshot_build(shelf), shelf.chunk_ids())

    shelf.move({5: [(0, 2, 1)]}, noted=False)
    wholes = shelf.wholes
    assert not isinstance(snapshot_build(shelf, extended), ExtendedSnapshot)
    assert shelf.wholes == wholes + 1


@given(st.sets(st.integers(-9, 9)), st.lists(st.integers(-9, 9)))
def test_find_sorted_says_where_and_whether(values: set[int], wanted: list[int]) -> None:
    ordered = np.array(sorted(values), dtype=np.int64)
    places, found = find_sorted(ordered, np.array(wanted, dtype=np.int64))
    assert found.tolist() == [w in values for w in wanted]
    assert [int(ordered[p]) for p, hit in zip(places, found, strict=True) if hit] == [
        w for w in wanted if w in values
    ]


def test_pairs_of_narrow_numbers_do_not_overflow() -> None:
    rows, items = narrow(np.array([70_000, 70_000, 3])), narrow(np.array([69_999, 5, 2]))
    table = Adjacency.from_unsorted(rows, items, 70_001)
    assert table.row(70_000).tolist() == [5, 69_999]
    assert table.row(3).tolist() == [2]


# --- Mentions of old passages that change: what the store notes, and snapshots that take it
# in.


NAMES = ("Anna", "Vienna", "Danube", "Ada Morn", "AM", "World Bank", "WB")
LINKS = (make_link("WB", "World Bank"), make_link("AM", "Ada Morn"))


@contextmanager
def opened(folder: str | Path) -> Iterator[SqliteStore]:
    store = SqliteStore(Path(folder), embedder=EMBEDDER)
    yield store
    store.close()


@dataclass(frozen=True)
class Step:
    """A change of a store; numbers choose among what it holds."""

    kind: str
    one: int
    other: int
    names: tuple[str, ...]


def entity_at(store: SqliteStore, number: int) -> int:
    ids = sorted({alias.entity_id for alias in store.aliases()})
    return ids[number % len(ids)]


def chunk_at(store: SqliteStore, number: int) -> int:
    ids = store.chunk_ids().tolist()
    return ids[number % len(ids)]


def _save(store: SqliteStore, step: Step) -> None:
    said = [f"{name} came." for name in step.names]
    links = LINKS if step.other % 2 else ()
    store.save(make_entry(f"s{step.one % 5}", *said, names=step.names, links=links))


def _split(store: SqliteStore, step: Step) -> None:
    aliases = store.aliases(entity_id=entity_at(store, step.one))
    store.split(aliases[0].entity_id, [aliases[step.other % len(aliases)].key])


def _read(store: SqliteStore, step: Step, *, by_model: bool) -> None:
    found = tuple(
        Mention(name=name, entity_type="name", sentence=0, start=0, end=4) for name in step.names
    )
    reading = {chunk_at(store, step.one): ChunkExtraction(mentions=found)}
    if by_model:
        Enrichments(store.backend).record_extraction(reading, links=LINKS)
    else:
        store.record_readings(reading)


def _state(store: SqliteStore, step: Step) -> None:
    made = store.add_entities([NewEntity(name=n, entity_type="name") for n in step.names])
    ends = made[0][0], made[-1][0]
    stated = NewRelation(source_id=ends[0], target_id=ends[1], relation_type="knows")
    store.add_relations([stated])


CHANGES: dict[str, Callable[[SqliteStore, Step], object]] = {
    "save": _save,
    "delete": lambda store, step: store.delete([make_entry(f"s{step.one % 5}", "").document.id]),
    "merge": lambda store, step: store.merge(
        entity_at(store, step.one), entity_at(store, step.other), "by hand"
    ),
    "split": _split,
    "rename": lambda store, step: store.rename(entity_at(store, step.one), step.names[0]),
    "prune": lambda store, step: store.prune_entities([entity_at(store, step.one)]),
    "read": lambda store, step: _read(store, step, by_model=False),
    "read by a model": lambda store, step: _read(store, step, by_model=True),
    "take back": lambda store, step: Enrichments(store.backend).undo_extraction(
        store.chunk_ids().tolist()[step.one % 3 :: 2]
    ),
    "state": _state,
    "unmake": lambda store, step: store.delete_entities([entity_at(store, step.one)]),
}
STEPS = st.builds(
    Step,
    kind=st.sampled_from(list(CHANGES)),
    one=st.integers(0, 20),
    other=st.integers(0, 20),
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True).map(tuple),
)
FIRST = [Step("save", number, number, NAMES[number : number + 3]) for number in range(5)]


def by_chunk(store: SqliteStore) -> dict[int, list[list[int]]]:
    found: dict[int, list[list[int]]] = {int(id_): [] for id_ in store.chunk_ids()}
    for chunk, *mention in store.mention_rows().tolist():
        found[chunk].append(mention)
    return found


def columns_of(snapshot: Snapshot) -> dict[str, object]:
    """All arrays as lists, those that are computed when asked for left out."""
    found: dict[str, object] = {}
    for name, value in vars(snapshot).items():
        if name in vars(Snapshot):
            continue
        if isinstance(value, Adjacency):
            found[name] = value.starts.tolist(), value.items.tolist()
        elif isinstance(value, np.ndarray):
            found[name] = value.tolist()
    return found


@settings(deadline=None, max_examples=60)
@given(st.lists(STEPS, min_size=1, max_size=12), st.integers(1, 3))
def test_after_any_changes_a_snapshot_that_was_extended_is_one_made_anew(
    steps: list[Step], at_once: int
) -> None:
    with TemporaryDirectory() as folder, opened(folder) as store:
        for step in FIRST:
            _save(store, step)
        extended, before, version = build(store), by_chunk(store), store.mentions_version()
        for number, step in enumerate(steps, start=1):
            with suppress(ClewError, ZeroDivisionError):  # refused, or there is nothing to change
                CHANGES[step.kind](store, step)
            if number % at_once:
                continue
            after, moved = by_chunk(store), store.moved_since(version)
            assert moved is not None, "every change notes what it moved"
            assert {i for i in before if i in after and before[i] != after[i]} <= set(
                moved.tolist()
            )
            extended, anew = build(store, extended), build(store)
            assert columns_of(extended.whole) == columns_of(anew)
            before, version = after, store.mentions_version()


def moving(store: SqliteStore, times: int) -> None:
    """Merge and split two entities in turn."""
    for _ in range(times):
        ids = store.resolve(["anna", "vienna"])
        if ids["anna"] == ids["vienna"]:
            store.split(ids["anna"], ["vienna"])
        else:
            store.merge(ids["vienna"], ids["anna"], "by hand")


def test_the_newest_notes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved_mentions, "MOST", 3)
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        start = store.mentions_version()
        moving(store, 3)
        chunk = store.chunk_ids().tolist()[1]
        known = store.moved_since(start)
        assert known is not None
        assert known.tolist() == [chunk]
        moving(store, 1)
        assert store.moved_since(start) is None
        newest = store.moved_since(start + 1)
        assert newest is not None
        assert newest.tolist() == [chunk]
        monkeypatch.setattr(moved_mentions, "MOST", 0)
        moving(store, 1)
        assert store.moved_since(store.mentions_version() - 1) is None
        assert columns_of(build(store, build(store)).whole) == columns_of(build(store))


def test_a_change_that_nobody_noted_is_not_taken_for_none(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        moving(store, 1)
        before, version = build(store), store.mentions_version()
        with closing(sqlite3.connect(tmp_path / "clew.db")) as database, database:
            database.execute("UPDATE aliases SET entity_id = (SELECT min(entity_id) FROM aliases)")
            database.execute(
                "UPDATE meta SET value = value + 1 WHERE name IN ('generation', 'epoch')"
            )
        assert store.moved_since(version) is None
        assert columns_of(build(store, before)) == columns_of(build(store))
        moving(store, 1)
        assert store.moved_since(version) is None
        assert store.moved_since(version + 1) is not None


@pytest.mark.parametrize(
    "value", ["", "{", "[]", "[[]]", "[3]", '[["x"]]', "null", "[[1.5]]", "{}"]
)
def test_damaged_notes_are_none(tmp_path: Path, value: str) -> None:
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        moving(store, 2)
        version = store.mentions_version()
        with closing(sqlite3.connect(tmp_path / "clew.db")) as database, database:
            database.execute("UPDATE meta SET value = ? WHERE name = 'moved'", (value,))
        assert store.moved_since(version - 1) is None
        moving(store, 1)
        assert store.moved_since(version) is not None
        with closing(sqlite3.connect(tmp_path / "clew.db")) as database:
            [(noted,)] = database.execute("SELECT value FROM meta WHERE name = 'moved'")
        assert len(json.loads(noted)) == 1


def test_vectors_read_no_ids_after_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        matrix, reads, read = VectorMatrix(store, tmp_path), list[int](), store.chunk_ids

        def counted() -> Ids:
            reads.append(1)
            return read()

        monkeypatch.setattr(store, "chunk_ids", counted)
        for _ in range(3):  # what it had before its first look it has to read
            moving(store, 1)
            matrix.refresh()
        first = len(reads)
        moving(store, 1)
        matrix.refresh()
        assert len(reads) == first
        assert matrix.vectors(read()).shape == (2, EMBEDDER[1])
        monkeypatch.setattr(moved_mentions, "MOST", 0)
        moving(store, 1)
        matrix.refresh()
        assert len(reads) == first + 1, "what was not noted may be a backup that came back"
