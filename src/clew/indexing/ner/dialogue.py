"""Who speaks in a conversation: the name before a colon, at the start of a turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from clew.indexing.ner.name_lexicon import is_first_name, is_ordinary
from clew.indexing.ner.patterns.capitals import UPPER
from clew.types import Chunk

_SPEAKER = rf"(?P<name>[{UPPER}][\w'’.-]*(?: [{UPPER}][\w'’.-]*){{0,2}}): ?(?=\S)"
_OPENING = re.compile(_SPEAKER)
_TURN = re.compile(f"^{_SPEAKER}", re.MULTILINE)


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


def _may_speak(name: str) -> bool:
    """Whether the word before a colon may be somebody, rather than a field such as "License"."""
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
