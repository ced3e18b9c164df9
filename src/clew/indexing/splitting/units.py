"""The smallest parts that splitting puts together: sentences, blocks, groups of words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from operator import itemgetter

from clew.indexing.splitting.outline import fences, tables
from clew.text import sentences

Weigh = Callable[[str], int]
"""The tokens of a text, or a little more where the tokenizer makes light of it."""

# A tokenizer that meets a run that it does not know (a base64 blob) may call it one token.
CHARACTERS_A_TOKEN = 12
"""A text of more characters a token than this counts as more tokens."""
_WORDS = re.compile(r"(?:\S+[^\S\n]*){1,8}\s*")
_BLANK_LINE = re.compile(r"\n\s*\n")
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z])[.)]")
_BLANKS = re.compile(r"\s+")
_CLAUSE_END = re.compile(r"[,;:、，；：]")
_ZERO_WIDTH_JOINER = "\u200d"


class Break(IntEnum):
    """How good a place the start of a unit is to split at."""

    GLUE = 0
    """It belongs to what stands before: a heading's first sentence, a closing brace."""
    WORD = 1
    LINE = 2
    SENTENCE = 3
    PARAGRAPH = 4
    MEMBER = 5
    """A function within a class."""
    PAGE = 6
    TOPIC = 7
    HEADING = 8
    """A heading, or a definition at the top level of code. Nothing overlaps across it."""
    PIECE = 9
    """A ready-split piece of a document."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A range that is never cut again, blank edges left out."""

    start: int
    end: int
    weight: int
    strength: Break
    """Of the border before it."""


def meter(count_tokens: Callable[[str], int]) -> Weigh:
    """Tokens of a text, at least one for every 12 characters begun."""

    def weigh(text: str) -> int:
        return max(count_tokens(text), -(-len(text) // CHARACTERS_A_TOKEN))

    return weigh


def prose_units(
    text: str, start: int, end: int, weigh: Weigh, limit: int, language: str = ""
) -> list[Unit]:
    """Sentences, fenced code and tables of `text[start:end]`, each of at most `limit` tokens.

    What is too long is divided into lines or groups of words. `language` is the text's.
    """
    found: list[Unit] = []
    for left, right, whole in _blocks(text, start, end):
        parts = [stripped(text, left, right)] if whole else _sentences(text, left, right, language)
        for a, b in parts:
            strength = (
                Break.PARAGRAPH
                if _BLANK_LINE.search(text[found[-1].end if found else start : a])
                else Break.SENTENCE
            )
            found.extend(divide(text, a, b, weigh, limit, strength))
    return found


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without its blank edges; empty where all of it is blank."""
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, max(left, start + len(part.rstrip()))


def _sentences(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    """Sentences, the number of a list's item together with its first one."""
    found: list[tuple[int, int]] = []
    for a, b in sentences(text[start:end], language):
        if found and _LIST_NUMBER.fullmatch(text, *found[-1]):
            found[-1] = (found[-1][0], start + b)
        else:
            found.append((start + a, start + b))
    return found


def divide(
    text: str, start: int, end: int, weigh: Weigh, limit: int, strength: Break
) -> Iterator[Unit]:
    """The range itself where it has at most `limit` tokens, else its groups of words."""
    if end - start <= limit * CHARACTERS_A_TOKEN:
        weight = weigh(text[start:end])
        if weight <= limit:
            yield Unit(start, end, weight, strength)
            return
    for unit in word_units(text, start, end, weigh, limit):
        yield replace(unit, strength=strength) if unit.start == start else unit


def word_units(text: str, start: int, end: int, weigh: Weigh, limit: int) -> Iterator[Unit]:
    """Groups of up to eight words of one line, fine enough to fill a chunk well and to overlap.

    A group over an eighth of `limit` is halved; a single word only where it is over `limit`.
    """
    for match in _WORDS.finditer(text, start, end):
        left, right = stripped(text, *match.span())
        at_line = left == 0 or text[left - 1] == "\n"
        strength = Break.LINE if at_line else Break.WORD
        yield from _halve(text, left, right, weigh, limit, strength)


def _halve(
    text: str, start: int, end: int, weigh: Weigh, limit: int, strength: Break
) -> Iterator[Unit]:
    between_words = [m.end() for m in _BLANKS.finditer(text, start, end)]
    most = max(1, limit // 8) if between_words else limit
    if end - start <= most * CHARACTERS_A_TOKEN or end - start == 1:
        weight = weigh(text[start:end])
        if weight <= most or end - start == 1:
            yield Unit(start, end, weight, strength)
            return
    middle = _cut(text, start, end, between_words)
    yield from _halve(text, *stripped(text, start, middle), weigh, limit, strength)
    yield from _halve(text, middle, end, weigh, limit, Break.WORD)


def _cut(text: str, start: int, end: int, between_words: Sequence[int]) -> int:
    """Where to halve: between words, else after a comma, else between two visible characters."""
    middle = (start + end) // 2
    borders = between_words or [
        match.end() for match in _CLAUSE_END.finditer(text, start, end) if match.end() < end
    ]
    if borders:
        return min(borders, key=lambda border: abs(border - middle))
    cut = middle
    while cut < end and _continues(text, cut):
        cut += 1
    return cut if cut < end else middle


def _continues(text: str, offset: int) -> bool:
    """Whether the character at `offset` is drawn as one with the character before it."""
    character = text[offset]
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or _ZERO_WIDTH_JOINER in (character, text[offset - 1])
    )


def _blocks(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Ranges in order, and whether each is a block to be kept whole."""
    part = text[start:end]
    fenced = fences(part)
    # The spans that overlap none of the others; both in order and without overlap.
    whole = sorted(
        [
            *fenced,
            *[
                (a, b)
                for a, b in tables(part)
                if not (i := bisect_left(fenced, b, key=itemgetter(0))) or fenced[i - 1][1] <= a
            ],
        ]
    )
    at = 0
    for left, right in whole:
        if at < left:
            yield start + at, start + left, False
        yield start + left, start + right, True
        at = right
    if at < len(part):
        yield start + at, end, False


def mark(units: Iterable[Unit], strengths: dict[int, Break]) -> list[Unit]:
    """The units, those that start at one of the offsets with the strength given for it."""
    return [
        replace(unit, strength=strengths[unit.start]) if unit.start in strengths else unit
        for unit in units
    ]
