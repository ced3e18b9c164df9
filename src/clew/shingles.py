"""Near-duplicate texts: runs of words (shingles), and a sketch of them that stores keep.

A sketch is a few minimal hashes of a text's shingles (Broder 1997): texts that share most of their
shingles share most of these. It proposes what is worth comparing; the texts themselves decide.
"""

from __future__ import annotations

import re
from collections.abc import Set
from heapq import nsmallest
from typing import TypeAlias
from zlib import crc32

from clew.text import words

Shingle: TypeAlias = tuple[str, str, str]

_LEAST = 20
"""Words; the same few words in two places are two statements."""
_KEPT = 8
_DIGITS = 8
"""Hexadecimal, of one hash."""
_SAME = 0.85
"""Share of a text's shingles that another must hold to say the same."""
_SPACED = "\u0e00"
"""Scripts from here on are compared by characters: most of them are written without spaces."""
# Who holds the rights, and since when, makes no other text of a licence.
_RIGHTS = re.compile(
    r"(?:copyright|\(c\)|©)[^\n]{0,80}+(?:\n[ \t*#/]{1,20}+(?:19|20)\d\d[^\n]{0,80}+)*+", re.I
)


def sketch(text: str) -> str:
    """The least hashes of the text's shingles in hexadecimal; empty for a text of a few words."""
    found = {crc32(" ".join(shingle).encode()) for shingle in shingles(text)}
    return "".join(f"{value:0{_DIGITS}x}" for value in nsmallest(_KEPT, found))


def hashes(of: str) -> list[str]:
    """The hashes of a sketch."""
    return [of[i : i + _DIGITS] for i in range(0, len(of), _DIGITS)]


def shingles(text: str) -> Set[Shingle]:
    """Runs of three words, without notices of copyright; none of a short text."""
    found = _words(_RIGHTS.sub(" ", text))
    if len(found) < _LEAST:
        return frozenset()
    return frozenset(zip(found, found[1:], found[2:], strict=False))


def says_as_much(shown: Set[Shingle], other: Set[Shingle]) -> bool:
    """Whether a text says what another does: nearly all of its words, and all of its numbers."""
    missing = other - shown
    if not other or len(missing) > (1 - _SAME) * len(other):
        return False
    return not any(word[0].isdigit() for shingle in missing for word in shingle)


def _words(text: str) -> list[str]:
    found: list[str] = []
    for word in words(text):
        found.extend([word] if word < _SPACED else word)
    return found
