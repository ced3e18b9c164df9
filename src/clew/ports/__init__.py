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
from clew.ports.derived import PassageRow, RelationRows, SnapshotSource
from clew.ports.documents import DocumentStore, KeywordIndex, TimeIndex, UsageLog, VectorIndex
from clew.ports.graph import GraphStore, GraphWriter, ReadingLog
from clew.ports.jobs import AuditEntry, AuditLog, ItemStatus, Job, JobItem, JobStatus, JobStore
from clew.ports.models import Embedder, Extractor, LanguageModel, Reranker

__all__ = [
    "AuditEntry",
    "AuditLog",
    "CommunityChanges",
    "CommunityKeeper",
    "CommunityReport",
    "CommunityStore",
    "DocumentStore",
    "Embedder",
    "Extractor",
    "GraphStore",
    "GraphWriter",
    "ItemStatus",
    "Job",
    "JobItem",
    "JobStatus",
    "JobStore",
    "KeywordIndex",
    "LanguageModel",
    "Partition",
    "PassageRow",
    "ReadingLog",
    "RelationRows",
    "ReportBasis",
    "Reranker",
    "SnapshotSource",
    "Store",
    "TimeIndex",
    "TopicSet",
    "UsageLog",
    "VectorIndex",
]


class Store(
    DocumentStore,
    TimeIndex,
    UsageLog,
    KeywordIndex,
    GraphStore,
    GraphWriter,
    ReadingLog,
    SnapshotSource,
    Protocol,
):
    """A database that is the whole truth of one namespace."""

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...
