"""The matrix of vectors, its file, its codes, and one that is away."""

from __future__ import annotations

import dataclasses
import logging
import random
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.derived_files import derived_path, read_arrays, write_arrays
from clew.engine import Engine
from clew.engine.state import VectorIndexWithFallback
from clew.errors import MissingExtraError, StoreError, StoreUnavailableError
from clew.models.onnx import VectorCache
from clew.settings import LargeSettings
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_vector
from clew.testing.fakes import HashEmbedder
from clew.types import Ids, Scores, Vector, Vectors
from clew.wiring import LARGE, used_from
from tests.unit.asked import NOTES
from tests.unit.asked import add as add_texts
from tests.unit.vector_stores import add, drop, nearest, search_while_saving

# --- vectors


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        add(store, 0, 30)
        yield store


def files(store: SqliteStore) -> list[str]:
    return sorted(path.name for path in store.folder.glob("vectors-*"))


def newest(store: SqliteStore) -> Path:
    """The file of the store as it is."""
    return store.folder / f"vectors-{store.generation()}.arrays"


def found(store: SqliteStore, matrix: VectorMatrix, query: Vector) -> bool:
    """Whether the matrix finds all that the store holds, in the right order."""
    return matrix.search_vector(query, 10_000)[0].tolist() == nearest(store, query, 10_000)


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
    monkeypatch.setattr("clew.stores.vectors._WORTH_CHUNKS", 0)
    add(store, 30, 40)
    matrix = VectorMatrix(store, store.folder)
    matrix.refresh()  # tail and damaged rows go to a new file
    assert files(store) == [newest(store).name]
    assert found(store, matrix, make_vector("q"))


def test_searching_goes_on_where_the_file_cannot_be_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("clew.stores.vectors.write_arrays", full)
    monkeypatch.setattr("clew.stores.vectors._WORTH_CHUNKS", 0)
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
    matrix = VectorMatrix(store, store.folder)
    search_while_saving(matrix, store, 30, 60)
    assert found(store, matrix, make_vector("q"))


# --- The same text is embedded once, by any document of any store, and never fails for it.


CACHE_EMBEDDER = HashEmbedder(8)


class Counting:
    """Embeds, and keeps the texts that it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return CACHE_EMBEDDER.embed_documents(texts)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=4), st.integers(1, 5))
def test_what_is_given_is_what_the_model_gives(
    tmp_path_factory: pytest.TempPathFactory, calls: list[list[str]], most: int
) -> None:
    file = tmp_path_factory.mktemp("cache") / "vectors.db"
    for texts in calls:
        found = VectorCache(file, "m", most).embed(texts, 8, CACHE_EMBEDDER.embed_documents)
        assert np.array_equal(found, CACHE_EMBEDDER.embed_documents(texts))


def test_each_text_is_embedded_once_for_each_model(tmp_path: Path) -> None:
    model, file = Counting(), tmp_path / "new" / "vectors.db"
    VectorCache(file, "m", 9).embed(["a", "secret", "a"], 8, model)
    VectorCache(file, "m", 9).embed(["secret", "c"], 8, model)
    VectorCache(file, "other", 9).embed(["a"], 8, model)
    assert model.asked == ["a", "secret", "c", "a"]
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
    assert not any(b"secret" in path.read_bytes() for path in file.parent.iterdir())


@pytest.mark.parametrize("name", ["garbage.db", "empty.db", "garbage.db/below"])
def test_damage_costs_time_and_no_more(tmp_path: Path, name: str) -> None:
    (tmp_path / "garbage.db").write_bytes(b"no database at all" * 100)
    (tmp_path / "empty.db").touch()
    for _ in range(2):
        found = VectorCache(tmp_path / name, "m", 9).embed(["a"], 8, Counting())
        assert np.array_equal(found, CACHE_EMBEDDER.embed_documents(["a"]))


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    model, cache = Counting(), VectorCache(tmp_path / "vectors.db", "m", 2)
    for text in ("a", "b", "c", "b", "a"):
        cache.embed([text], 8, model)
    assert model.asked == ["a", "b", "c", "a"]


# --- vector codes


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

    def deleted_since(self, generation: int) -> Ids | None:
        return None

    def mentions_version(self) -> int:
        return 0

    def moved_since(self, mentions_version: int) -> Ids:
        return np.zeros(0, dtype=np.int64)

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
    monkeypatch.setattr("clew.wiring.find_spec", lambda name: None)
    assert used_from("vectors", LargeSettings().vectors, "turbovec") is None
    with pytest.raises(MissingExtraError, match=r"large.vectors.*clew\[large\]"):
        used_from("vectors", LargeSettings(vectors="always").vectors, "turbovec")


# --- A vector index that is kept apart from the store and cannot be reached for a while.


QUESTION = "Who built the mill at Harrow Ford?"


class Distant(VectorMatrix):
    """Cannot be reached for what it is told to fail at: `refresh`, and what comes after it."""

    failing: tuple[str, ...] = ()
    asked = 0

    def _reach(self, step: str) -> None:
        if step in self.failing:
            raise StoreUnavailableError("vectors at 'far' cannot be reached; see qdrant.url")

    def refresh(self) -> None:
        self.asked += 1
        self._reach("refresh")
        super().refresh()

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        self._reach("search_vector")
        return super().search_vector(vector, limit, allowed)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "connected": not self.failing}


@pytest.fixture
def engine(engine: Engine) -> Engine:
    add_texts(engine, NOTES)
    return engine


@pytest.fixture
def distant(engine: Engine) -> Distant:
    distant = Distant(engine.store, engine.store.folder)
    engine.state.vector_index = VectorIndexWithFallback(distant, engine.store, fallback=True)
    return distant


@pytest.mark.parametrize("failing", ["refresh", "search_vector"])
@pytest.mark.parametrize("strategy", ["vector", "hybrid", "graph", "parent_child", "local"])
def test_the_stores_own_vectors_stand_in_and_the_notes_say_so(
    engine: Engine, distant: Distant, strategy: str, failing: str
) -> None:
    before = engine.search(QUESTION, strategy=strategy)
    assert before.notes == ()
    distant.failing = (failing,)
    engine.add("Something else.", source="other")
    after = engine.search(QUESTION, strategy=strategy)
    assert after.hits[0].chunk == before.hits[0].chunk
    assert after.hits[0].scores["vector"] == pytest.approx(before.hits[0].scores["vector"])
    assert "'far' cannot be reached; see qdrant.url; the store's own vectors" in after.notes[0]


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_it_is_left_alone_for_a_while_and_tried_again_afterwards(
    engine: Engine, distant: Distant, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("clew.engine.state.AWAY_SECONDS", seconds)
    distant.failing = ("refresh",)
    engine.search(QUESTION)
    asked, distant.failing = distant.asked, ()
    again = engine.search("Who cast the bell?")
    assert (distant.asked > asked, again.notes == ()) == (seconds == 0, seconds == 0)


def test_indexing_goes_on_and_says_so_in_the_log(
    engine: Engine, distant: Distant, caplog: pytest.LogCaptureFixture
) -> None:
    distant.failing = ("refresh",)
    with caplog.at_level(logging.WARNING, logger="clew"):
        engine.add("Mara Voss painted the gate of Harrow Ford.", source="gate")
    assert "cannot be reached" in caplog.text
    assert engine.search("Who painted the gate?").hits[0].chunk.source == "gate"
    assert engine.maintenance.stats()["vectors"]["connected"] is False


def test_a_store_that_is_away_itself_is_an_error(engine: Engine, distant: Distant) -> None:
    engine.state.vector_index = VectorIndexWithFallback(distant, engine.store, fallback=False)
    distant.failing = ("refresh",)
    with pytest.raises(StoreUnavailableError, match=r"qdrant\.url"):
        engine.search(QUESTION)
