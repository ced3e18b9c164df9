"""The section that a question names: by its number, or by what its heading says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.search.session import QuerySession
    from clew.types import Ids, StoredChunk

READ = 100
"""Passages with a number or a heading's words whose sections are looked at."""
LEADING = 5
"""Sections that come first, at most."""
_KIND = r"(?:(?:sub)?sections?|chapters?|part|articles?|appendix|clause|paragraph|§)"
_NUMBERED = re.compile(
    rf"(?<!\w){_KIND} ?(?P<number>(?:[A-Z]\.)?\d{{1,4}}(?:\.\d{{1,4}}){{0,5}}"
    r"|(?-i:[A-Z])(?:\.\d{1,4}){0,5}|(?-i:[IVXLC]){1,8})(?![\w]|\.\w)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"\b{_KIND} (?:on|about|called|titled|entitled|named|concerning|dealing with) "
    r"[\"“'‘]?(?P<title>[^\"”'’,;:?!\n]{2,80})",
    re.IGNORECASE,
)
_ENDINGS = re.compile(
    r" (?:say|tell|contain|cover|about|in|of|from|discuss|describe|state)s?\b.*", re.I
)


def names_section(question: str) -> bool:
    """Whether the question names a section."""
    return bool(_NUMBERED.search(question) or _TITLED.search(question))


def asked_sections(session: QuerySession) -> Ids:
    """The first chunk of each section that the question names; those nearest to it first."""
    numbered, titled = (found.search(session.question) for found in (_NUMBERED, _TITLED))
    if numbered:
        found = _by_number(session, numbered["number"])
    elif titled:
        found = _by_title(session, _ENDING.sub("", titled["title"]))
    else:
        return np.zeros(0, np.int64)
    nearness = {id_: place for place, id_ in enumerate(_nearest(session))}
    first: dict[int, StoredChunk] = {}
    for chunk in found:
        first.setdefault(chunk.section_id, chunk)
    leading = sorted(
        first.values(), key=lambda chunk: nearness.get(chunk.document_id, len(nearness))
    )
    return np.array([chunk.id for chunk in leading[:LEADING]], dtype=np.int64)


def _nearest(session: QuerySession) -> list[str]:
    """Documents in order of their best passage by words and by meaning."""
    by_vector, by_keyword = session.channels.both()
    longest = max(len(by_vector.ids), len(by_keyword.ids))
    ids = [
        int(ranking.ids[place])
        for place in range(longest)
        for ranking in (by_keyword, by_vector)
        if place < len(ranking.ids)
    ]
    chunks = session.resources.store.chunks(list(dict.fromkeys(ids)))
    return list(dict.fromkeys(chunk.document_id for chunk in chunks))


def _by_number(session: QuerySession, number: str) -> list[StoredChunk]:
    """Chunks that open a section of this number, in the text or in the heading above them."""
    opens = re.compile(rf"[\W_]*(?:{_KIND} ?)?{re.escape(number)}(?![\w]|\.\w)", re.IGNORECASE)
    chunks = list(_holding(session, terms(number) or [number.lower()]))
    headings = _headings(session, chunks)
    return [c for c in chunks if opens.match(c.text) or opens.match(headings[c.section_id])]


def _by_title(session: QuerySession, title: str) -> list[StoredChunk]:
    """Chunks below a heading with all these words."""
    wanted = set(terms(title))
    chunks = list(_holding(session, question_terms(title, session.languages)))
    headings = _headings(session, chunks)
    return [c for c in chunks if wanted and wanted <= set(terms(headings[c.section_id]))]


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
