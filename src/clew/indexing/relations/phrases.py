"""What the words between two names state, as a relation type and a confidence."""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.indexing.ner.name_lexicon import (
    DEMONYMS,
    ORGANISATION_NOUNS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    PRODUCT_NOUNS,
    ROLES,
    WORK_NOUNS,
)
from clew.text import STOP_WORDS, cached
from clew.word_lists import read_word_lists, word_list

LONGEST_PHRASE = 7
"""Words between two names, articles and trades before the second one left out."""

_ADVERB = (
    r"(?:\b(?:\w+ly|also|often|then|later|still|now|first|sometimes|again|soon|once|just|already) )"
    r"{0,4}"
)
_AUXILIARY = (
    r"(?:(?:which|that|who|is|was|are|were|be|been|being|has|have|had|did|does|do|got) ){0,6}"
)
_LEAD = rf"{_AUXILIARY}{_ADVERB}"
_COPULA = (
    r"(?:(?:, )?(?:(?:which|that|who) )?(?:(?:is|was|are|were|became|remains|being)"
    r"|(?:serve[sd]|work(?:s|ed)|act(?:s|ed)) as"
    r"|(?:(?:is|was|has been|were) )?(?:elected|appointed|named|made)(?: as)?) )"
)


class Phrase(NamedTuple):
    """What the words between two names say."""

    relation_type: str
    confidence: float
    inverse: bool = False
    is_causal: bool = False


class _Known(NamedTuple):
    pattern: re.Pattern[str]
    phrase: Phrase


def _alternatives(words: str) -> str:
    return "|".join(words.split())


_LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")


def _known(pattern: str, relation_type: str, *, inverse: bool = False) -> _Known:
    words = pattern.replace("\n", "")
    phrase = Phrase(relation_type, 0.8, inverse, relation_type == "causes")
    return _Known(re.compile(rf"(?:, )?{_LEAD}(?:{words})"), phrase)


_KNOWN = tuple(_known(**known) for known in _LISTS["known"])
_PARTICIPLES = _alternatives(_LISTS["participles"])
_PAST = _alternatives(_LISTS["past"])
_PRESENT = _alternatives(_LISTS["present"])
_PREPOSITIONS = (
    "by|in|into|to|with|from|at|on|for|as|after|near|through|against|under|over|between|during|of|off"
    "|around|along|before|alongside"
)
_PASSIVE = re.compile(
    rf"(?:, )?{_LEAD}(?P<verb>[a-z-]{{2,}}ed|{_PARTICIPLES}) (?:\w+ly )?(?P<prep>{_PREPOSITIONS})"
)
_ACTIVE = re.compile(
    rf"(?:, )?(?:\b(?:who|which|that|also|then|later|has|have|had|\w+ly) ){{0,6}}"
    rf"(?P<verb>[a-z-]{{2,}}ed|{_PAST}|{_PRESENT})"
    rf"(?: (?P<prep>{_PREPOSITIONS}))?"
)
_ATTRIBUTE = re.compile(
    rf"(?:(?:^|(?<= ))(?P<noun>[\w-]+|,),? |^)(?:(?P<starring>starring)"
    rf"|(?:{_ADVERB})(?P<verb>[a-z-]{{2,}}ed|{_PARTICIPLES}) (?P<prep>{_PREPOSITIONS}))$"
)
_ARTICLE = r"(?:the |an? |one of the )?"
_NOUN_OF = re.compile(
    rf"{_COPULA}(?:also |\w+ly )?{_ARTICLE}(?:[\w-]+ ){{0,2}}?(?P<noun>[a-z-]{{3,}})"
    r" (?P<prep>of|to|at|for)"
)
_APPOSED = re.compile(
    rf", {_ARTICLE}(?:[\w-]+ ){{0,2}}?(?:[a-z-]+ and )?"
    r"(?P<noun>[a-z-]{3,}) (?P<prep>of|to|at|for)"
)
_PLACED = re.compile(
    r"(?:, )?(?:is|was) (?:an?|the|one of the) (?:[\w-]+ ){0,4}?(?P<noun>[a-z]+)"
    r"(?: (?:located|situated|based))? (?P<prep>in|near)"
)
RELATIONAL = word_list(_LISTS["relational_nouns"])
"""Nouns that say what somebody or something is to another: "founder", "capital", "fork"."""
OFFICES = word_list(_LISTS["offices"])
"""The same of several words, with hyphens between them."""
THINGS = word_list(_LISTS["things"])
"""Relational nouns that things are to things: "capital"."""
SEATS = word_list(_LISTS["seats"])
MUTUAL: dict[str, str] = _LISTS["mutual"]
"""Relation types by what two do with each other: "X and Y merged"."""
_SPOKEN_OFFICE = re.compile(
    rf"\b(?:{'|'.join(sorted(OFFICES | SEATS, key=len, reverse=True)).replace('-', '[ -]')})\b"
)
_NO_RELATION_NOUNS = word_list(_LISTS["no_relation_nouns"])
_NO_RELATION_VERBS = word_list(_LISTS["no_relation_verbs"])
_INTRANSITIVE = word_list(_LISTS["intransitive"])
_WITH_A_PLACE = PLACE_NOUNS | ORGANISATION_NOUNS | {"community"}
"""What "is a … in" says where it lies."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|without|neither|nor|cannot|hardly|barely|rather than|instead of|except"
    r"|can|may|might|will|would|could|should|must|shall|than|as if|until|unless|if)\b|n['’]t\b"
)
_OPENING_VERB = re.compile(rf"{_ADVERB}(?P<verb>[a-z-]{{2,}})\b")
_AUXILIARIES = word_list("is was has had does did will may can")
_FINITE = _AUXILIARIES | word_list(_LISTS["past"]) | word_list(_LISTS["present"])
_OBJECTS = ("", *(f" {preposition}" for preposition in ("in", "at", "to", "for", "on", "with")))
_BREAK = re.compile(r"^['’]s\b|[.;:!?\"“”()\[\]/|*_#]|, .*, |\d")
_ASIDE = re.compile(r"\A\s?\((?=(?:an?|the|now|formerly|[a-z-]{3,20}) )")
"""What opens an apposition like the comma does: "Iceweasel (a version of Firefox)"."""
_CLOSED = re.compile(r"[.;:!?\"“”()\[\]/|*_#]")
KINDS = PERSON_NOUNS | WORK_NOUNS | ORGANISATION_NOUNS | PLACE_NOUNS | PRODUCT_NOUNS
"""What a thing may be called: "the film", "the river"."""
_SPACE = re.compile(r"\s+")
_ONE_OF_TWO = re.compile(
    rf"\b(?:[a-z-]{{2,20}}ed|{_PARTICIPLES})(?:,? and|,) (?=(?:[a-z-]{{2,20}}ed|{_PARTICIPLES}) )"
)
"""What two verbs say of the same is said by the second: "written and directed by"."""
_DETERMINERS = word_list(
    "the a an his her their its our both fellow future former late famous famed noted then"
)
_DROPPED_BEFORE_TAIL = _DETERMINERS | DEMONYMS | PERSON_NOUNS | ROLES
_IN_A_PLACE = re.compile(rf" (?:{'|'.join(sorted(PLACE_NOUNS))}) of$")
_PERSON = frozenset(("person", "name"))
_ENDS = {
    "lives_in": (_PERSON, frozenset(("place", "name"))),
    "works_at": (_PERSON, frozenset(("organisation", "place", "product", "name"))),
    "located_in": (
        frozenset(("place", "organisation", "name", "thing")),
        frozenset(("place", "name")),
    ),
    "stars": (frozenset(("work",)), frozenset(("person", "name", "work", "organisation"))),
    "works_for": (_PERSON, frozenset(("organisation", "person", "product", "name"))),
}
"""Types of head and tail that a relation type may have, where it means something of them alone."""


def phrase_between(gap: str, head_type: str, tail_type: str) -> Phrase | None:
    """`read_phrase`, where it fits the types of both names; else what the verb alone says.

    "Ada moved to Rome" → lives_in, "the company moved to Rome" → moved_to.
    """
    phrase = read_phrase(gap)
    ends = _ENDS.get(phrase.relation_type) if phrase else None
    if ends and not (head_type in ends[0] and tail_type in ends[1]):
        return _verb_phrase(_phrase(gap))
    return phrase


@cached(8, longest=100)
def read_attribute(gap: str) -> Phrase | None:
    """The relation of a sentence's topic that words state after a noun, a comma or "and".

    "X is a 1957 comedy film directed by Y", "… from Z, formed in Y", "… and starring Y".
    """
    if _CLOSED.search(gap) or _NEGATION.search(gap):
        return None
    match = _ATTRIBUTE.search(_phrase(gap))
    if match is None or not (match["noun"] in KINDS or match["noun"] in ("and", ",", None)):
        return None
    if match["starring"]:
        return Phrase("stars", 0.65)
    return Phrase(f"{match['verb']}_{match['prep']}".replace("-", "_"), 0.65)


@cached(8, longest=100)
def read_phrase(gap: str) -> Phrase | None:
    """The relation that the words between two names state; None where they state none.

    " was directed by " → directed_by, " is the capital of " → capital_of, " causes " → causes.
    """
    gap = _ASIDE.sub(", ", gap)
    if _BREAK.search(gap) or _NEGATION.search(gap):
        return None
    words = _ONE_OF_TWO.sub("", _phrase(gap))
    if not words or words.count(" ") >= LONGEST_PHRASE:
        return None
    for pattern, phrase in _KNOWN:
        if pattern.fullmatch(words):
            return phrase
    return _verb_phrase(words) or _noun_phrase(words)


@cached(8, longest=200)
def opening_verb(predicate: str) -> str:
    """Whether words open with a verb that a subject does: `finite`, `past`, or empty for none.

    "lives" and "wrote" are `finite`; "joined" is `past`: it may be a participle, too.
    """
    opening = _OPENING_VERB.match(predicate.casefold())
    verb = opening["verb"] if opening else ""
    if verb.endswith("ed") or verb in _PARTICIPLES.split("|"):
        return "past"
    is_one = verb in _FINITE or any(read_phrase(f" {verb}{of} ") for of in _OBJECTS)
    return "finite" if is_one and (verb in _FINITE or verb.endswith("s")) else ""


def is_denied(words: str) -> bool:
    """Whether words deny something, or say only that it can be or will be."""
    return _NEGATION.search(words) is not None


def _phrase(gap: str) -> str:
    """The gap in small letters, without the words that belong to the name after it."""
    words = with_offices(_SPACE.sub(" ", gap.casefold()).strip())
    while (shorter := _shortened(words)) != words:
        words = shorter
    return words


def with_offices(words: str) -> str:
    """The text in small letters with each office as one word: "chief executive" of several."""
    return _SPOKEN_OFFICE.sub(lambda office: office.group().replace(" ", "-"), words)


def is_office(noun: str) -> bool:
    """Whether the noun says what somebody or something is to another: "founder of X"."""
    return noun in RELATIONAL or noun in OFFICES


def _shortened(words: str) -> str:
    rest, _, last = words.rpartition(" ")
    if last in _DROPPED_BEFORE_TAIL:
        return rest
    place = _IN_A_PLACE.search(words)
    if place and words[: place.start()].rpartition(" ")[2] in _DETERMINERS and " in " in words:
        return words[: place.start()]
    return words


def _verb_phrase(words: str) -> Phrase | None:
    passive = _PASSIVE.fullmatch(words)
    if passive:
        return Phrase(f"{passive['verb']}_{passive['prep']}".replace("-", "_"), 0.75)
    active = _ACTIVE.fullmatch(words)
    if active and active["verb"] in _INTRANSITIVE and not active["prep"]:
        return None
    if active and active["verb"] not in _NO_RELATION_VERBS:
        relation = "_".join(part for part in (active["verb"], active["prep"]) if part)
        return Phrase(relation.replace("-", "_"), 0.6)
    return Phrase("used", 0.6) if active and active["verb"] == "used" else None


def _noun_phrase(words: str) -> Phrase | None:
    placed = _PLACED.fullmatch(words)
    if placed and placed["noun"] in _WITH_A_PLACE:
        return Phrase(f"located_{placed['prep']}", 0.75)
    apposed = _APPOSED.fullmatch(words)
    noun = apposed or _NOUN_OF.fullmatch(words)
    if noun is None or (apposed and not is_office(noun["noun"])):
        return None
    is_known = is_office(noun["noun"]) or noun["noun"] in PERSON_NOUNS
    if noun["prep"] not in ("of", "to") and not is_known:
        return None
    if not is_known and (
        noun["noun"].endswith(("ly", "ed")) or noun["noun"] in _NO_RELATION_NOUNS | STOP_WORDS
    ):
        return None
    return Phrase(f"{noun['noun']}_{noun['prep']}".replace("-", "_"), 0.7)
