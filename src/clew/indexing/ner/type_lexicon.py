"""Words that tell what kind of thing a name names, from `words/types.toml`."""

from __future__ import annotations

from clew.word_lists import read_word_lists, word_list

_LISTS = read_word_lists("clew.indexing.ner", "words", "types.toml")

TITLES = word_list(_LISTS["titles"])
"""Words before a person's name."""
COURTESY = word_list(_LISTS["courtesy"])
"""Titles that are no part of the name, even before a single word."""
ROLES = word_list(_LISTS["roles"])
"""Trades and ranks that precede a full name without being part of it."""
PERSON_NOUNS = word_list(_LISTS["person_nouns"])
PLACE_NOUNS = word_list(_LISTS["place_nouns"])
ORGANISATION_NOUNS = word_list(_LISTS["organisation_nouns"])
WORK_NOUNS = word_list(_LISTS["work_nouns"])
PRODUCT_NOUNS = word_list(_LISTS["product_nouns"])
NAME_SUFFIXES = {kind: word_list(words) for kind, words in _LISTS["name_suffixes"].items()}
"""By entity type: last words that tell what a name names."""
SURNAME_SUFFIXES = word_list(_LISTS["surname_suffixes"])
"""Words for places that are surnames, too: "Rose Hill"."""
PLACE_PREFIXES = word_list(_LISTS["place_prefixes"])
ORGANISATION_PREFIXES = word_list(_LISTS["organisation_prefixes"])
PLACES = word_list(_LISTS["places"])
"""Well-known places, which are never persons' surnames to be completed."""
FIRST_NAMES = word_list(_LISTS["first_names"])
"""Common first names; a hint only, shapes and cues decide the rest."""
DEMONYMS = word_list(_LISTS["demonyms"])
"""Nationalities, languages and creeds, as adjectives."""
