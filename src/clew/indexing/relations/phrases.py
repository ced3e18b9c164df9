"""What the words between two names state, as a relation type and a confidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from clew.indexing.ner.entity_types import (
    DEMONYMS,
    ORGANISATION_NOUNS,
    PERSON_NOUNS,
    PLACE_NOUNS,
    PRODUCT_NOUNS,
    ROLES,
    WORK_NOUNS,
    NameSpan,
)
from clew.languages import read_patterns, read_word_lists, word_list
from clew.text import STOP_WORDS, cached
from clew.times import find_days, find_relative, name_of, read_period
from clew.times.names import name_around
from clew.times.ranges import years

_RE = read_patterns("clew.indexing.relations", "patterns.toml")["phrases"]

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


_KNOWN = tuple(
    _Known(
        re.compile(rf"(?:, )?{_LEAD}(?:{''.join(one['pattern'].splitlines())})"),
        Phrase(
            one["relation_type"], 0.8, one.get("inverse", False), one["relation_type"] == "causes"
        ),
    )
    for one in _LISTS["known"]
)
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
_ARTICLE = r"(?:the |an? |one of the )?"
_NOUN_OF = re.compile(
    rf"{_COPULA}(?:also |\w+ly )?{_ARTICLE}(?:[\w-]+ ){{0,2}}?(?P<noun>[a-z-]{{3,}})"
    r" (?P<prep>of|to|at|for)"
)
_APPOSED = re.compile(
    rf", {_ARTICLE}(?:[\w-]+ ){{0,2}}?(?:[a-z-]+ and )?"
    r"(?P<noun>[a-z-]{3,}) (?P<prep>of|to|at|for)"
)
RELATIONAL = word_list(_LISTS["relational_nouns"])
"""Nouns that say what somebody or something is to another: "founder", "capital", "fork"."""
OFFICES = word_list(_LISTS["offices"])
"""The same of several words, with hyphens between them."""
THINGS = word_list(_LISTS["things"])
"""Relational nouns that things are to things: "capital"."""
SEATS = word_list(_LISTS["seats"])
_SPOKEN_OFFICE = re.compile(
    rf"\b(?:{'|'.join(sorted(OFFICES | SEATS, key=len, reverse=True)).replace('-', '[ -]')})\b"
)
_NO_RELATION_NOUNS = word_list(_LISTS["no_relation_nouns"])
_NO_RELATION_VERBS = word_list(_LISTS["no_relation_verbs"])
_INTRANSITIVE = word_list(_LISTS["intransitive"])
_WITH_A_PLACE = PLACE_NOUNS | ORGANISATION_NOUNS | {"community"}
"""What "is a … in" says where it lies."""
_OPENING_VERB = re.compile(rf"{_ADVERB}(?P<verb>[a-z-]{{2,}})\b")
_AUXILIARIES = word_list("is was has had does did will may can")
_FINITE = _AUXILIARIES | word_list(_LISTS["past"]) | word_list(_LISTS["present"])
_OBJECTS = ("", *(f" {preposition}" for preposition in ("in", "at", "to", "for", "on", "with")))
KINDS = PERSON_NOUNS | WORK_NOUNS | ORGANISATION_NOUNS | PLACE_NOUNS | PRODUCT_NOUNS
"""What a thing may be called: "the film", "the river"."""
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
def read_phrase(gap: str) -> Phrase | None:
    """The relation that the words between two names state; None where they state none.

    " was directed by " → directed_by, " is the capital of " → capital_of, " causes " → causes.
    """
    gap = _RE["aside"].sub(", ", gap)
    if _RE["break"].search(gap) or _RE["negation"].search(gap):
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
    return _RE["negation"].search(words) is not None


def _phrase(gap: str) -> str:
    """The gap in small letters, without the words that belong to the name after it."""
    words = with_offices(_RE["space"].sub(" ", gap.casefold()).strip())
    while True:
        rest, _, last = words.rpartition(" ")
        place = _IN_A_PLACE.search(words)
        before = words[: place.start()] if place else words
        if last in _DROPPED_BEFORE_TAIL:
            words = rest
        elif place and before.rpartition(" ")[2] in _DETERMINERS and " in " in words:
            words = before
        else:
            return words


def with_offices(words: str) -> str:
    """The text in small letters with each office as one word: "chief executive" of several."""
    return _SPOKEN_OFFICE.sub(lambda office: office.group().replace(" ", "-"), words)


def is_office(noun: str) -> bool:
    """Whether the noun says what somebody or something is to another: "founder of X"."""
    return noun in RELATIONAL or noun in OFFICES


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
    placed = _RE["placed"].fullmatch(words)
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


# Whether a sentence states facts at all: no question, condition, hearsay, wish or code.
#
# After the classes of speculation and negation cues of Vincze et al., "The BioScope corpus"
# (2008).
# A cue silences its whole sentence: its scope is not parsed, and a fact that is missed costs less
# than one that nobody stated.


@cached(1, longest=1000)  # of a sentence each kind of relation asks it again
def states_facts(sentence: str) -> bool:
    """Whether what a sentence says is meant as a fact, as far as its words show."""
    is_asked = sentence.rstrip(" \n\"'”’)*_").endswith("?")
    return not (is_asked or _RE["code"].search(sentence) or _RE["unsure"].search(sentence))


# When a relation held, from the dates beside it: "since 2019", "from 2017 to 2022".


_LONGEST_CUE = 30
"""Characters of "from the beginning of "."""


class Validity(NamedTuple):
    """When a relation held; a side that is not said is None."""

    valid_from: datetime | None
    valid_until: datetime | None


def read_validity(
    text: str, dates: Sequence[NameSpan], head_start: int, tail: NameSpan, limit: int
) -> Validity | None:
    """When the relation held whose names begin at `head_start` and with `tail`; None if unsaid.

    `dates` are the sentence's, in order, under names that `read_period` reads. The time stands
    after the second name and before `limit`, among the words between the two ("was founded in 1994
    by"), or right before the first one, where it opens the clause. "In 2019" is a beginning; "until
    2020" holds to the end of that year, "before 2020" to its start.
    """
    after = [date for date in dates if tail.start <= date.start < limit]
    if after and (found := _read(text, after[:2])):
        start, validity = found
        if after[0].start == tail.start or _RE["after_tail"].fullmatch(text, tail.end, start):
            return validity
    between = [date for date in dates if head_start <= date.start and date.end <= tail.start]
    if between and _RE["on_to_tail"].fullmatch(text, between[-1].end, tail.start):
        found = _read(text, between[-2:] if _is_range(text, between) else between[-1:])
        return found and found[1]
    before = [date for date in dates if date.end <= head_start]
    if before and _RE["before_head"].fullmatch(text, before[-1].end, head_start):
        found = _read(text, before[-2:] if _is_range(text, before) else before[-1:])
        # "Founded in 1994, Kestrel makes pumps": the date is that of another verb.
        return (
            found[1]
            if found and _RE["opens"].search(text, max(0, found[0] - _LONGEST_CUE), found[0])
            else None
        )
    return None


def _is_range(text: str, dates: Sequence[NameSpan]) -> bool:
    """Whether the last two of the dates are one range."""
    to = _RE["to"].fullmatch(text, dates[-2].end, dates[-1].start) if len(dates) > 1 else None
    return to is not None


def _read(text: str, dates: Sequence[NameSpan]) -> tuple[int, Validity] | None:
    """Where the words for the time begin, and what the first date says, or it and the second."""
    first = dates[0]
    cue = _RE["cue"].search(text, max(0, first.start - _LONGEST_CUE), first.start)
    start = cue.start() if cue else first.start
    period = read_period(first.name)
    if period is None:
        return None
    if (last_day := _end_of_range(text, dates, cue)) is not None:
        last = read_period(last_day)
        return (start, Validity(period.start, last.end)) if last else None
    if cue is not None:
        word = cue["word"].lower()
        ends = {"until": period.end, "till": period.end, "up to": period.end}
        if until := (ends | {"before": period.start}).get(word):
            return start, Validity(None, until)
        return start, Validity(period.end if word == "after" else period.start, None)
    is_relative = text[first.start : first.end] != first.name
    return (start, Validity(period.start, None)) if is_relative else None


def _end_of_range(text: str, dates: Sequence[NameSpan], cue: re.Match[str] | None) -> str | None:
    """The last date of "1985 to 1990" and "between 1985 and 1990", not of "in 1985 and 1990"."""
    first = dates[0]
    to = _RE["to"].fullmatch(text, first.end, dates[1].start) if len(dates) > 1 else None
    if to and ("and" not in to.group() or (cue and cue["word"].lower() == "between")):
        return dates[1].name
    short = _RE["short_to"].match(text, first.end) if first.name.isdigit() else None
    return f"{first.name[:2]}{short['year']}" if short and short["year"] > first.name[2:] else None


# Years, decades and dates, as English, ISO and East Asian texts write them.
#
# Dates that a dated text names by its own date, too: "yesterday" in a message of 8 May 2023.


def find_dates(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Dates of `text[start:end]` as written, each full date followed by its year as its own name.

    "7 May 2023", "May 7, 2023", "2023-05-07", "May 2023", "the 1990s", "2008年8月8日", "1990".
    """
    # A year first (a cheap scan), then what stands around it: most text holds no digits at all.
    for verdict in years(text, start, end):
        left, right = verdict.start, verdict.end
        whole = name_around(text, left, right, start, end)
        if whole is None and not verdict.is_year:
            continue
        first, last = whole[:2] if whole else (left, right)
        if text.startswith(("the ", "The "), first):
            first += len("the ")
        yield NameSpan(first, last, text[first:last], "date")
        if whole and name_of(whole[2]) is not None:
            yield NameSpan(left, right, text[left:right], "date", nested=True)


def find_relative_dates(text: str, start: int, end: int, written: datetime) -> Iterator[NameSpan]:
    """Relative dates of `text[start:end]` under the names that the same dates have in full.

    "yesterday" is "7 May 2023" in a text `written` on 8 May 2023, "last month" is "April 2023",
    "last week" is "week of 1 May 2023"; each is followed by its year as its own name. Days are
    those of `written`, which is in UTC. What is no day, week, weekend, month, season, quarter or
    year of the calendar ("the past ten days") has no such name and is left out. "On 2 June" is
    "2 June 2023" alone: too many days are named so for a year to tie their passages.
    """
    for day in find_days(text, start, end, written):
        yield NameSpan(day.start, day.end, day.period.text, "date")
    for found in find_relative(text, written, start, end):
        name = name_of(found.period)
        # "Today's" mostly means nowadays.
        is_vague = text[found.start :][:7].casefold().replace("’", "'") == "today's"
        if name and not is_vague:
            yield NameSpan(found.start, found.end, name, "date")
            if len(name) > len("2023"):
                yield NameSpan(found.start, found.end, name[-4:], "date", nested=True)
