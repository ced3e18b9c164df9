"""No namespace waits for another's job, opening or closing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.engine import Engine
from clew.errors import StoreBusyError, StoreError
from clew.jobs import runner as kinds
from clew.jobs.runner import Ingestion
from clew.mcp import engines as pool
from clew.mcp.engines import Engines, Opened
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for

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
        engines = Engines(settings_for(folder), TOOLS, first, limit=limit)
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
