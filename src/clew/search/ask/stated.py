"""What was stated by hand as a source of an answer: no passage says it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.answer.stated_by_hand import STATED
from clew.types import Hit, StoredChunk

if TYPE_CHECKING:
    from clew.types import CharRange, SearchResult


def with_stated(result: SearchResult) -> SearchResult:
    """The result with what was stated by hand as its first source; as it is where nothing was."""
    if not result.stated:
        return result
    text = "\n".join(result.stated)
    chunk = StoredChunk(
        id=0,
        document_id="",
        source="",
        title=STATED,
        ordinal=0,
        section_id=0,
        start=0,
        end=len(text),
        page=None,
        text=text,
        context="",
        key=None,
        metadata={},
    )
    hit = Hit(chunk=chunk, score=0.0, scores={}, source="graph", answer=_answering(result))
    parts = tuple(p for p in result.context.parts if not p.text.startswith(STATED))
    context = replace(result.context, parts=parts)
    # A statement is not judged as passages are: one that answers is likely as it is.
    least = result.min_confidence if hit.answer is None else 0.0
    return replace(result, hits=(hit, *result.hits), context=context, min_confidence=least)


def _answering(result: SearchResult) -> CharRange | None:
    best = result.answering
    if best is None:
        return None
    start = sum(len(line) + 1 for line in result.stated[:best])
    return start, start + len(result.stated[best])
