"""Mentions of old passages that change: what the store notes, and snapshots that take it in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.graph.snapshot import Adjacency, Snapshot
from clew.graph.snapshot_files import build
from clew.stores import changes as moved_mentions
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_link
from clew.types import ChunkExtraction, Mention, NewEntity, NewRelation

if TYPE_CHECKING:
    from clew.types import Ids

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
    """All arrays as lists."""
    found: dict[str, object] = {}
    for name, value in vars(snapshot).items():
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
