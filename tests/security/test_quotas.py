"""What one namespace may hold and have under way; what is full says so, and can be emptied."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from clew.engine import Engine
from clew.jobs import Ingestion, make_runner
from clew.operations.spec import Tool
from clew.operations.toolbox import OPERATIONS, Toolbox, make_toolbox
from clew.settings import load_settings
from clew.stores.sqlite.journal import SqliteAudit
from clew.testing.fakes import HashEmbedder

WRITING = [tool for tool in OPERATIONS if tool.scope == "write"]
ANY: dict[str, object] = {
    "string": "x", "integer": 1, "number": 0.5, "boolean": True, "strings": ["x"],
    "integers": [1], "object": {}, "objects": [],
}  # fmt: skip
"""A value of each kind; what it names need not exist."""
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


def add(box: Toolbox, name: str, text: str = "A note.") -> str:
    """Have a text indexed; the job, or the error."""
    outcome = box.call("ingest_document", {"text": text, "source": name})
    return outcome.text if outcome.is_error else str(outcome.content["job_id"])


# --- documents


def test_documents_are_bounded(tmp_path: Path) -> None:
    with namespace(tmp_path, documents=2) as (engine, box):
        for name in ("one", "two"):
            add(box, name)
        error = add(box, "three")
        assert "quota" not in add(box, "two", "Two again.")
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


@pytest.mark.parametrize("tool", WRITING, ids=lambda tool: tool.name)
def test_a_full_namespace_takes_nothing_in(tmp_path: Path, tool: Tool) -> None:
    """Whatever the tool: those that take nothing in are the only ones that go on."""
    given = {p.name: ANY[p.kind] for p in tool.parameters if p.required}
    with namespace(tmp_path, megabytes=0.001) as (_, box):
        outcome = box.call(tool.name, given)

    assert ("quota.megabytes" in outcome.text) is (tool.name not in FREEING)


def test_room_comes_back_with_what_is_deleted(tmp_path: Path) -> None:
    """SQLite's file never shrinks: what is free in it counts for nothing."""
    with namespace(tmp_path, megabytes=2.5) as (engine, box):
        words = (f"word{number}" for number in range(900_000))
        while engine.documents.quota_reached() is None:
            text = " ".join(islice(words, 9000))
            engine.add(text, source=text[:20])
        assert "quota.megabytes" in add(box, "more")
        engine.documents.delete([document.id for document in engine.documents.list()])

        assert "quota" not in add(box, "again")


# --- jobs


def test_jobs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def held(*_: object) -> Sequence[str]:
        let_go.wait(30)
        return ["text"]

    monkeypatch.setattr(Ingestion, "plan", held)
    with namespace(tmp_path, jobs=3) as (_, box):
        long = "A sentence of some length. " * 1000
        begun = [add(box, str(number), long) for number in range(3)]
        refused = add(box, "too many", long)
        assert not box.call("cancel_job", {"job_id": begun[0]}).is_error
        assert "quota" not in add(box, "again", long)
        let_go.set()

    assert "3 jobs" in refused
    assert "quota.jobs" in refused


# --- what is kept for a while


def test_the_audit_log_is_pruned_by_age(tmp_path: Path) -> None:
    with namespace(tmp_path) as (engine, box):
        add(box, "one")
        audit, now = SqliteAudit(engine.state.journal), datetime.now(UTC)
        days = [*range(1, 365), 366]
        with engine.state.journal.write() as connection:
            connection.executemany(
                "INSERT INTO audit (recorded_at, caller, tool, subjects, outcome)"
                " SELECT ?, caller, tool, subjects, outcome FROM audit WHERE id = 1",
                [((now - timedelta(days=day)).isoformat(),) for day in days],
            )
        runner = make_runner(engine, lease_seconds=0.03)
        runner.start()
        deadline = time.monotonic() + 30
        while len(audit.entries(limit=1000)) > 365:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        runner.close()

        assert len(audit.entries(limit=1000)) == 365, "those of a year stay"
