"""Languages: what is peculiar to each, and which one a text is written in.

A language goes by its ISO 639 code of two letters ("de"); empty means unknown. Words and sentences
of a language that `words.toml` does not list are read as English is.
"""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Word lists: TOML files of the package, each beside the module that reads it.


@cache
def read_word_lists(package: str, *path: str) -> dict[str, Any]:
    """The content of a TOML file, read once and shared: nobody may change it.

    A list of words is a string, see `word_list`.
    """
    return tomllib.loads(files(package).joinpath(*path).read_text("utf-8"))


@cache
def read_patterns(package: str, *path: str) -> dict[str, dict[str, re.Pattern[str]]]:
    """The regular expressions of a TOML file by table and name; a long one is a list of pieces."""
    return {
        table: {name: re.compile("".join(pieces)) for name, pieces in patterns.items()}
        for table, patterns in read_word_lists(package, *path).items()
    }


def word_list(text: str) -> frozenset[str]:
    """The words of a string, with any white space between them."""
    return frozenset(text.split())


@cache
def english_words() -> frozenset[str]:
    """English words that are written small, most of them without regular endings."""
    return word_list(read_word_lists("clew", "english.toml")["words"])


# Which language a text is written in, by its function words, else by a model of letter sequences.
#
# Function words tell nearly all prose at once; the model (py3langid: 4.6 MB, carried in its wheel)
# is loaded by the first text that they do not tell.


_SAMPLE = 1500
"""Characters that are read at the beginning of a text, and as many from its middle."""
_LEAST_LETTERS = 60
"""Letters that tell a language; where words have no spaces between them a third of it."""
_LEAST_FOUND = 3
"""Function words that tell a language, at least."""
_SHARE = 0.1
"""Share of the words that are function words of the language of a text, at least."""
_LEAD = 2.0
"""Standard deviations by which they are more than those of any other language."""
_SURE = 0.8
"""Probability, 0 to 1, by which the model is believed."""
_WORD = re.compile(r"[^\W\d_]+")
_DENSE = re.compile("[\u0e00-\U0010ffff]")
"""Scripts of which a few letters say much."""
_LONGEST_WORD = 40
"""ASCII characters without a blank that may be a word."""
_CODE = re.compile(r"([a-z]{2,3})(?:[-_].*)?", re.DOTALL)
_SAME = {"nb": "no", "nn": "no"} | dict(
    zip(
        "deu ger eng fra fre spa ita por nld dut swe dan nor rus pol cat ron rum".split(),
        "de de en fr fr es it pt nl nl sv da no ru pl ca ro ro".split(),
        strict=True,
    )
)
"""Codes of three letters, and the two ways to write Norwegian."""


def language_code(stated: object) -> str:
    """The code of a language as metadata state it: "de" of "de-DE"; empty for what is no code."""
    match = _CODE.fullmatch(stated.strip().lower()) if isinstance(stated, str) else None
    code = _SAME.get(match[1], match[1]) if match else ""
    return code if len(code) == 2 else ""


def recognise(text: str, english: frozenset[str]) -> str:
    """The code of the language of a text; empty where it is too short or nothing tells it.

    `english` are the function words of English. The same text always gives the same.
    """
    # The beginning and the middle of a text, without addresses, paths and codes.
    middle = max(_SAMPLE, len(text) // 2)
    parts = f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}"
    tokens = (
        token
        for token in parts.split()
        if not ("@" in token or "://" in token or "\\" in token or token.count("/") > 1)
        and (len(token) < _LONGEST_WORD or not token.isascii())
    )
    sample = unicodedata.normalize("NFC", " ".join(tokens))
    words = _WORD.findall(sample.casefold())
    letters = sum(map(len, words))
    dense = 0 if sample.isascii() else len(_DENSE.findall(sample))
    if letters < _LEAST_LETTERS and dense < _LEAST_LETTERS // 3:
        return ""
    is_spaced = dense < letters // 3
    if is_spaced and (told := _by_function_words(words, english)):
        return told
    code, probability = _identifier().classify(sample)
    return language_code(code) if probability >= _SURE and code != _NO_LANGUAGE else ""


def _by_function_words(words: list[str], english: frozenset[str]) -> str:
    """The language that has far more of them than any other, or all that any other has."""
    found = function_words(words, english)
    (best, own), (_, second) = sorted(found.items(), key=lambda item: -len(item[1]))[:2]
    if len(own) < max(_LEAST_FOUND, _SHARE * len(words)):
        return ""
    if len(own) - len(second) >= _LEAD * math.sqrt(len(own)):
        return best
    explained = len(own) > len(second) and all(set(own).issuperset(o) for o in found.values())
    return best if explained else ""


_NO_LANGUAGE = "zxx"


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([c for c in found.labels if len(c) == 2 or c == _NO_LANGUAGE])
    return found


# What the analysis of words and sentences needs to know of each language, from `words.toml`.


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


@lru_cache(1000)  # asked for each text and each word
def language_words(language: str) -> LanguageWords | None:
    """The words of a language; None for English and for those that have no list."""
    return _languages().get(language)


def listed_languages() -> Iterable[str]:
    """The codes of the languages that `words.toml` lists."""
    return _languages().keys()


@cache
def _languages() -> Mapping[str, LanguageWords]:
    found: dict[str, LanguageWords] = {}
    for code, values in read_word_lists("clew.languages", "words.toml").items():
        elided = "|".join(values.get("elisions", "").split())
        stop_words = word_list(values["stop_words"].casefold())
        found[code] = LanguageWords(
            stemmer=values["stemmer"],
            script=script_of(next(iter(stop_words))),
            stop_words=stop_words,
            fillers=word_list(values.get("fillers", "")),
            abbreviations=word_list(values["abbreviations"]),
            elision=re.compile(rf"(?:{elided})['’]") if elided else None,
            ordinals=values.get("ordinals", False),
            nouns=NounSigns(
                articles=word_list(values["articles"]),
                adjectives=tuple(values["adjective_endings"].split()),
                endings=tuple(values["noun_endings"].split()),
            )
            if "articles" in values
            else None,
        )
    return found


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
