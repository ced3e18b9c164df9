"""What one namespace may hold and have under way; what is full says so, and can be emptied."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.engine import Engine
from clew.jobs import runner as kinds
from clew.jobs.runner import Ingestion, make_runner
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Toolbox, make_toolbox
from clew.wiring import make_audit

WRITING = [tool.name for tool in TOOLS if tool.scope == "write"]
FREEING = {
    "cancel_job",
    "delete_document",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "delete_relation",
    "prune_graph",
}


@contextmanager
def namespace(folder: Path, **quota: float) -> Iterator[tuple[Engine, Toolbox]]:
    settings = load_settings(
        store=folder / "store", quota=quota, access={"roots": [folder]}, namespace="mills"
    )
    with Engine(settings, embedder=HashEmbedder()) as engine:
        yield engine, make_toolbox(engine)


def told(box: Toolbox, name: str, **arguments: object) -> str:
    """The error of a call."""
    outcome = box.call(name, arguments)
    assert outcome.is_error, outcome.content
    return outcome.text


def add(box: Toolbox, name: str) -> None:
    outcome = box.call("ingest_document", {"text": f"A note of {name}.", "source": name})
    assert not outcome.is_error, outcome.text


# --- documents


def test_documents_are_bounded(tmp_path: Path) -> None:
    with namespace(tmp_path, documents=2) as (engine, box):
        add(box, "one")
        add(box, "two")
        error = told(box, "ingest_document", text="Three.", source="three")
        changed = {"text": "Two again.", "source": "two"}
        assert not box.call("ingest_document", changed).is_error
        box.call("delete_document", {"document": "one", "confirm": True})
        add(box, "three")

        assert "2 documents" in error
        assert "quota.documents" in error
        assert sorted(d.source for d in engine.documents.list()) == ["three", "two"]


def test_a_file_of_many_records_is_taken_as_far_as_there_is_room(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    lines = [json.dumps({"id": n, "text": f"Record {n}."}) for n in range(20)]
    records.write_text("\n".join(lines), encoding="utf-8")
    with namespace(tmp_path, documents=5) as (engine, _):
        report = engine.index([records])

        assert len(engine.documents.list()) == report.added == 5
        assert {"quota.documents" in skipped.reason for skipped in report.skipped} == {True}
        assert len(report.skipped) == 15


# --- bytes


@pytest.mark.parametrize("name", WRITING)
def test_a_full_namespace_takes_nothing_in(tmp_path: Path, name: str) -> None:
    """Whatever the tool: those that take nothing in are the only ones that go on."""
    with namespace(tmp_path, megabytes=0.001) as (_, box):
        given = arguments_of(name)
        outcome = box.call(name, given)

        assert ("quota.megabytes" in outcome.text) is (name not in FREEING)


def arguments_of(name: str) -> dict[str, object]:
    """Arguments that are complete; what they name need not exist."""
    tool = next(tool for tool in TOOLS if tool.name == name)
    kinds_of: dict[str, object] = {
        "string": "x", "integer": 1, "number": 0.5, "boolean": True, "strings": ["x"],
        "integers": [1], "object": {}, "objects": [],
    }  # fmt: skip
    return {p.name: kinds_of[p.kind] for p in tool.parameters if p.required}


def test_room_comes_back_with_what_is_deleted(tmp_path: Path) -> None:
    """SQLite's file never shrinks: what is free in it counts for nothing."""
    with namespace(tmp_path, megabytes=2.5) as (engine, box):
        number = 0
        while engine.documents.quota_reached() is None:
            assert number < 100
            text = f"Note {number}. " + " ".join(f"word{number * 9000 + n}" for n in range(9000))
            engine.add(text, source=str(number))
            number += 1
        assert "quota.megabytes" in told(box, "ingest_document", text="More.")
        for document in engine.documents.list():
            box.call("delete_document", {"document": document.source, "confirm": True})

        add(box, "again")


# --- jobs


def test_jobs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    class Held(Ingestion):
        def plan(self, arguments: object) -> Sequence[str]:
            let_go.wait(30)
            return ["text"]

    monkeypatch.setattr(kinds, "Ingestion", Held)
    with namespace(tmp_path, jobs=3) as (_, box):
        long = "A sentence of some length. " * 1000
        for number in range(3):
            begun = box.call("ingest_document", {"text": long, "source": str(number)})
            assert not begun.is_error, begun.text
        refused = told(box, "ingest_document", text=long, source="too many")
        job = begun.content["job_id"]
        assert not box.call("cancel_job", {"job_id": job}).is_error
        assert not box.call("ingest_document", {"text": long, "source": "again"}).is_error
        let_go.set()

    assert "3 jobs" in refused
    assert "quota.jobs" in refused


# --- what is kept for a while


def test_the_audit_log_is_pruned_by_age(tmp_path: Path) -> None:
    with namespace(tmp_path) as (engine, box):
        add(box, "one")
        add(box, "two")
        audit = make_audit(engine.state.journal)
        now = datetime.now(UTC)
        with engine.state.journal.write() as connection:
            long_ago = (now - timedelta(days=366)).isoformat()
            connection.execute("UPDATE audit SET recorded_at = ? WHERE id = 1", (long_ago,))
            connection.executemany(
                "INSERT INTO audit (recorded_at, caller, tool, subjects, outcome)"
                " SELECT ?, caller, tool, subjects, outcome FROM audit WHERE id = 2",
                [((now - timedelta(days=day)).isoformat(),) for day in range(1, 365)],
            )
        runner = make_runner(engine, lease_seconds=0.03)
        runner.start()
        deadline = time.monotonic() + 30
        while audit.entries(before=2):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        runner.close()

        # Those of a year stay.
        assert len(audit.entries(limit=1000)) == 365
