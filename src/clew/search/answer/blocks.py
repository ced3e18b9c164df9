"""The parts that a context is made of: passages, reports, paths, neighbourhoods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.text import one_line
from clew.types import Citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit, PartKind, StoredChunk, StoredSection


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """One way to write a part down, and where what it says comes from."""

    text: str
    citations: tuple[Citation, ...]
    """Their numbers are given when the part has found its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A part of the context."""

    heading: str
    """Of a part that cites nothing, and so has no number, in Clew's own words alone."""
    forms: tuple[Form, ...]
    """The fullest first; the first that fits is taken."""
    kind: PartKind = "passage"
    group: str = ""
    """Heading above the first part of this group; parts of one group stand together."""
    place: float = 0.0
    """Parts are chosen in the order given and then stand in order of their places."""


def by_section(session: QuerySession, hits: Sequence[Hit]) -> list[Block]:
    """A block for each section in the order of its best hit: the whole of it, else that hit."""
    return [block for _, _, block in sections_found(session, hits)]


def sections_found(
    session: QuerySession, hits: Sequence[Hit]
) -> Iterator[tuple[StoredSection, StoredChunk, Block]]:
    """Each section with its best hit and its block, in the order of that hit.

    A section that holds a passage which a filter forbids comes as one block for each of its hits.
    """
    chunks: dict[int, list[StoredChunk]] = {}
    for hit in hits:
        chunks.setdefault(hit.chunk.section_id, []).append(hit.chunk)
    sections = session.sections(list(chunks))
    whole = _whole_sections(session, sections)
    for section in sections:
        found = chunks[section.id]
        if section.id in whole:
            yield section, found[0], section_block(section, found)
        else:
            for chunk in found:
                yield section, chunk, passage_block(chunk, headings=section.headings)


def _whole_sections(session: QuerySession, sections: Iterable[StoredSection]) -> set[int]:
    """Ids of the sections whose passages are all allowed."""
    given = list(sections)
    if session.allowed is None:
        return {section.id for section in given}
    shown = _sections_shown(session, *dict.fromkeys(section.document_id for section in given))
    return {section.id for section in given if shown.get(section.id, False)}


def document_sections(session: QuerySession, *document_ids: str) -> list[StoredSection]:
    """Sections of the documents, in order, with at least one allowed passage."""
    sections = session.resources.store.document_sections(*document_ids)
    if session.allowed is None:
        return sections
    shown = _sections_shown(session, *document_ids)
    return [section for section in sections if section.id in shown]


def _sections_shown(session: QuerySession, *document_ids: str) -> dict[int, bool]:
    """By id of each section with an allowed passage: whether all its passages are allowed."""
    chunks = session.resources.store.document_chunks(*document_ids)
    allowed = session.allows(np.array([chunk.id for chunk in chunks], dtype=np.int64))
    inside: dict[int, list[bool]] = {}
    for chunk, let in zip(chunks, allowed.tolist(), strict=True):
        inside.setdefault(chunk.section_id, []).append(let)
    return {section: all(let) for section, let in inside.items() if any(let)}


def section_block(section: StoredSection, found: Sequence[StoredChunk]) -> Block:
    """A section, or the best (the first) of the chunks found in it."""
    best = found[0]
    inside = [chunk for chunk in found if section.start <= chunk.start and chunk.end <= section.end]
    whole = cite(best, inside, section.start, section.end)
    return Block(
        heading=trail(best, section.headings),
        forms=(
            Form(text=section.text.strip(), citations=(whole,)),
            Form(text=best.text.strip(), citations=(cite(best, [best], best.start, best.end),)),
        ),
    )


def passage_block(chunk: StoredChunk, *, headings: Sequence[str] = ()) -> Block:
    """A passage alone."""
    citation = cite(chunk, [chunk], chunk.start, chunk.end)
    form = Form(text=chunk.text.strip(), citations=(citation,))
    return Block(heading=trail(chunk, headings), forms=(form,))


def cite(chunk: StoredChunk, covered: Sequence[StoredChunk], start: int, end: int) -> Citation:
    """A source without its number: a range of the chunk's document and the chunks in it."""
    return Citation(
        number=0,
        chunk_ids=tuple(c.public_id for c in covered),
        title=chunk.title,
        source=chunk.source,
        page=chunk.page,
        start=start,
        end=end,
    )


def cite_chunks(chunks: Sequence[StoredChunk]) -> tuple[Citation, ...]:
    """A source for each chunk, each once."""
    distinct = {chunk.id: chunk for chunk in chunks}.values()
    return tuple(cite(chunk, [chunk], chunk.start, chunk.end) for chunk in distinct)


def trail(chunk: StoredChunk, headings: Sequence[str] = ()) -> str:
    """Title (or source) and headings, as a reader sees them."""
    return " › ".join(dict.fromkeys([chunk.title or chunk.source, *headings]))


def statement(head: str, relation: str, tail: str, sentence: str = "") -> str:
    """A relation on one line, with the sentence that states it."""
    said = f": “{sentence}”" if sentence else ""
    return one_line(f"{head} — {relation} → {tail}{said}")
