"""Names that a text ties together itself: short forms in parentheses, "also known as"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clew.word_lists import word_list

_PARENTHESIS = re.compile(r"\((?P<inside>[^()\n]{2,90})\)")
_SHORT = re.compile(r"[^\W\d_][\w&./-]{1,11}")
_WORD = re.compile(r"[^\s(),;:]+")
_SMALL_WORDS = word_list("of the and for in on to a an at de la des du et und der y &")
_LONGEST_LONG_FORM = 160
"""Characters."""
_NEAREST_WORD = re.compile(r"(?P<word>[\w&.-]{2,12})\s?$")
_STATED = re.compile(
    r"(?:\b(?:(?:who|is|was|are|were|also|now|often|usually) ){0,3}"
    r"(?:(?:goes|go|went|going) by(?: the (?:nick)?name(?: of)?)?|nick-?named?(?: is)?|known as)"
    r"|\b(?:also|better|best|professionally|formerly|previously|commonly|originally|sometimes)"
    r" (?:known|called|named|credited|spelled|written)(?: (?:as|simply|professionally))*"
    r"(?: by (?:his|her|their|its|the) (?:stage|pen|birth|ring|nick|full|code)? ?name)?"
    r"|\ba\.?k\.?a\.?|\bborn|\bnée?|\balias)(?: as)?:? [\"“']?(?=\w)",
    re.IGNORECASE,
)
_HINTS = (
    "known",
    "called",
    "named",
    "credited",
    "spelled",
    "written",
    "s by",
    "go by",
    "went by",
    "going by",
    "nick",
    "k.a",
    "aka",
    "born",
    "née",
    "alias",
)


class Definition(NamedTuple):
    """A short form and the long form that a text gives with it, as ranges of the text."""

    short: tuple[int, int]
    long: tuple[int, int]


def find_definitions(text: str, start: int, end: int) -> Iterator[Definition]:
    """Short forms whose letters fit: "World Health Organization (WHO)", "WHO (World Health …)"."""
    for match in _PARENTHESIS.finditer(text, start, end):
        left = match.start("inside")
        inside = re.split(r"[;,]", match["inside"], maxsplit=1)[0].strip()
        left += len(match["inside"]) - len(match["inside"].lstrip())
        if is_short_form(inside):
            long = _long_form_before(text, start, match.start(), inside)
            if long is not None:
                yield Definition((left, left + len(inside)), long)
            continue
        before = _NEAREST_WORD.search(text, max(start, match.start() - 14), match.start())
        if before and is_short_form(before["word"]) and letters_fit(before["word"], inside) == 0:
            yield Definition(before.span("word"), (left, left + len(inside)))


def find_statements(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of the words that announce another name: "also known as ", "born ", "aka "."""
    for match in _STATED.finditer(text, start, end):
        yield match.span()


def may_state(text: str) -> bool:
    """Whether `find_statements` can find anything; a cheap look at a whole chunk."""
    lower = text.lower()
    return any(hint in lower for hint in _HINTS)


def is_short_form(word: str) -> bool:
    """Two to twelve characters, two capitals at least, and as many capitals as small letters."""
    if _SHORT.fullmatch(word) is None:
        return False
    capitals = sum(c.isupper() for c in word)
    return capitals >= 2 and capitals * 2 >= sum(c.isalpha() for c in word)


def letters_fit(short: str, long: str) -> int | None:
    """Where in `long` a long form of `short` begins; None where the letters do not fit.

    After Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in
    biomedical text" (2003): read from the right, each letter of the short form stands in the long
    form, in order, and the first one begins a word.
    """
    letters = [
        c for c in short.removesuffix("s" if short[:-1].isupper() else "").casefold() if c.isalnum()
    ]
    folded = long.casefold()
    if len(folded) != len(long):  # a letter that folds to two would shift every position
        return None
    at = len(folded)
    for i in range(len(letters) - 1, -1, -1):
        at = folded.rfind(letters[i], 0, at)
        while at > 0 and i == 0 and folded[at - 1].isalnum():
            at = folded.rfind(letters[i], 0, at)
        if at < 0:
            return None
    return at


def _long_form_before(text: str, start: int, end: int, short: str) -> tuple[int, int] | None:
    """The range of the words before a parenthesis that its short form abbreviates."""
    first = max(start, end - _LONGEST_LONG_FORM, text.rfind(")", start, end) + 1)
    words = [m.span() for m in _WORD.finditer(text, first, end)]
    if not words or text[words[-1][1] : end].strip():
        return None
    if words[-1][1] - words[-1][0] > 2 and text.endswith(
        ("'s", "’s"), *words[-1]
    ):  # "the World Health Organization's (WHO)"
        words[-1] = (words[-1][0], words[-1][1] - 2)
    words = words[-min(len(short) + 5, 2 * len(short)) :]
    at = _by_initials(short, [text[slice(*word)] for word in words])
    if at is not None:
        return words[at][0], words[-1][1]
    first, last = words[0][0], words[-1][1]
    offset = letters_fit(short, text[first:last])
    if offset is None:
        return None
    long = text[first + offset : last]
    content = [word for word in long.split() if word.casefold() not in _SMALL_WORDS]
    too_long = len(content) > sum(map(str.isalnum, short)) + 1
    if too_long or short in long or len(long) <= len(short) + 2 or " " not in long:
        return None
    return first + offset, last


def _by_initials(short: str, words: Sequence[str]) -> int | None:
    """Where the words begin whose initials, with or without small words, are the short form."""
    letters = "".join(c for c in short.casefold() if c.isalnum())
    for i in range(len(words) - 1, -1, -1):
        named = [word.casefold() for word in words[i:]]
        content = [word for word in named if word not in _SMALL_WORDS]
        if words[i].casefold() not in _SMALL_WORDS and letters in (
            "".join(word[0] for word in named),
            "".join(word[0] for word in content),
        ):
            return i
    return None
