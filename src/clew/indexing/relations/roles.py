"""Which office a name holds with another: "the founder of X is Y", "X's founder, Y", "Y is X's …".

Where an organisation sits is said in the same forms: "the headquarters of X are in Y".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.antecedents import is_person
from clew.indexing.relations.phrases import SEATS, THINGS, is_office, with_offices

HEADQUARTERED_IN = "headquartered_in"
_WORD = r"(?!(?:is|was|are|were|remains|became|has)\b)[a-z]+"
_NOUN = rf"(?P<noun>{_WORD}(?:[ -]{_WORD}){{0,3}})"
_OF = re.compile(rf"(?:^|(?<=[\s(]))(?:[Tt]he|[Ii]ts|[Tt]heir) {_NOUN} (?:of|at|for) (?:the )?$")
_IS = re.compile(
    r"(?:,| (?:is|was|are|were|remains|became|has been)(?: now| currently| still)?)?"
    r"(?P<place> in)? (?:the )?"
)
_POSSESSIVE = re.compile(rf"['’]s {_NOUN}(?P<rest>(?:,|\b)[^\n]{{0,30}})")
_OWNED = re.compile(rf"['’]s {_NOUN}(?=[\s.,;:)]|$)(?! of\b)")
_COPULA = re.compile(r" (?:is|was|became|remains|has been)(?: now| currently| still)? ")
_PRONOUN = re.compile(rf"(?P<person>His|Her)?(?:Its)? {_NOUN}(?P<rest>(?:,|\b)[^\n]{{0,30}})")
_LONGEST = 60
"""Characters of "The chief executive officer of the ", and of what stands between the names."""


class Role(NamedTuple):
    """That `holder` is `noun` of something, or the place where it sits."""

    relation_type: str
    is_seat: bool
    """Whether the name is the place of the other rather than the holder of an office with it."""


def role_between(text: str, start: int, left: NameSpan, right: NameSpan) -> Role | None:
    """What the right name is to the left one: "the founder of X is Y", "X's founder, Y"."""
    if right.start - left.end > _LONGEST:
        return None
    gap = text[left.end : right.start]
    if owned := _POSSESSIVE.fullmatch(gap):
        return _role(owned["noun"], owned["rest"], right)
    before = _OF.search(text, max(start, left.start - _LONGEST), left.start)
    return _role(before["noun"], gap, right) if before and gap.strip() else None


def role_after(text: str, end: int, left: NameSpan, right: NameSpan) -> Role | None:
    """What the left name is to the right one: "Y is X's founder"."""
    if not _COPULA.fullmatch(text, left.end, right.start):
        return None
    owned = _OWNED.match(text, right.end, end)
    office = owned and _last_office(owned["noun"])
    return Role(_type(office), is_seat=False) if office and is_person(left) else None


def role_of_pronoun(text: str, start: int, name: NameSpan) -> tuple[Role, bool] | None:
    """What "Its founder is Y" makes of the name, and whether the pronoun means a person."""
    if name.start - start > _LONGEST:
        return None
    opening = _PRONOUN.fullmatch(text, start, name.start)
    role = opening and _role(opening["noun"], opening["rest"], name)
    return (role, opening["person"] is not None) if opening and role else None


def _role(noun: str, rest: str, name: NameSpan) -> Role | None:
    said = _IS.fullmatch(rest)
    office = _last_office(noun)
    if said is None or office is None:
        return None
    if office in SEATS:
        return Role(HEADQUARTERED_IN, is_seat=True) if said["place"] else None
    if said["place"] or not (is_person(name) or office in THINGS):
        return None
    return Role(_type(office), is_seat=False)


def _last_office(words: str) -> str | None:
    """The office that ends some words: "founder" of "co-owner and first founder"."""
    noun = with_offices(words).rpartition(" ")[2]
    return noun if is_office(noun) or noun in SEATS else None


def _type(office: str) -> str:
    return f"{office}_of".replace("-", "_")
