from __future__ import annotations

import json
import os
import random
import threading
import time
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from clew import derived_files
from clew.derived_files import (
    MappedArrays,
    damaged_files,
    folder_size,
    is_outdated,
    read_arrays,
    write_arrays,
)


def parts() -> list[NDArray[np.float32]]:
    numbers = np.random.default_rng(2)
    return [numbers.random((size, 3), np.float32) for size in (5, 1, 900)]


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
            "many": iter(parts()),
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


def test_parts_are_one_array(tmp_path: Path) -> None:
    read = read_arrays(written(tmp_path))
    assert read is not None
    assert np.array_equal(read["many"], np.concatenate(parts()))
    assert read["empty"].shape == (0, 4)


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("thing-2.arrays", "thing-3.npy", "thing-2.npz", "other-1.arrays"):
        (tmp_path / name).write_bytes(b"x")
    old, new = tmp_path / ".thing-1.arrays.0123", tmp_path / ".thing-2.arrays.4567"
    old.write_bytes(b"")
    new.write_bytes(b"")  # another process may be writing it
    hours_ago = time.time() - 2 * 3600
    os.utime(old, (hours_ago, hours_ago))
    path = written(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([path, new, tmp_path / "other-1.arrays"])


def test_a_disk_that_refuses_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived_files, "_write_array", full)
    with pytest.raises(OSError, match="No space"):
        written(tmp_path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before]


def test_a_large_file_waits_for_more_changes_than_a_small_one(tmp_path: Path) -> None:
    assert is_outdated(tmp_path, "thing", 0)
    for size, waits in ((10, 0), (5_000_000, 2)):
        write_arrays(tmp_path, "thing", 3, {"a": np.zeros(size, np.uint8)})
        worth = [is_outdated(tmp_path, "thing", 3 + changes) for changes in range(4)]
        assert worth == [changes > waits for changes in range(4)]
    assert is_outdated(tmp_path, "thing", 2)  # it is ahead of the store: a backup was brought back


def test_the_size_of_a_folder_whose_parts_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"x" * 100)
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            (tmp_path / "part" / "inner").mkdir(parents=True)
            (tmp_path / "part" / "inner").rmdir()
            (tmp_path / "part").rmdir()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        sizes = {folder_size(tmp_path) for _ in range(2000)}
    finally:
        done.set()
        other.join()

    assert sizes == {100}


# --- what is verified once


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is large enough to be verified once."""
    monkeypatch.setattr(derived_files, "_NOTED_FROM", 1)
    path = written(tmp_path)
    assert MappedArrays(path).is_sound()
    return path


def reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a file is read to verify it."""
    seen: list[object] = []
    real = derived_files.blocks_are_sound

    def blocks_are_sound(file: BinaryIO, entries: list[derived_files.Entry]) -> bool:
        seen.append(file)
        return real(file, entries)

    monkeypatch.setattr(derived_files, "blocks_are_sound", blocks_are_sound)
    MappedArrays(path).is_sound()
    return len(seen)


def test_a_large_file_is_verified_once(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads(large, monkeypatch) == 0


def test_after_a_start_of_the_machine_it_is_verified_again(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "boot"
    other.write_text("another start\n")
    monkeypatch.setattr(derived_files, "_BOOT_ID", other)
    assert reads(large, monkeypatch) == 1
    other.unlink()  # a system that does not tell
    assert reads(large, monkeypatch) == 1


def test_damage_after_it_was_verified_is_found(large: Path) -> None:
    with large.open("r+b") as file:
        file.seek(large.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    assert not MappedArrays(large).is_sound()


@pytest.mark.parametrize("notes", ["", "[]", "[1, 2]", '["x", {"": 1}]', "{", "\0", "[null, {}]"])
def test_notes_that_are_none_count_for_nothing(
    large: Path, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (large.parent / "verified.json").write_text(notes)
    assert reads(large, monkeypatch) == 1
    assert reads(large, monkeypatch) == 0


def test_notes_of_files_that_are_gone_go(large: Path) -> None:
    newer = write_arrays(large.parent, "thing", 4, {"a": np.zeros(9)})
    assert MappedArrays(newer).is_sound()
    noted = json.loads((large.parent / "verified.json").read_text())[1]
    assert list(noted) == [newer.name]
