"""What kind of thing a name names, from the name itself and from what the text says of it."""

from __future__ import annotations

import re

from clew.indexing.ner.name_lexicon import (
    COURTESY,
    DEMONYMS,
    EVENT_PREFIXES,
    NAME_SUFFIXES,
    ORGANISATION_NOUNS,
    ORGANISATION_PREFIXES,
    PERSON_NOUNS,
    PLACE_NOUNS,
    PLACE_PREFIXES,
    PLACES,
    PRODUCT_NOUNS,
    SURNAME_SUFFIXES,
    TITLES,
    WORK_NOUNS,
    is_first_name,
)
from clew.text import cached

_NOUNS = {
    **dict.fromkeys(PRODUCT_NOUNS, "product"),
    **dict.fromkeys(WORK_NOUNS, "work"),
    **dict.fromkeys(ORGANISATION_NOUNS, "organisation"),
    **dict.fromkeys(PLACE_NOUNS, "place"),
    **dict.fromkeys(PERSON_NOUNS, "person"),
}
AFTER_NAME = r"(?:[^\w(]{0,9}+\([^()]*+\),? ?|\W{0,9}+)"
"""What may stand between a name and the verb: punctuation, a parenthesis."""
_IS_A = re.compile(
    rf"{AFTER_NAME}(?:is|was|are|were|became) (?:an?|the|one of the) "
    r"(?P<what>[\w'’ -]{3,80})"
)
_DOES = re.compile(
    r",? (?:who|said|says|wrote|writes|asked|argued|explained|replied|suggested|proposed|noted"
    r"|agreed|joined|married|died|studied|told|thinks|reported|presented|volunteered|retired|resigned)\b"
)
"""What persons do."""
_MAIL_AFTER = re.compile(r"[\"']? ?[<(][^\s<>()]{1,80}@")
_MADE_BY = re.compile(
    r"(?:\b(?:written|created|authored|maintained|developed|directed|edited|founded|designed"
    r"|drafted|composed|produced|translated|proposed|chaired|painted|sung|recorded) by"
    r"|\b(?:[Aa]uthors?|[Ee]ditors?|[Mm]aintainers?|[Cc]hair|[Pp]resent|[Aa]ttendees"
    r"|[Ss]peakers?):) $"
)
_GOES_ON = re.compile(
    r"\s{0,3}(?:[.,;:)!?]|$)|\s{1,3}(?:and|or|in|by|from|on|at|with|where|when|since|until|to|for|as|before"
    r"|after|during|who|which|was|is|he|she|they|the|a)\b"
)
"""What follows a place, rather than a noun that the name belongs to ("in Git repositories")."""
_LIFE = re.compile(r" ?\( ?(?:born|b\.|née?)\b")
_WHERE = re.compile(
    r"\b(?:born|died|located|situated|lives?|lived|living|based|village|city|town|suburb|capital"
    r"|raised|moved|resides|buried|headquartered) (?:in|of|to|near|at) (?:the )?$"
)
_BEFORE_PLACES = (" in ", " of ", " to ", " near ", " at ", " the ")
_PLACE_SHAPED = re.compile(r"[^\W\d_][^A-Z\d_]+(?:[ '-][^\d_]+)?")
"""No digits, no capital within the first word: not "ES6", not "GitHub"."""
_END_OF_PHRASE = re.compile(
    r"\b(?:of|in|by|from|who|which|that|at|on|for|with|and|or|based|located|founded|born|to|set)\b"
)
_TITLED = re.compile(
    rf"\b(?:{'|'.join(sorted(title.capitalize() for title in COURTESY - {'miss'}))})\.?\s$"
)
_PARENTHESIS = re.compile(r"(?<!\s)\s*+\((?P<inside>[^()]++)\)\s*+$")


@cached(8)
def type_of_name(name: str) -> str:
    """The kind that the name's own words show, else `name`."""
    tokens = name.replace(".", "").casefold().split()
    if not tokens:
        return "name"
    first, last = tokens[0], tokens[-1]
    if len(tokens) == 1:
        return "place" if first in PLACES else "name"
    if len(tokens) == 2 and is_first_name(first) and last in SURNAME_SUFFIXES:
        return "person"
    for kind, suffixes in NAME_SUFFIXES.items():
        if last in suffixes:
            return kind
    if first in ORGANISATION_PREFIXES and tokens[1] in ("of", "for"):
        return "organisation"
    if first in EVENT_PREFIXES and tokens[1] == "of":
        return "event"
    if first in PLACE_PREFIXES:
        return "place"
    if is_person_shaped(name) and (is_first_name(first) or first in TITLES):
        return "person"
    return "name"


_PRODUCT_SPELT = re.compile(
    r"(?!(?:Mc|Mac|De|Del|Della|Di|Da|Do|Du|La|Las|Le|Lo|Van|Von|Ver|Fitz|Ap|Ben|Bar|Ter|Ten|San|St)"
    r"[A-Z])[A-Z][a-z]+[A-Z]"
)
"""A capital within a word that no surname has there: "NetHack", but not "McCartney", "DeVito"."""


@cached(8)
def is_person_shaped(name: str) -> bool:
    """Two to five capitalised words of letters, none of which names a place or a group."""
    tokens = name.split()
    if not 2 <= len(tokens) <= 5 or not name[0].isupper() or tokens[-1][0].islower():
        return False
    lower = [token.casefold().strip(".") for token in tokens]
    if (
        lower[-1] in PLACES
        or lower[0] in DEMONYMS
        or not {"of", "the", "&", "for"}.isdisjoint(lower)
    ):
        return False
    if any(lower[-1] in suffixes for suffixes in NAME_SUFFIXES.values()):
        return False
    if _PRODUCT_SPELT.match(tokens[-1]):
        return False
    return all(t.replace(".", "").replace("-", "").replace("'", "").isalpha() for t in tokens)


def type_in_context(text: str, left: int, right: int, start: int, end: int) -> str | None:
    """The kind that the words around the name `text[left:right]` show; None where they do not.

    "… was an American actor", "… (born 1970", "lived in …"; `start` and `end` are the sentence's.
    """
    said = _IS_A.match(text, right, end)
    if said and (kind := type_of_description(said["what"])):
        return kind
    if _LIFE.match(text, right, end) or _is_person_here(text, left, right, start, end):
        return "person"
    if text[left:right].isalpha() and _TITLED.search(text, max(start, left - 12), left):
        return "person"  # "Mrs. Vell"
    where = text.endswith(_BEFORE_PLACES, start, left) and _GOES_ON.match(text, right, end)
    if not where or not _PLACE_SHAPED.fullmatch(text, left, right):
        return None
    return "place" if _WHERE.search(text, max(start, left - 24), left) else None


def _is_person_here(text: str, left: int, right: int, start: int, end: int) -> bool:
    """Whether somebody of this name writes, speaks, has an address or made something."""
    if _MAIL_AFTER.match(text, right, end):
        return True
    if not is_person_shaped(text[left:right]):
        return False
    return bool(_DOES.match(text, right, end) or _MADE_BY.search(text, max(start, left - 24), left))


def type_of_description(description: str) -> str | None:
    """The kind of an indefinite description, by the last known noun of its first phrase."""
    phrase = _END_OF_PHRASE.split(description.casefold(), maxsplit=1)[0]
    for word in reversed(phrase.replace("-", " ").split()):
        kind = _NOUNS.get(word) or _NOUNS.get(word.removesuffix("s"))
        if kind:
            return kind
    return None


def split_parenthesis(title: str) -> tuple[str, str | None]:
    """("The House on the Dune", "1952 film") of "The House on the Dune (1952 film)"."""
    match = _PARENTHESIS.search(title)
    if match is None or match.start() == 0:
        return title.strip(), None
    return title[: match.start()].strip(), match["inside"]
