"""Words that tell names from ordinary text, and what names name: from `words/*.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.text import cached, fold
from clew.times.names import MONTH
from clew.word_lists import english_words, read_word_lists, word_list

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

_PART = re.compile(r"[^\W\d_]+")
_HYPHEN = re.compile(r"[-\u2010]")
_PREFIX = re.compile(r"^(?:re|un|non|pre|sub|over|mis)")
_BRITISH = re.compile(r"is(?=(?:ations?|ational|e|ed|es|ers?|ing|able)$)")
"""What "organisation" has where the list of words has "organization"."""
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "ness")


@cached(8)
def is_ordinary(word: str) -> bool:
    """Whether every part of a word ("re-use") is one that English writes small."""
    parts = _PART.findall(word.casefold().replace("\u2019", "'").removesuffix("'s"))
    return bool(parts) and all(map(_is_ordinary_part, parts))


@cached(8)
def is_first_name(word: str) -> bool:
    """Whether a word is a common first name, or a double one: "Jean-Pierre", "Hans-Jürgen"."""
    return all(
        part in FIRST_NAMES or fold(part) in FIRST_NAMES for part in _HYPHEN.split(word.casefold())
    )


def _is_ordinary_part(part: str) -> bool:
    if part in COMMON_WORDS or part in STARTERS or part in CONNECTORS:
        return True
    known = english_words()
    if part in known or any(base in known for base in _bases(part)):
        return True
    american = _BRITISH.sub("iz", part)
    if american != part:
        return _is_ordinary_part(american)
    bare = _PREFIX.sub("", part)
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
