"""What Clew needs of a back end, as small Protocols; each docstring is the specification.

`clew.testing.conformance` holds every implementation to these words. One score convention:
higher is better, the range is stated. Every method raises `StoreError` (or a kind of it) where
a back end fails, never its driver's own exceptions.
"""

from __future__ import annotations

from clew.ports.documents import (
    HybridIndex,
    KeywordIndex,
    NearbyQuery,
    NearbyRows,
    PassageRow,
    RelationRows,
    SyncedVectorIndex,
    VectorIndex,
)
from clew.ports.graph import (
    CommunityChanges,
    CommunityReport,
    FoundRelation,
    Partition,
    ReportBasis,
    TopicSet,
)
from clew.ports.jobs import (
    AuditEntry,
    AuditOutcome,
    ItemStatus,
    Job,
    JobItem,
    JobStatus,
)
from clew.ports.models import Embedder, Extractor, Reranker

__all__ = [
    "AuditEntry",
    "AuditOutcome",
    "CommunityChanges",
    "CommunityReport",
    "Embedder",
    "Extractor",
    "FoundRelation",
    "HybridIndex",
    "ItemStatus",
    "Job",
    "JobItem",
    "JobStatus",
    "KeywordIndex",
    "NearbyQuery",
    "NearbyRows",
    "Partition",
    "PassageRow",
    "RelationRows",
    "ReportBasis",
    "Reranker",
    "SyncedVectorIndex",
    "TopicSet",
    "VectorIndex",
]
