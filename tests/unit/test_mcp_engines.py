"""The pool of engines: one a namespace, one model, closed when idle and when all is over."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from clew.engine import Clew
from clew.errors import StoreError
from clew.mcp.engines import Engines
from tests.unit.mcp_tools import TOOLS, engine_in, settings_for


def engine_of(engines: Engines, namespace: str) -> Clew:
    with engines.acquire(namespace) as opened:
        return opened.engine


def test_namespaces_share_a_model_and_nothing_else(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), TOOLS, first)
        first.add("A note.", source="note")
        other = engine_of(engines, "other")

        assert engine_of(engines, "first") is first
        assert engine_of(engines, "other") is other
        assert other.embedder is first.embedder
        assert other.documents() == []
        engines.close()


def test_idle_engines_make_room_in_the_order_of_their_last_use(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), TOOLS, first, limit=2)
        opened = {name: engine_of(engines, name) for name in ("a", "b")}
        engine_of(engines, "a")
        engine_of(engines, "c")

        assert engine_of(engines, "a") is opened["a"]
        assert engine_of(engines, "b") is not opened["b"]
        engines.close()


def test_an_engine_in_use_is_not_closed(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), TOOLS, first, limit=1)
        with engines.acquire("a") as used:
            engine_of(engines, "b")
            used.engine.add("A note.", source="note")

            assert len(used.engine.documents()) == 1
        engines.close()


def test_closing_waits_for_calls_under_way(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), TOOLS, first)
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
        engines = Engines(settings_for(tmp_path), TOOLS, first)
        engine_of(engines, "first")
        engines.close()

        assert first.documents() == []


def test_writes_leave_an_audit_row(tmp_path: Path) -> None:
    with engine_in(tmp_path, "first") as first:
        engines = Engines(settings_for(tmp_path), TOOLS, first)
        with engines.acquire("first") as opened:
            opened.toolbox.call("greet", {"name": "Ada"})
            opened.toolbox.call("keep", {"name": "Ada"})
        rows = first.journal
        with rows.read() as connection:
            tools = [row[0] for row in connection.execute("SELECT tool FROM audit")]
        engines.close()

    assert tools == ["keep"]
