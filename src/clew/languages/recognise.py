"""Which language a text is written in, by its function words, else by a model of letter sequences.

Function words tell nearly all prose at once; the model (py3langid: 4.6 MB, carried in its wheel) is
loaded by the first text that they do not tell.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from clew.languages.words import function_words

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

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
    sample = _sample(text)
    words = _WORD.findall(sample.casefold())
    letters = sum(map(len, words))
    dense = 0 if sample.isascii() else len(_DENSE.findall(sample))
    if letters < _LEAST_LETTERS and dense < _LEAST_LETTERS // 3:
        return ""
    is_spaced = dense < letters // 3
    return (is_spaced and _by_function_words(words, english)) or _by_model(sample)


def _sample(text: str) -> str:
    """The beginning and the middle of a text, without addresses, paths and codes."""
    middle = max(_SAMPLE, len(text) // 2)
    parts = f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}"
    return unicodedata.normalize("NFC", " ".join(filter(_may_be_prose, parts.split())))


def _may_be_prose(token: str) -> bool:
    is_address = "@" in token or "://" in token or "\\" in token or token.count("/") > 1
    return not is_address and (len(token) < _LONGEST_WORD or not token.isascii())


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


def _by_model(sample: str) -> str:
    code, probability = _identifier().classify(sample)
    return language_code(code) if probability >= _SURE and code != _NO_LANGUAGE else ""


_NO_LANGUAGE = "zxx"


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([c for c in found.labels if len(c) == 2 or c == _NO_LANGUAGE])
    return found
