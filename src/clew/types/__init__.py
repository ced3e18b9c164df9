"""The values that flow through Clew: frozen, keyword-only, compared by value.

Character ranges are half-open `[start, end)` in code points. Times are aware and in UTC.
Scores follow one convention everywhere: higher is better, the range is stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.types.contexts import Citation, Context, ContextPart, PartKind
from clew.types.documents import (
    Chunk,
    Document,
    DocumentInfo,
    DocumentVersion,
    NamedDocument,
    Piece,
    Provenance,
    Section,
    Split,
    StoredChunk,
    StoredSection,
    document_id,
    partial_date,
)
from clew.types.entities import (
    Alias,
    Community,
    Entity,
    KnownName,
    MergeSuggestion,
    NewEntity,
    NewRelation,
    Observation,
    PassageRecord,
    PassageRecords,
    Relation,
    Topic,
)
from clew.types.extraction import (
    AliasEvidence,
    ChunkExtraction,
    DeclaredEntity,
    ExtractedRelation,
    Extraction,
    IndexedDocument,
    Mention,
    Statement,
    Structure,
)
from clew.types.reports import (
    CheckReport,
    IndexPreview,
    IndexReport,
    Problem,
    Skipped,
)
from clew.types.results import (
    Hit,
    PathStep,
    RelationEvidence,
    SearchResult,
    TemporalInfo,
    TimelineEntry,
)
from clew.types.values import (
    AliasMethod,
    CharRange,
    Condition,
    DatePrecision,
    DateSource,
    Fusion,
    Metadata,
    Operator,
    PartialDate,
    Period,
    in_utc,
)

if TYPE_CHECKING:
    from clew.types.values import Ids, Scores, Vector, Vectors

__all__ = [
    "Alias",
    "AliasEvidence",
    "AliasMethod",
    "CharRange",
    "CheckReport",
    "Chunk",
    "ChunkExtraction",
    "Citation",
    "Community",
    "Condition",
    "Context",
    "ContextPart",
    "DatePrecision",
    "DateSource",
    "DeclaredEntity",
    "Document",
    "DocumentInfo",
    "DocumentVersion",
    "Entity",
    "ExtractedRelation",
    "Extraction",
    "Fusion",
    "Hit",
    "Ids",
    "IndexPreview",
    "IndexReport",
    "IndexedDocument",
    "KnownName",
    "Mention",
    "MergeSuggestion",
    "Metadata",
    "NamedDocument",
    "NewEntity",
    "NewRelation",
    "Observation",
    "Operator",
    "PartKind",
    "PartialDate",
    "PassageRecord",
    "PassageRecords",
    "PathStep",
    "Period",
    "Piece",
    "Problem",
    "Provenance",
    "Relation",
    "RelationEvidence",
    "Scores",
    "SearchResult",
    "Section",
    "Skipped",
    "Split",
    "Statement",
    "StoredChunk",
    "StoredSection",
    "Structure",
    "TemporalInfo",
    "TimelineEntry",
    "Topic",
    "Vector",
    "Vectors",
    "document_id",
    "in_utc",
    "partial_date",
]
