"""What kind of thing a question asks for, by its question words, and what holds such a thing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from clew.text import fold
from clew.times import find_periods
from clew.times.names import MONTH

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["number", "time", "name"]

_WORDS: Mapping[Kind, str] = {
    "number": "how (?:many|much|long|old|often|far|high|tall|large|big|deep|wide|fast|heavy)"
    "|what (?:age|amount|number|percentage|price|share|sum|version)"
    "|wie (?:viele?|hoch|lange|alt|oft|weit|gro(?:ß|ss)|schwer)|combien|quel âge"
    "|cuánt[oa]s?|quant[oaie]",
    "time": "when|(?:what|which) (?:date|day|month|time|weekday|year)"
    "|wann|in welchem jahr|quand|en quelle année|cuándo|quando",
    "name": "who|whom|whose|where|wer|wem|wen|wessen|wo|wohin|qui|où|quién(?:es)?|dónde|chi",
}
_ASKS = {kind: re.compile(rf"\b(?:{w})\b", re.IGNORECASE) for kind, w in _WORDS.items()}
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million"
    "|once|twice|half|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq"
)
_NUMBER = re.compile(rf"\d\w*|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)
_TIME = re.compile(
    rf"\b(?:{MONTH})\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b\d{1,2}(?::\d\d| ?[ap]m\b)"
)
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""Whether words say a time does not depend on when they are said."""
_ENUMERATED = re.compile(r"\s*(?:[-*•]\s+)?(?:\(?\d{1,3}[.)](?=\s)|TOP \d+\b)?")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANY_WORD = re.compile(r"\w+")


@lru_cache(maxsize=8)
def asked_kind(question: str) -> Kind | None:
    """What it asks for; None where its words do not tell. The first question word decides."""
    found = [(m.start(), kind) for kind, words in _ASKS.items() if (m := words.search(question))]
    return min(found)[1] if found else None


def without_number(sentence: str) -> str:
    """A sentence without the number or the bullet that it has in a list."""
    return sentence[_ENUMERATED.match(sentence).end() :]  # type: ignore[union-attr]


def holds_kind(sentence: str, kind: Kind, question: str) -> bool:
    """Whether a sentence holds something of the kind that the question does not say itself."""
    text = without_number(sentence)
    if kind == "name":
        asked = _said(_WORD, question)
        words = [match for match in _WORD.finditer(text) if match.start()]
        return any(w.group()[0].isupper() and fold(w.group()) not in asked for w in words)
    pattern = _NUMBER if kind == "number" else _TIME
    found = [match.group() for match in pattern.finditer(text)]
    if kind == "time":  # a number alone is none: "Invoice 2087"
        for one in find_periods(text, _ANY_DAY):
            found += text[one.start : one.end].split()
    said = _said(_ANY_WORD, question)
    return any(fold(words) not in said for words in found)


@lru_cache(maxsize=8)
def _said(words: re.Pattern[str], question: str) -> frozenset[str]:
    """The words of a question, folded; every sentence that may answer is compared with them."""
    return frozenset(map(fold, words.findall(question)))
