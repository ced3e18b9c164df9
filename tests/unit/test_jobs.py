"""The runner, over real stores; what a job does is scripted, where it is not the ingestion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import (
    InputError,
    ModelError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from clew.jobs import GROUP, MAX_ATTEMPTS, JobRunner, make_runner
from clew.ports import Job
from clew.settings import JobSettings
from clew.stores.sqlite.journal import SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER
from clew.testing.fakes import HashEmbedder

PATIENCE = 20.0


@dataclass
class Scripted:
    """A kind of job that does what the test says of each name."""

    act: Callable[[str], str | None] = lambda name: None
    done: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    finished: int = 0
    at_end: Callable[[], object] = lambda: None

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        if "fault" in arguments:
            raise InputError(arguments["fault"])
        return [str(name) for name in arguments["names"]]

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        self.groups.append(len(names))
        errors = []
        for number, name in enumerate(names, 1):
            errors.append(self.act(name))
            self.done.append(name)
            advance(number)
        return errors

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        self.at_end()
        go_on()
        self.finished += 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path, embedder=EMBEDDER)) as store:
        yield store


@pytest.fixture
def jobs(store: SqliteStore) -> SqliteJobs:
    return SqliteJobs(store.database)


@pytest.fixture
def kind() -> Scripted:
    return Scripted()


@pytest.fixture
def runner(jobs: SqliteJobs, kind: Scripted) -> Iterator[JobRunner]:
    with closing(JobRunner(jobs, {"read": kind}, JobSettings())) as runner:
        yield runner


def submit(runner: JobRunner, *names: object, at_once: bool = False) -> Job:
    return runner.submit("read", {"names": list(names)}, description="read", at_once=at_once)


def ended(runner: JobRunner, job: Job) -> Job:
    job = runner.wait(job.id, PATIENCE)
    assert job.ended
    return job


def test_every_document_is_done_once_in_groups(runner: JobRunner, kind: Scripted) -> None:
    names = [str(number) for number in range(2 * GROUP + 3)]
    job = ended(runner, submit(runner, *names))
    assert (job.status, job.completed, job.progress) == ("completed", len(names), 1.0)
    assert (kind.done, kind.groups) == (names, [GROUP, GROUP, 3])


def raising(faults: list[Exception], at: str = "") -> Callable[[str], None]:
    """An act that raises these one after the other; at one document alone, the first for ever."""

    def act(name: str) -> None:
        if at == name:
            raise faults[0]
        if not at and faults:
            raise faults.pop()

    return act


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda name: "binary" if name == "b" else None, "binary"),
        (raising([InputError("half a character")], "b"), "half a character"),
        (raising([ZeroDivisionError("oops")], "b"), "failed inside Clew; the log says why"),
    ],
)
def test_a_document_that_fails_or_spoils_its_group_fails_alone(
    runner: JobRunner, kind: Scripted, act: Callable[[str], str | None], reason: str
) -> None:
    kind.act = act
    job = submit(runner, "a", "b", "c", at_once=True)
    assert (job.status, job.completed, job.failed, job.error) == ("completed", 3, 1, "")
    assert [(item.name, item.error) for item in runner.failures(job.id, 10)] == [("b", reason)]
    assert {"a", "c"} <= set(kind.done)


def test_faults_of_model_and_plan_fail_the_job_with_their_words(
    runner: JobRunner, kind: Scripted
) -> None:
    kind.act = raising([ModelError("no model here")], "a")
    jobs = [
        submit(runner, "a", "b", at_once=True),
        runner.submit("read", {"fault": "no such folder"}, description="", at_once=True),
    ]
    said = [(job.status, job.error, job.failed) for job in jobs]
    assert said == [("failed", "no model here", 0), ("failed", "no such folder", 0)]


@pytest.mark.parametrize(
    "faults", [[StoreBusyError("locked")] * 2, [StoreUnavailableError("away")] * 3 * MAX_ATTEMPTS]
)
def test_a_job_outlasts_a_store_that_is_busy_and_a_server_that_is_away_for_long(
    jobs: SqliteJobs,
    runner: JobRunner,
    kind: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    faults: list[Exception],
) -> None:
    monkeypatch.setattr("clew.jobs._AWAY_SECONDS", 0.001)
    seen, fail, left = set[str](), raising(faults), str(faults[0])

    def act(name: str) -> None:
        seen.update(job.error for job in jobs.jobs())
        fail(name)

    kind.act = act
    job = ended(runner, submit(runner, *range(3)))
    assert (job.status, job.completed, job.failed, job.error) == ("completed", 3, 0, "")
    assert (faults, left in seen) == ([], True)


def test_the_document_that_always_ends_the_process_is_given_up(
    jobs: SqliteJobs, runner: JobRunner, kind: Scripted
) -> None:
    jobs.submit("read", {"names": ["bad", "good"]}, description="")
    first = jobs.claim(0)
    assert first is not None
    jobs.plan(first.id, first.owner, ["bad", "good"])
    for _ in range(MAX_ATTEMPTS):  # each of them "dies" while it has the lease
        time.sleep(0.001)
        lost = jobs.claim(0)
    assert lost is not None
    runner.start()
    job = ended(runner, lost)
    assert (job.status, job.failed, kind.done) == ("completed", 1, ["good"])
    (failure,) = runner.failures(job.id, 10)
    said = f"given up after {MAX_ATTEMPTS} attempts: each time the process"
    assert (failure.name, failure.error[: len(said)]) == ("bad", said)


@pytest.fixture
def held(runner: JobRunner, kind: Scripted) -> tuple[Job, threading.Event]:
    """A job that is at its first document until the event is set."""
    reached, go = threading.Event(), threading.Event()

    def act(name: str) -> None:
        reached.set()
        assert go.wait(PATIENCE)

    kind.act = act
    job = submit(runner, "a", "b")
    assert reached.wait(PATIENCE)
    return job, go


def test_cancelling_stops_between_documents(
    runner: JobRunner, kind: Scripted, held: tuple[Job, threading.Event]
) -> None:
    job, go = held
    assert runner.cancel(job.id).status == "cancelled"
    go.set()
    runner.close()
    assert kind.done == ["a"]
    assert runner.job(job.id).status == "cancelled"


def test_closing_waits_for_the_document_under_way_and_leaves_the_rest(
    jobs: SqliteJobs, runner: JobRunner, kind: Scripted, held: tuple[Job, threading.Event]
) -> None:
    job, go = held
    end = threading.Thread(target=runner.close)
    end.start()
    with pytest.raises(StoreError, match="shutting down"):
        submit(runner, "c")
    assert kind.done == []
    go.set()
    end.join()
    assert kind.done == ["a"]
    assert (runner.job(job.id).status, runner.job(job.id).attempts) == ("queued", 0)

    with closing(JobRunner(jobs, {"read": kind}, JobSettings())) as other:
        other.start()
        assert ended(other, job).status == "completed"
    assert set(kind.done) == {"a", "b"}


def test_no_more_jobs_run_at_once_than_the_settings_say(jobs: SqliteJobs, kind: Scripted) -> None:
    now: list[str] = []
    most: list[int] = []
    pairs = threading.Barrier(2)

    def act(name: str) -> None:
        now.append(name)
        most.append(len(now))
        pairs.wait(PATIENCE)
        now.remove(name)

    kind.act = act
    with closing(JobRunner(jobs, {"read": kind}, JobSettings(concurrency=2))) as runner:
        for job in [submit(runner, f"{number}") for number in range(6)]:
            ended(runner, job)
    assert max(most) == 2


def test_old_jobs_are_forgotten(jobs: SqliteJobs, runner: JobRunner, kind: Scripted) -> None:
    job = submit(runner, "a", at_once=True)
    settings = JobSettings(retention_days=1e-9)
    with closing(JobRunner(jobs, {"read": kind}, settings, lease_seconds=0.03)) as forgetful:
        forgetful.start()
        deadline = time.monotonic() + PATIENCE
        while jobs.job(job.id) and time.monotonic() < deadline:
            time.sleep(0.01)
    with pytest.raises(NotFoundError, match=r"no job .* kept for 1e-09 days"):
        forgetful.job(job.id)


def test_unknown_kinds_are_errors(jobs: SqliteJobs, runner: JobRunner) -> None:
    with pytest.raises(InputError, match="no kind of job 'dance'; expected one of read"):
        runner.submit("dance", {}, description="")
    job, _ = jobs.submit("dance", {}, description="")
    runner.start()
    assert ended(runner, job).error == "this Clew knows no jobs of kind 'dance'; upgrade it"


def test_closing_the_engine_closes_its_jobs(tmp_path: Path) -> None:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        runner = make_runner(engine)
    with pytest.raises(StoreError, match="shutting down"):
        runner.submit("ingest", {"text": "Jonas Reed built mill 1."}, description="")
