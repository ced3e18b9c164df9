"""A vector index that is kept apart from the store and cannot be reached for a while."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clew.engine import Engine
from clew.engine.state import VectorIndexWithFallback
from clew.errors import StoreUnavailableError
from clew.settings import load_settings
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from clew.types import Ids, Scores, Vector, Vectors

NOTES = {
    "mill": "Jonas Reed built the mill at Harrow Ford.",
    "abbey": "Tarn Abbey stands on the river Lorne. Jonas Reed learned his trade in Tarn Abbey.",
    "bell": "Edda Rowe cast the bell of Port Anselm.",
}
QUESTION = "Who built the mill at Harrow Ford?"


class Distant:
    """`ports.SyncedVectorIndex` that goes away when it is told to, at once or at a search."""

    def __init__(self, matrix: VectorMatrix) -> None:
        self._matrix = matrix
        self.away = False
        self.away_at_search = False
        self.asked = 0

    def refresh(self) -> None:
        self.asked += 1
        if self.away:
            raise StoreUnavailableError("vectors at 'far' cannot be reached; see qdrant.url")
        self._matrix.refresh()

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        if self.away_at_search:
            self.away = True
            raise StoreUnavailableError("vectors at 'far' cannot be reached; see qdrant.url")
        return self._matrix.search_vector(vector, limit, allowed)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        return self._matrix.vectors(chunk_ids)

    def persist(self) -> None:
        self._matrix.persist()

    def state(self) -> dict[str, Any]:
        return {**self._matrix.state(), "connected": not self.away}

    def close(self) -> None:
        self._matrix.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(load_settings(store=tmp_path), embedder=HashEmbedder()) as engine:
        for name, text in NOTES.items():
            engine.add(text, source=name, title=name)
        away = Distant(VectorMatrix(engine.store, tmp_path))
        engine.state.vector_index = VectorIndexWithFallback(away, engine.store, fallback=True)
        yield engine


def distant(engine: Engine) -> Distant:
    assert isinstance(engine.state.vector_index._configured, Distant)
    return engine.state.vector_index._configured


@pytest.mark.parametrize("strategy", ["vector", "hybrid", "graph", "parent_child", "local"])
def test_the_stores_own_vectors_stand_in_and_the_notes_say_so(
    engine: Engine, strategy: str
) -> None:
    before = engine.search(QUESTION, strategy=strategy)
    assert before.notes == ()
    distant(engine).away = True
    engine.add("Something else.", source="other")
    after = engine.search(QUESTION, strategy=strategy)
    assert after.hits[0].chunk == before.hits[0].chunk
    assert after.hits[0].scores["vector"] == pytest.approx(before.hits[0].scores["vector"])
    assert "'far' cannot be reached; see qdrant.url; the store's own vectors" in after.notes[0]


def test_one_that_goes_away_in_the_middle_of_a_question(engine: Engine) -> None:
    distant(engine).away_at_search = True
    result = engine.search(QUESTION, strategy="hybrid")
    assert result.hits[0].chunk.source == "mill"
    assert "cannot be reached" in result.notes[0]


def test_it_is_left_alone_for_a_while(engine: Engine) -> None:
    distant(engine).away = True
    engine.search(QUESTION)
    asked = distant(engine).asked
    engine.search("Who cast the bell?")
    assert distant(engine).asked == asked


def test_it_is_tried_again_afterwards(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.engine.state.AWAY_SECONDS", 0.0)
    distant(engine).away = True
    engine.search(QUESTION)
    distant(engine).away = False
    asked = distant(engine).asked
    assert engine.search("Who cast the bell?").notes == ()
    assert distant(engine).asked > asked


def test_indexing_goes_on_and_says_so_in_the_log(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    distant(engine).away = True
    with caplog.at_level(logging.WARNING, logger="clew"):
        engine.add("Mara Voss painted the gate of Harrow Ford.", source="gate")
    assert "cannot be reached" in caplog.text
    assert engine.search("Who painted the gate?").hits[0].chunk.source == "gate"
    assert engine.maintenance.stats()["vectors"]["connected"] is False


def test_a_store_that_is_away_itself_is_an_error(engine: Engine) -> None:
    engine.state.vector_index = VectorIndexWithFallback(
        distant(engine), engine.store, fallback=False
    )
    distant(engine).away = True
    with pytest.raises(StoreUnavailableError, match=r"qdrant\.url"):
        engine.search(QUESTION)
