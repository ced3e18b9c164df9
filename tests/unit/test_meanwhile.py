"""Questions that come before the embedding model is loaded."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clew.engine import Engine
from clew.search.strategies import STRATEGIES
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.types import SearchResult, Vector

WAITING = "still being loaded"
NOTES = {
    "mill": "Jonas Reed built the mill at Harrow Ford.",
    "abbey": "Tarn Abbey stands on the river Lorne. Jonas Reed learned his trade in Tarn Abbey.",
    "bell": "Edda Rowe cast the bell of Port Anselm.",
}


class SlowEmbedder(HashEmbedder):
    """Embeds no question before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def embed_query(self, text: str) -> Vector:
        assert self.let.wait(30)
        return super().embed_query(text)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    embedder = SlowEmbedder()
    embedder.let.set()
    with Engine(load_settings(store=tmp_path), embedder=embedder) as engine:
        for name, text in NOTES.items():
            engine.add(text, source=name, title=name)
        embedder.let.clear()
        yield engine
        embedder.let.set()


def let(engine: Engine) -> None:
    """Have the model loaded."""
    assert isinstance(engine.state.embedder, SlowEmbedder)
    assert engine.state._loading is not None
    engine.state.embedder.let.set()
    engine.state._loading.join()


def test_words_and_ties_answer_at_once(engine: Engine) -> None:
    engine.state.warm(patience=0.0)
    result = engine.search("Where did the builder of the mill at Harrow Ford learn his trade?")

    assert not engine.state.ready
    assert WAITING in result.notes[0]
    assert result.hits
    assert result.confidence is None, "how sure it is follows from the model, too"
    assert {hit.chunk.title for hit in result.hits[:2]} == {"mill", "abbey"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_answers_and_says_so(engine: Engine, strategy: str) -> None:
    engine.state.warm(patience=0.0)
    result = engine.search("Who built the mill at Harrow Ford?", strategy=strategy)

    assert WAITING in result.notes[0]


def test_once_it_is_there_it_is_asked(engine: Engine) -> None:
    question = "Who built the mill at Harrow Ford?"
    engine.state.warm(patience=0.0)
    before = engine.search(question, strategy="vector")
    let(engine)
    after = engine.search(question, strategy="vector")

    assert engine.state.ready
    assert WAITING in before.notes[0]
    assert not any(WAITING in note for note in after.notes)
    assert all("vector" in hit.scores for hit in after.hits)


@pytest.mark.parametrize("patience", [None, 30.0])
def test_a_question_waits_for_a_model_that_is_there_soon(
    engine: Engine, patience: float | None
) -> None:
    engine.state.warm(patience=patience)
    threading.Timer(0.2, let, [engine]).start()
    result = engine.search("Who built the mill?")

    assert not any(WAITING in note for note in result.notes)


def test_a_question_that_came_to_nothing_while_names_moved_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clew.search import pipeline

    ask, asked = pipeline.ask, []

    def interrupted(resources: SearchResources, question: str, options: Options) -> SearchResult:
        result = ask(resources, question, options)
        asked.append(resources.store.mentions_version())
        if len(asked) > 1:
            return result
        with Engine(load_settings(store=tmp_path), embedder=HashEmbedder()) as other:
            other.entities.merge("Jonas Reed", "Edda Rowe")
        return replace(result, hits=())

    monkeypatch.setattr(pipeline, "ask", interrupted)
    with Engine(load_settings(store=tmp_path), embedder=HashEmbedder()) as engine:
        for name, text in NOTES.items():
            engine.add(text, source=name, title=name)
        assert engine.search("Who built the mill at Harrow Ford?").hits
    first, second = asked
    assert second > first, "the second time the store of then is asked"


def test_no_more_questions_are_answered_at_once_than_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clew.search import pipeline

    ask, here, most = pipeline.ask, [0], [0]
    lock = threading.Lock()

    def counted(resources: SearchResources, question: str, options: Options) -> SearchResult:
        with lock:
            here[0] += 1
            most[0] = max(most[0], here[0])
        try:
            time.sleep(0.02)
            return ask(resources, question, options)
        finally:
            with lock:
                here[0] -= 1

    monkeypatch.setattr(pipeline, "ask", counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with Engine(load_settings(store=tmp_path), embedder=HashEmbedder()) as engine:
        engine.add(NOTES["mill"], source="mill", title="mill")
        with ThreadPoolExecutor(8) as pool:
            asked = [f"Who built the mill {n}?" for n in range(16)]
            found = list(pool.map(engine.search, asked))
    assert all(result.hits for result in found)
    assert most == [2]
