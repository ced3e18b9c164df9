"""The values that flow through Clew: frozen, keyword-only, compared by value.

Character ranges are half-open `[start, end)` in code points. Times are aware and in UTC.
Scores follow one convention everywhere: higher is better, the range is stated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """(dim,) float32, unit length."""
    Vectors: TypeAlias = NDArray[np.float32]
    """(n, dim) float32, each row of unit length."""
    Ids: TypeAlias = NDArray[np.int64]
    """(n,) int64 chunk or entity ids."""
    Scores: TypeAlias = NDArray[np.float32]
    """(n,) float32, higher is better."""

Metadata: TypeAlias = Mapping[str, Any]
"""JSON values by name."""

Operator = Literal["=", "!=", ">=", "<=", ">", "<"]
Fusion = Literal["rrf", "weighted"]
AliasMethod = Literal["exact", "acronym", "fuzzy", "manual"]


# --- time --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A stretch of time, half-open `[start, end)`, in UTC; a side that is open is None."""

    start: datetime | None
    end: datetime | None
    text: str = ""
    """As it was worded; empty where it was given as dates."""

    def overlaps(self, other: Period) -> bool:
        """Whether the two share any moment."""
        return _before(self.start, other.end) and _before(other.start, self.end)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


# --- documents ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A ready-split part of a document, such as a turn of a conversation or a row of a table."""

    start: int
    end: int
    key: str
    """The piece's own name, unique within its document."""
    metadata: Metadata = field(default_factory=dict)


def document_id(source: str) -> str:
    """16 hex digits of the source's SHA-256: the same in every store."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text with its origin; `source` is its identity within a store."""

    source: str
    """Unique within a store: a path, a URL, or a name that the caller gave."""
    text: str
    title: str = ""
    sha256: str = ""
    """Hex digest of what was read (file bytes, or a record's own text); decides "unchanged"."""
    media_type: str = "text/plain"
    origin: str = ""
    """What the document was read from, where one file holds several documents; else `source`."""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    """Offset in `text` at which each page starts; empty where there are no pages."""
    pieces: tuple[Piece, ...] = ()
    """The chunks, where the document comes ready split; they are in order and do not overlap."""

    @property
    def id(self) -> str:
        """See `document_id`."""
        return document_id(self.source)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A parent: the passage of context around some chunks. Sections partition the document."""

    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...] = ()
    """The trail of headings above this section, outermost first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A child: what is embedded and found."""

    ordinal: int
    """Position among the document's chunks, from 0."""
    section: int
    """Ordinal of the section that it lies in."""
    start: int
    end: int
    text: str
    """`document.text[start:end]`."""
    context: str = ""
    """Title and trail of headings; embedded and indexed with the text, kept apart from it."""
    page: int | None = None
    """From 1; the page on which the chunk starts."""
    key: str | None = None
    metadata: Metadata = field(default_factory=dict)

    @property
    def embedding_text(self) -> str:
        """What the embedder sees: the context, a line break, the text."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A document's sections and chunks, both in order."""

    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]


# --- what is extracted -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A name in a chunk."""

    name: str
    """The name in full, as resolved within its document ("Nolan" → "Christopher Nolan")."""
    entity_type: str = "name"
    """`person`, `place`, `organisation`, `work`, `product`, `date`, `code`, or `name` (unknown)."""
    sentence: int
    """Ordinal of the sentence within the chunk."""
    start: int
    """Range of the first occurrence in that sentence, in the chunk's text."""
    end: int
    count: int = 1
    """Occurrences within the sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedRelation:
    """A typed relation between two names, with the sentence that says so."""

    head: str
    tail: str
    relation_type: str
    """snake_case."""
    sentence: int
    confidence: float
    """0 to 1."""
    is_causal: bool = False
    valid_from: datetime | None = None
    """From when on it held, as far as the text or its date says."""
    valid_until: datetime | None = None
    """Until when it held; None where no end is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AliasEvidence:
    """A reason for taking two names for one entity."""

    alias: str
    name: str
    """The name that the alias stands for."""
    method: AliasMethod
    score: float
    """0 to 1."""
    evidence: str
    """The sentence or the rule that says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkExtraction:
    """What one chunk holds. Sentences are ranges in the chunk's text, in order."""

    sentences: tuple[tuple[int, int], ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """What one document holds: one `ChunkExtraction` a chunk, in the chunks' order."""

    chunks: tuple[ChunkExtraction, ...]
    about: tuple[tuple[str, str], ...] = ()
    """(name, entity_type) of what the document is about: its title, with and without brackets."""
    aliases: tuple[AliasEvidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedDocument:
    """Everything that one document's transaction writes."""

    document: Document
    split: Split
    vectors: Vectors
    """(chunks, dim): one embedding a chunk, in order."""
    extraction: Extraction
    links: tuple[AliasEvidence, ...] = ()
    """Names of this document that the linker took for names already known (or for each other)."""
    recipe: str = ""
    """How it was split, embedded and extracted, as JSON; a change of recipe means index again."""


# --- what is stored ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentInfo:
    """A stored document without its text."""

    id: str
    source: str
    origin: str
    title: str
    sha256: str
    media_type: str
    created_at: datetime | None
    updated_at: datetime | None
    indexed_at: datetime
    metadata: Metadata
    recipe: str
    characters: int
    sections: int
    chunks: int
    version: int = 1
    """Counts the texts that this source has had in this store, from 1."""
    derived_from: str = ""
    """Hex SHA-256 of the version before; empty for the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentVersion:
    """A text that a document had; older texts are gone, their digests stay."""

    version: int
    sha256: str
    derived_from: str
    """Digest of the version before; empty for the first."""
    indexed_at: datetime
    replaced_at: datetime | None
    """None for the version that the store holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where something stored comes from, who wrote it and when, and what found it."""

    document: str
    """Id of the document."""
    title: str
    source: str
    version: int
    sha256: str
    derived_from: str
    """Digest of the version before; empty for the first."""
    page: int | None
    start: int
    """Character range in the document."""
    end: int
    author: str
    """As the document's or the passage's metadata names one; else empty."""
    written_at: datetime | None
    """The passage's own date, else its document's."""
    indexed_at: datetime
    extractor: str
    """Identity of what read names and relations here."""
    confidence: float = 1.0
    """0 to 1; 1 for text, the extractor's word for a relation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChunk:
    """A stored chunk with what a hit shows of its document."""

    id: int
    document_id: str
    source: str
    title: str
    ordinal: int
    section_id: int
    start: int
    end: int
    page: int | None
    text: str
    context: str
    key: str | None
    metadata: Metadata
    """The document's metadata overlaid with the chunk's own."""

    @property
    def public_id(self) -> str:
        """`<document id>#<ordinal>`: the same in every store that holds the same text."""
        return f"{self.document_id}#{self.ordinal}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSection:
    """A stored parent."""

    id: int
    document_id: str
    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """A name of an entity, and why it is one."""

    id: int
    key: str
    name: str
    entity_id: int
    method: AliasMethod
    score: float
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """A node of the graph."""

    id: int
    name: str
    key: str
    entity_type: str
    content: str = ""
    tier: str = "extracted"
    salience_score: float = 0.0
    """0 to 1: PageRank among the store's entities over the highest, on a log scale."""
    mentions: int = 0
    documents: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """An edge of the graph; it held over one period and was known over another."""

    id: int
    from_entity_id: int
    to_entity_id: int
    relation_type: str
    weight: float
    """0 to 1."""
    is_causal: bool
    confidence: float
    """0 to 1."""
    context: Metadata
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    retracted_at: datetime | None
    chunk_id: int | None
    sentence: int | None
    """Ordinal of the sentence within the chunk."""
    extractor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRecord:
    """A chunk with what an answer shows of it."""

    chunk: StoredChunk
    section: StoredSection
    provenance: Provenance
    times: tuple[Period, ...]
    """When it was said (where that is known), then what it speaks of."""
    sentences: tuple[str, ...]
    sentence_ranges: tuple[tuple[int, int], ...]
    """In the document."""
    relations: tuple[Relation, ...]
    """That it states, by id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRecords:
    """Chunks, and the names that go with them."""

    passages: Mapping[int, PassageRecord]
    """By chunk id."""
    names: Mapping[int, str]
    """By entity id: those asked for, and the ends of the passages' relations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntity:
    """An entity to be written by hand."""

    name: str
    entity_type: str = "name"
    """`name`: unknown, what the store knows of its type stays."""
    content: str = ""
    """Description; empty keeps the one that there is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation between two entities, to be written by hand."""

    source_id: int
    target_id: int
    relation_type: str
    """snake_case."""
    weight: float = 1.0
    """0 to 1."""
    is_causal: bool = False
    context: Metadata | None = None
    """JSON values; None keeps what there is."""
    valid_from: datetime | None = None
    """None: not said, whatever is known stays."""
    valid_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """A text about an entity, told by hand; a document of its own."""

    document_id: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Entities that are tied to each other more than to others, and what the texts say of them."""

    id: int
    level: int
    """0 is the coarsest."""
    parent: int | None
    """Id of the community of the level above that holds it."""
    title: str
    summary: str
    """Report made of the texts' own sentences and of relations."""
    entities: tuple[str, ...]
    """Names, most central first; at most some dozens."""
    size: int
    """Number of entities."""
    sources: tuple[int, ...] = ()
    """Ids of the chunks that the report's sentences stand in."""
    provenance: tuple[Provenance, ...] = ()
    """Where these come from, where it was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A key phrase that several passages are on."""

    id: int
    name: str
    theme: str
    """Title of the group of topics that it belongs to."""
    passages: int
    documents: int


# --- asking ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A filter on metadata, or on title, source, media_type and times: `year>=2020`."""

    name: str
    operator: Operator
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PathStep:
    """One step of a path: from an entity, through a sentence, to the next entity or the passage."""

    entity: str
    sentence: str
    document: str
    """Title or source of the document that the sentence stands in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationEvidence:
    """A relation as a hit shows it."""

    head: str
    relation: str
    tail: str
    evidence: str
    """The sentence that states it."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A passage found, and why."""

    chunk: StoredChunk
    score: float
    """Higher is better; comparable within one result only."""
    scores: Mapping[str, float]
    """By channel: `vector` (cosine, -1 to 1), `keyword` (BM25, above 0), `graph`, `temporal` (0 to
    1), and what else the strategy weighed."""
    source: Literal["vector", "keyword", "graph", "hybrid"]
    """The channel that found it; `hybrid` where several did."""
    entities: tuple[str, ...] = ()
    relations: tuple[RelationEvidence, ...] = ()
    path: tuple[PathStep, ...] = ()
    matched: tuple[str, ...] = ()
    """Ids of the children that matched, where the strategy finds parents by their children."""
    times: tuple[Period, ...] = ()
    """When it was said, then the times that it speaks of; where the strategy asks for them."""
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineEntry:
    """A passage or a relation at its place in time."""

    period: Period
    text: str
    reference: str
    """Id of the passage."""
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TemporalInfo:
    """The time that a question asks for, and what was made of it."""

    phrase: str
    """As the question words it; empty where it was given as dates."""
    since: datetime | None
    until: datetime | None
    """The period's end, exclusive."""
    as_of: datetime | None
    evolution: bool
    """Whether the question asks how something changed."""
    applied: Literal["filtered", "preferred", "ordered", "none"]
    """What the period did: nothing else was found, it went first, the context follows time."""
    timeline: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(period, ids of its passages) in order of time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A numbered source of the context."""

    number: int
    """From 1, as `[1]` in the context's text."""
    chunk_ids: tuple[str, ...]
    title: str
    source: str
    page: int | None
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Passages put together for a reader or a language model, within a budget."""

    text: str
    citations: tuple[Citation, ...]
    tokens: int
    """Tokens of `text`; at most the budget."""
    left_out: int
    """Passages (reports, paths) found that did not fit."""
    tokenizer: str = ""
    """What counted the tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """The answer to one question."""

    query: str
    strategy: str
    reason: str
    hits: tuple[Hit, ...]
    context: Context
    entities: tuple[str, ...] = ()
    """Entities of the question that the graph knows."""
    temporal: TemporalInfo | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """By step; `cache` alone where the answer was still known."""
    notes: tuple[str, ...] = ()
    """Whatever was missing or degraded."""

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tools answer with."""
        return {
            "query": self.query,
            "strategy": self.strategy,
            "reason": self.reason,
            "results": [_hit_dict(hit) for hit in self.hits],
            "graph_entities": list(self.entities),
            "temporal_info": _temporal_dict(self.temporal),
            "context": _context_dict(self.context),
            "timings_ms": dict(self.timings_ms),
            "notes": list(self.notes),
        }


def _temporal_dict(info: TemporalInfo | None) -> dict[str, Any] | None:
    if info is None:
        return None
    return {
        "phrase": info.phrase,
        "since": _iso(info.since),
        "until": _iso(info.until),
        "as_of": _iso(info.as_of),
        "evolution": info.evolution,
        "applied": info.applied,
        "timeline": [{"period": period, "ids": list(ids)} for period, ids in info.timeline],
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _provenance_dict(origin: Provenance | None) -> dict[str, Any] | None:
    if origin is None:
        return None
    return {
        **{name: getattr(origin, name) for name in origin.__slots__},
        "written_at": _iso(origin.written_at),
        "indexed_at": _iso(origin.indexed_at),
    }


def _relation_dict(relation: RelationEvidence) -> dict[str, Any]:
    return {
        "from": relation.head,
        "relation": relation.relation,
        "to": relation.tail,
        "evidence": relation.evidence,
        "valid_from": _iso(relation.valid_from),
        "valid_until": _iso(relation.valid_until),
        "provenance": _provenance_dict(relation.provenance),
    }


def _hit_dict(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    where = {
        "document": chunk.document_id,
        "title": chunk.title,
        "source": chunk.source,
        "page": chunk.page,
        "char_start": chunk.start,
        "char_end": chunk.end,
    }
    return {
        "id": chunk.public_id,
        "text": chunk.text,
        "metadata": {**chunk.metadata, **where},
        "score": hit.score,
        "scores": dict(hit.scores),
        "source": hit.source,
        "graph_context": {
            "entities": list(hit.entities),
            "relationships": [_relation_dict(relation) for relation in hit.relations],
            "path": [f"{s.entity} — {s.sentence} ({s.document})" for s in hit.path],
        },
        "matched": list(hit.matched),
        "times": [{"start": _iso(t.start), "end": _iso(t.end), "text": t.text} for t in hit.times],
        "provenance": _provenance_dict(hit.provenance),
    }


def _context_dict(context: Context) -> dict[str, Any]:
    return {
        "text": context.text,
        "tokens": context.tokens,
        "tokenizer": context.tokenizer,
        "left_out": context.left_out,
        "citations": [
            {
                "number": c.number,
                "ids": list(c.chunk_ids),
                "title": c.title,
                "source": c.source,
                "page": c.page,
                "char_start": c.start,
                "char_end": c.end,
            }
            for c in context.citations
        ],
    }


# --- reports -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file or record that could not be indexed, and why."""

    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What one run of `index` did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    embedding_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A broken invariant that `check` found."""

    invariant: str
    detail: str
    repairable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What `check` looked at, found and mended."""

    checked: Sequence[str]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()
