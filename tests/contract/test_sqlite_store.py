"""The store in SQLite, against the suites of every store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from clew.ports import VectorIndex
from clew.stores.communities import Communities
from clew.stores.keywords import DerivedKeywords
from clew.stores.sqlite.journal import SqliteAudit, SqliteJobs
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import (
    EMBEDDER,
    FUNCTIONAL,
    DocumentStoreSuite,
    KeywordIndexSuite,
    VectorIndexSuite,
    make_entry,
)
from clew.types import Ids, Scores
from tests.contract.filter_suite import FilterSuite
from tests.contract.suites.communities import CommunityWriterSuite
from tests.contract.suites.graph import (
    ExtractionLogSuite,
    GraphStoreSuite,
    ManualGraphSuite,
    NamesSuite,
)
from tests.contract.suites.jobs import AuditLogSuite, JobStoreSuite
from tests.contract.suites.snapshots import (
    NeighbourhoodSourceSuite,
    PassageRecordsSuite,
    SnapshotSourceSuite,
)
from tests.contract.suites.times import (
    LineageSuite,
    RelationTimesSuite,
    TimeIndexSuite,
    UsageLogSuite,
)


class OnSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        yield store
        # Whatever a test did, it must have left a sound store.
        assert store.check().problems == ()
        store.close()


# A class of tests for each suite that asks for nothing but a store.
for _suite in (
    DocumentStoreSuite,
    FilterSuite,
    LineageSuite,
    NamesSuite,
    PassageRecordsSuite,
    KeywordIndexSuite,
    GraphStoreSuite,
    ManualGraphSuite,
    ExtractionLogSuite,
    SnapshotSourceSuite,
    NeighbourhoodSourceSuite,
    TimeIndexSuite,
    UsageLogSuite,
    RelationTimesSuite,
):
    globals()[f"Test{_suite.__name__}"] = type(_suite.__name__, (OnSqlite, _suite), {})


class Indexed(SqliteStore):
    """Brings the index of words up to the store before each question, and asks nothing else."""

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        self.write_indexes()
        assert self.keyword_index is not None
        found = self.keyword_index.search(terms, limit, allowed)
        assert found is not None
        expected = super()._search_table(terms, limit, allowed)
        assert np.array_equal(found[0], expected[0])
        assert found[1] == pytest.approx(expected[1], rel=1e-5)
        return found


class TestKeywordsBeside(KeywordIndexSuite):
    @pytest.fixture(params=[0, 1000], ids=["written at once", "compared one by one"])
    def store(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
        store = Indexed(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        store.save(make_entry("first", "Nothing."))
        store.delete([make_entry("first", "").document.id])
        store.keyword_index = DerivedKeywords(store, tmp_path, least=0, few=request.param)
        yield store
        store.close()


class TestVectors(OnSqlite, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> VectorIndex:
        return VectorMatrix(store, tmp_path)


class TestJobs(OnSqlite, JobStoreSuite):
    @pytest.fixture
    def jobs(self, store: SqliteStore) -> SqliteJobs:
        return SqliteJobs(store.database)

    def test_a_clock_that_goes_back_leaves_no_lease_of_a_day(
        self, jobs: SqliteJobs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = time.time
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

    def test_jobs_do_not_count_as_changes_of_what_is_searched(
        self, store: SqliteStore, jobs: SqliteJobs
    ) -> None:
        before = store.generation()
        job, _ = jobs.submit("read", {}, description="", lease_seconds=60)
        jobs.plan(job.id, job.owner, ["a"])
        jobs.settle(job.id, job.owner, {0: None})
        jobs.finish(job.id, job.owner)
        SqliteAudit(store.database).record("ann", "ingest_document", {})
        assert store.generation() == before


class TestAudit(OnSqlite, AuditLogSuite):
    @pytest.fixture
    def log(self, store: SqliteStore) -> SqliteAudit:
        return SqliteAudit(store.database)


class TestCommunities(OnSqlite, CommunityWriterSuite):
    @pytest.fixture
    def keeper(self, store: SqliteStore) -> Communities:
        return Communities(store.backend)
