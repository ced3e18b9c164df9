"""Putting passages together for a reader: whole parents, numbered, within a budget of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.types import Citation, Context

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clew.types import StoredChunk, StoredSection

GIVE_UP_AFTER = 3
"""Passages in a row that do not fit before the rest is left out unseen."""


@dataclass(slots=True)
class _Passage:
    """One section of the context and the chunks of it that were found, best first."""

    section: StoredSection
    chunks: list[StoredChunk]


def assemble(
    chunks: Sequence[StoredChunk],
    sections: Mapping[int, StoredSection],
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> Context:
    """The sections of the chunks in order of their best chunk, as many as fit.

    A section that does not fit whole gives way to the chunk that was found; one whose chunk does
    not fit either is left out and counted. `tokens` never exceeds `max_tokens`.
    """
    texts: list[str] = []
    citations: list[Citation] = []
    passages = _group(chunks, sections)
    tokens = misses = 0
    for passage in passages:
        if misses >= GIVE_UP_AFTER:
            break
        for text, citation in _forms(passage, len(citations) + 1):
            cost = count_tokens(text) + (2 if texts else 0)
            if tokens + cost <= max_tokens:
                texts.append(text)
                citations.append(citation)
                tokens += cost
                misses = 0
                break
        else:
            misses += 1
    return Context(
        text="\n\n".join(texts),
        citations=tuple(citations),
        tokens=tokens,
        left_out=len(passages) - len(citations),
    )


def _group(chunks: Sequence[StoredChunk], sections: Mapping[int, StoredSection]) -> list[_Passage]:
    passages: dict[int, _Passage] = {}
    for chunk in chunks:
        section = sections.get(chunk.section_id)
        if section is None:  # deleted by another process since it was found
            continue
        passages.setdefault(chunk.section_id, _Passage(section, [])).chunks.append(chunk)
    return list(passages.values())


def _forms(passage: _Passage, number: int) -> Iterator[tuple[str, Citation]]:
    """The whole section, then the best chunk alone."""
    section, best = passage.section, passage.chunks[0]
    yield _render(number, best, passage, section.text, section.start, section.end)
    yield _render(number, best, passage, best.text, best.start, best.end)


def _render(
    number: int, best: StoredChunk, passage: _Passage, text: str, start: int, end: int
) -> tuple[str, Citation]:
    citation = Citation(
        number=number,
        chunk_ids=tuple(c.public_id for c in passage.chunks if start <= c.start and c.end <= end),
        title=best.title,
        source=best.source,
        page=best.page,
        start=start,
        end=end,
    )
    heading = " › ".join(dict.fromkeys([best.title or best.source, *passage.section.headings]))
    return f"[{number}] {heading}\n{text.strip()}", citation
