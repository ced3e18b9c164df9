"""Files that are derived from the store: written, mapped, damaged, made again."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

import clew
from clew import derived_files
from clew.derived_files import (
    MappedArrays,
    damaged_files,
    read_arrays,
    write_arrays,
)
from clew.graph.snapshot import Adjacency, Columns, Neighbourhood, Snapshot
from clew.graph.snapshot_files import build, current_snapshot, write_snapshot
from clew.ports import NearbyQuery
from clew.search import session as views
from clew.settings import Settings, load_settings
from clew.stores import snapshot as neighbourhood
from clew.testing.fakes import HashEmbedder

# --- derived files


def written(folder: Path) -> Path:
    numbers = np.random.default_rng(1)
    return write_arrays(
        folder,
        "thing",
        3,
        {
            "format": np.array(7),
            "empty": np.empty((0, 4), np.float32),
            "names": np.array(["one", "two"]),
            "many": (numbers.random((size, 3), np.float32) for size in (5, 1, 900)),
            "large": numbers.integers(0, 9, derived_files.BLOCK // 4),
        },
    )


@given(arrays(st.sampled_from(["<i8", "<f4", "?", "<U3", "<u2"]), array_shapes(min_dims=0)))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, array: NDArray[np.int64]
) -> None:
    path = write_arrays(tmp_path_factory.mktemp("x"), "thing", 1, {"a": array, "b": array})
    read, mapped = read_arrays(path), MappedArrays(path)
    assert read is not None
    assert mapped.is_sound()
    for held in (read["a"], read["b"], mapped.arrays["a"], mapped.arrays["b"]):
        assert (held.dtype, held.shape) == (array.dtype, array.shape)
        assert (
            held.tobytes() == array.tobytes()
        )  # the very bytes: not a number is no equal of itself


def test_garbage_anywhere_is_found(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole, chance = path.read_bytes(), random.Random(4)
    expected = read_arrays(path)
    assert expected is not None
    for trial in range(300):
        data = bytearray(whole)
        length = chance.choice([1, 64, 5000])
        start = chance.randrange(len(data) - length)
        if trial % 3 == 0:  # most of the file is one array
            start = max(0, len(data) - length - chance.randrange(2000))
        data[start : start + length] = chance.randbytes(length)
        path.write_bytes(data)
        found = read_arrays(path)
        same = found is not None and all(
            np.array_equal(found[name], array) for name, array in expected.items()
        )
        # Between two arrays there are bytes that mean nothing.
        assert found is None or same
        assert (list(damaged_files(tmp_path)) == []) == same


@pytest.mark.parametrize("change", ["cut", "longer", "blocks swapped", "zeros", "empty"])
def test_other_damage_is_found(tmp_path: Path, change: str) -> None:
    path = written(tmp_path)
    data, block = path.read_bytes(), derived_files.BLOCK
    start = len(data) - block - block // 2
    changed = {
        "cut": data[:-1],
        "longer": data + b"\0",
        "blocks swapped": data[: start - 4096]
        + data[start : start + 4096]
        + data[start - 4096 : start]
        + data[start + 4096 :],
        "zeros": data[:start] + bytes(4096) + data[start + 4096 :],
        "empty": b"",
    }[change]
    path.write_bytes(changed)
    assert read_arrays(path) is None
    assert list(damaged_files(tmp_path)) == [path]


def test_a_file_takes_the_place_of_former_ones_and_of_what_was_left_half_written(
    tmp_path: Path,
) -> None:
    for name in ("thing-2.arrays", "thing-3.npy", "thing-2.npz", "other-1.arrays"):
        (tmp_path / name).write_bytes(b"x")
    old, new = tmp_path / ".thing-1.arrays.0123", tmp_path / ".thing-2.arrays.4567"
    for half_written in (old, new):  # another process may be writing the new one
        half_written.write_bytes(b"")
    hours_ago = time.time() - 2 * 3600
    os.utime(old, (hours_ago, hours_ago))
    path = written(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([path, new, tmp_path / "other-1.arrays"])


def test_a_disk_that_refuses_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(tmp_path).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived_files, "_write_array", full)
    with pytest.raises(OSError, match="No space"):
        written(tmp_path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before]


def flip(path: Path, start: int, length: int) -> bytes:
    """Invert some bytes of a file in place; all of it, then."""
    with path.open("r+b") as file:
        file.seek(start)
        changed = bytes(byte ^ 0xFF for byte in file.read(length))
        file.seek(start)
        file.write(changed)
    return path.read_bytes()


# --- what is verified once


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is large enough to be verified once."""
    monkeypatch.setattr(derived_files, "_NOTED_FROM", 1)
    path = written(tmp_path)
    assert MappedArrays(path).is_sound()
    return path


@pytest.mark.parametrize(
    ("boot", "notes", "reads"),
    [
        (None, None, 0),
        ("another start\n", None, 1),
        ("", None, 1),  # a system that does not tell
        *(
            (None, notes, 1)
            for notes in ("", "[]", "[1, 2]", '["x", {"": 1}]', "{", "\0", "[null, {}]")
        ),
    ],
)
def test_a_large_file_is_verified_once_after_each_start_of_the_machine(
    large: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    boot: str | None,
    notes: str | None,
    reads: int,
) -> None:
    if boot is not None:
        other = tmp_path_factory.mktemp("boot") / "id"
        if boot:
            other.write_text(boot)
        monkeypatch.setattr(derived_files, "_BOOT_ID", other)
    if notes is not None:
        (large.parent / "verified.json").write_text(notes)
    sound = derived_files.blocks_are_sound
    with patch.object(derived_files, "blocks_are_sound", wraps=sound) as read:
        assert MappedArrays(large).is_sound()
    assert read.call_count == reads


def test_damage_after_it_was_verified_is_found(large: Path) -> None:
    flip(large, large.stat().st_size // 2, 1)
    assert not MappedArrays(large).is_sound()


# --- snapshot files


def _all_of(snapshot: Snapshot) -> dict[str, object]:
    """Every attribute, arrays as lists, adjacencies as pairs of lists."""
    plain: dict[str, object] = {}
    columns = {field.name: getattr(snapshot.columns, field.name) for field in fields(Columns)}
    for name, value in (vars(snapshot) | columns).items():
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
    settings = load_settings(search={"cache": 0})  # each question is ranked anew
    with clew.open(tmp_path, settings=settings, embedder=HashEmbedder()) as engine:
        engine.add("Ada Morn built a clock.", source="a")
        engine.add("Piet Oss taught Ada Morn.", source="b")
        yield engine


def test_indexing_leaves_one_file_that_another_process_reads(engine: clew.Clew) -> None:
    [file] = _files(engine)
    assert file.name == f"snapshot-{engine.store.generation()}.arrays"
    read = current_snapshot(engine.store, engine.store.folder)
    assert _all_of(read) == _all_of(build(engine.store)), "nothing computed is lost on disk"


def test_what_changed_is_written_beside_the_file_and_read_again(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if built anew."""
    monkeypatch.setattr("clew.graph.snapshot_files.LEAST", 1)
    monkeypatch.setattr("clew.graph.extended_snapshot.FEW", 100)
    folder = engine.store.folder
    changes: list[Callable[[], object]] = [
        *(
            partial(engine.add, f"{name} taught Ada Morn. Clock {name}.", source=source)
            for source, name in (("c", "Brida Kall"), ("d", "Tom Reen"), ("a", "Piet Oss"))
        ),
        lambda: engine.entities.rename("Tom Reen", "Tom the Clock"),
        lambda: engine.entities.merge("Brida Kall", "Piet Oss"),
        lambda: engine.delete(["c"]),
        lambda: engine.add("Ada Morn met Brida Kall at the clock.", source="e"),
    ]
    for change in changes:
        change()
        assert len(_files(engine)) == 1
        for snapshot in (current_snapshot(engine.store, folder), engine.state.snapshot):
            assert _all_of(snapshot.whole) == _all_of(build(engine.store))
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


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_bytes_that_changed_anywhere_are_noticed(engine: clew.Clew, share: float) -> None:
    [file] = _files(engine)
    # More than lies between two arrays.
    damaged = flip(file, int(share * file.stat().st_size), 65)
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


# --- `graph` over what a question reads of the store, next to `graph` over a snapshot of all
# of it.


NAMES = [f"{one} {other}" for one in ("Ada", "Piet", "Jon") for other in ("Morn", "Oss", "Vell")]
PLACES = ["Harrow Ford", "Lisse", "Old Wick", "Marrow Bay", "Tern"]
WORDS = ["mill", "clock", "bridge", "archive", "bell", "quarry", "ferry"]
QUESTIONS = [
    "Where does Ada Morn keep the clock of Lisse?",
    "Which bridge was built by Piet Oss near Old Wick?",
    "Who owns the ferry of Marrow Bay, and where was she born?",
    "quarry",
    "",
]


def place_notes(engine: clew.Clew, number: int) -> None:
    """Notes of three passages each, whose names and words come again and again."""
    chance = random.Random(5)
    for i in range(number):
        text = "\n\n".join(
            " ".join(
                f"{chance.choice(NAMES)} of {chance.choice(PLACES)} built a {chance.choice(WORDS)}"
                f" for {chance.choice(NAMES)} in 18{chance.randrange(10, 99)}."
                for _ in range(12)
            )
            for _ in range(3)
        )
        engine.add(text, source=f"note {i}", title=f"{chance.choice(PLACES)} {i}")


def settings_for(snapshot: str) -> Settings:
    return load_settings(search={"snapshot": snapshot, "cache": 0})


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[clew.Clew, clew.Clew]]:
    """One store, asked over a snapshot and over what each question reads."""
    place, embedder = tmp_path / "store", HashEmbedder()
    with (
        clew.open(place, settings=settings_for("always"), embedder=embedder) as whole,
        clew.open(place, settings=settings_for("never"), embedder=embedder) as near,
    ):
        yield whole, near


def test_where_all_is_near_the_hits_and_their_scores_are_the_same(
    two: tuple[clew.Clew, clew.Clew],
) -> None:
    whole, near = two
    place_notes(whole, 8)
    for question in QUESTIONS:
        for strategy in ("graph", "temporal", "weighted", "auto"):
            expected = whole.search(question, strategy=strategy, limit=20)
            found = near.search(question, strategy=strategy, limit=20)
            assert [(hit.chunk.id, hit.entities, hit.path) for hit in found.hits] == [
                (hit.chunk.id, hit.entities, hit.path) for hit in expected.hits
            ]
            assert [hit.score for hit in found.hits] == pytest.approx(
                [hit.score for hit in expected.hits], abs=1e-5
            )


def test_the_figures_of_a_part_are_those_of_the_whole(two: tuple[clew.Clew, clew.Clew]) -> None:
    whole, near = two
    place_notes(whole, 30)
    snapshot = whole.state.snapshot.whole
    # A neighbourhood of some passages with every figure of the store that they need.
    read, some = Neighbourhood(near.state.store).read, snapshot.chunk_ids[3:40:4].tolist()
    terms = ["clock", "bell", "mill", "built"]
    first = read(NearbyQuery(chunk_ids=some, most=0, terms=terms))
    part = read(NearbyQuery(counted=first.entity_ids.tolist(), most=0))
    assert 10 < part.size < snapshot.size
    chunks, entities = (
        snapshot.rows(part.chunk_ids),
        np.searchsorted(snapshot.entity_ids, part.entity_ids),
    )
    for name, rows in (
        *(("entity_frequency", entities), ("entity_idf", entities), ("entity_strengths", entities)),
        *(("entity_rarity", entities), ("chunk_terms", chunks)),
    ):
        assert getattr(part, name) == pytest.approx(getattr(snapshot, name)[rows]), name
    for term in terms:
        (here,), (there,) = part.term_rows([term]), snapshot.term_rows([term])
        assert part.term_idf[here] == pytest.approx(snapshot.term_idf[there])
    for row, chunk in enumerate(chunks):
        mentioned = part.entity_ids[part.passage_entities.row(row)]
        expected = snapshot.entity_ids[snapshot.passage_entities.row(int(chunk))]
        assert mentioned.tolist() == expected.tolist()


def test_a_large_store_has_no_snapshot_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for("auto")
    with clew.open(tmp_path / "store", settings=settings, embedder=HashEmbedder()) as engine:
        place_notes(engine, 4)
        assert "neighbourhood" not in engine.search(QUESTIONS[0], strategy="graph").timings_ms
        monkeypatch.setattr(views, "IN_MEMORY", 3)
        assert "neighbourhood" in engine.search(QUESTIONS[0], strategy="graph").timings_ms


def test_what_is_remembered_of_common_names_is_counted_again_after_changes(
    two: tuple[clew.Clew, clew.Clew], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "COMMON", 1)
    whole, near = two
    for count in (2, 12):
        place_notes(whole, count)
        snapshot = whole.state.snapshot.whole
        ids = snapshot.entity_ids.tolist()
        for _ in range(2):  # the second time, from what is remembered
            query = NearbyQuery(counted=ids, terms=["clock", "nothing"], most=0)
            found = near.state.store.nearby(query)
            assert found.chunks == snapshot.size
            counts = found.entity_counts[np.argsort(found.entity_counts[:, 0])]
            assert counts[:, 0].tolist() == ids
            assert counts[:, 1].tolist() == snapshot.entity_frequency.tolist()
            (clock,) = snapshot.term_rows(["clock"])
            assert found.term_counts == {"clock": snapshot.term_frequency[clock]}


def test_filters_hold_for_what_is_read(two: tuple[clew.Clew, clew.Clew]) -> None:
    whole, near = two
    place_notes(whole, 20)
    whole.add("Ada Morn keeps the clock of Lisse.", source="the one", metadata={"kind": "gold"})
    found = near.search(QUESTIONS[0], strategy="graph", where=["kind=gold"])
    assert [hit.chunk.source for hit in found.hits] == ["the one"]
