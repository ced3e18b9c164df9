"""Words that lost the blanks between them, as they do in the text of some PDF files."""

from __future__ import annotations

import re

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.text import cached

_SHORTEST = 10
"""Letters of such a word, at least."""
_LEAST_WORDS = 4
"""Ordinary words that it must be: some names are two or three ("Cunningham", "Netherlands")."""
_LEAST_LETTERS = 3
"""Letters of such words, on average; shorter ones are in many names by chance: "Pro-met-he-us"."""
_LONG = 18
"""Letters from which on three ordinary words are enough: names are shorter ("Netherlands")."""
_LEAST_OF_LONG = 3
_VERY_LONG = 20
"""Letters from which on a share of ordinary words is enough; few words and names are as long."""
_MOSTLY = 0.85
_PART = re.compile(r"[^\W\d_][^\W\dA-Z_]*")
_OPENINGS = re.compile("(?:the|this|that|these|for|when|you|with|from|if|as)(?=.)")
"""Function words; two ordinary words behind one are enough."""
_LONGEST_PART = 15
_LONGEST = 200
"""Letters that are looked at."""
_SHORTEST_HALF = 3
_NEVER = 1_000


@cached(8)
def is_run_together(word: str) -> bool:
    """Whether a word is several ordinary ones without blanks: "Youcanautomatethe".

    Names may stand among them ("HowcanyouhelpDebian"): each part between capitals is looked at.
    """
    if len(word) < _SHORTEST or is_ordinary(word):
        return False
    parts = [part.casefold() for part in _PART.findall(word[:_LONGEST])]
    return any(len(part) >= _SHORTEST and _is_sentence(part) for part in parts)


def _is_sentence(letters: str) -> bool:
    """Whether letters are enough ordinary words, or mostly ordinary words."""
    if is_ordinary(letters):
        return False
    least = _LEAST_OF_LONG if len(letters) >= _LONG else _LEAST_WORDS
    opening = _OPENINGS.match(letters)
    if least <= _parts(letters) <= len(letters) // _LEAST_LETTERS:
        return True
    if opening and _parts(letters[opening.end() :]) > 1:
        return True
    return len(letters) >= _VERY_LONG and _covered(letters) >= _MOSTLY * len(letters)


def _covered(letters: str) -> int:
    """How many of the letters lie in ordinary words of three letters or more, at most."""
    most = [0] * (len(letters) + 1)
    for right in range(1, len(letters) + 1):
        most[right] = most[right - 1]
        for size in range(_SHORTEST_HALF, min(right, _LONGEST_PART) + 1):
            if most[right - size] + size > most[right] and is_ordinary(
                letters[right - size : right]
            ):
                most[right] = most[right - size] + size
    return most[-1]


def is_compound(word: str) -> bool:
    """Whether a word is made of two ordinary ones: "toolchain", "multipart"."""
    letters = word.casefold()
    return any(
        is_ordinary(letters[:at]) and is_ordinary(letters[at:])
        for at in range(_SHORTEST_HALF, min(len(letters), _LONGEST) - _SHORTEST_HALF + 1)
    )


def _parts(letters: str) -> int:
    """The fewest ordinary words that make up the letters; 0 where none do."""
    fewest = [0, *([_NEVER] * len(letters))]
    for right in range(1, len(letters) + 1):
        for size in range(1, min(right, _LONGEST_PART) + 1):
            before = fewest[right - size] + 1
            if before < fewest[right] and _is_word(letters[right - size : right]):
                fewest[right] = before
    return fewest[-1] if fewest[-1] < _NEVER else 0


def _is_word(word: str) -> bool:
    return word in ("a", "i") if len(word) == 1 else is_ordinary(word)
