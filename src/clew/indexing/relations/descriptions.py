"""What a name is said to be: "X is a lighthouse", "the engineer X", "A's brother B", "Rome, Italy".

Hearst, "Automatic acquisition of hyponyms" (1992), for the copula and the apposition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from clew.indexing.ner.cased_ner import VERSION
from clew.indexing.ner.entity_types import (
    AFTER_NAME,
    DEMONYMS,
    PERSON_NOUNS,
    PLACES,
    ROLES,
    WORK_NOUNS,
    NameSpan,
)
from clew.indexing.relations.phrases import KINDS, RELATIONAL
from clew.indexing.relations.sentences import (
    CODE_KINDS,
    MAY_FOLLOW,
    find_examples,
    find_places,
    is_person,
    is_whole,
)
from clew.text import STOP_WORDS
from clew.word_lists import read_word_lists, word_list

CONCEPT = "concept"
"""Entity type of what is no name."""
IS_A = "is_a"
VERSION_OF = "version_of"
OPTION_OF = "option_of"
TIMELESS = frozenset(("located_in", VERSION_OF, OPTION_OF))
"""What holds whenever something happened there."""
Description: TypeAlias = tuple[NameSpan, str, NameSpan, float]
"""(head, relation type, tail, confidence)"""

_LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")
_NO_NOUNS = word_list(_LISTS["vague_nouns"]) | DEMONYMS | word_list(_LISTS["participles"])
_ENDS_PHRASE = (
    "of in by from who which that at on for with based located founded born to set directed"
    " written produced developed created released published starring used designed made formed"
    " known owned where whose as near between built held run over than when while aimed intended"
    " allowing using enabling providing offering handling containing running living working"
    " serving specializing specialising consisting featuring"
)
_IS_A = re.compile(
    rf"{AFTER_NAME}(?:is|was) an? (?P<what>(?:[\w'’-]+[ \n]){{0,7}}?[a-z]{{3,}})"
    r"(?=(?P<joined>,|[ \n](?:and|or)\b)|[.;:(]|$"
    rf"|[ \n](?:{_ENDS_PHRASE.replace(' ', '|')})\b)"
)
_IS_A_ABROAD = re.compile(
    rf"{AFTER_NAME}(?:(?:ist|war) (?:eine?|der|die|das) (?:[a-zäöüß]+ ){{0,4}}"
    r"(?P<german>[A-ZÄÖÜ][\wäöüß-]{3,})"
    r"|(?:est une?|è una? |è un['’]|es una?|é uma?|era una?) ?(?P<romance>[^\W\d_]{4,}))(?!\w)"
)
_NO_NOUNS_ABROAD = word_list(_LISTS["vague_nouns_abroad"])
_MODIFIER = re.compile(r"(?!(?:\w+(?:ed|ly|ous|ive|ful|est|ese|ish|ic|al|an|ent|ant|ary|ble)$))")
_WORD = re.compile(r"[a-z]{3,}")
_BEFORE = re.compile(r"(?<![\w-])(?P<role>[a-z]{3,})[ \n]$")
_APPOSED = re.compile(r"[`*_\"”)]{0,3}, an? ")
_LONGEST_APPOSITION = 90
_GOVERNED = re.compile(r"\b(?:in|at|on) (?:the )?$")
"""What stands before the place of something: the noun after the place may tell of that."""
_KIND_BEFORE = re.compile(
    r"(?:^|(?<=[\s(]))(?P<article>[Tt]he|[Aa]n?|[Tt]his|[A-Z][a-z]{3,15})(?: [a-z-]{3,20}){0,2}?"
    r" (?P<noun>[a-z-]{3,20})"
    r"(?P<called>,? (?:called|named|titled|entitled))? [`*_\"“‘']{0,3}(?:The )?$"
)
_LONGEST_KIND = 80
_KIND_AFTER = re.compile(
    r"[*_”’]{0,2}[ \n](?P<noun>[a-z]{4,14})(?![\w-])(?:[ \n](?P<next>[a-z]+))?"
)
_BEFORE_KIND = re.compile(r"\b[Tt](?:he|his)[ \n][*_“‘]{0,2}$")
_NAMED_KINDS = word_list(_LISTS["named_kinds"])
_SHOUTED_KINDS = word_list(_LISTS["shouted_kinds"])
_OPTION = re.compile(r"(?: (?!and|or|the)[a-z][a-z-]{1,20})? ")
"""What may stand between a program and its option: a command of the program's."""
_IN = re.compile(r" in (?:the )?")
_OWNED = re.compile(r"['’]s\s[*_\"“`]{0,4}(?:the )?")
_PARTS = word_list(_LISTS["part_nouns"])
_OWN_WORK = re.compile(
    rf"['’]s\s(?:{'|'.join(sorted(WORK_NOUNS))}|paper|article|pamphlet),?\s[*_\"“`]{{0,4}}"
)
_BY = re.compile(r"[`*_\"”]{0,3},? by ")
_THINGS = KINDS - PERSON_NOUNS - {"order", "state", "party", "court", "force", "record"}
_APPOSABLE = KINDS | ROLES | word_list(_LISTS["apposed_nouns"])
_CAN_BE_OWNED = frozenset(("work", "product", "organisation", "code"))
_ROLE_LISTED = re.compile(
    r", (?:the )?(?:(?:associate|assistant|managing|vice|deputy|senior|team|project|executive) )?"
    r"(?P<noun>[a-z]{3,}), (?:the )?"
)
_OF_GROUP = re.compile(
    r" (?:of|from|at) (?:the )?|, (?:formerly|previously|now|currently) (?:of|at|with) (?:the )?"
    r"|, (?:[a-z]+ ){0,3}(?:director|scientist|professor|researcher|manager|editor"
    r"|coordinator|engineer|analyst|librarian|student|fellow)(?: (?:for|of) [a-z ]{3,30})?"
    r"(?:,| at| of| with) (?:the )?"
)
_ROLE_ASIDE = re.compile(
    r" \((?:(?:the|a|an|former|founding|managing|deputy|vice|current|senior) ){0,3}"
    r"(?P<noun>[A-Za-z]{3,}) (?:of|at|for) (?:the )?"
)
"""What stands between "Ada Byron (director of the Royal Society)"."""
_PART_OF = re.compile(
    rf"[`'’”\"]{{0,2}} (?:{'|'.join(sorted(CODE_KINDS | _PARTS))}) (?:of|in)"
    r" (?:the |a )?[`'‘“\"]{0,2}"
)
_ROLE_BETWEEN = re.compile(r" (?:co-)?(?P<noun>[a-z]+) ")


def find_descriptions(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[Description]:
    """What the sentence `text[start:end]` says that its names are."""
    for name in names:
        if (product := _without_version(name)) is not None:
            yield name, VERSION_OF, product, 0.85
        if found := _trade_before(text, start, name):
            yield name, IS_A, found, 0.75
        elif noun := (
            _kind_before(text, start, name)
            or _apposed(text, start, end, name)
            or _kind_after(text, start, end, name)
        ):
            yield name, IS_A, NameSpan(name.end, name.end, noun, CONCEPT), 0.75
    for name, kind in find_examples(text, start, end, names):
        yield name, IS_A, NameSpan(name.end, name.end, kind, CONCEPT), 0.75
    first = names[0]
    if text[start : first.start].casefold().strip(' "“‘*_') in ("", "the") and (
        concept := concept_of(text[:end], first.end, is_person(first))
        or concept_abroad(text[:end], first.end)
    ):
        yield first, IS_A, NameSpan(first.end, first.end, concept, CONCEPT), 0.8
    for left, right in pairwise(names):
        yield from _between(text, start, end, left, right)
    for place, region in find_places(text, start, end, names):
        yield place, "located_in", region, 0.75


def _without_version(name: NameSpan) -> NameSpan | None:
    """The product of a product with its version: "Docutils" of "Docutils 0.21"."""
    product, _, version = name.name.rpartition(" ")
    if name.entity_type != "product" or not product:
        return None
    if not (VERSION.fullmatch(version) or version.isdigit()):
        return None
    return NameSpan(name.start, name.start + len(product), product, "product")


def concept_of(text: str, position: int = 0, is_person: bool = False) -> str | None:
    """What " is a 2016 Indian drama film directed by Y" says at a position: "drama film"."""
    said = _IS_A.match(text, position)
    if said is None:
        return None
    words = said["what"].split()
    noun = words[-1]
    if noun in _NO_NOUNS or noun.endswith(("ed", "ing", "ly", "ous", "ful")):
        return None
    if not STOP_WORDS.isdisjoint(words) or (
        said["joined"] and noun not in (PERSON_NOUNS if is_person else KINDS)
    ):
        return None
    modifier = words[-2] if len(words) > 1 else ""
    is_compound = (
        _WORD.fullmatch(modifier) and _MODIFIER.match(modifier) and modifier not in _NO_NOUNS
    )
    return f"{modifier} {noun}" if is_compound else noun


def concept_abroad(text: str, position: int = 0) -> str | None:
    """The same of German, French, Italian, Spanish and Portuguese: "est un système" → "système"."""
    said = _IS_A_ABROAD.match(text, position)
    noun = said and (said["german"] or said["romance"])
    return noun if noun and noun.casefold() not in _NO_NOUNS_ABROAD else None


def _trade_before(text: str, start: int, name: NameSpan) -> NameSpan | None:
    """What "the engineer Corwin Hale" says: "engineer"."""
    if not is_person(name):
        return None
    before = _BEFORE.search(text, max(start, name.start - 24), name.start)
    if before is None or before["role"] not in PERSON_NOUNS or before["role"] in RELATIONAL:
        return None
    return NameSpan(before.start("role"), before.end("role"), before["role"], CONCEPT)


def _kind_before(text: str, start: int, name: NameSpan) -> str | None:
    """What "the novel X" and "a company called X" say: "novel", "company"."""
    before = _KIND_BEFORE.search(text, max(start, name.start - _LONGEST_KIND), name.start)
    if before is None or before["noun"] not in _THINGS:
        return None
    if before["called"]:
        return before["noun"] if name.entity_type != "person" else None
    article = before["article"].casefold()
    is_told = article in ("the", "this") or article in DEMONYMS  # "the Tamil film X"
    return before["noun"] if is_told and not is_person(name) else None


def _kind_after(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """What "the dpkg command" and "the GNU project" say of a name without marks of code."""
    after = _KIND_AFTER.match(text, name.end, end)
    is_capital = name.name[0].isupper() and name.name.replace(" ", "").isalpha()
    # "The Perl script" is one in Perl, "the dpkg script" is dpkg.
    kinds = _NAMED_KINDS if is_capital else CODE_KINDS
    if is_capital and name.name.isupper():
        kinds = kinds | _SHOUTED_KINDS
    if after is None or after["noun"] not in kinds or is_person(name):
        return None
    following = after["next"] or "and"
    if following not in MAY_FOLLOW and not following.endswith(("ed", "es")):
        return None
    return (
        after["noun"] if _BEFORE_KIND.search(text, max(start, name.start - 8), name.start) else None
    )


def _apposed(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """What "X, a maker of looms, …" says: a noun that says what such a thing is."""
    apposed = _APPOSED.match(text, name.end, end)
    if apposed is None or _GOVERNED.search(text, max(start, name.start - 10), name.start):
        return None
    what = text[apposed.end() : min(end, apposed.end() + _LONGEST_APPOSITION)]
    concept = concept_of(f" is a {what}", is_person=is_person(name))
    return concept if concept and concept.rpartition(" ")[2] in _APPOSABLE else None


def _between(
    text: str, start: int, end: int, left: NameSpan, right: NameSpan
) -> Iterator[Description]:
    gap = text[left.end : right.start]
    if _IN.fullmatch(gap) and left.entity_type == "place" and right.name.casefold() in PLACES:
        yield left, "located_in", right, 0.75
    if (
        _OWNED.fullmatch(gap)
        and right.entity_type in _CAN_BE_OWNED
        and (left.entity_type in ("person", "organisation") or right.entity_type == "work")
    ):
        yield right, "belongs_to", left, 0.7
    yield from _of_code(text, end, left, right, gap)
    if right.entity_type == "work" and is_person(left) and _OWN_WORK.fullmatch(gap):
        yield right, "authored_by", left, 0.7
    if _BY.fullmatch(gap) and left.entity_type in _CAN_BE_OWNED and right.entity_type == "person":
        yield left, "authored_by", right, 0.7
    if (
        (listed := _ROLE_LISTED.fullmatch(gap) or _ROLE_ASIDE.fullmatch(gap))
        and listed["noun"].casefold() in RELATIONAL | PERSON_NOUNS | ROLES
        and is_person(left)
        and right.entity_type not in ("person", "place")
    ):
        yield left, f"{listed['noun'].casefold()}_of", right, 0.75
    elif (
        left.entity_type == "person"
        and right.entity_type == "organisation"
        and _OF_GROUP.fullmatch(gap)
    ):
        yield left, "affiliated_with", right, 0.7
    role = _ROLE_BETWEEN.fullmatch(gap) if left.entity_type != "place" else None
    if role and role["noun"] in RELATIONAL and is_person(right) and not is_person(left):
        yield right, f"{role['noun']}_of", left, 0.75


def _of_code(
    text: str, end: int, left: NameSpan, right: NameSpan, gap: str
) -> Iterator[Description]:
    """Options of programs, parts of code: "`dpkg --purge`", "the `clean` target of `Makefile`"."""
    if (
        right.name.startswith("--")
        and left.entity_type in ("code", "product")
        and left.name[0] != "-"
        and _OPTION.fullmatch(gap)
    ):
        yield right, OPTION_OF, left, 0.75
    if left.entity_type == "code" and right.entity_type in ("code", "product"):
        if _PART_OF.fullmatch(gap) and is_whole(text, right, end, ""):
            yield left, "part_of", right, 0.7
    elif left.entity_type == "product" and right.entity_type == "code" and _OWNED.fullmatch(gap):
        yield right, "part_of", left, 0.7
