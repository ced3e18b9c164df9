"""The runner, over real stores; what a job does is scripted, where it is not the ingestion."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.engine import Engine
from clew.errors import (
    InputError,
    ModelError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from clew.jobs.runner import GROUP, MAX_ATTEMPTS, JobRunner, make_runner
from clew.ports import Job
from clew.settings import JobSettings
from clew.stores.sqlite.journal import SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER
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
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    store.close()


@pytest.fixture
def jobs(store: SqliteStore) -> SqliteJobs:
    return SqliteJobs(store.database)


@pytest.fixture
def kind() -> Scripted:
    return Scripted()


@pytest.fixture
def runner(jobs: SqliteJobs, kind: Scripted) -> Iterator[JobRunner]:
    runner = JobRunner(jobs, {"read": kind}, JobSettings())
    yield runner
    runner.close()


def submit(runner: JobRunner, *names: object, at_once: bool = False) -> Job:
    return runner.submit("read", {"names": list(names)}, description="read", at_once=at_once)


def ended(runner: JobRunner, job: Job) -> Job:
    job = runner.wait(job.id, PATIENCE)
    assert job.ended
    return job


def test_every_document_is_done_once_in_groups(runner: JobRunner, kind: Scripted) -> None:
    job = ended(runner, submit(runner, *range(2 * GROUP + 3)))
    assert (job.status, job.completed, job.progress) == ("completed", 2 * GROUP + 3, 1.0)
    assert kind.done == [str(number) for number in range(2 * GROUP + 3)]
    assert kind.groups == [GROUP, GROUP, 3]


def test_a_job_at_once_has_ended_when_it_was_asked_for(runner: JobRunner, kind: Scripted) -> None:
    job = submit(runner, "a", at_once=True)
    assert (job.status, kind.done) == ("completed", ["a"])


def test_a_document_that_fails_does_not_stop_the_rest(runner: JobRunner, kind: Scripted) -> None:
    kind.act = lambda name: "binary" if name == "b" else None
    job = submit(runner, "a", "b", "c", at_once=True)
    assert (job.status, job.completed, job.failed, job.error) == ("completed", 3, 1, "")
    assert [(item.name, item.error) for item in runner.failures(job.id, 10)] == [("b", "binary")]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (InputError("half a character"), "half a character"),
        (ZeroDivisionError("oops"), "failed inside Clew; the log says why"),
    ],
)
def test_a_document_that_spoils_its_group_fails_alone(
    runner: JobRunner, kind: Scripted, fault: Exception, reason: str
) -> None:
    def act(name: str) -> None:
        if name == "b":
            raise fault

    kind.act = act
    job = submit(runner, "a", "b", "c", at_once=True)
    assert job.status == "completed"
    assert [(item.name, item.error) for item in runner.failures(job.id, 10)] == [("b", reason)]
    assert set(kind.done) == {"a", "c"}


def test_faults_of_model_and_plan_fail_the_job_with_their_words(
    runner: JobRunner, kind: Scripted
) -> None:
    def act(name: str) -> None:
        raise ModelError("no model here")

    kind.act = act
    job = submit(runner, "a", "b", at_once=True)
    assert (job.status, job.error, job.failed) == ("failed", "no model here", 0)
    job = runner.submit("read", {"fault": "no such folder"}, description="", at_once=True)
    assert (job.status, job.error) == ("failed", "no such folder")


def test_a_store_that_is_busy_is_tried_again(runner: JobRunner, kind: Scripted) -> None:
    faults = [StoreBusyError("locked"), StoreBusyError("locked")]

    def act(name: str) -> None:
        if faults:
            raise faults.pop()

    kind.act = act
    job = ended(runner, submit(runner, *range(3)))
    assert (job.status, job.completed, job.failed, faults) == ("completed", 3, 0, [])


def test_a_job_outlasts_a_server_that_is_away_for_long(
    jobs: SqliteJobs, runner: JobRunner, kind: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.jobs.runner._AWAY_SECONDS", 0.001)
    faults = [StoreUnavailableError("the server is away") for _ in range(3 * MAX_ATTEMPTS)]
    seen: set[str] = set()

    def act(name: str) -> None:
        seen.update(job.error for job in jobs.jobs())
        if faults:
            raise faults.pop()

    kind.act = act
    job = ended(runner, submit(runner, *range(3)))
    assert (job.status, job.completed, job.failed, job.error) == ("completed", 3, 0, "")
    assert "the server is away" in seen


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
    assert failure.name == "bad"
    assert failure.error.startswith(
        f"given up after {MAX_ATTEMPTS} attempts: each time the process"
    )


def test_cancelling_stops_between_documents(runner: JobRunner, kind: Scripted) -> None:
    reached, go = threading.Event(), threading.Event()

    def act(name: str) -> None:
        reached.set()
        assert go.wait(PATIENCE)

    kind.act = act
    job = submit(runner, "a", "b", "c")
    assert reached.wait(PATIENCE)
    assert runner.cancel(job.id).status == "cancelled"
    go.set()
    runner.close()
    assert kind.done == ["a"]
    assert runner.job(job.id).status == "cancelled"


def test_closing_waits_for_the_document_under_way_and_leaves_the_rest(
    jobs: SqliteJobs, runner: JobRunner, kind: Scripted
) -> None:
    reached, go = threading.Event(), threading.Event()

    def act(name: str) -> None:
        reached.set()
        assert go.wait(PATIENCE)

    kind.act = act
    job = submit(runner, "a", "b")
    assert reached.wait(PATIENCE)
    closing = threading.Thread(target=runner.close)
    closing.start()
    with pytest.raises(StoreError, match="shutting down"):
        submit(runner, "c")
    assert kind.done == []
    go.set()
    closing.join()
    assert kind.done == ["a"]
    assert (runner.job(job.id).status, runner.job(job.id).attempts) == ("queued", 0)

    other = JobRunner(jobs, {"read": kind}, JobSettings())
    other.start()
    assert ended(other, job).status == "completed"
    other.close()
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
    runner = JobRunner(jobs, {"read": kind}, JobSettings(concurrency=2))
    for job in [submit(runner, f"{number}") for number in range(6)]:
        ended(runner, job)
    runner.close()
    assert max(most) == 2


def test_old_jobs_are_forgotten(jobs: SqliteJobs, kind: Scripted) -> None:
    first = JobRunner(jobs, {"read": kind}, JobSettings())
    job = submit(first, "a", at_once=True)
    first.close()
    settings = JobSettings(retention_days=1e-9)
    runner = JobRunner(jobs, {"read": kind}, settings, lease_seconds=0.03)
    runner.start()
    deadline = time.monotonic() + PATIENCE
    while jobs.job(job.id) and time.monotonic() < deadline:
        time.sleep(0.01)
    runner.close()
    with pytest.raises(NotFoundError, match=r"no job .* kept for 1e-09 days"):
        runner.job(job.id)


def test_unknown_kinds_are_errors(jobs: SqliteJobs, runner: JobRunner) -> None:
    with pytest.raises(InputError, match="no kind of job 'dance'; expected one of read"):
        runner.submit("dance", {}, description="")
    job, _ = jobs.submit("dance", {}, description="")
    runner.start()
    assert ended(runner, job).error == "this Clew knows no jobs of kind 'dance'; upgrade it"


# --- reading and indexing again ------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nJonas Reed built mill {number}.")
    return folder


def opened(tmp_path: Path, dimension: int = 64, **split: int) -> Engine:
    settings = clew.load_settings(
        store=tmp_path / "store", access={"roots": [tmp_path]}, split={**split}
    )
    return clew.open(settings=settings, embedder=HashEmbedder(dimension))


def test_closing_the_engine_closes_its_jobs(tmp_path: Path, folder: Path) -> None:
    with opened(tmp_path) as engine:
        runner = make_runner(engine)
        runner.submit("ingest", {"path": str(folder)}, description="")
    with pytest.raises(StoreError, match="shutting down"):
        runner.submit("ingest", {"path": str(folder)}, description="")
