"""Words that lost the blanks between them, as they do in the text of some PDF files."""

from __future__ import annotations

from functools import lru_cache

from clew.indexing.ner.name_lexicon import is_ordinary

_SHORTEST = 10
"""Letters of such a word, at least."""
_LEAST_WORDS = 4
"""Ordinary words that it must be: some names are two or three ("Cunningham", "Netherlands")."""
_LONGEST_PART = 15
_LONGEST = 200
"""Letters that are looked at."""
_SHORTEST_HALF = 3
_NEVER = 1_000


@lru_cache(maxsize=20_000)
def is_run_together(word: str) -> bool:
    """Whether a word is several ordinary ones without blanks: "Youcanautomatethe"."""
    letters = word.casefold()[:_LONGEST]
    if len(letters) < _SHORTEST or not letters.isalpha() or is_ordinary(letters):
        return False
    return _parts(letters) >= _LEAST_WORDS


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
