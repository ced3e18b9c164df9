"""The matrix of vectors, its file, its codes, and one that is away."""

from __future__ import annotations

import dataclasses
import logging
import math
import random
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.derived_files import derived_path, read_arrays, write_arrays
from clew.engine import Engine
from clew.engine.state import VectorIndexWithFallback
from clew.errors import ClewError, MissingExtraError, StoreError, StoreUnavailableError
from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import Adjacency, Snapshot, narrow
from clew.graph.snapshot_files import build
from clew.models.onnx import VectorCache
from clew.ports import PassageRow
from clew.settings import LargeSettings
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import EMBEDDER, make_entry, make_link, make_vector
from clew.testing.fakes import HashEmbedder
from clew.text import terms
from clew.types import (
    ChunkExtraction,
    Ids,
    Mention,
    NamedStrategy,
    NewEntity,
    NewRelation,
    Scores,
    Vector,
    Vectors,
)
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
    before = engine.search(QUESTION, strategy=NamedStrategy(strategy))
    assert before.notes == ()
    distant.failing = (failing,)
    engine.add("Something else.", source="other")
    after = engine.search(QUESTION, strategy=NamedStrategy(strategy))
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


# --- The snapshot in memory, extended and made anew.


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
