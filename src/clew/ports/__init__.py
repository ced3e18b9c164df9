"""What Clew needs of a back end, as small Protocols; each docstring is the specification.

`clew.testing.conformance` holds every implementation to these words. One score convention:
higher is better, the range is stated. Every method raises `StoreError` (or a kind of it) where
a back end fails, never its driver's own exceptions.
"""

from __future__ import annotations

from typing import Protocol

from clew.ports.documents import (
    DocumentStore,
    EmbeddingSource,
    HybridIndex,
    KeywordIndex,
    NearbyQuery,
    NearbyRows,
    NeighbourhoodSource,
    PassageRow,
    PassageStore,
    RelationRows,
    SnapshotSource,
    SyncedVectorIndex,
    TimeIndex,
    UsageLog,
    VectorIndex,
    VectorSource,
)
from clew.ports.graph import (
    CommunityChanges,
    CommunityReport,
    CommunityStore,
    CommunityWriter,
    EntityEditor,
    ExtractionLog,
    Fact,
    FoundRelation,
    GraphStore,
    ManualGraph,
    Partition,
    ReportBasis,
    TopicSet,
)
from clew.ports.jobs import (
    AuditEntry,
    AuditLog,
    AuditOutcome,
    ItemStatus,
    Job,
    JobItem,
    JobStatus,
    JobStore,
    RefusalLog,
)
from clew.ports.models import Embedder, Extractor, Reranker
from clew.ports.upkeep import StoreUpkeep

__all__ = [
    "AuditEntry",
    "AuditLog",
    "AuditOutcome",
    "CommunityChanges",
    "CommunityReport",
    "CommunityStore",
    "CommunityWriter",
    "DocumentStore",
    "Embedder",
    "EmbeddingSource",
    "EntityEditor",
    "ExtractionLog",
    "Extractor",
    "Fact",
    "FoundRelation",
    "GraphStore",
    "HybridIndex",
    "ItemStatus",
    "Job",
    "JobItem",
    "JobStatus",
    "JobStore",
    "KeywordIndex",
    "ManualGraph",
    "NearbyQuery",
    "NearbyRows",
    "NeighbourhoodSource",
    "Partition",
    "PassageRow",
    "PassageStore",
    "RefusalLog",
    "RelationRows",
    "ReportBasis",
    "Reranker",
    "SnapshotSource",
    "Store",
    "StoreUpkeep",
    "SyncedVectorIndex",
    "TimeIndex",
    "TopicSet",
    "UsageLog",
    "VectorIndex",
    "VectorSource",
]


class Store(
    DocumentStore,
    PassageStore,
    TimeIndex,
    UsageLog,
    KeywordIndex,
    GraphStore,
    EntityEditor,
    ManualGraph,
    ExtractionLog,
    SnapshotSource,
    NeighbourhoodSource,
    StoreUpkeep,
    Protocol,
):
    """A database that is the whole truth of one namespace."""
