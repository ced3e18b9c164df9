"""The engines behind a server: shared, starved, and while their model loads."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

import clew
from clew.engine import Engine
from clew.errors import StoreBusyError, StoreError
from clew.jobs import Ingestion
from clew.mcp.calls import Engines
from clew.operations.toolbox import OPERATIONS
from clew.ports import Reply, Request
from clew.search.options import Options
from clew.search.pipeline import STRATEGIES
from clew.search.pipeline import ask as ask_pipeline
from clew.search.session import SearchResources
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import NamedStrategy, SearchResult
from tests.unit.asked import NOTES, SlowEmbedder, add
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for
from tests.unit.test_ask import BUILT, QUESTION, said
from tests.unit.test_mcp_access import ALICE, TOKENS, served

# --- `POST /ask`: answers as they are written, over a real server in a thread.


STREAM = {"Accept": "text/event-stream"}
REPLY = said(("built the great clock", "It was Ada Morn who built the great clock."))


class Slow(ScriptedLanguageModel):
    """Writes much, and on only when it is told to."""

    def __init__(self, whole: str) -> None:
        super().__init__([whole])
        self.go_on = threading.Semaphore(0)
        self.written = 0
        self.left = threading.Event()

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`."""
        try:
            for piece in super().stream(request):
                assert self.go_on.acquire(timeout=20)
                self.written += 1
                yield piece
        finally:
            self.left.set()


@contextmanager
def site(folder: Path, model: ScriptedLanguageModel, **serve: object) -> Iterator[str]:
    """The address of `/ask`, where `mills` speaks of a clock."""
    settings = settings_for(folder, tokens=TOKENS, **serve)
    mills = settings.model_copy(update={"namespace": "mills"})
    engine = clew.Clew(mills, embedder=HashEmbedder(), language_model=model)
    with engine, served(Engines(settings, OPERATIONS, engine)) as server:
        engine.add(BUILT, title="Vell")
        yield server.url.removesuffix("/mcp") + "/ask"


def post(url: str, token: str | None, body: object, **headers: str) -> httpx2.Response:
    auth = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.post(url, json=body, headers={**auth, **headers}, timeout=30)


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and value of each event."""
    parts = [part.split("\n") for part in text.removesuffix("\n\n").split("\n\n")]
    assert all(len(lines) == 2 for lines in parts)
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in parts
    ]


def test_pieces_then_the_whole_answer(tmp_path: Path) -> None:
    with site(tmp_path, ScriptedLanguageModel([REPLY])) as url:
        answer = post(url, ALICE[0], {"query": QUESTION}, **STREAM)
        whole = post(url, ALICE[0], {"query": QUESTION})

    assert answer.headers["content-type"].startswith("text/event-stream")
    kinds, told = zip(*events(answer.text), strict=True)
    *pieces, found = told
    assert len(pieces) > 2
    assert kinds == ("piece",) * len(pieces) + ("answer",)
    assert "".join(piece["text"] for piece in pieces).strip() == found["answer"]
    assert found["sources"][0]["title"] == "Vell"
    assert found["usage"]["output_tokens"] > 0
    again = whole.json()
    assert (again["answer"], again["cached_calls"]) == (found["answer"], 1)


def test_where_nobody_listens_the_model_is_not_read_on(tmp_path: Path) -> None:
    whole = said(("built the great clock", "It was Ada Morn who built the great clock. " * 200))
    model, headers = Slow(whole), {"Authorization": f"Bearer {ALICE[0]}", **STREAM}
    with site(tmp_path, model) as url:
        body = {"query": QUESTION}
        with httpx2.stream("POST", url, json=body, headers=headers, timeout=20) as response:
            model.go_on.release(whole.index("clock.") // 8)
            lines = response.iter_lines()
            first = next(line for line in lines if line.startswith("data:"))
            assert first.startswith('data: {"text": "It'), "words come before the end"
        # The server hears of the closed connection when it can: in minutes, if the machine is busy.
        while not model.left.wait(0.1):
            model.go_on.release()
        assert model.written < len(whole) // 8


# --- The pool of engines: one a namespace, one model, closed when idle and when all is over.


@contextmanager
def engines_in(folder: Path, limit: int = 1) -> Iterator[Engines]:
    """A pool around the engine of `first`."""
    with engine_in(folder, "first") as first:
        engines = Engines(settings_for(folder), TOOLS, first, limit=limit)
        try:
            yield engines
        finally:
            Held.let_go.set()
            engines.close()
        first.documents.list()  # what was given stays open


def ask(engines: Engines, namespace: str) -> Engine:
    with engines.acquire(namespace) as opened:
        opened.engine.documents.list()
        return opened.engine


def test_namespaces_share_a_model_and_nothing_else(tmp_path: Path) -> None:
    with engines_in(tmp_path, limit=2) as engines:
        first = ask(engines, "first")
        first.add("A note.", source="note")
        other = ask(engines, "other")

        assert ask(engines, "other") is other
        assert other.state.embedder is first.state.embedder
        assert other.documents.list() == []


def test_idle_engines_make_room_in_the_order_of_their_last_use(tmp_path: Path) -> None:
    with engines_in(tmp_path, limit=2) as engines:
        opened = {name: ask(engines, name) for name in ("a", "b")}
        for name in ("a", "c"):
            ask(engines, name)

        assert ask(engines, "a") is opened["a"]
        assert ask(engines, "b") is not opened["b"]


def test_an_engine_in_use_is_not_closed(tmp_path: Path) -> None:
    with engines_in(tmp_path) as engines, engines.acquire("a") as used:
        ask(engines, "b")
        used.engine.add("A note.", source="note")
        assert len(used.engine.documents.list()) == 1


def test_closing_waits_for_calls_under_way(tmp_path: Path) -> None:
    in_use = threading.Event()

    def keep() -> str:
        with engines.acquire("a") as opened:
            in_use.set()
            time.sleep(0.3)
            return opened.engine.add("A note.", source="note")

    with engines_in(tmp_path) as engines, ThreadPoolExecutor(max_workers=1) as threads:
        kept = threads.submit(keep)
        assert in_use.wait(10)
        engines.close()

        assert kept.done()
        assert kept.result()
        with pytest.raises(StoreError, match="shutting down"):
            ask(engines, "a")


# --- No namespace waits for another's job, opening or closing.


SOON = 5.0
"""Seconds, far more than a call takes that waits for nobody, far less than the slow things do."""
SLOW = 30.0


class Held(Ingestion):
    """Jobs that go on until they are let go."""

    let_go = threading.Event()
    begun = threading.Semaphore(0)

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        self.begun.release()
        self.let_go.wait(SLOW)
        return super().run(arguments, names, advance)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Held]]:
    Held.let_go, Held.begun = threading.Event(), threading.Semaphore(0)
    monkeypatch.setattr("clew.jobs.Ingestion", Held)
    yield Held
    Held.let_go.set()


def busy(engines: Engines, name: str) -> Engine:
    """The engine of a namespace that has a job."""
    with engines.acquire(name) as opened:
        given = {"text": f"A note of {name}.", "source": name}
        opened.jobs.submit("ingest", given, description="read")
        return opened.engine


def seconds_to_ask(engines: Engines, *names: str) -> float:
    """How long the slowest of them took, all at the same time."""
    started = time.monotonic()
    with ThreadPoolExecutor(max_workers=len(names)) as threads:
        list(threads.map(lambda name: ask(engines, name), names))
    return time.monotonic() - started


OTHERS = [f"other{number}" for number in range(8)]


def test_running_jobs_keep_their_engine_and_nobody_waits_for_them(
    tmp_path: Path, held: type[Held]
) -> None:
    with engines_in(tmp_path, limit=0) as engines:
        working = {}
        for name in ("a", "b", "c", "d"):
            # Between the end of the call and the first look of the runner, too.
            working[name] = busy(engines, name)
            assert held.begun.acquire(timeout=SOON)

        assert seconds_to_ask(engines, *OTHERS) < SOON
        assert {name: ask(engines, name) for name in working} == working


def test_an_engine_whose_jobs_are_done_makes_room(tmp_path: Path, held: type[Held]) -> None:
    with engines_in(tmp_path, limit=0) as engines:
        was = busy(engines, "a")
        held.let_go.set()
        deadline = time.monotonic() + SOON
        while ask(engines, "a") is was:
            assert time.monotonic() < deadline
            time.sleep(0.02)


class Gate:
    """Holds up what it stands before, for a namespace, until it opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> None:
        self.reached, self.opens = threading.Event(), threading.Event()
        self.passed: list[Any] = []
        inner = getattr(kind, name)

        def held_up(this: Engine | Engines, namespace: str = "") -> Any:  # noqa: ANN401
            given = [namespace] if namespace else []
            if (namespace or this.settings.namespace) == "slow":
                self.reached.set()
                self.opens.wait(SLOW)
                self.passed.append(inner(this, *given))
                return self.passed[-1]
            return inner(this, *given)

        monkeypatch.setattr(kind, name, held_up)


def test_a_slow_opening_holds_up_its_own_namespace_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Engines, "_make")
    with engines_in(tmp_path, limit=2) as engines, ThreadPoolExecutor(max_workers=3) as threads:
        waiting = [threads.submit(ask, engines, "slow") for _ in range(3)]
        assert gate.reached.wait(SOON)

        assert seconds_to_ask(engines, *OTHERS) < SOON
        assert not any(future.done() for future in waiting)
        gate.opens.set()

        assert [future.result(SOON) for future in waiting] == gate.passed * 3


def test_a_slow_closing_holds_up_its_own_namespace_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Engine, "close")
    with engines_in(tmp_path) as engines, ThreadPoolExecutor(max_workers=1) as threads:
        closed = ask(engines, "slow")
        assert seconds_to_ask(engines, "a", "b") < SOON
        assert gate.reached.wait(SOON)
        again = threads.submit(ask, engines, "slow")

        assert seconds_to_ask(engines, *OTHERS) < SOON
        assert not again.done()
        gate.opens.set()

        assert again.result(SOON) is not closed


def test_what_opens_while_all_is_closed_is_closed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, Engines, "_make")
    with engines_in(tmp_path) as engines, ThreadPoolExecutor(max_workers=1) as threads:
        asked = threads.submit(ask, engines, "slow")
        assert gate.reached.wait(SOON)
        engines.close(patience=0)
        gate.opens.set()
        with pytest.raises(StoreError, match="shutting down"):
            asked.result(SOON)
    with pytest.raises(StoreError):
        gate.passed[0].documents.list()


def test_an_opening_that_fails_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Engine:
        raise StoreError("the store is damaged")

    with engines_in(tmp_path) as engines:
        with monkeypatch.context() as broken:
            broken.setattr(Engines, "_make", fail)
            with pytest.raises(StoreError, match="damaged"):
                ask(engines, "a")
        assert ask(engines, "a").documents.list() == []


@pytest.mark.parametrize(
    ("limit", "taken", "refused", "match"),
    [("CALLS", ("a", "a"), "a", "2 calls"), ("BUSY", ("a", "b"), "c", "2 namespaces")],
)
def test_neither_one_namespace_nor_all_take_all_threads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    taken: tuple[str, str],
    refused: str,
    match: str,
) -> None:
    monkeypatch.setattr(f"clew.mcp.calls.{limit}", 2)
    first, second = taken
    with engines_in(tmp_path) as engines, engines.acquire(first), engines.acquire(second):
        with pytest.raises(StoreBusyError, match=match):
            ask(engines, refused)
        # Once it is given back it may be closed at any time, to make room.
        with engines.acquire("b") as opened:
            assert opened.engine.documents.list() == []


# --- Questions that come before the embedding model is loaded.


WAITING = "still being loaded"


@contextmanager
def with_notes(folder: Path, embedder: HashEmbedder) -> Iterator[Engine]:
    with Engine(load_settings(store=folder), embedder=embedder) as engine:
        add(engine, NOTES)
        yield engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    embedder = SlowEmbedder()
    embedder.let.set()
    with with_notes(tmp_path, embedder) as engine:
        embedder.let.clear()
        yield engine
        embedder.let.set()


def let(engine: Engine) -> None:
    """Have the model loaded."""
    assert isinstance(engine.state.embedder, SlowEmbedder)
    assert engine.state._loading is not None
    engine.state.embedder.let.set()
    engine.state._loading.join()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_answers_at_once_and_says_so(engine: Engine, strategy: str) -> None:
    engine.state.warm(patience=0.0)
    question = "Where did the builder of the mill at Harrow Ford learn his trade?"
    result = engine.search(question, strategy=NamedStrategy(strategy))

    assert WAITING in result.notes[0]
    if strategy == "graph":
        assert not engine.state.ready
        assert result.confidence is None, "how sure it is follows from the model, too"
        assert {hit.chunk.title for hit in result.hits[:2]} == {"mill", "abbey"}


def test_once_it_is_there_it_is_asked(engine: Engine) -> None:
    engine.state.warm(patience=0.0)
    let(engine)
    after = engine.search("Who built the mill at Harrow Ford?", strategy="vector")

    assert engine.state.ready
    assert not any(WAITING in note for note in after.notes)
    assert all("vector" in hit.scores for hit in after.hits)


@pytest.mark.parametrize("patience", [None, 30.0])
def test_a_question_waits_for_a_model_that_is_there_soon(
    engine: Engine, patience: float | None
) -> None:
    engine.state.warm(patience=patience)
    threading.Timer(0.2, let, [engine]).start()

    assert not any(WAITING in note for note in engine.search("Who built the mill?").notes)


def test_a_question_that_came_to_nothing_while_names_moved_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def interrupted(resources: SearchResources, question: str, options: Options) -> SearchResult:
        result = ask_pipeline(resources, question, options)
        asked.append(resources.store.mentions_version())
        if len(asked) > 1:
            return result
        with Engine(load_settings(store=tmp_path), embedder=HashEmbedder()) as other:
            other.entities.merge("Jonas Reed", "Edda Rowe")
        return replace(result, hits=())

    monkeypatch.setattr("clew.search.pipeline.ask", interrupted)
    with with_notes(tmp_path, HashEmbedder()) as engine:
        assert engine.search("Who built the mill at Harrow Ford?").hits
    first, second = asked
    assert second > first, "the second time the store of then is asked"


def test_no_more_questions_are_answered_at_once_than_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most = set[str](), list[int]()

    def counted(resources: SearchResources, question: str, options: Options) -> SearchResult:
        under_way.add(question)
        most.append(len(under_way))
        time.sleep(0.02)
        under_way.discard(question)
        return ask_pipeline(resources, question, options)

    monkeypatch.setattr("clew.search.pipeline.ask", counted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with with_notes(tmp_path, HashEmbedder()) as engine, ThreadPoolExecutor(8) as threads:
        asked = [f"Who built the mill {n}?" for n in range(16)]
        assert all(result.hits for result in threads.map(engine.search, asked))
    assert max(most) == 2
