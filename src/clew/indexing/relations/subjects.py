"""Where the predicate of a sentence begins, behind what stands beside its subject.

"The Larch Mill in Stennick | was founded by", "Orrin Labs, a maker of looms, | acquired": what is
said after the bar is said of the first name, not of the nearest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.phrases import MUTUAL

_MOST_BESIDE = 3
_ARTICLE = re.compile(r"[\"“‘'*_(]{0,3}(?:(?P<the>[Tt]he)|[Aa]n?)? ?")
_ASIDE = re.compile(r"\s?\([^()\n]{1,80}\)")
_PLACED = re.compile(r",? (?:in|at|near|from) (?:the )?")
_APPOSED = re.compile(
    r", (?:an?|the|which|who|whose|based|located|situated|headquartered|founded|born|formerly"
    r"|originally|now|then|part|home|known|also|in|of|from|at|near|one"
    r"|[a-z]+(?: [a-z]+){0,2} (?:of|at))"
    r"\b[^,;:.()\"“”!?\n]{1,80},"
)
PREDICATE = re.compile(r" (?!and\b|or\b|but\b)[a-z]")
"""What follows a subject that is said to do something."""
_MUTUAL = re.compile(
    rf"(?: (?:were|have|had|got|later|then)){{0,2}} (?P<verb>{'|'.join(sorted(MUTUAL))})\b"
)
_JOINED = re.compile(r",? (?:and|&) (?:the )?")
_GOES_ON = re.compile(r" (?:with|to|by|the|an?|his|her|their)\b| [^\W\d_a-z]")


class Subject(NamedTuple):
    """A sentence's subject that something stands beside, and where its predicate begins."""

    name: NameSpan
    predicate: int
    place: NameSpan | None
    """Where "the Larch Mill in Stennick" stands, of a subject with its article."""


def find_subject(text: str, start: int, end: int, names: Sequence[NameSpan]) -> Subject | None:
    """The name that opens `text[start:end]`, where something stands behind it."""
    name = next((one for one in names if one.start >= start), None)
    opening = name and _ARTICLE.fullmatch(text, start, name.start)
    if name is None or opening is None:
        return None
    at, place = name.end, None
    for _ in range(_MOST_BESIDE):
        aside = _APPOSED.match(text, at, end) or _ASIDE.match(text, at, end)
        if aside:
            at = aside.end()
            continue
        found = _placed(text, at, end, names)
        if found is None:
            break
        at = found.end
        if opening["the"] and text[name.end : found.start].startswith(" in "):
            place = found
    is_said = at > name.end and PREDICATE.match(text, at, end)
    return Subject(name, at, place) if is_said else None


def _placed(text: str, at: int, end: int, names: Sequence[NameSpan]) -> NameSpan | None:
    """The name of the place that "in Stennick" names at a position."""
    preposition = _PLACED.match(text, at, end)
    if preposition is None:
        return None
    return next((name for name in names if name.start == preposition.end()), None)


def mutual_between(text: str, end: int, left: NameSpan, right: NameSpan) -> str | None:
    """What two names do with each other: "X and Y merged in 2019" → merged_with."""
    if not _JOINED.fullmatch(text, left.end, right.start):
        return None
    verb = _MUTUAL.match(text, right.end, end)
    if verb is None or _GOES_ON.match(text, verb.end(), end):
        return None
    return MUTUAL[verb["verb"]]
