from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER
from tests.contract.suites.jobs import AuditLogSuite, JobStoreSuite


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


class TestJobs(JobStoreSuite):
    @pytest.fixture
    def jobs(self, store: SqliteStore) -> SqliteJobs:
        return SqliteJobs(store.database)


class TestAudit(AuditLogSuite):
    @pytest.fixture
    def log(self, store: SqliteStore) -> SqliteAudit:
        return SqliteAudit(store.database)


def test_a_clock_that_goes_back_leaves_no_lease_of_a_day(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, real = SqliteJobs(store.database), time.time
    job, _ = jobs.submit("read", {}, description="")
    monkeypatch.setattr(time, "time", lambda: real() + 24 * 3600)
    lost = jobs.claim(15)
    assert lost is not None
    monkeypatch.setattr(time, "time", lambda: real() - 10)  # a clock that is put right a little
    assert jobs.extend(job.id, lost.owner, 15)
    monkeypatch.setattr(time, "time", lambda: real() - 20)
    assert jobs.claim(15) is None
    monkeypatch.setattr(time, "time", lambda: real() + 24 * 3600)
    assert jobs.extend(job.id, lost.owner, 15)
    monkeypatch.setattr(time, "time", real)
    taken = jobs.claim(15)
    assert taken is not None
    assert (taken.id, taken.attempts) == (job.id, 2)
    assert not jobs.finish(job.id, lost.owner)
    assert jobs.finish(job.id, taken.owner)


def test_jobs_do_not_count_as_changes_of_what_is_searched(store: SqliteStore) -> None:
    jobs, before = SqliteJobs(store.database), store.generation()
    job, _ = jobs.submit("read", {}, description="", lease_seconds=60)
    jobs.plan(job.id, job.owner, ["a"])
    jobs.settle(job.id, job.owner, {0: None})
    jobs.finish(job.id, job.owner)
    SqliteAudit(store.database).record("ann", "ingest_document", {})
    assert store.generation() == before
