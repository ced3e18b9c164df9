from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.ports import VectorIndex
from clew.stores.keywords import DerivedKeywords
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.stores.vectors.matrix import VectorMatrix
from clew.testing.conformance import DocumentStoreSuite, KeywordIndexSuite, VectorIndexSuite
from clew.testing.entries import EMBEDDER, FUNCTIONAL, make_entry
from tests.contract.filter_suite import FilterSuite
from tests.contract.suites.graph import GraphStoreSuite
from tests.contract.suites.lineage import LineageSuite
from tests.contract.suites.names import NamesSuite
from tests.contract.suites.neighbourhoods import NeighbourhoodSourceSuite
from tests.contract.suites.records import PassageRecordsSuite
from tests.contract.suites.snapshots import SnapshotSourceSuite
from tests.contract.suites.times import TimeIndexSuite, UsageLogSuite
from tests.contract.suites.validity import RelationTimesSuite
from tests.contract.suites.writing import ExtractionLogSuite, ManualGraphSuite

if TYPE_CHECKING:
    from clew.types import Ids, Scores


class OnSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)
        yield store
        # Whatever a test did, it must have left a sound store.
        assert store.check().problems == ()
        store.close()


class TestDocuments(OnSqlite, DocumentStoreSuite):
    pass


class TestFilters(OnSqlite, FilterSuite):
    pass


class TestLineage(OnSqlite, LineageSuite):
    pass


class TestNames(OnSqlite, NamesSuite):
    pass


class TestRecords(OnSqlite, PassageRecordsSuite):
    pass


class TestKeywords(OnSqlite, KeywordIndexSuite):
    pass


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


class TestGraph(OnSqlite, GraphStoreSuite):
    pass


class TestWriting(OnSqlite, ManualGraphSuite):
    pass


class TestReadings(OnSqlite, ExtractionLogSuite):
    pass


class TestSnapshot(OnSqlite, SnapshotSourceSuite):
    pass


class TestNeighbourhood(OnSqlite, NeighbourhoodSourceSuite):
    pass


class TestTimes(OnSqlite, TimeIndexSuite):
    pass


class TestUsage(OnSqlite, UsageLogSuite):
    pass


class TestRelationTimes(OnSqlite, RelationTimesSuite):
    pass


class TestVectors(OnSqlite, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Store, tmp_path: Path) -> VectorIndex:
        return VectorMatrix(store, tmp_path)
