from __future__ import annotations

import logging
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.derived_files import read_arrays
from clew.errors import StoreError
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import matrix as module
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.entries import EMBEDDER, make_entry, make_vector

if TYPE_CHECKING:
    from clew.types import Vector


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    add(store, 0, 30)
    yield store
    store.close()


def add(store: SqliteStore, start: int, end: int) -> None:
    with store.batch():
        for i in range(start, end):
            store.save(make_entry(f"{i:03}", f"text {i}"))


def drop(store: SqliteStore, *numbers: int) -> None:
    store.delete([make_entry(f"{i:03}", "").document.id for i in numbers])


def files(store: SqliteStore) -> list[str]:
    return sorted(path.name for path in store.folder.glob("vectors-*"))


def newest(store: SqliteStore) -> Path:
    """The file of the store as it is."""
    return store.folder / f"vectors-{store.generation()}.arrays"


def found(store: SqliteStore, matrix: VectorMatrix, query: Vector) -> bool:
    """Whether the matrix finds all that the store holds, in the right order."""
    ids, held = store.embeddings()
    cosine = (held.astype(np.float64) * query).sum(axis=1).astype(np.float32)
    expected = ids[np.lexsort((ids, -cosine))]
    return np.array_equal(matrix.search_vector(query, 10_000)[0], expected)


def test_a_file_is_mapped_by_the_next_matrix_and_extended_from_the_store(
    store: SqliteStore,
) -> None:
    VectorMatrix(store, store.folder).persist()
    assert files(store) == [newest(store).name]
    matrix = VectorMatrix(store, store.folder)
    assert found(store, matrix, make_vector("q"))
    assert isinstance(matrix._current().base, np.memmap)
    add(store, 30, 40)
    drop(store, 3, 35)
    assert found(store, matrix, make_vector("q"))
    assert len(matrix._current().base) == 30
    assert len(matrix._current().tail) == 9
    again = VectorMatrix(store, store.folder)
    assert found(store, again, make_vector("q"))
    wanted = store.chunk_ids()[::-3]
    ids, held = store.embeddings()
    assert np.array_equal(again.vectors(wanted), held[np.searchsorted(ids, wanted)])


def test_a_new_file_replaces_the_old_one(store: SqliteStore) -> None:
    matrix = VectorMatrix(store, store.folder)
    matrix.persist()
    add(store, 30, 33)
    matrix.persist()
    assert files(store) == [newest(store).name]
    drop(store, 1)
    matrix.persist()
    assert files(store) == [newest(store).name]
    matrix.persist()  # nothing to write
    assert found(store, matrix, make_vector("q"))


def test_a_file_is_written_unasked_once_it_is_worth_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WORTH_CHUNKS", 20)
    matrix = VectorMatrix(store, store.folder)
    matrix.refresh()
    assert files(store) == []  # all of it is base
    add(store, 30, 50)
    matrix.refresh()
    assert files(store) == []
    add(store, 50, 51)
    matrix.refresh()
    assert files(store) == [newest(store).name]
    drop(store, *range(21))
    matrix.refresh()
    assert files(store) == [newest(store).name]
    assert found(store, matrix, make_vector("q"))


@pytest.mark.parametrize("content", [b"", b"garbage", b"x" * 12 + b"clewarr1"])
def test_a_file_that_cannot_be_read_is_made_again(store: SqliteStore, content: bytes) -> None:
    path = newest(store)
    path.write_bytes(content)
    matrix = VectorMatrix(store, store.folder)
    assert found(store, matrix, make_vector("q"))
    matrix.persist()
    arrays = read_arrays(path)
    assert arrays is not None
    assert len(arrays["vectors"]) == 30


def test_garbage_never_changes_an_answer(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    VectorMatrix(store, store.folder).persist()
    path = store.folder / files(store)[0]
    whole, chance = path.read_bytes(), random.Random(2)
    for _ in range(50):
        path.unlink(missing_ok=True)
        damaged = bytearray(whole)
        start = chance.randrange(len(whole) - 64)
        damaged[start : start + 64] = chance.randbytes(64)
        path.write_bytes(damaged)
        matrix = VectorMatrix(store, store.folder)
        assert found(store, matrix, make_vector("q"))
        assert matrix.vectors(store.chunk_ids()).tobytes() == store.embeddings()[1].tobytes()
        matrix.persist()
        assert VectorMatrix(store, store.folder)._load().is_sound(), "it was made again"
    assert "is damaged; the vectors are read from the database" in caplog.text


def test_a_damaged_file_is_not_written_on(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    VectorMatrix(store, store.folder).persist()
    path = newest(store)
    damaged = bytearray(path.read_bytes())
    damaged[600:700] = bytes(100)
    path.write_bytes(damaged)
    monkeypatch.setattr(module, "_WORTH_CHUNKS", 0)
    add(store, 30, 40)
    matrix = VectorMatrix(store, store.folder)
    matrix.refresh()  # tail and damaged rows go to a new file
    assert files(store) == [newest(store).name]
    assert found(store, matrix, make_vector("q"))


def test_a_file_cut_short_or_of_another_kind_is_not_used(store: SqliteStore) -> None:
    VectorMatrix(store, store.folder).persist()
    path = newest(store)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert found(store, VectorMatrix(store, store.folder), make_vector("q"))
    np.save(path, np.ones((30, 8), np.float32))
    assert found(store, VectorMatrix(store, store.folder), make_vector("q"))


def test_a_file_ahead_of_the_database_is_not_used(store: SqliteStore) -> None:
    VectorMatrix(store, store.folder).persist()
    newest(store).rename(store.folder / "vectors-99.arrays")
    matrix = VectorMatrix(store, store.folder)
    assert not isinstance(matrix._current().base, np.memmap)


def test_a_file_of_a_later_life_of_the_database_is_not_used(tmp_path: Path) -> None:
    folder, backup = tmp_path / "store", tmp_path / "backup"
    store = SqliteStore(folder, embedder=EMBEDDER)
    add(store, 0, 5)
    store.close()
    shutil.copytree(folder, backup)
    store = SqliteStore(folder, embedder=EMBEDDER)
    add(store, 5, 10)
    VectorMatrix(store, folder).persist()
    store.close()
    for path in folder.glob("clew.db*"):
        path.unlink()
    shutil.copy(backup / "clew.db", folder)
    store = SqliteStore(folder, embedder=EMBEDDER)
    add(store, 90, 95)
    assert found(store, VectorMatrix(store, folder), make_vector("text 93"))
    store.close()


def test_emptied_and_filled_again(store: SqliteStore) -> None:
    matrix = VectorMatrix(store, store.folder)
    matrix.persist()
    drop(store, *range(30))
    assert matrix.search_vector(make_vector("q"), 5)[0].tolist() == []
    matrix.persist()
    assert VectorMatrix(store, store.folder).search_vector(make_vector("q"), 5)[0].tolist() == []
    add(store, 0, 4)
    assert found(store, matrix, make_vector("q"))
    assert found(store, VectorMatrix(store, store.folder), make_vector("q"))


def test_another_dimension_is_refused(store: SqliteStore) -> None:
    matrix = VectorMatrix(store, store.folder)
    with pytest.raises(StoreError, match=r"of shape \(9,\); expected \(8,\)"):
        matrix.search_vector(make_vector("q", 9), 5)


def test_searching_goes_on_where_the_file_cannot_be_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_arrays", full)
    monkeypatch.setattr(module, "_WORTH_CHUNKS", 0)
    matrix = VectorMatrix(store, store.folder)
    matrix.refresh()
    add(store, 30, 40)
    with caplog.at_level(logging.WARNING, "clew"):
        assert found(store, matrix, make_vector("q"))
    assert "cannot write vectors to" in caplog.text
    with pytest.raises(StoreError, match=r"\(No space left on device\); they are derived"):
        matrix.persist()
    assert files(store) == []


def test_threads_may_search_while_another_saves(store: SqliteStore) -> None:
    matrix, errors = VectorMatrix(store, store.folder), []

    def search() -> None:
        try:
            for i in range(30):
                ids, scores = matrix.search_vector(make_vector(f"text {i}"), 1)
                assert matrix.vectors(ids).shape == (1, 8)
                assert scores[0] == pytest.approx(1, abs=1e-6)
        except (AssertionError, StoreError) as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(30, 60):
        add(store, i, i + 1)
    for thread in threads:
        thread.join()
    assert errors == []
    assert found(store, matrix, make_vector("q"))
