from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.ports import AuditLog, JobStore
from clew.stores.sqlite.audit import SqliteAudit
from clew.stores.sqlite.jobs import SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import AuditLogSuite, JobStoreSuite
from clew.testing.entries import EMBEDDER


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


class TestJobs(JobStoreSuite):
    @pytest.fixture
    def jobs(self, store: SqliteStore) -> JobStore:
        return SqliteJobs(store.database)


class TestAudit(AuditLogSuite):
    @pytest.fixture
    def log(self, store: SqliteStore) -> AuditLog:
        return SqliteAudit(store.database)


def test_jobs_do_not_count_as_changes_of_what_is_searched(store: SqliteStore) -> None:
    jobs, before = SqliteJobs(store.database), store.generation()
    job, _ = jobs.submit("read", {}, description="", lease_seconds=60)
    jobs.plan(job.id, job.owner, ["a"])
    jobs.settle(job.id, job.owner, {0: None})
    jobs.finish(job.id, job.owner)
    SqliteAudit(store.database).record("ann", "ingest_document", {})
    assert store.generation() == before
