"""What the analysis of words and sentences needs to know of each language, from `words.toml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from clew.word_lists import read_word_lists, word_list


@dataclass(frozen=True, slots=True)
class NounSigns:
    """What tells common nouns from names in a language that writes both with a capital."""

    articles: frozenset[str]
    """Articles and what stands in their place, in small letters."""
    adjectives: tuple[str, ...]
    """What adjectives before a noun, and some verbs, end in."""
    endings: tuple[str, ...]
    """What only common nouns end in."""


@dataclass(frozen=True, slots=True)
class LanguageWords:
    """The peculiarities of one language."""

    stemmer: str
    """Its algorithm in Snowball."""
    script: str
    """That of its letters, as `script_of` calls it."""
    stop_words: frozenset[str]
    """Function words, case-folded, with their accents."""
    fillers: frozenset[str]
    """Ordinary words that belong to no key phrase, as `stop_words` are written; may be empty."""
    abbreviations: frozenset[str]
    """In small letters, without the last full stop."""
    elision: re.Pattern[str] | None
    """What is written before a word with an apostrophe: "l'" of "l'homme"."""
    ordinals: bool
    """Whether a number with a full stop is an ordinal: "3. Oktober"."""
    nouns: NounSigns | None
    """What tells common nouns, where these have capitals, too."""


def language_words(language: str) -> LanguageWords | None:
    """The words of a language; None for English and for those that have no list."""
    return _languages().get(language)


def listed_languages() -> Iterable[str]:
    """The codes of the languages that `words.toml` lists."""
    return _languages().keys()


@cache
def _languages() -> Mapping[str, LanguageWords]:
    lists = read_word_lists("clew.languages", "words.toml")
    return {code: _read(values) for code, values in lists.items()}


def _read(values: Mapping[str, Any]) -> LanguageWords:
    elided = "|".join(values.get("elisions", "").split())
    stop_words = word_list(values["stop_words"].casefold())
    return LanguageWords(
        stemmer=values["stemmer"],
        script=script_of(next(iter(stop_words))),
        stop_words=stop_words,
        fillers=word_list(values.get("fillers", "")),
        abbreviations=word_list(values["abbreviations"]),
        elision=re.compile(rf"(?:{elided})['’]") if elided else None,
        ordinals=values.get("ordinals", False),
        nouns=_noun_signs(values) if "articles" in values else None,
    )


def _noun_signs(values: Mapping[str, Any]) -> NounSigns:
    return NounSigns(
        articles=word_list(values["articles"]),
        adjectives=tuple(values["adjective_endings"].split()),
        endings=tuple(values["noun_endings"].split()),
    )


def script_of(word: str) -> str:
    """The first word of the Unicode name of its first letter: LATIN, CYRILLIC, GREEK, ARABIC."""
    return unicodedata.name(word[0], "").partition(" ")[0]


def spoken(words: Iterable[str], english: frozenset[str], among: Iterable[str]) -> str | None:
    """Which language the function words are of: English ("en") or one of those given.

    None where there are none, or as many of several languages. `words` are case-folded.
    """
    found = function_words(list(words), english, among)
    (best, own), *others = sorted(found.items(), key=lambda item: -len(item[1]))
    return best if own and all(len(other) < len(own) for _, other in others) else None


def function_words(
    words: list[str], english: frozenset[str], among: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """Those of the words that are function words of English and of each language (default: all)."""
    lists = {"en": english}
    for code in _languages() if among is None else among:
        if known := language_words(code):
            lists[code] = known.stop_words
    return {
        code: list(filter(stop_words.__contains__, words)) for code, stop_words in lists.items()
    }
