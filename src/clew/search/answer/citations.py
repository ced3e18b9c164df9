"""Sources as a list that a prompt or a reader can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.text import one_line

if TYPE_CHECKING:
    from clew.types import Citation, Provenance, SearchResult


def format_citations(result: SearchResult) -> str:
    """A line for each source of the context: number, title, place, who wrote it and when.

    Numbers are those of the context's passages; a report made of several passages has a line each.
    """
    origins = {
        hit.chunk.public_id: hit.provenance for hit in result.hits if hit.provenance is not None
    }
    lines = (
        _line(citation, next((origins[i] for i in citation.chunk_ids if i in origins), None))
        for citation in result.context.citations
    )
    return "\n".join(dict.fromkeys(lines))


def _line(citation: Citation, origin: Provenance | None) -> str:
    place = (
        f"characters {citation.start}–{citation.end}"
        if citation.page is None
        else f"page {citation.page}"
    )
    parts = [citation.title or citation.source, place]
    if origin is not None:
        parts += [origin.author] if origin.author else []
        parts += [origin.date[: len("2019-03-02")]] if origin.date else []
        parts += [f"version {origin.version}"] if origin.version > 1 else []
    if citation.title and citation.title != citation.source:
        parts.append(citation.source)
    return one_line(f"[{citation.number}] {', '.join(parts)}")
