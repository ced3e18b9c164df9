"""The result of a question, and its shape as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from clew.types.documents import Provenance, StoredChunk
from clew.types.values import CharRange, Period

if TYPE_CHECKING:
    from typing import TypeAlias

PartKind: TypeAlias = Literal[
    "passage", "path", "report", "timeline", "subgraph", "hierarchy", "topic"
]
"""What a part of a context is: a passage, or what a strategy made."""


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
    answer: CharRange | None = None
    """Range in the document of the sentence that answers best; None where none stands out."""
    provenance: Provenance | None = None
    also_in: tuple[StoredChunk, ...] = ()
    """Passages left out of the result because this one says the same; of other places."""
    namespace: str = ""
    """The collection that it is from, where several were asked together."""


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
class ContextPart:
    """One part of a context."""

    kind: PartKind
    text: str
    """As it stands in the context's text: a line of heading, and every line below it quoted."""
    tokens: int
    citations: tuple[Citation, ...]


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
    parts: tuple[ContextPart, ...] = ()
    """What `text` is made of, in its order."""


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
        "date": origin.date or None,
        "date_source": origin.date_source or None,
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


def _place_dict(chunk: StoredChunk) -> dict[str, Any]:
    return {
        "document": chunk.document_id,
        "title": chunk.title,
        "source": chunk.source,
        "page": chunk.page,
        "char_start": chunk.start,
        "char_end": chunk.end,
    }


def _hit_dict(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    named = {"namespace": hit.namespace} if hit.namespace else {}
    return {
        "id": chunk.public_id,
        "text": chunk.text,
        "metadata": {**chunk.metadata, **_place_dict(chunk), **named},
        "score": hit.score,
        "scores": dict(hit.scores),
        "source": hit.source,
        "graph_context": {
            "entities": list(hit.entities),
            "relationships": [_relation_dict(relation) for relation in hit.relations],
            "path": [f"{s.entity} — {s.sentence} ({s.document})" for s in hit.path],
        },
        "matched": list(hit.matched),
        "answer": _answer_dict(hit),
        "times": [{"start": _iso(t.start), "end": _iso(t.end), "text": t.text} for t in hit.times],
        "provenance": _provenance_dict(hit.provenance),
        "also_in": [{"id": same.public_id, **_place_dict(same)} for same in hit.also_in],
    }


def _answer_dict(hit: Hit) -> dict[str, Any] | None:
    """The answering sentence, its range in the document; cut to the passage."""
    if hit.answer is None:
        return None
    start, end = hit.answer
    first = hit.chunk.start
    return {
        "text": hit.chunk.text[max(0, start - first) : max(0, end - first)],
        "char_start": start,
        "char_end": end,
    }


def _context_dict(context: Context) -> dict[str, Any]:
    return {
        "text": context.text,
        "tokens": context.tokens,
        "tokenizer": context.tokenizer,
        "left_out": context.left_out,
        "citations": list(map(_citation_dict, context.citations)),
        "parts": [part_dict(part) for part in context.parts],
    }


def part_dict(part: ContextPart) -> dict[str, Any]:
    """A part of a context as JSON values."""
    return {
        "kind": part.kind,
        "text": part.text,
        "tokens": part.tokens,
        "citations": list(map(_citation_dict, part.citations)),
    }


def _citation_dict(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "ids": list(citation.chunk_ids),
        "title": citation.title,
        "source": citation.source,
        "page": citation.page,
        "char_start": citation.start,
        "char_end": citation.end,
    }
