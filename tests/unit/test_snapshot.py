"""The snapshot in memory, extended and made anew."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import Adjacency, Snapshot, narrow
from clew.graph.snapshot_files import build
from clew.ports import PassageRow
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_entry, make_link
from clew.text import terms
from clew.types import ChunkExtraction, Ids, Mention, NewEntity, NewRelation

# --- Snapshots: what they count, against plain Python; and extended ones equal those built
# anew.


WORDS = ("clock", "tower", "bell", "river", "of", "the", "Ада", "時計")


Chunk = tuple[int, str, list[str], list[tuple[int, int, int]]]
"""Document, context, sentences, mentions."""


@dataclass
class Shelf:
    """What a snapshot is made of, in memory; chunks have the ids 1, 2, …."""

    chunks: list[Chunk]

    def generation(self) -> int:
        return 1

    def mentions_version(self) -> int:
        return 1

    def passages(self, after: int) -> Iterator[PassageRow]:
        for number, (document, context, said, _) in enumerate(self.chunks, start=after + 1):
            starts = np.cumsum([0, *(len(s) + 1 for s in said)]).tolist()
            yield PassageRow(
                chunk_id=number,
                document_id=f"{document:016x}",
                ordinal=0,
                text=" ".join(said),
                context=context,
                sentences=tuple((a, a + len(s)) for a, s in zip(starts, said, strict=False)),
            )

    def mention_rows(self, after: int) -> Ids:
        rows = sorted(
            (number, *mention)
            for number, (_, _, _, mentions) in enumerate(self.chunks, start=after + 1)
            for mention in mentions
        )
        return np.array(rows, dtype=np.int64)


def snapshot_of(chunks: list[Chunk]) -> Snapshot:
    return build(cast("Store", Shelf(chunks)))


def _texts(longest: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), max_size=longest).map(" ".join)


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
        "terms": [term(word) for word in (*terms(" ".join(NAMES)), "came", "absent")],
        "entities": {i: entity(row) for i, row in snapshot.entity_rows(range(1, 8)).items()},
    }


@given(st.lists(chunks(), max_size=6))
def test_postings_count_what_the_texts_say(
    given_chunks: list[Chunk],
) -> None:
    snapshot = snapshot_of(given_chunks)
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
    snapshot = snapshot_of(given_chunks)
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
    with closing(SqliteStore(Path(folder), embedder=EMBEDDER)) as store:
        yield store


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


@settings(deadline=None, max_examples=30)
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
            assert _seen(extended, store.chunk_ids()) == _seen(anew, store.chunk_ids())
            assert build(store, extended) is extended
            before, version = after, store.mentions_version()


def moving(store: SqliteStore, times: int) -> None:
    """Merge and split two entities in turn."""
    for _ in range(times):
        ids = store.resolve(["anna", "vienna"])
        if ids["anna"] == ids["vienna"]:
            store.split(ids["anna"], ["vienna"])
        else:
            store.merge(ids["vienna"], ids["anna"], "by hand")


def moved_since(store: SqliteStore, version: int) -> list[int] | None:
    ids = store.moved_since(version)
    return None if ids is None else ids.tolist()


def test_the_newest_notes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.stores.state.MOST", 3)
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        start = store.mentions_version()
        moving(store, 3)
        chunk = store.chunk_ids().tolist()[1]
        assert moved_since(store, start) == [chunk]
        moving(store, 1)
        assert moved_since(store, start) is None
        assert moved_since(store, start + 1) == [chunk]
        monkeypatch.setattr("clew.stores.state.MOST", 0)
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


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[SqliteStore]:
    """Grows by one each time that all ids of a store are read."""
    found, read = list[SqliteStore](), SqliteStore.chunk_ids

    def counted(store: SqliteStore) -> Ids:
        found.append(store)
        return read(store)

    monkeypatch.setattr(SqliteStore, "chunk_ids", counted)
    return found


def test_what_changed_is_all_that_is_read_and_made(
    tmp_path: Path, reads: list[SqliteStore]
) -> None:
    with opened(tmp_path) as store:
        for number in range(30):
            store.save(make_entry(f"old-{number}", "Anna.", names=["Anna"]))
        store.save(make_entry("apart", "Vienna.", names=["Vienna"]))
        for number in (4, 5):  # before the first that is noted, nothing was
            before = build(store)
            store.delete([make_entry(f"old-{number}", "").document.id])
        reads.clear()
        moving(store, 1)
        store.save(make_entry("new", "Danube.", names=["Danube"]))
        extended = build(store, before)
        assert isinstance(extended, ExtendedSnapshot)
        assert (extended.base, extended.added.size, reads) == (before, 1, [])
        for number in range(40):
            store.save(make_entry(f"late-{number}", "Anna."))
        assert not isinstance(build(store, extended), ExtendedSnapshot), "much is made anew"


def test_vectors_read_no_ids_after_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: list[SqliteStore]
) -> None:
    with opened(tmp_path) as store:
        store.save(make_entry("a", "Anna.", "Vienna.", names=["Anna", "Vienna"]))
        ids, matrix = store.chunk_ids(), VectorMatrix(store, tmp_path)
        for _ in range(3):  # what it had before its first look it has to read
            moving(store, 1)
            matrix.refresh()
        first = len(reads)
        moving(store, 1)
        matrix.refresh()
        assert len(reads) == first
        assert matrix.vectors(ids).shape == (2, EMBEDDER[1])
        monkeypatch.setattr("clew.stores.state.MOST", 0)
        moving(store, 1)
        matrix.refresh()
        assert len(reads) == first + 1, "what was not noted may be a backup that came back"
