"""What every back end must do, as test classes: derive from each, and give it your store.

    class TestMyDocuments(DocumentStoreSuite):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)

Each test says one thing that `clew.ports` promises, checked against plain Python.
"""

from clew.testing.conformance.communities import CommunityWriterSuite
from clew.testing.conformance.documents import DocumentStoreSuite
from clew.testing.conformance.graph import GraphStoreSuite
from clew.testing.conformance.jobs import AuditLogSuite, JobStoreSuite
from clew.testing.conformance.lineage import LineageSuite
from clew.testing.conformance.names import NamesSuite
from clew.testing.conformance.neighbourhoods import NeighbourhoodSourceSuite
from clew.testing.conformance.records import PassageRecordsSuite
from clew.testing.conformance.search import KeywordIndexSuite, VectorIndexSuite
from clew.testing.conformance.snapshots import SnapshotSourceSuite
from clew.testing.conformance.times import TimeIndexSuite, UsageLogSuite
from clew.testing.conformance.validity import RelationTimesSuite
from clew.testing.conformance.writing import ExtractionLogSuite, ManualGraphSuite

__all__ = [
    "AuditLogSuite",
    "CommunityWriterSuite",
    "DocumentStoreSuite",
    "ExtractionLogSuite",
    "GraphStoreSuite",
    "JobStoreSuite",
    "KeywordIndexSuite",
    "LineageSuite",
    "ManualGraphSuite",
    "NamesSuite",
    "NeighbourhoodSourceSuite",
    "PassageRecordsSuite",
    "RelationTimesSuite",
    "SnapshotSourceSuite",
    "TimeIndexSuite",
    "UsageLogSuite",
    "VectorIndexSuite",
]
