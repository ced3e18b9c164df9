"""Who speaks in a conversation: the name before a colon, at the start of a turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from clew.indexing.ner.name_lexicon import is_first_name, is_ordinary
from clew.indexing.ner.patterns.capitals import UPPER
from clew.indexing.ner.spans import SentenceSpans
from clew.types import Chunk, Document

_SPEAKER = rf"(?P<name>[{UPPER}][\w'’.-]*(?: [{UPPER}][\w'’.-]*){{0,2}}): ?(?=\S)"
_OPENING = re.compile(_SPEAKER)
_TURN = re.compile(f"^{_SPEAKER}", re.MULTILINE)
_FIELD = re.compile(r"(?:-[^-]{1,20}){2}\Z|-[A-Z]{2,}\Z|-[Bb]y\Z|\w\.[a-z]{1,4}\Z")
"""How fields and files end that stand before a colon: "Signed-off-by", "Change-ID", "main.c"."""
WITH_ASSISTANTS = frozenset({"chatgpt", "claude"})
"""Apps in which everybody is called the same."""


class Turn(NamedTuple):
    """What one speaker says in one go."""

    start: int
    """Where it begins in the chunk's text, the speaker's name included."""
    words: int
    """Where the speaker's own words begin."""
    speaker: str | None
    """None where the word before the colon is nobody known to speak in the document."""


def find_speakers(chunks: Sequence[Chunk]) -> list[str]:
    """Names before the colon that opens a chunk of a conversation."""
    found = (_OPENING.match(chunk.text) for chunk in chunks)
    names = dict.fromkeys(match["name"] for match in found if match)
    return [name for name in names if _may_speak(name)]


def roles_of(document: Document) -> frozenset[str]:
    """What the turns of a talk with an assistant are opened by, which names nobody."""
    if document.metadata.get("app") not in WITH_ASSISTANTS:
        return frozenset()
    return frozenset(str(piece.metadata.get("speaker")) for piece in document.pieces)


def without_roles(
    text: str, sentences: Sequence[SentenceSpans], roles: Collection[str]
) -> list[SentenceSpans]:
    """The sentences without the roles ("User:") that open turns of a talk with an assistant."""
    starts = {match.start() for match in _TURN.finditer(text) if match["name"] in roles}
    return [
        s._replace(spans=tuple(span for span in s.spans if span.start not in starts))
        for s in sentences
    ]


def _may_speak(name: str) -> bool:
    """Whether the word before a colon may be somebody, rather than a field such as "License"."""
    if _FIELD.search(name):
        return False
    words = name.casefold().split()
    if is_first_name(words[0]):
        return True
    return not name.isupper() and not all(map(is_ordinary, words))


def find_turns(text: str, speakers: Collection[str]) -> list[Turn]:
    """The turns of a text, in order; none where the document has no speakers."""
    if not speakers:
        return []
    found = ((match, match["name"]) for match in _TURN.finditer(text))
    return [Turn(m.start(), m.end(), name if name in speakers else None) for m, name in found]


def turn_at(turns: Sequence[Turn], position: int) -> Turn | None:
    """The turn in which a position lies."""
    return next((turn for turn in reversed(turns) if turn.start <= position), None)
