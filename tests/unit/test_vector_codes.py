from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

import clew.wiring as module
from clew.derived_files import derived_path, read_arrays, write_arrays
from clew.errors import MissingExtraError
from clew.settings import LargeSettings
from clew.stores.vectors.matrix import VectorMatrix
from clew.wiring import LARGE, used_from

if TYPE_CHECKING:
    from clew.stores.store import Store
    from clew.types import Ids, Vector, Vectors

ROWS, WIDTH, LIMIT = 6_000, 64, 100


@dataclasses.dataclass
class Held:
    """What a matrix reads of a store, in memory."""

    ids: Ids
    rows: Vectors
    changes: int = 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        yield

    def generation(self) -> int:
        return self.changes

    def chunk_ids(self) -> Ids:
        return self.ids

    def mentions_version(self) -> int:
        return 0

    def deleted_since(self, generation: int) -> Ids | None:
        return None

    def moved_since(self, mentions_version: int) -> Ids | None:
        return np.zeros(0, dtype=np.int64) if mentions_version == 0 else None

    def chunk_count(self) -> int:
        return len(self.ids)

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        new = self.ids > after
        return self.ids[new], self.rows[new]

    def add(self, rows: Vectors) -> Ids:
        new = np.arange(len(rows)) + self.ids[-1] + 1
        self.ids, self.rows = np.append(self.ids, new), np.concatenate([self.rows, rows])
        self.changes += 1
        return new

    def delete(self, ids: Ids) -> None:
        kept = ~np.isin(self.ids, ids)
        self.ids, self.rows = self.ids[kept], self.rows[kept]
        self.changes += 1

    def best(self, query: Vector, allowed: Ids | None = None) -> Ids:
        """By a scan in float64."""
        eligible = np.isin(self.ids, self.ids if allowed is None else allowed)
        exact = (self.rows[eligible].astype(np.float64) * query).sum(axis=1).astype(np.float32)
        exact = exact.clip(-1, 1)
        return self.ids[eligible][np.lexsort((self.ids[eligible], -exact))][:LIMIT]


def near(rows: Vectors, count: int, seed: int, spread: float = 0.1) -> Vectors:
    """Unit vectors, each near one of the rows."""
    chance = np.random.default_rng(seed)
    drawn = rows[chance.integers(0, len(rows), count)]
    moved = drawn + spread * chance.standard_normal(drawn.shape).astype(np.float32)
    unit: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def rows() -> Vectors:
    """As of texts: in groups."""
    return near(np.random.default_rng(0).standard_normal((200, WIDTH)).astype(np.float32), ROWS, 1)


@pytest.fixture
def held(rows: Vectors) -> Held:
    return Held(np.arange(ROWS, dtype=np.int64) * 3 + 1, rows)


def coded(held: Held, folder: Path) -> VectorMatrix:
    """A matrix that was mapped from a file with codes."""
    VectorMatrix(cast("Store", held), folder, coded_from=1).persist()
    matrix = VectorMatrix(cast("Store", held), folder, coded_from=1)
    assert matrix._current().codes is not None
    return matrix


def recall(held: Held, matrix: VectorMatrix, allowed: Ids | None = None) -> float:
    """The share of the 100 best that are found; what is found has its exact score and order."""
    shares = []
    for query in near(held.rows, 40, 2):
        ids, scores = matrix.search_vector(query, LIMIT, allowed)
        exact = held.rows[np.searchsorted(held.ids, ids)].astype(np.float64) @ query
        assert scores == pytest.approx(exact, abs=1e-6)
        assert (np.diff(scores) <= 0).all()
        best = held.best(query, allowed)
        assert len(ids) == len(best)
        shares.append(np.isin(best, ids).mean())
    return float(np.mean(shares))


def test_codes_find_the_nearest_and_scores_are_exact(held: Held, tmp_path: Path) -> None:
    matrix = coded(held, tmp_path)
    assert recall(held, matrix) >= 0.999
    for allowed in (held.ids[::2], held.ids[:2000], held.ids[::50]):
        assert recall(held, matrix, allowed) >= 0.999


def test_codes_and_what_was_saved_and_deleted_since(held: Held, tmp_path: Path) -> None:
    matrix = coded(held, tmp_path)
    held.delete(held.ids[::40])
    new = held.add(near(held.rows, 500, 3))
    assert recall(held, matrix) >= 0.999
    assert recall(held, matrix, new) == 1
    assert matrix._current().tail.shape == (500, WIDTH)
    held.add(near(held.rows, 500, 4))
    matrix.refresh()  # enough has changed for a new file
    assert len(matrix._current().tail) == 0
    assert matrix._current().codes is not None
    assert recall(held, matrix) >= 0.999


def test_thousands_of_nearly_equal_rows_are_all_compared(held: Held, tmp_path: Path) -> None:
    held.rows = np.concatenate([held.rows[:2000], near(held.rows[:1], 4000, 7, spread=1e-6)])
    matrix = coded(held, tmp_path)
    for query in (held.rows[0], near(held.rows[:1], 1, 5)[0]):
        assert np.array_equal(matrix.search_vector(query, LIMIT)[0], held.best(query))


def test_damaged_codes_are_made_again(
    held: Held, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    coded(held, tmp_path)
    path = derived_path(tmp_path, "vectors", 1)
    data = bytearray(path.read_bytes())
    codes = (read_arrays(path) or {})["codes"].tobytes()
    place = data.index(codes) + len(codes) // 2
    data[place : place + 8] = bytes(8 * [data[place] ^ 0xFF])
    path.write_bytes(data)
    matrix = VectorMatrix(cast("Store", held), tmp_path, coded_from=1)
    assert recall(held, matrix) >= 0.999
    assert "is damaged" in caplog.text
    assert (read_arrays(path) or {})["codes"].tobytes() == codes


def test_codes_that_cannot_be_read_are_done_without(held: Held, tmp_path: Path) -> None:
    odd = np.arange(99, dtype=np.uint8)
    write_arrays(tmp_path, "vectors", 1, {"ids": held.ids, "vectors": held.rows, "codes": odd})
    assert recall(held, VectorMatrix(cast("Store", held), tmp_path, coded_from=1)) == 1


def test_a_file_gets_codes_once_it_is_large_or_they_are_asked_for(
    held: Held, tmp_path: Path
) -> None:
    VectorMatrix(cast("Store", held), tmp_path, coded_from=ROWS + 1).persist()
    path = derived_path(tmp_path, "vectors", 1)
    assert "codes" not in (read_arrays(path) or {})
    VectorMatrix(cast("Store", held), tmp_path, coded_from=ROWS).persist()
    assert "codes" in (read_arrays(path) or {})
    written = path.stat().st_mtime_ns
    VectorMatrix(cast("Store", held), tmp_path, coded_from=ROWS).persist()
    assert path.stat().st_mtime_ns == written
    assert VectorMatrix(cast("Store", held), tmp_path)._current().codes is None
    odd = dataclasses.replace(held, rows=near(held.rows[:, :33], ROWS, 6))
    matrix = VectorMatrix(cast("Store", odd), tmp_path, "odd", coded_from=1)
    matrix.persist()
    assert recall(odd, matrix) == 1


def test_when_codes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        used_from("vectors", LargeSettings(vectors=wanted).vectors, "turbovec")
        for wanted in ("auto", "always", "never")
    ]
    assert found == [LARGE, 1, None]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert used_from("vectors", LargeSettings().vectors, "turbovec") is None
    with pytest.raises(MissingExtraError, match=r"large.vectors.*clew\[large\]"):
        used_from("vectors", LargeSettings(vectors="always").vectors, "turbovec")
