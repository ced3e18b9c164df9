"""The result of a question, and its shape as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from clew.types.contexts import Context, context_dict
from clew.types.documents import Provenance, StoredChunk
from clew.types.values import CharRange, Period

LEAST_LIKELY = 0.1
"""Probability below which no passage is likely to answer."""


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
    confidence: float | None = None
    """Probability that the passage answers, 0 to 1; None where it was not judged."""
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
class SearchResult:
    """The answer to one question."""

    query: str
    strategy: str
    reason: str
    hits: tuple[Hit, ...]
    context: Context
    entities: tuple[str, ...] = ()
    """Entities of the question that the graph knows."""
    stated: tuple[str, ...] = ()
    """Relations of theirs that were stated by hand, in words: no passage says them."""
    answering: int | None = None
    """Place in `stated` of the one that answers; None where none does."""
    temporal: TemporalInfo | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """By step; `cache` alone where the answer was still known."""
    notes: tuple[str, ...] = ()
    """Whatever was missing or degraded."""
    min_confidence: float = 0.0
    """What was asked for, 0 to 1."""
    overview: bool = False
    """Whether a whole is asked for, which no sentence answers but what the strategy made of it."""

    @property
    def confidence(self) -> float | None:
        """Probability that the best of the hits answers, 0 to 1; None where none was judged."""
        return max((h.confidence for h in self.hits if h.confidence is not None), default=None)

    @property
    def reached(self) -> bool:
        """Whether there are hits, and one reaches `min_confidence`, or none was judged."""
        confidence = self.confidence
        return bool(self.hits) and (confidence is None or confidence >= self.min_confidence)

    @property
    def answered(self) -> bool:
        """Whether what was stated answers, or a hit is `reached` and likely.

        Likely: at `LEAST_LIKELY`, or of an earlier text.
        """
        if self.answering is not None:
            return True
        likely = self.confidence is None or self.confidence >= LEAST_LIKELY
        return self.reached and (likely or any(hit.chunk.version for hit in self.hits))

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tools answer with."""
        return {
            "query": self.query,
            "strategy": self.strategy,
            "reason": self.reason,
            "answered": self.answered,
            "confidence": self.confidence,
            "results": [_hit_dict(hit) for hit in self.hits],
            "graph_entities": list(self.entities),
            "temporal_info": _temporal_dict(self.temporal),
            "context": context_dict(self.context),
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


def provenance_dict(origin: Provenance | None) -> dict[str, Any] | None:
    """Where something comes from, as JSON values."""
    if origin is None:
        return None
    return {
        **{name: getattr(origin, name) for name in origin.__slots__},
        "written_at": _iso(origin.written_at),
        "date": origin.date or None,
        "date_source": origin.date_source or None,
        "indexed_at": _iso(origin.indexed_at),
        "page_starts": list(map(list, origin.page_starts)),
    }


def _relation_dict(relation: RelationEvidence) -> dict[str, Any]:
    return {
        "from": relation.head,
        "relation": relation.relation,
        "to": relation.tail,
        "evidence": relation.evidence,
        "valid_from": _iso(relation.valid_from),
        "valid_until": _iso(relation.valid_until),
        "provenance": provenance_dict(relation.provenance),
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
    named: dict[str, Any] = {"namespace": hit.namespace} if hit.namespace else {}
    if chunk.replaced_at is not None:
        named |= {"version": chunk.version, "replaced_at": _iso(chunk.replaced_at)}
    if chunk.standing is not None:
        named |= chunk.standing.to_dict()
    return {
        "id": chunk.public_id,
        "text": chunk.text,
        "metadata": {**chunk.metadata, **_place_dict(chunk), **named},
        "score": hit.score,
        "confidence": hit.confidence,
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
        "provenance": provenance_dict(hit.provenance),
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
