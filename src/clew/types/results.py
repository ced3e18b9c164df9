"""The result of a question, and its shape as JSON values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

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


def _path_lines(path: Iterable[PathStep]) -> list[str]:
    return [f"{step.entity} — {step.sentence} ({step.document})" for step in path]


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
            "relationships": [
                {
                    "from": relation.head,
                    "relation": relation.relation,
                    "to": relation.tail,
                    "evidence": relation.evidence,
                    "valid_from": _iso(relation.valid_from),
                    "valid_until": _iso(relation.valid_until),
                    "provenance": provenance_dict(relation.provenance),
                }
                for relation in hit.relations
            ],
            "path": _path_lines(hit.path),
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


# An answer to a question: statements, the words that support each, and where these stand.


AnswerMode: TypeAlias = Literal["one_shot", "stepwise", "global"]
"""One search; the question's parts and what is missing searched for, too; over all reports."""
UNSUPPORTED = "(unsupported)"
"""Behind a statement for which the documents do not stand."""
DO_NOT_SAY = "The documents do not say."
OPENING, CLOSING = "[\uff3b\u3010", "]\uff3d\u3011"
"""Brackets that citations are written in."""
_CITATION = re.compile(rf"[\{OPENING}]([\s\d,;–-]{{1,40}})[\{CLOSING}]")


def statement_text(text: str) -> str:
    """A text on one line, without what could pass for a citation: `[2]` becomes `(2)`."""
    return _CITATION.sub(r"(\1)", " ".join(text.split()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a request, or of several."""

    input_tokens: int = 0
    """All tokens of the prompt."""
    cached_tokens: int = 0
    """Those of them that the provider had in its own cache."""
    output_tokens: int = 0

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            cached_tokens=self.cached_tokens - other.cached_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """Words of a document that support a statement; they stand there."""

    source: int
    """Number of the `AnswerSource`."""
    text: str
    """As the document has them."""
    start: int
    end: int
    """Range in the document, in characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerStatement:
    """One statement of an answer."""

    text: str
    quotations: tuple[Quotation, ...]
    supported: bool
    """Whether it has no number and no name that the passages quoted lack."""
    verbatim: bool = False
    """Whether it is a sentence of a document, shown as a quotation."""

    @property
    def marked(self) -> str:
        """The statement with the numbers of its sources, or the mark of one without support."""
        numbers = dict.fromkeys(quotation.source for quotation in self.quotations)
        marks = "".join(f"[{number}]" for number in numbers) if self.supported else UNSUPPORTED
        return f"“{self.text}” {marks}" if self.verbatim else f"{self.text} {marks}".rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSource:
    """A passage that an answer cites."""

    number: int
    id: str
    """Of the passage; empty for what was stated by hand."""
    title: str
    source: str
    page: int | None
    start: int
    end: int
    """Range of the passage in the document, in characters."""
    path: tuple[PathStep, ...]
    """What led to the passage."""
    confidence: float | None = None
    """Probability that the passage answers, 0 to 1; None where it was not judged."""
    namespace: str = ""
    """The collection that it is from, where several were asked together."""
    text: str = ""
    """Where no model answered: what stands around the quotation, else the passage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The answer to a question."""

    question: str
    answered: bool
    """False: the documents do not say."""
    statements: tuple[AnswerStatement, ...]
    sources: tuple[AnswerSource, ...]
    """Those that the statements cite, by number; without a statement the nearest passages."""
    model: str
    """Who wrote it; empty: the statements are sentences of the documents."""
    strategy: str
    """How the passages were found."""
    mode: AnswerMode = "one_shot"
    questions: tuple[str, ...] = ()
    """What was searched for, in order, where that was more than the question."""
    confidence: float | None = None
    """Probability that the best passage found answers, 0 to 1; None where none was judged."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    calls: int = 0
    """Requests to the model."""
    cached_calls: int = 0
    """Requests whose reply was known: nothing was spent on them."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """`search`, `model`."""
    notes: tuple[str, ...] = ()
    """Whatever was missing or degraded."""

    @property
    def text(self) -> str:
        """The answer in words, with its marks."""
        return " ".join(s.marked for s in self.statements) if self.answered else DO_NOT_SAY

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tool `ask` answers with."""
        return {
            "question": self.question,
            "answer": self.text,
            "answered": self.answered,
            "statements": [
                {
                    "text": statement.text,
                    "quotations": [asdict(quotation) for quotation in statement.quotations],
                    "supported": statement.supported,
                }
                for statement in self.statements
            ],
            "sources": [asdict(s) | {"path": _path_lines(s.path)} for s in self.sources],
            "model": self.model or None,
            "strategy": self.strategy,
            "mode": self.mode,
            "questions": list(self.questions),
            "confidence": self.confidence,
            "usage": asdict(self.usage),
            "cost": self.cost,
            "calls": self.calls,
            "cached_calls": self.cached_calls,
            "timings_ms": dict(self.timings_ms),
            "notes": list(self.notes),
        }


# The context of an answer, and its shape as JSON values.


PartKind: TypeAlias = Literal[
    "passage", "path", "report", "timeline", "subgraph", "hierarchy", "topic"
]
"""What a part of a context is: a passage, or what a strategy made."""


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
    is_cut: bool = False
    """Whether the best part had no room as a whole, and is a beginning of itself."""


def context_dict(context: Context) -> dict[str, Any]:
    """The context as JSON values."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class CypherAnswer:
    """What a written query found. Nodes carry their `element_id`, by which they are cited."""

    question: str
    query: str
    """The query that ran, or would run; empty where none was written."""
    parameters: Mapping[str, object]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""
