"""Words, keys and sentences of any script; the one analysis that indexing and asking share."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

# Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fa1f"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*|_")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
_LETTERS_OR_DIGITS = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers him his how i if in into is it its itself just me more most my no
    nor not now of off on once only or other our out over own same she should so some such than that
    the their them then there these they this those through to too under until up very was we were
    what when where which while who whom whose why will with would you your yours""".split()
)


def fold(text: str) -> str:
    """Case-folded, compatibility forms and accents taken away, in any script."""
    if text.isascii():
        return text.lower()
    # Twice, since mathematical letters have a small form only once they are decomposed.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", kept)


@lru_cache(maxsize=200_000)
def entity_key(name: str) -> str:
    """The key under which names are the same: folded, without punctuation or a leading article."""
    words = _LETTERS_OR_DIGITS.findall(fold(name).replace("'s ", " ").replace("’s ", " "))
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    return " ".join(words)


def words(text: str) -> list[str]:
    """Folded words in order; runs of unspaced scripts come whole."""
    return _WORD.findall(fold(text))


def terms(text: str) -> list[str]:
    """Search terms in order, repeats kept: stems of spaced words, bigrams of unspaced scripts.

    Stop words are left out. The same function reads documents and questions.
    """
    found: list[str] = []
    for word in words(text):
        found.extend(_word_terms(word))
    return found


@lru_cache(maxsize=500_000)
def _word_terms(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS or word == "_":
        return ()
    if _UNSPACED_RUN.match(word):
        return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)
    return (_stem(word.removesuffix("'s").removesuffix("’s").replace("'", "").replace("’", "")),)


def _stem(word: str) -> str:
    return _stemmer(_language(word[0])).stemWord(word)


def _language(letter: str) -> str:
    """The stemmer for a letter's script; English for Latin and for all that has none of its own."""
    code = ord(letter)
    if 0x400 <= code < 0x530:
        return "russian"
    if 0x370 <= code < 0x400:
        return "greek"
    if 0x600 <= code < 0x780:
        return "arabic"
    return "english"


@lru_cache(maxsize=4)
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(language)


_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+"
    r"|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|Gov|Sen|Rep"
    r"|vs|etc|e\.g|i\.e|cf|al|No|Nos|Vol|pp|Fig|Inc|Ltd|Co|Corp|Bros|Mt|Ft"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|b|c|ca|d)\.$"
)
_BREAK = re.compile(
    r"(?P<stop>(?<![.!?…])[.!?…]++[\"”’'»)\]]*+)(?=\s)"
    r"|(?P<wide>[。！？｡؟۔।]+[”’」』）]*)"
    r"|(?P<lines>\n\s*\n|\n(?=\s*(?:[-*#>|•]|\d+[.)]\s)))"
)


_LONGEST_NUMBER = 40
"""Characters of a list's number, blanks before it among them."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Ranges of the sentences, blank edges left out; every non-blank character lies in one."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.lastgroup == "stop" and not _ends_sentence(text, start, match):
            continue
        start = _add_range(text, start, match.end(), found)
    _add_range(text, start, len(text), found)
    return found


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """A full stop ends a sentence unless an abbreviation or a list's number stands before it.

    Nor does it where a small letter follows.
    """
    after = text[match.end() : match.end() + 40].lstrip()
    if match.group("stop")[0] in "!?…":
        return not after[:1].islower()
    number = text[start : match.start()] if match.start() - start < _LONGEST_NUMBER else ""
    if after[:1].islower() or number.strip().isdecimal():
        return False
    return not _ABBREVIATION.search(text, max(start, match.start() - 12), match.start() + 1)


def _add_range(text: str, start: int, end: int, found: list[tuple[int, int]]) -> int:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        left = start + len(piece) - len(piece.lstrip())
        found.append((left, left + len(stripped)))
    return end
