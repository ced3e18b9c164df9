"""Enriching as a job: through the tool `enrich`, with progress, cancelled, gone on with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import ModelUnavailableError
from clew.jobs.kinds import make_runner
from clew.jobs.runner import JobRunner
from clew.ports.models import Reply, Request
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.tools.toolbox import TOOLS, Toolbox

NOTHING = '{"entities": [], "facts": []}'
DOCUMENTS = 40


class Patient(ScriptedLanguageModel):
    """Answers as long as it may, then waits; names every prompt that it saw."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self.free, self.go_on = free, threading.Event()

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.asked.append(request)
            number = len(self.asked)
        if number > self.free:
            self.go_on.wait(20)
        if any("burnt" in message.text for message in request.messages):
            return Reply(text="nonsense", finish="stop", model="m")
        return Reply(text=NOTHING, finish="stop", model="m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        texts = ["the mill burnt.", *(f"nothing happened on day {n}." for n in range(1, DOCUMENTS))]
        store.add_documents([clew.Document(source=f"{n:02}", text=t) for n, t in enumerate(texts)])
    return tmp_path


class Desk:
    """A store with its tools and jobs."""

    def __init__(self, folder: Path, model: ScriptedLanguageModel) -> None:
        self.store = clew.open(folder, embedder=HashEmbedder(), language_model=model)
        self.runner: JobRunner = make_runner(self.store, lease_seconds=1)
        self.tools = Toolbox(self.store, TOOLS, profile="full", services={"jobs": self.runner})

    def call(self, **arguments: object) -> dict[str, Any]:
        outcome = self.tools.call("enrich", {"kinds": ["extract"], **arguments})
        assert not outcome.is_error, outcome.text
        return outcome.content

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()


@pytest.fixture
def patient() -> Iterator[Patient]:
    model = Patient(20)
    yield model
    model.go_on.set()


def test_a_dry_run_asks_nothing(folder: Path, patient: Patient) -> None:
    with Desk(folder, patient) as desk:
        said = desk.call(dry_run=True)
    assert said["job"] == {}
    (estimate,) = said["estimates"]
    assert (estimate["kind"], estimate["calls"], estimate["documents"]) == ("extract", 40, 40)
    assert patient.asked == []


def test_a_job_that_is_cancelled_is_gone_on_with(folder: Path, patient: Patient) -> None:
    with Desk(folder, patient) as desk:
        job_id = desk.call()["job"]["job_id"]
        while len(patient.asked) <= 20:
            assert not desk.runner.wait(job_id, 0.02).ended
        assert 0 < desk.runner.job(job_id).progress < 1
        desk.runner.cancel(job_id)
        patient.go_on.set()
        assert desk.runner.wait(job_id, 10).status == "cancelled"
        while desk.runner.busy:
            pass
        kept = desk.store.maintenance.language_model()["requests"]
        left = desk.store.enriching.left("extract")
        assert 0 < len(left) < DOCUMENTS
        asked = len(patient.asked)

        second = desk.runner.wait(desk.call()["job"]["job_id"], 20)

        assert (second.status, second.total, second.failed) == ("completed", len(left), 0)
        # The one that failed was recorded, and is not asked again without `retry`.
        assert len(patient.asked) - asked == DOCUMENTS - kept
        assert desk.store.enriching.left("extract") == []
        assert desk.store.enriching.left("extract", retry=True) == ["00"]


def test_what_failed_is_told_by_document(folder: Path) -> None:
    with Desk(folder, Patient(999)) as desk:
        job = desk.runner.wait(desk.call()["job"]["job_id"], 20)
        (failed,) = desk.runner.failures(job.id, 10)
        again = desk.tools.call("retry_job", {"job_id": job.id}).content
        second = desk.runner.wait(again["job_id"], 20)
        asked_again = desk.call(dry_run=True)
        retried = desk.call(dry_run=True, retry=True)
    (told,) = asked_again["failed"]
    assert (told["kind"], told["reason"][:9]) == ("extract", "malformed")
    assert "retry=true" in asked_again["next_step"]
    assert retried["next_step"] == ""
    # Its outcome was recorded: without trying again, nothing would be left.
    assert (second.total, second.failed) == (1, 1)
    assert (job.status, failed.name) == ("completed", "00")
    assert "1 of its passages failed (retry asks again); the first: malformed" in failed.error


def test_a_model_that_is_away_fails_the_job(folder: Path) -> None:
    away = ScriptedLanguageModel([ModelUnavailableError("the model is away")] * 99)
    with Desk(folder, away) as desk:
        job = desk.runner.wait(desk.call()["job"]["job_id"], 20)
    assert job.status == "failed"
    assert "the model is away" in job.error


def test_a_budget_holds_over_all_groups_of_a_job(folder: Path) -> None:
    with Desk(folder, ScriptedLanguageModel([NOTHING] * 99)) as desk:
        job = desk.runner.wait(desk.call(max_tokens_spent=2_000)["job"]["job_id"], 20)
        spent = desk.store.maintenance.language_model()
    assert job.status == "failed"
    assert "tokens are spent" in job.error
    # As many as run at a time may go beyond it together.
    assert 2_000 <= spent["input_tokens"] + spent["output_tokens"] < 4_000
