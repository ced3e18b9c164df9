"""Names that a text ties together itself: short forms in parentheses, "also known as"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_PARENTHESIS = re.compile(r"\((?P<inside>[^()\n]{2,90})\)")
_SHORT = re.compile(r"[^\W\d_][\w&./-]{1,11}")
_WORD = re.compile(r"[^\s(),;:]+")
_NEAREST_WORD = re.compile(r"(?P<word>[\w&.-]{2,12})\s?$")
_STATED = re.compile(
    r"(?:\b(?:also|better|best|professionally|formerly|previously|commonly|originally|sometimes)"
    r" (?:known|called|named|credited|spelled|written)(?: (?:as|simply|professionally))*"
    r"(?: by (?:his|her|their|its|the) (?:stage|pen|birth|ring|nick|full|code)? ?name)?"
    r"|\ba\.?k\.?a\.?|\bborn|\bnée?|\balias)(?: as)?:? [\"“']?(?=\w)"
)


class Definition(NamedTuple):
    """A short form and the long form that a text gives with it, as ranges of the text."""

    short: tuple[int, int]
    long: tuple[int, int]


def find_definitions(text: str, start: int, end: int) -> Iterator[Definition]:
    """"World Health Organization (WHO)" and "WHO (World Health Organization)", if letters fit."""
    for match in _PARENTHESIS.finditer(text, start, end):
        left, right = match.span("inside")
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
    letters = [c for c in short.removesuffix("s" if short[:-1].isupper() else "").casefold() if c.isalnum()]
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
    limit = min(len(short) + 5, 2 * len(short))
    words = [m.span() for m in _WORD.finditer(text, max(start, end - 160), end)][-limit:]
    if not words or text[words[-1][1] : end].strip():
        return None
    first, last = words[0][0], words[-1][1]
    offset = letters_fit(short, text[first:last])
    if offset is None:
        return None
    long = text[first + offset : last]
    if short in long or len(long) <= len(short) + 2 or " " not in long:
        return None
    return first + offset, last
