"""What Clew needs of a back end, as small Protocols; each docstring is the specification.

`clew.testing.conformance` holds every implementation to these words. One score convention:
higher is better, the range is stated. Every method raises `StoreError` (or a kind of it) where
a back end fails, never its driver's own exceptions.
"""

from __future__ import annotations

from typing import Protocol

from clew.ports.communities import (
    CommunityChanges,
    CommunityKeeper,
    CommunityReport,
    CommunityStore,
    Partition,
    ReportBasis,
    TopicSet,
)
from clew.ports.derived import EmbeddingSource, PassageRow, RelationRows, SnapshotSource
from clew.ports.documents import (
    DocumentStore,
    HybridIndex,
    KeywordIndex,
    PassageStore,
    SyncedVectorIndex,
    TimeIndex,
    UsageLog,
    VectorIndex,
)
from clew.ports.graph import (
    Fact,
    FoundRelation,
    GraphMender,
    GraphStore,
    GraphWriter,
    ReadingLog,
    RelationLog,
)
from clew.ports.jobs import (
    AuditEntry,
    AuditLog,
    ItemStatus,
    Job,
    JobItem,
    JobStatus,
    JobStore,
    RefusalLog,
)
from clew.ports.models import Embedder, Extractor, LanguageModel, Reranker
from clew.ports.upkeep import StoreUpkeep

__all__ = [
    "AuditEntry",
    "AuditLog",
    "CommunityChanges",
    "CommunityKeeper",
    "CommunityReport",
    "CommunityStore",
    "DocumentStore",
    "Embedder",
    "EmbeddingSource",
    "Extractor",
    "Fact",
    "FoundRelation",
    "GraphMender",
    "GraphStore",
    "GraphWriter",
    "HybridIndex",
    "ItemStatus",
    "Job",
    "JobItem",
    "JobStatus",
    "JobStore",
    "KeywordIndex",
    "LanguageModel",
    "Partition",
    "PassageRow",
    "PassageStore",
    "ReadingLog",
    "RefusalLog",
    "RelationLog",
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
]


class Store(
    DocumentStore,
    PassageStore,
    TimeIndex,
    UsageLog,
    KeywordIndex,
    GraphStore,
    GraphMender,
    GraphWriter,
    RelationLog,
    ReadingLog,
    SnapshotSource,
    StoreUpkeep,
    Protocol,
):
    """A database that is the whole truth of one namespace."""
