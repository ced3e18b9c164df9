"""Words at the edges of a capitalised span that are no part of a name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clew.indexing.ner.name_lexicon import (
    CALENDAR,
    CONNECTORS,
    COURTESY,
    OPENING_VERBS,
    ROLES,
    STARTERS,
    is_ordinary,
)
from clew.word_lists import word_list

_AMBIGUOUS_CALENDAR = word_list("may april june august march sun sat mon est am pm")
_ASKING = word_list("did does do who what why how when where which whose is are was were can")
"""What opens a question: no name begins with it, wherever it stands."""
_OFFICES = word_list("ceo cto cfo coo cio")
_ELISION = re.compile(r"(?:l|d|j|c|n|s|qu)'", re.IGNORECASE)  # French "L'écrivain"
Token = tuple[int, str]
"""A word and where it starts."""


def trim_name(tokens: Sequence[Token], opens: bool, *, is_dated: bool = False) -> tuple[int, int]:
    """Range of the tokens without those that stand there for the sentence's sake."""
    first, last = 0, len(tokens)
    while first < last and _is_filler(tokens, first, opens):
        first += 1
    while 0 < first < last and tokens[first][1].isdigit():  # "September 23"
        first += 1
    while last > first and tokens[last - 1][1] in CONNECTORS:
        last -= 1
    while last - first > 2 and _is_day(*tokens[last - 2 : last]):  # "Published 4 June"
        last -= 2
    if is_dated and last - first > 1 and tokens[last - 1][1].casefold() in CALENDAR:
        last -= 1  # "PyCon | June 2019"
    return first, last


def _is_day(first: Token, second: Token) -> bool:
    """Whether two words are a number and a month or a day of the week."""
    number, name = sorted((first[1], second[1]))
    return number.isdigit() and name.casefold() in CALENDAR


def _is_filler(tokens: Sequence[Token], i: int, opens: bool) -> bool:
    token = tokens[i][1]
    lower = token.casefold().replace("’", "'").strip(".")
    if (
        token in CONNECTORS
        or lower in ("the", "i", "i'm", "i've", "i'd", "i'll")
        or lower in COURTESY
    ):
        return True
    if opens and _ELISION.match(lower) and token.rpartition("’")[2].rpartition("'")[2].islower():
        return True
    if i == 0 and len(tokens) > 1 and _leads_in(token, tokens[1][1]):
        return True
    if lower in _ASKING and not token.isupper():  # "25 Did the Russian revolution …"
        return True
    if lower in _OFFICES:  # "CEO of Acme"
        return token.isupper() and i + 1 < len(tokens)
    if opens and token.partition("-")[2].islower() and is_ordinary(token):
        return len(tokens) > 1  # "Platform-agnostic MM"
    if opens and lower in STARTERS:
        return len(token) == 1 or not token.isupper()
    if opens and len(tokens) - i > 1 and _is_imperative(lower, tokens[i + 1][1]):
        return True
    if lower in CALENDAR:
        return lower not in _AMBIGUOUS_CALENDAR
    # "Director Christopher Nolan", but "General Motors", "King Charles", "King of France".
    return lower in ROLES and len(tokens) - i > 2 and tokens[i + 1][1] not in CONNECTORS


def _leads_in(token: str, following: str) -> bool:
    """Whether it stands before a name wherever it is: "¹See Debian Policy", "(1) A PTE"."""
    return token.casefold() == "see" or (token == "A" and following[:3].isupper())


def _is_imperative(lower: str, following: str) -> bool:
    """Whether a sentence opens with what is to be done: "Install Debian", "Using Kafka"."""
    has_article = following in ("the", "a", "an")
    if is_ordinary(following) and not (has_article or following.isupper()):
        return False
    endings = ("ing", "ed") if has_article else "ing"
    return lower in OPENING_VERBS or (
        len(lower) > 4 and lower.endswith(endings) and is_ordinary(lower)
    )
