"""Whether two keys are spellings of one name: "muhammad ali" and "mohammad ali".

Spelling varies in vowels, doubled letters, h, and letters of one sound (s and z, c and k, y and i);
names that differ otherwise are mostly names of different things ("Austria" and "Australia").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rapidfuzz.distance import OSA, JaroWinkler

from clew.indexing.ner.name_lexicon import FIRST_NAMES
from clew.spelling import ENDINGS_OF_ONE_SOUND, in_full, may_vary, skeleton
from clew.text import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

NEAR = 0.8
"""Jaro-Winkler similarity of a name that another may have been meant for."""
LONG_WORD = 9
"""Letters of a word that may differ by one consonant."""
SHORTEST_SINGLE = 7
"""Letters of a name of one word, at least."""
INFLECTED = 0.95
"""Score of two forms of one Cyrillic or Greek name with the same stem."""

COMPANY_FORM = 0.96
"""Score of two names that differ by how the form of the company is written."""

_SOUND_WITH_VOWELS = str.maketrans({"z": "s", "c": "k", "q": "k", "w": "v", "y": "i", "j": "i"})
_REPEATED = re.compile(r"(.)\1+")


def similarity(key: str, other: str, least: float = 0.0) -> float:
    """0 to 1: Jaro-Winkler where each word of one may be a spelling of the other's, else 0.

    Both keys must have the same `spelling.block_of`. What is below `least` counts as 0.
    """
    if key == other:
        return 1.0
    if in_full(key) == in_full(other):
        return COMPANY_FORM if least <= COMPANY_FORM else 0.0
    if key[0] > "z":
        same = _same_words(key.split(), other.split())
        return INFLECTED if same and least <= INFLECTED else 0.0
    # The cheap look in C first: nearly all pairs of a block end here.
    score = JaroWinkler.normalized_similarity(key, other, score_cutoff=least)
    return score if score and _same_words(key.split(), other.split()) else 0.0


def most_alike(name: str, names: Iterable[str], limit: int) -> list[str]:
    """Names that one may have been meant for, as a whole or by a word of theirs, nearest first."""
    near = {other: score for other in names if (score := _likeness(name, other)) >= NEAR}
    return sorted(near, key=lambda other: (-near[other], other))[:limit]


def _likeness(name: str, other: str) -> float:
    """Jaro-Winkler similarity, 0 to 1, of a name and another or the nearest word of it."""
    given, words = name.casefold(), [other, *other.split()]
    return max(JaroWinkler.normalized_similarity(given, word.casefold()) for word in words)


def _same_words(words: list[str], others: list[str]) -> bool:
    if len(words) != len(others):
        return False
    if len(words) == 1 and words[0][0] <= "z" and not _alike_alone(words[0], others[0]):
        return False
    return all(a == b or _alike(a, b) for a, b in zip(words, others, strict=True))


def _alike(word: str, other: str) -> bool:
    """Whether two words may be one: the same stem, the same consonants, or one slip of the pen."""
    if not (may_vary(word) and may_vary(other)):
        return False
    if word[0] > "z":
        return terms(word) == terms(other)
    if word[-1] != other[-1] and not ENDINGS_OF_ONE_SOUND.issuperset((word[-1], other[-1])):
        return False  # "Daniel" and "Daniela", "Bulgaria" and "Bulgarian"
    if word in FIRST_NAMES and other in FIRST_NAMES and _sound(word) != _sound(other):
        return False  # "Frances" and "Francis"
    shorter = min(len(word), len(other))
    if skeleton(word) == skeleton(other):
        return OSA.distance(word, other) <= (2 if shorter >= LONG_WORD - 1 else 1)
    return shorter >= LONG_WORD and OSA.distance(word, other) == 1


def _alike_alone(word: str, other: str) -> bool:
    """Whether words that no others speak for are close enough: "Minister" and "Minster" are not."""
    if skeleton(word) != skeleton(other) or OSA.distance(word, other) > 1:
        return False
    shorter = min(len(word), len(other))
    return shorter >= LONG_WORD or (shorter >= SHORTEST_SINGLE and _sound(word) == _sound(other))


def _sound(word: str) -> str:
    return _REPEATED.sub(r"\1", word.translate(_SOUND_WITH_VOWELS))
