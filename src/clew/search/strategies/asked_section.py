"""The section that a question names: by its number, or by what its heading says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from clew.search.analysis.section_names import SECTION_KIND, section_name
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.search.session import QuerySession
    from clew.types import Ids, StoredChunk

READ = 100
"""Passages with a number or a heading's words whose sections are looked at."""
LEADING = 5
"""Sections that come first, at most."""

_OF = re.compile(r" (?:of|in|from) ", re.IGNORECASE)


def asked_sections(session: QuerySession) -> Ids:
    """The first chunk of each section that the question names; those nearest to it first."""
    name = section_name(session.question)
    if name is None:
        return np.zeros(0, np.int64)
    found = _by_number(session, name.number) if name.number else _by_title(session, name.title)
    first: dict[int, StoredChunk] = {}
    for chunk in found:
        first.setdefault(chunk.section_id, chunk)
    asked = set(terms(session.question))
    nearness = {id_: place for place, id_ in enumerate(_nearest(session))}

    def place(chunk: StoredChunk) -> tuple[int, int]:
        """A document that the question names goes before one that is like it."""
        named = len(asked & set(terms(f"{chunk.context} {chunk.source}")))
        return -named, nearness.get(chunk.document_id, len(nearness))

    leading = sorted(first.values(), key=place)[:LEADING]
    return np.array([chunk.id for chunk in leading], dtype=np.int64)


def _nearest(session: QuerySession) -> list[str]:
    """Documents in order of their best passage by words, then by meaning."""
    by_vector, by_keyword = session.channels.both()
    ids = np.concatenate([by_keyword.ids, by_vector.ids]).tolist()
    chunks = session.resources.store.chunks(list(dict.fromkeys(ids)))
    return list(dict.fromkeys(chunk.document_id for chunk in chunks))


def _by_number(session: QuerySession, number: str) -> list[StoredChunk]:
    """Chunks that open a section of this number, in the text or in the heading above them."""
    opens = re.compile(
        rf"^[\W_]{{0,20}}(?:{SECTION_KIND} ?)?{re.escape(number)}(?![\w]|\.\w)",
        re.IGNORECASE | re.MULTILINE,
    )
    chunks = list(_holding(session, terms(number) or [number.lower()]))
    headings = _headings(session, chunks)
    return [c for c in chunks if opens.search(c.text) or opens.match(headings[c.section_id])]


def _by_title(session: QuerySession, title: str) -> list[StoredChunk]:
    """Chunks below a heading with all these words; those after "of" may name the document."""
    for named in dict.fromkeys((title, _OF.split(title)[0])):
        wanted = set(terms(named))
        chunks = list(_holding(session, question_terms(named, session.languages)))
        headings = _headings(session, chunks)
        found = [c for c in chunks if wanted and wanted <= set(terms(headings[c.section_id]))]
        if found:
            return found
    return []


def _holding(session: QuerySession, words: Sequence[str]) -> Iterator[StoredChunk]:
    """Chunks with the words in a row, then other chunks with them, in order of the documents."""
    store = session.resources.store
    ids: list[int] = []
    for phrases in ([" ".join(words)], words):
        found, _ = store.search_keywords([p for p in phrases if p], READ, session.allowed)
        ids += found.tolist()
    chunks = store.chunks(list(dict.fromkeys(ids)))
    yield from sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.ordinal))


def _headings(session: QuerySession, chunks: Sequence[StoredChunk]) -> dict[int, str]:
    """The last heading above each section, by its id; empty where there is none."""
    sections = session.sections(list(dict.fromkeys(chunk.section_id for chunk in chunks)))
    return {section.id: section.headings[-1] if section.headings else "" for section in sections}
