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
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import clew
from clew.engine import Engine
from clew.errors import StoreBusyError, StoreError
from clew.jobs import runner as kinds
from clew.jobs.runner import Ingestion
from clew.mcp import engines as pool
from clew.mcp.engines import Engines, Opened
from clew.ports import Reply, Request
from clew.search.strategies import STRATEGIES
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.tools.toolbox import OPERATIONS
from tests.unit.mcp_tools import (
    TOOLS as ENGINES_TOOLS,
)
from tests.unit.mcp_tools import (
    TOOLS as STARVED_TOOLS,
)
from tests.unit.mcp_tools import (
    engine_in,
    settings_for,
)
from tests.unit.test_ask import BUILT, QUESTION, said
from tests.unit.test_mcp_access import ALICE, BOB, CAROL, TOKENS, served

if TYPE_CHECKING:
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.types import SearchResult, Vector


# --- `POST /ask`: answers as they are written, over a real server in a thread.


STREAM = {"Accept": "text/event-stream"}
REPLY = said(("built the great clock", "It was Ada Morn who built the great clock."))


class Slow(ScriptedLanguageModel):
    """Writes on only when it is told to."""

    def __init__(self) -> None:
        super().__init__([REPLY])
        self.go_on = threading.Semaphore(0)
        self.written = 0

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """See `LanguageModel`."""
        for piece in super().stream(request):
            assert self.go_on.acquire(timeout=20)
            self.written += 1
            yield piece


@contextmanager
def site(folder: Path, model: ScriptedLanguageModel, **serve: object) -> Iterator[str]:
    """The address of `/ask`, where `mills` speaks of a clock."""
    settings = settings_for(folder, tokens=TOKENS, **serve)
    mills = settings.model_copy(update={"namespace": "mills"})
    engine = clew.Clew(mills, embedder=HashEmbedder(), language_model=model)
    with engine, served(Engines(settings, OPERATIONS, engine)) as server:
        engine.add(BUILT, title="Vell")
        yield server.url.removesuffix("/mcp") + "/ask"


def post(
    url: str, token: str | None, body: object, headers: dict[str, str] | None = None
) -> httpx2.Response:
    auth = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.post(url, json=body, headers={**auth, **(headers or {})}, timeout=30)


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
        answer = post(url, ALICE[0], {"query": QUESTION}, STREAM)
        plain = post(url, CAROL[0], {"query": QUESTION})
        whole = post(url, ALICE[0], {"query": QUESTION})

    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, found) = events(answer.text)
    assert last == "answer"
    assert {kind for kind, _ in pieces} == {"piece"}
    assert len(pieces) > 2
    assert "".join(piece["text"] for _, piece in pieces).strip() == found["answer"]
    assert found["sources"][0]["title"] == "Vell"
    assert found["usage"]["output_tokens"] > 0
    assert plain.status_code == 403, "carol may call two other tools"
    assert whole.json()["answer"] == found["answer"]
    assert whole.json()["cached_calls"] == 1


def test_words_come_before_the_end(tmp_path: Path) -> None:
    model = Slow()
    headers = {"Authorization": f"Bearer {ALICE[0]}", **STREAM}
    body = {"query": QUESTION}
    with (
        site(tmp_path, model) as url,
        httpx2.stream("POST", url, json=body, headers=headers, timeout=20) as response,
    ):
        lines = response.iter_lines()
        model.go_on.release(REPLY.index("clock.") // 8)
        first = next(line for line in lines if line.startswith("data:"))
        assert first.startswith('data: {"text": "It')
        model.go_on.release(100)
        assert any(line == "event: answer" for line in lines)


def test_where_nobody_listens_the_model_is_not_read_on(tmp_path: Path) -> None:
    model = Slow()
    headers = {"Authorization": f"Bearer {ALICE[0]}", **STREAM}
    with site(tmp_path, model) as url:
        body = {"query": QUESTION}
        with httpx2.stream("POST", url, json=body, headers=headers, timeout=20) as response:
            model.go_on.release(REPLY.index("Morn") // 8)
            next(response.iter_lines())
        time.sleep(0.3)
        model.go_on.release(100)
        time.sleep(0.3)
        assert model.written < len(REPLY) // 8


def test_what_takes_too_long_ends_with_an_error(tmp_path: Path) -> None:
    model = Slow()
    with site(tmp_path, model, request_seconds=0.6) as url:
        answer = post(url, ALICE[0], {"query": QUESTION}, STREAM)
        model.go_on.release(100)

    (last,) = events(answer.text)
    assert last[0] == "error"
    assert "0.6 seconds" in last[1]["error"]


@pytest.mark.parametrize(
    ("token", "query", "body", "status", "says"),
    [
        (None, "", {"query": QUESTION}, 401, ""),
        (BOB[0], "?namespace=mills", {"query": QUESTION}, 400, "mills"),
        (ALICE[0], "", {"query": QUESTION, "namespaces": ["bells"]}, 400, "bells"),
        (ALICE[0], "", {"query": ""}, 400, "query"),
        (ALICE[0], "", {"query": QUESTION, "model": "other"}, 400, "model"),
        (ALICE[0], "", [1], 400, "object"),
        (ALICE[0], "", {"query": "x" * 60_000}, 413, "larger"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, token: str | None, query: str, body: object, status: int, says: str
) -> None:
    with site(tmp_path, ScriptedLanguageModel([REPLY]), body_megabytes=0.05) as url:
        answer = post(url + query, token, body)

    assert answer.status_code == status, answer.text
    if says:
        assert says in answer.json()["error"]


# --- The pool of engines: one a namespace, one model, closed when idle and when all is over.


def engine_of(engines: Engines, namespace: str) -> Engine:
    with engines.acquire(namespace) as opened:
        return opened.engine


def test_namespaces_share_a_model_and_nothing_else(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first)
        first.add("A note.", source="note")
        other = engine_of(engines, "other")

        assert engine_of(engines, "first") is first
        assert engine_of(engines, "other") is other
        assert other.state.embedder is first.state.embedder
        assert other.documents.list() == []
        engines.close()


def test_idle_engines_make_room_in_the_order_of_their_last_use(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first, limit=2)
        opened = {name: engine_of(engines, name) for name in ("a", "b")}
        engine_of(engines, "a")
        engine_of(engines, "c")

        assert engine_of(engines, "a") is opened["a"]
        assert engine_of(engines, "b") is not opened["b"]
        engines.close()


def test_an_engine_in_use_is_not_closed(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first, limit=1)
        with engines.acquire("a") as used:
            engine_of(engines, "b")
            used.engine.add("A note.", source="note")

            assert len(used.engine.documents.list()) == 1
        engines.close()


def test_closing_waits_for_calls_under_way(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first)
        in_use, kept = threading.Event(), threading.Event()

        def keep() -> None:
            with engines.acquire("a") as opened:
                in_use.set()
                assert not kept.wait(0.3)
                opened.engine.add("A note.", source="note")
                kept.set()

        thread = threading.Thread(target=keep)
        thread.start()
        assert in_use.wait(10)
        engines.close()

        assert kept.is_set()
        thread.join()
        with pytest.raises(StoreError, match="shutting down"):
            engine_of(engines, "a")


def test_what_was_given_stays_open(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first)
        engine_of(engines, "first")
        engines.close()

        assert first.documents.list() == []


def test_writes_leave_an_audit_row(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), ENGINES_TOOLS, first)
        with engines.acquire("first") as opened:
            opened.toolbox.call("greet", {"name": "Ada"})
            opened.toolbox.call("keep", {"name": "Ada"})
        rows = first.state.journal
        with rows.read() as connection:
            tools = [row[0] for row in connection.execute("SELECT tool FROM audit")]
        engines.close()

    assert tools == ["keep"]


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
    monkeypatch.setattr(kinds, "Ingestion", Held)
    yield Held
    Held.let_go.set()


@contextmanager
def engines_in(folder: Path, limit: int) -> Iterator[Engines]:
    with engine_in(folder, "first") as first:
        engines = Engines(settings_for(folder), STARVED_TOOLS, first, limit=limit)
        try:
            yield engines
        finally:
            Held.let_go.set()
            engines.close()


def submit(opened: Opened, source: str) -> None:
    given = {"text": f"A note of {source}.", "source": source}
    opened.jobs.submit("ingest", given, description="read")


def ask(engines: Engines, namespace: str) -> Engine:
    with engines.acquire(namespace) as opened:
        opened.engine.documents.list()
        return opened.engine


def seconds_to_ask(engines: Engines, names: Sequence[str]) -> float:
    """How long the slowest of them took, all at the same time."""

    def timed(name: str) -> float:
        started = time.monotonic()
        ask(engines, name)
        return time.monotonic() - started

    with ThreadPoolExecutor(max_workers=len(names)) as threads:
        return max(threads.map(timed, names))


def test_running_jobs_keep_their_engine_and_nobody_waits_for_them(
    tmp_path: Path, held: type[Held]
) -> None:
    with engines_in(tmp_path, limit=2) as engines:
        busy = {}
        for name in ("a", "b", "c", "d"):
            with engines.acquire(name) as opened:
                submit(opened, name)
                busy[name] = opened.engine
            assert held.begun.acquire(timeout=SOON)

        waited = seconds_to_ask(engines, [f"other{number}" for number in range(12)])

        assert waited < SOON
        assert {name: ask(engines, name) for name in busy} == busy
        held.let_go.set()


def test_a_job_that_was_just_submitted_keeps_its_engine(tmp_path: Path, held: type[Held]) -> None:
    """Between the end of the call and the first look of the runner, too."""
    with engines_in(tmp_path, limit=0) as engines:
        with engines.acquire("a") as opened:
            submit(opened, "a")
        assert held.begun.acquire(timeout=SOON)
        assert ask(engines, "a") is opened.engine
        held.let_go.set()


def test_an_engine_whose_jobs_are_done_makes_room(tmp_path: Path, held: type[Held]) -> None:
    with engines_in(tmp_path, limit=0) as engines:
        with engines.acquire("a") as opened:
            submit(opened, "a")
        held.let_go.set()
        deadline = time.monotonic() + SOON
        while ask(engines, "a") is opened.engine:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_slow_opening_holds_up_its_own_namespace_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, opening, open_it = [], threading.Event(), threading.Event()
    make = Engines._make

    def slow(self: Engines, namespace: str) -> Engine:
        opens.append(namespace)
        if namespace == "slow":
            opening.set()
            open_it.wait(SLOW)
        return make(self, namespace)

    monkeypatch.setattr(Engines, "_make", slow)
    with engines_in(tmp_path, limit=2) as engines, ThreadPoolExecutor(max_workers=3) as threads:
        waiting = [threads.submit(ask, engines, "slow") for _ in range(3)]
        assert opening.wait(SOON)

        assert seconds_to_ask(engines, [f"other{number}" for number in range(8)]) < SOON
        assert not any(future.done() for future in waiting)
        open_it.set()

        assert len({future.result(SOON) for future in waiting}) == 1
        assert opens.count("slow") == 1


def test_a_slow_closing_holds_up_its_own_namespace_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing, close_it, close = threading.Event(), threading.Event(), Engine.close

    def slow(self: Engine) -> None:
        if self.settings.namespace == "slow":
            closing.set()
            close_it.wait(SLOW)
        close(self)

    monkeypatch.setattr(Engine, "close", slow)
    with engines_in(tmp_path, limit=1) as engines, ThreadPoolExecutor(max_workers=1) as threads:
        closed = ask(engines, "slow")
        assert seconds_to_ask(engines, ["a", "b"]) < SOON
        assert closing.wait(SOON)
        again = threads.submit(ask, engines, "slow")

        assert seconds_to_ask(engines, [f"other{number}" for number in range(8)]) < SOON
        assert not again.done()
        close_it.set()

        assert again.result(SOON) is not closed


def test_an_opening_that_fails_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, broken = Engines._make, [True]

    def failing(self: Engines, namespace: str) -> Engine:
        if broken:
            raise StoreError("the store is damaged")
        return make(self, namespace)

    monkeypatch.setattr(Engines, "_make", failing)
    with engines_in(tmp_path, limit=1) as engines:
        with pytest.raises(StoreError, match="damaged"):
            ask(engines, "a")
        broken.clear()
        assert ask(engines, "a").documents.list() == []


def test_what_opens_while_all_is_closed_is_closed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, open_it, made = threading.Event(), threading.Event(), []
    make = Engines._make

    def slow(self: Engines, namespace: str) -> Engine:
        opening.set()
        open_it.wait(SLOW)
        made.append(make(self, namespace))
        return made[0]

    monkeypatch.setattr(Engines, "_make", slow)
    with engines_in(tmp_path, limit=1) as engines, ThreadPoolExecutor(max_workers=1) as threads:
        asked = threads.submit(ask, engines, "a")
        assert opening.wait(SOON)
        engines.close(patience=0)
        open_it.set()
        with pytest.raises(StoreError, match="shutting down"):
            asked.result(SOON)
    with pytest.raises(StoreError):
        made[0].documents.list()


def test_one_namespace_cannot_take_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "CALLS", 2)
    with engines_in(tmp_path, limit=1) as engines, engines.acquire("a"), engines.acquire("a"):
        with pytest.raises(StoreBusyError, match="2 calls"):
            ask(engines, "a")
        ask(engines, "b")


def test_namespaces_that_are_all_busy_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "BUSY", 2)
    with engines_in(tmp_path, limit=1) as engines, engines.acquire("a"), engines.acquire("b"):
        with pytest.raises(StoreBusyError, match="2 namespaces"):
            ask(engines, "c")
        assert ask(engines, "a").documents.list() == []


# --- Questions that come before the embedding model is loaded.


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
