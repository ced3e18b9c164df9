"""What a store of jobs, and an audit log, must do."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.errors import InputError
from clew.ports import Job
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.testing.conformance import moment_between

LONG = 60.0
"""Seconds of a lease that no test outlives."""


def submitted(jobs: SqliteJobs, name: str = "one", *, key: str | None = None) -> Job:
    """A job that has just been queued."""
    return jobs.submit("read", {"name": name}, description=f"read {name}", key=key)[0]


def claimed(jobs: SqliteJobs, seconds: float = LONG) -> Job:
    """The next job, claimed."""
    job = jobs.claim(seconds)
    assert job is not None
    return job


def known(jobs: SqliteJobs, job: Job) -> Job:
    """The job as it is now."""
    found = jobs.job(job.id)
    assert found is not None
    return found


class JobStoreSuite:
    """`ports.JobStore`."""

    @pytest.fixture
    def jobs(self) -> SqliteJobs:
        """An empty store of jobs, to be overridden."""
        raise NotImplementedError

    def test_a_job_comes_back_as_it_was_asked_for(self, jobs: SqliteJobs) -> None:
        job, new = jobs.submit("read", {"name": "x", "n": [1, None]}, description="read x")
        assert new
        assert known(jobs, job) == job
        assert (job.kind, job.status, job.description) == ("read", "queued", "read x")
        assert job.arguments == {"name": "x", "n": [1, None]}
        assert (job.completed, job.total, job.failed, job.progress) == (0, None, 0, 0.0)
        assert not job.ended
        assert jobs.job("unknown") is None

    def test_the_same_key_is_the_same_job(self, jobs: SqliteJobs) -> None:
        first = submitted(jobs, key="k")
        again, new = jobs.submit("read", {"name": "one"}, description="other words", key="k")
        assert (again, new) == (first, False)
        assert len(jobs.jobs()) == 1
        assert submitted(jobs).id != submitted(jobs).id

    def test_a_key_asked_for_at_once_by_many_is_one_job(self, jobs: SqliteJobs) -> None:
        def ask(_: int) -> tuple[Job, bool]:
            return jobs.submit("read", {"name": "one"}, description="", key="k")

        with ThreadPoolExecutor(8) as pool:
            asked = list(pool.map(ask, range(16)))
        assert len({job.id for job, _ in asked}) == len(jobs.jobs()) == 1
        assert sum(new for _, new in asked) == 1

    @pytest.mark.parametrize(("kind", "name"), [("read", "two"), ("write", "one")])
    def test_a_key_of_other_work_is_an_error(self, jobs: SqliteJobs, kind: str, name: str) -> None:
        submitted(jobs, key="k")
        with pytest.raises(InputError, match=r"'k' belongs to job .* with other arguments"):
            jobs.submit(kind, {"name": name}, description="", key="k")

    def test_jobs_are_claimed_once_and_in_order(self, jobs: SqliteJobs) -> None:
        asked = [submitted(jobs, str(number)) for number in range(4)]
        with ThreadPoolExecutor(8) as pool:
            got = [job for job in pool.map(lambda _: jobs.claim(LONG), range(12)) if job]
        assert sorted(job.id for job in got) == sorted(job.id for job in asked)
        assert {job.status for job in got} == {"running"}
        assert len({job.owner for job in got}) == 4
        first, second = submitted(jobs), submitted(jobs)
        assert [claimed(jobs).id, claimed(jobs).id] == [first.id, second.id]
        assert jobs.claim(LONG) is None

    def test_a_job_may_be_claimed_as_it_is_asked_for(self, jobs: SqliteJobs) -> None:
        job, _ = jobs.submit("read", {}, description="", lease_seconds=LONG)
        assert (job.status, job.attempts) == ("running", 1)
        assert jobs.claim(LONG) is None
        assert jobs.finish(job.id, job.owner)

    def test_a_lease_is_kept_until_it_ran_out_and_is_anothers_then(self, jobs: SqliteJobs) -> None:
        submitted(jobs)
        lost = claimed(jobs, 0.0)
        assert jobs.extend(lost.id, lost.owner, LONG)
        assert jobs.claim(LONG) is None
        assert jobs.extend(lost.id, lost.owner, 0.0)
        time.sleep(0.001)
        taken = claimed(jobs)
        assert (taken.id, taken.attempts) == (lost.id, 2)
        assert taken.owner != lost.owner
        for change in (
            jobs.extend(lost.id, lost.owner, LONG),
            jobs.plan(lost.id, lost.owner, ["a"]),
            jobs.advance(lost.id, lost.owner, 1),
            jobs.release(lost.id, lost.owner),
            jobs.finish(lost.id, lost.owner),
        ):
            assert change is False
        assert known(jobs, lost).total is None
        assert jobs.finish(taken.id, taken.owner)

    def test_documents_are_settled_one_by_one(self, jobs: SqliteJobs) -> None:
        submitted(jobs)
        job = claimed(jobs)
        assert jobs.plan(job.id, job.owner, ["a", "b", "c"])
        assert jobs.advance(job.id, job.owner, 1)
        assert known(jobs, job).progress == pytest.approx(1 / 3)
        assert jobs.settle(job.id, job.owner, {0: None, 2: "binary"})
        now = known(jobs, job)
        assert (now.completed, now.total, now.failed, now.attempts) == (2, 3, 1, 0)
        assert [item.name for item in jobs.items(job.id, status="waiting")] == ["b"]
        failed = jobs.items(job.id, status="failed")
        assert [(item.ordinal, item.name, item.error) for item in failed] == [(2, "c", "binary")]
        assert [i.name for i in jobs.items(job.id, after=0, limit=1)] == ["b"]
        jobs.settle(job.id, job.owner, {1: None})
        assert jobs.finish(job.id, job.owner)
        assert (known(jobs, job).status, known(jobs, job).progress) == ("completed", 1.0)

    def test_what_was_settled_stays_settled_for_the_next(self, jobs: SqliteJobs) -> None:
        submitted(jobs)
        job = claimed(jobs, 0.0)
        jobs.plan(job.id, job.owner, ["a", "b"])
        jobs.settle(job.id, job.owner, {0: None})
        time.sleep(0.001)
        taken = claimed(jobs)
        assert (taken.total, taken.completed) == (2, 1)
        # Too late: the other one has it now, but what is done is done.
        assert not jobs.settle(job.id, job.owner, {1: None})
        assert jobs.items(job.id, status="waiting") == []

    def test_what_a_job_did_not_do_is_tried_again_once(self, jobs: SqliteJobs) -> None:
        job = submitted(jobs)
        owner = claimed(jobs).owner
        jobs.plan(job.id, owner, ["a", "b"])
        jobs.settle(job.id, owner, {0: None, 1: "no such file"})
        assert not known(jobs, job).can_retry
        assert jobs.finish(job.id, owner)
        ended = known(jobs, job)
        assert (ended.status, ended.arguments, ended.can_retry) == (
            "completed",
            job.arguments,
            True,
        )
        again, new = jobs.submit("read", ended.arguments, description="", key=ended.retry_key)
        assert new
        assert (known(jobs, job).retried_by, known(jobs, job).can_retry) == (again.id, False)

    @pytest.mark.parametrize(
        ("end", "text", "status", "kept"),
        [
            ("done", "one", "completed", False),
            ("no such file", "one", "failed", True),
            ("cancel", "one", "cancelled", True),
            ("cancel", "x" * 1_000_000, "cancelled", False),  # any length cannot pile up
        ],
    )
    def test_only_a_job_that_did_not_do_all_keeps_its_arguments(
        self, jobs: SqliteJobs, end: str, text: str, status: str, kept: bool
    ) -> None:
        job = submitted(jobs, text)
        if end == "cancel":
            assert jobs.cancel(job.id)
        else:
            error = "" if end == "done" else end
            assert jobs.finish(job.id, claimed(jobs).owner, error=error)
        ended = known(jobs, job)
        assert (ended.status, ended.ended, ended.can_retry) == (status, True, kept)
        assert ended.arguments == (job.arguments if kept else {})
        assert not jobs.cancel(job.id)
        assert jobs.claim(LONG) is None

    def test_a_cancelled_job_is_its_runners_no_more(self, jobs: SqliteJobs) -> None:
        submitted(jobs)
        job = claimed(jobs)
        jobs.plan(job.id, job.owner, ["a", "b"])
        assert jobs.cancel(job.id)
        assert not jobs.advance(job.id, job.owner, 1)
        assert not jobs.finish(job.id, job.owner)
        assert known(jobs, job).status == "cancelled"

    def test_a_job_put_back_is_the_next_again(self, jobs: SqliteJobs) -> None:
        first, second = submitted(jobs, "first"), submitted(jobs, "second")
        jobs.release(first.id, claimed(jobs).owner)
        again = claimed(jobs)
        assert (again.id, again.attempts) == (first.id, 1)
        jobs.release(first.id, again.owner, error="busy")
        again = claimed(jobs)
        assert (again.attempts, again.error) == (2, "busy")
        assert claimed(jobs).id == second.id

    def test_jobs_are_listed_newest_first_in_pages(self, jobs: SqliteJobs) -> None:
        ids = [submitted(jobs, str(number)).id for number in range(5)][::-1]
        assert [job.id for job in jobs.jobs()] == ids
        assert [job.id for job in jobs.jobs(limit=2)] == ids[:2]
        assert [job.id for job in jobs.jobs(before=ids[1], limit=2)] == ids[2:4]

    def test_only_what_ended_before_is_forgotten(self, jobs: SqliteJobs) -> None:
        old, running = submitted(jobs, "old"), submitted(jobs, "running")
        jobs.finish(old.id, claimed(jobs).owner)
        assert claimed(jobs).id == running.id
        moment = moment_between()
        fresh = submitted(jobs, "fresh")
        jobs.cancel(fresh.id)
        assert jobs.forget(moment) == 1
        assert {job.id for job in jobs.jobs()} == {running.id, fresh.id}
        assert jobs.items(old.id) == []
        assert jobs.forget(moment) == 0

    def test_unfinished_jobs_are_bounded(self, jobs: SqliteJobs) -> None:
        kept = submitted(jobs, "kept", key="key")
        running = submitted(jobs, "running")
        with pytest.raises(InputError, match=r"2 jobs have not ended.*quota\.jobs"):
            jobs.submit("read", {}, description="one too many", most=2)
        given = {"name": "kept"}
        again, new = jobs.submit("read", given, description="again", key="key", most=2)
        assert (again.id, new) == (kept.id, False)
        jobs.cancel(running.id)
        assert jobs.submit("read", {}, description="room again", most=2)[1]


class AuditLogSuite:
    """`ports.AuditLog`."""

    @pytest.fixture
    def log(self) -> SqliteAudit:
        """An empty log, to be overridden."""
        raise NotImplementedError

    def test_entries_come_back_newest_first_in_pages(self, log: SqliteAudit) -> None:
        assert log.entries() == []
        for number in range(5):
            log.record("ann", "delete_document", {"document": f"d{number}", "confirm": True})
        found = log.entries()
        assert [entry.subjects["document"] for entry in found] == ["d4", "d3", "d2", "d1", "d0"]
        assert {(entry.caller, entry.tool) for entry in found} == {("ann", "delete_document")}
        assert [e.recorded_at for e in found] == sorted(
            (e.recorded_at for e in found), reverse=True
        )
        assert log.entries(before=found[1].id, limit=2) == found[2:4]

    def test_old_entries_are_forgotten(self, log: SqliteAudit) -> None:
        log.record("ann", "delete_document", {"document": "old"})
        moment = moment_between()
        log.record("ann", "delete_document", {"document": "new"})
        assert log.forget(moment) == 1
        assert [entry.subjects["document"] for entry in log.entries()] == ["new"]
        assert log.forget(moment) == 0
