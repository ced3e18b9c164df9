"""What kind of thing a name names, from the name itself and from what the text says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clew.languages import english_words, read_patterns, read_word_lists, word_list
from clew.text import cached, fold
from clew.times.names import MONTH
from clew.types import AliasEvidence

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["entity_types"]

CODE = "code"
"""The type of files, identifiers, options and whatever else code is made of."""

# Words that tell names from ordinary text, and what names name: from `words/*.toml`.


_LISTS = read_word_lists("clew.indexing.ner", "words", "names.toml")

STARTERS = word_list(_LISTS["starters"]) | word_list(_LISTS["starters_of_other_languages"])
"""Words that open a sentence and belong to no name there; also never a name alone."""
COMMON_WORDS = word_list(_LISTS["common"])
"""Ordinary words that often open a sentence; a name alone only where the document shows it."""
WEEKDAYS = word_list(_LISTS["weekdays"])
CALENDAR = frozenset((*MONTH.casefold().split("|"), *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)))
CALENDAR |= word_list(_LISTS["times"])
"""Months, weekdays, their short forms and words of the clock; never names alone."""
CONNECTORS = word_list(_LISTS["connectors"])
"""Lower-case words inside names."""

SECTION_WORDS = word_list(_LISTS["section_words"])
"""Words that number the parts of a text: "Appendix A", "Figure 3"."""
LABELS = word_list(_LISTS["labels"])
"""Labels of minutes and messages: "AOB", "RESOLVED"."""
IMPERATIVES = word_list(_LISTS["imperatives"])
"""What a sentence of instruction opens with."""
OPENING_VERBS = IMPERATIVES | {
    f"{verb[:-1]}ied" if verb.endswith("fy") else f"{verb.removesuffix('e')}ed"
    for verb in IMPERATIVES
}
"""What it or the line of a change log opens with: "Add", "Added"."""

_TYPE_LISTS = read_word_lists("clew.indexing.ner", "words", "types.toml")


TITLES = word_list(_TYPE_LISTS["titles"])
"""Words before a person's name."""
COURTESY = word_list(_TYPE_LISTS["courtesy"])
"""Titles that are no part of the name, even before a single word."""
ROLES = word_list(_TYPE_LISTS["roles"])
"""Trades and ranks that precede a full name without being part of it."""
PERSON_NOUNS = word_list(_TYPE_LISTS["person_nouns"])
PLACE_NOUNS = word_list(_TYPE_LISTS["place_nouns"])
ORGANISATION_NOUNS = word_list(_TYPE_LISTS["organisation_nouns"])
WORK_NOUNS = word_list(_TYPE_LISTS["work_nouns"])
PRODUCT_NOUNS = word_list(_TYPE_LISTS["product_nouns"])
NAME_SUFFIXES = {kind: word_list(words) for kind, words in _TYPE_LISTS["name_suffixes"].items()}
"""By entity type: last words that tell what a name names."""
SURNAME_SUFFIXES = word_list(_TYPE_LISTS["surname_suffixes"])
"""Words for places that are surnames, too: "Rose Hill"."""
PLACE_PREFIXES = word_list(_TYPE_LISTS["place_prefixes"])
ORGANISATION_PREFIXES = word_list(_TYPE_LISTS["organisation_prefixes"])
EVENT_PREFIXES = word_list(_TYPE_LISTS["event_prefixes"])
PLACES = word_list(_TYPE_LISTS["places"])
"""Well-known places, which are never persons' surnames to be completed."""
FIRST_NAMES = word_list(_TYPE_LISTS["first_names"])
"""Common first names; a hint only, shapes and cues decide the rest."""
DEMONYMS = word_list(_TYPE_LISTS["demonyms"])
"""Nationalities, languages and creeds, as adjectives."""

_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "ness")


@cached(8)
def is_ordinary(word: str) -> bool:
    """Whether every part of a word ("re-use") is one that English writes small."""
    parts = _RE["part"].findall(word.casefold().replace("\u2019", "'").removesuffix("'s"))
    return bool(parts) and all(map(_is_ordinary_part, parts))


@cached(8)
def is_first_name(word: str) -> bool:
    """Whether a word is a common first name, or a double one: "Jean-Pierre", "Hans-Jürgen"."""
    return all(
        part in FIRST_NAMES or fold(part) in FIRST_NAMES
        for part in _RE["hyphen"].split(word.casefold())
    )


def _is_ordinary_part(part: str) -> bool:
    if part in COMMON_WORDS or part in STARTERS or part in CONNECTORS:
        return True
    known = english_words()
    if part in known or any(base in known for base in _bases(part)):
        return True
    american = _RE["british"].sub("iz", part)
    if american != part:
        return _is_ordinary_part(american)
    bare = _RE["prefix"].sub("", part)
    return bare != part and len(bare) > 3 and _is_ordinary_part(bare)


def _bases(word: str) -> Iterator[str]:
    """What a word may be without a regular ending: "planned" → "plan", "tried" → "try"."""
    for ending in _ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) > 2:
            yield base
            yield f"{base}e"
            if base[-1] == base[-2]:
                yield base[:-1]
            if base[-1] == "i":
                yield f"{base[:-1]}y"


_NOUNS = {
    **dict.fromkeys(PRODUCT_NOUNS, "product"),
    **dict.fromkeys(WORK_NOUNS, "work"),
    **dict.fromkeys(ORGANISATION_NOUNS, "organisation"),
    **dict.fromkeys(PLACE_NOUNS, "place"),
    **dict.fromkeys(PERSON_NOUNS, "person"),
}
AFTER_NAME = r"(?:[^\w(]{0,9}+\([^()]*+\),? ?|\W{0,9}+)"
"""What may stand between a name and the verb: punctuation, a parenthesis."""


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
    return (
        "person" if is_person_shaped(name) and (is_first_name(first) or first in TITLES) else "name"
    )


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
    if _RE["product_spelt"].match(tokens[-1]):
        return False
    return all(t.replace(".", "").replace("-", "").replace("'", "").isalpha() for t in tokens)


def type_of_description(description: str) -> str | None:
    """The kind of an indefinite description, by the last known noun of its first phrase."""
    phrase = _RE["end_of_phrase"].split(description.casefold(), maxsplit=1)[0]
    for word in reversed(phrase.replace("-", " ").split()):
        kind = _NOUNS.get(word) or _NOUNS.get(word.removesuffix("s"))
        if kind:
            return kind
    return None


def split_parenthesis(title: str) -> tuple[str, str | None]:
    """("The House on the Dune", "1952 film") of "The House on the Dune (1952 film)"."""
    match = _RE["parenthesis"].search(title)
    if match is None or match.start() == 0:
        return title.strip(), None
    return title[: match.start()].strip(), match["inside"]


# A name as found at one place of a text, before the document decides about it.


class NameSpan(NamedTuple):
    """A candidate name and where it stands."""

    start: int
    end: int
    name: str
    entity_type: str = "name"
    initial: bool = False
    """Where every word is capitalised, or a label: the document must confirm that it is a name."""
    nested: bool = False
    """Part of a longer name ("Chicago" of "University of Chicago")."""


class SentenceSpans(NamedTuple):
    """What one sentence holds."""

    start: int
    end: int
    spans: tuple[NameSpan, ...]
    """In order of the text, a longer one before what is nested in it."""
    aliases: tuple[AliasEvidence, ...] = ()
