"""An answer to a question: statements, the words that support each, and where these stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from clew.types.results import PathStep

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
        between = " " if self.model else "\n"
        return between.join(s.marked for s in self.statements) if self.answered else DO_NOT_SAY

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tool `ask` answers with."""
        return {
            "question": self.question,
            "answer": self.text,
            "answered": self.answered,
            "statements": [_statement_dict(statement) for statement in self.statements],
            "sources": [_source_dict(source) for source in self.sources],
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


def _statement_dict(statement: AnswerStatement) -> dict[str, Any]:
    quotations = [asdict(quotation) for quotation in statement.quotations]
    return {"text": statement.text, "quotations": quotations, "supported": statement.supported}


def _source_dict(source: AnswerSource) -> dict[str, Any]:
    return {
        **asdict(source),
        "path": [f"{s.entity} — {s.sentence} ({s.document})" for s in source.path],
    }
