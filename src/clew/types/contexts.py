"""The context of an answer, and its shape as JSON values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing import TypeAlias

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
