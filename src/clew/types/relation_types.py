"""Relation types that mean the same, as `relation_types.toml` declares them.

What is stated keeps the type that it was stated with; types of one meaning supersede each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clew.word_lists import read_word_lists

_DECLARED = read_word_lists("clew.types", "relation_types.toml")
_SAME = {name: meant for meant, said in _DECLARED.items() for name in said["same"].split()}


def _words(meant: str, name: str) -> str:
    return str(_DECLARED[meant][name]).replace("\n", "")


_A_NAME = r"(?: [a-zäöüß]+){0,3} (?=[^\W\d_a-zäöü])"
_IS = r"(?:^|[.;,] |\b(?i:is|am|was|been|got|became|now|ist|wurde|est) )"
_NAMED = {one: re.compile(rf"\b(?i:{_words(one, 'named')}){_A_NAME}") for one in _DECLARED}
_WITHOUT = {one: re.compile(rf"{_IS}(?i:{_words(one, 'without')})\b") for one in _DECLARED}


def meaning_of(relation_type: str) -> str:
    """The type that stands for all of its meaning; the type itself where none is declared."""
    return _SAME.get(relation_type, relation_type)


def with_synonyms(relation_types: Iterable[str]) -> set[str]:
    """The types and all others that mean the same as one of them."""
    meant = {meaning_of(one) for one in relation_types}
    return meant | {name for name, of in _SAME.items() if of in meant}


def named_in(text: str) -> set[str]:
    """The declared meanings that a text speaks of with a name."""
    return {meant for meant, words in _NAMED.items() if words.search(text)}


def without_any(text: str) -> set[str]:
    """The declared meanings of which a text says that there is none."""
    return {meant for meant, words in _WITHOUT.items() if words.search(text)}
