"""Words that tell names from ordinary text, from `words/names.toml`."""

from __future__ import annotations

from clew.times.names import MONTH
from clew.word_lists import read_word_lists, word_list

_LISTS = read_word_lists("clew.indexing.ner", "words", "names.toml")

STARTERS = word_list(_LISTS["starters"]) | word_list(_LISTS["starters_of_other_languages"])
"""Words that open a sentence and belong to no name there; also never a name alone."""
COMMON_WORDS = word_list(_LISTS["common"])
"""Ordinary words that often open a sentence; a name alone only where the document shows it."""
WEEKDAYS = word_list(_LISTS["weekdays"])
CALENDAR = frozenset((*MONTH.casefold().split("|"), *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)))
"""Months and weekdays; never names alone."""
CONNECTORS = word_list(_LISTS["connectors"])
"""Lower-case words inside names."""
