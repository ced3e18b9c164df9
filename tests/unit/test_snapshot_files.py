from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import clew
from clew.errors import ClewError
from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import Adjacency, Columns, Snapshot
from clew.graph.snapshot_files import build, current_snapshot, write_snapshot
from clew.testing.fakes import HashEmbedder


def _equal(one: Snapshot, other: Snapshot) -> bool:
    one, other = one.whole, other.whole
    return (one.generation, one.mentions_version) == (
        other.generation,
        other.mentions_version,
    ) and all(
        np.array_equal(getattr(one.columns, f.name), getattr(other.columns, f.name))
        for f in fields(Columns)
    )


def _all_of(snapshot: Snapshot) -> dict[str, object]:
    """Every attribute, arrays as lists, adjacencies as pairs of lists."""
    plain: dict[str, object] = {}
    for name, value in vars(snapshot).items():
        if isinstance(value, Adjacency):
            plain[name] = value.starts.tolist(), value.items.tolist()
        elif isinstance(value, np.ndarray):
            plain[name] = value.dtype, value.tolist()
        elif name != "columns":
            plain[name] = value
    return plain


def _files(engine: clew.Clew) -> list[Path]:
    return sorted(engine.store.folder.glob("snapshot-*.arrays"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Ada Morn built a clock.", source="a")
        engine.add("Piet Oss taught Ada Morn.", source="b")
        yield engine


def test_indexing_leaves_one_file_that_another_process_reads(engine: clew.Clew) -> None:
    [file] = _files(engine)
    assert file.name == f"snapshot-{engine.store.generation()}.arrays"
    read = current_snapshot(engine.store, engine.store.folder)
    assert _equal(read, build(engine.store))
    assert _all_of(read) == _all_of(build(engine.store)), "nothing computed is lost on disk"


def test_a_snapshot_behind_the_store_is_extended(engine: clew.Clew) -> None:
    behind = current_snapshot(engine.store, engine.store.folder)
    [file] = _files(engine)
    kept = file.read_bytes()
    engine.add("Brida Kall mended the clock.", source="c")
    engine.delete(["a"])
    file.write_bytes(kept)
    for later in _files(engine):
        if later != file:
            later.unlink()
    for start in (None, behind):
        assert _equal(
            current_snapshot(engine.store, engine.store.folder, start), build(engine.store)
        )


def test_what_changed_is_written_beside_the_file_and_read_again(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding, deleting, replacing, renaming, merging: as if built anew, and the ranking with it."""
    monkeypatch.setattr("clew.graph.snapshot_files.LEAST", 1)
    monkeypatch.setattr("clew.graph.extended_snapshot.FEW", 100)
    folder, drawn = engine.store.folder, random.Random(5)
    people = ("Ada Morn", "Piet Oss", "Brida Kall", "Tom Reen")
    for step in range(24):
        one, other = drawn.sample(people, 2)
        kind = drawn.choice(("add", "add", "replace", "delete", "rename", "merge"))
        sources = [document.source for document in engine.store.documents()]
        if kind == "delete" and len(sources) > 1:
            engine.delete([drawn.choice(sources)])
        elif kind == "rename" and step % 3 == 0:
            with suppress(ClewError):
                engine.entities.rename(one, f"{one} the {step}th")
        elif kind == "merge" and step % 5 == 0:
            with suppress(ClewError):  # that are one already
                engine.entities.merge(one, other)
        else:
            source = drawn.choice(sources) if kind == "replace" and sources else f"s{step}"
            engine.add(f"{one} taught {other}. The clock of {one} strikes {step}.", source=source)
        [base] = _files(engine)
        assert base.exists()
        anew, read = build(engine.store), current_snapshot(engine.store, folder)
        assert _all_of(read.whole) == _all_of(anew)
        found = []
        for snapshot in (anew, read, engine.state.snapshot):
            engine.state._snapshot = snapshot
            result = engine.search(f"Who taught {one} of the clock?", strategy="graph")
            found.append([(hit.chunk.id, hit.score) for hit in result.hits])
        for other_way in found[1:]:
            assert [id_ for id_, _ in other_way] == [id_ for id_, _ in found[0]]
            assert [s for _, s in other_way] == pytest.approx([s for _, s in found[0]])
    assert list(folder.glob("changes-*.arrays")), "what was added is in a file of its own"


@pytest.mark.parametrize("damage", [b"", b"no archive", None], ids=["empty", "text", "cut"])
def test_changes_that_are_damaged_are_read_from_the_store(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    monkeypatch.setattr("clew.graph.snapshot_files.LEAST", 1)
    engine.add("Brida Kall mended the clock.", source="c")
    [file] = engine.store.folder.glob("changes-*.arrays")
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    read = current_snapshot(engine.store, engine.store.folder)
    assert _all_of(read.whole) == _all_of(build(engine.store))


def test_merging_by_hand_is_taken_in(engine: clew.Clew) -> None:
    before = current_snapshot(engine.store, engine.store.folder)
    engine.entities.merge("Piet Oss", "Ada Morn")
    after = current_snapshot(engine.store, engine.store.folder, before)
    assert isinstance(after, ExtendedSnapshot)
    assert after.base is before
    assert len(after.whole.entity_ids) == len(before.entity_ids) - 1
    assert _equal(after, build(engine.store))


@pytest.mark.parametrize("damage", [b"", b"no archive", None], ids=["empty", "text", "cut"])
def test_a_damaged_file_is_built_anew(engine: clew.Clew, damage: bytes | None) -> None:
    [file] = _files(engine)
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    assert _equal(current_snapshot(engine.store, engine.store.folder), build(engine.store))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_bytes_that_changed_anywhere_are_noticed(engine: clew.Clew, share: float) -> None:
    [file] = _files(engine)
    damaged = bytearray(file.read_bytes())
    start = int(share * len(damaged))
    for place in range(start, start + 65):  # more than lies between two arrays
        damaged[place] ^= 0xFF
    file.write_bytes(damaged)
    assert _all_of(current_snapshot(engine.store, engine.store.folder)) == _all_of(
        build(engine.store)
    )
    assert file.read_bytes() != damaged, "the next process finds a sound one"


def test_whoever_has_mapped_a_file_keeps_it_when_a_newer_one_comes(engine: clew.Clew) -> None:
    folder = engine.store.folder
    held = current_snapshot(engine.store, folder)
    before, [old] = _all_of(held), _files(engine)
    assert not held.postings.items.flags.writeable, "mapped, not copied"
    engine.add("Brida Kall mended the clock.", source="c")
    write_snapshot(build(engine.store), folder)
    assert _files(engine) != [old]
    assert not old.exists()
    assert _all_of(held) == before
    assert _all_of(current_snapshot(engine.store, folder, held)) == _all_of(build(engine.store))


def test_a_write_that_was_cut_off_leaves_the_file_of_before(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    [old] = _files(engine)
    engine.add("Brida Kall mended the clock.", source="c")
    for file in _files(engine):
        file.rename(old)  # the generation of before, whatever it holds
    kept = old.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    snapshot = build(engine.store)
    monkeypatch.setattr("clew.derived_files.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_snapshot(snapshot, engine.store.folder)
    assert _files(engine) == [old]
    assert old.read_bytes() == kept


def test_a_file_ahead_of_the_store_is_not_believed(engine: clew.Clew) -> None:
    [file] = _files(engine)
    file.rename(file.with_name("snapshot-999.arrays"))
    assert current_snapshot(engine.store, engine.store.folder).generation < 999


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(
    engine: clew.Clew, tmp_path: Path
) -> None:
    write_snapshot(build(engine.store), tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
