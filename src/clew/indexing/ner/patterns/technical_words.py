"""Words that addresses, paths and identifiers of a document are made of: `pytest`, `dpkg`."""

from __future__ import annotations

import re
from collections import Counter

from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.patterns.code_names import ENDINGS, HOSTS
from clew.indexing.ner.patterns.run_together import is_compound
from clew.word_lists import read_word_lists, word_list

_RUN = re.compile(r"[\w./~:@+-]{4,200}+")
_JOINED = re.compile(r"\w[./_@-]+\w")
_PART = re.compile(r"[^\W\d_]+")
_HYPHENED = re.compile(r"[a-z][a-z0-9]+(?:-[a-z0-9]+){1,4}")
_KIND_SAID = re.compile(
    r"\b[Tt]he (?P<name>[a-z][a-z0-9+]{2,30}) (?:package|command|program|library|module|tool"
    r"|utility|daemon|script|driver|plugin|kernel|format|editor|browser|shell|server)\b"
)
"""What says of a word that it names a tool: "the quilt command"."""
_SMALL_WORD = re.compile(r"(?<!\w)[^\W\d_A-Z]{2,30}(?!\w)")
_DERIVED = re.compile(
    r"..(?:ing|ly|tions?|ments?|ness|[ai]bility|ities|[ai]ble|ful|less|ously|ists?"
    r"|isms?|i[sz]ed?)$"
)
_PREFIX = re.compile(r"^(?:multi|super|inter|micro|hyper|meta|anti|post|semi|auto|trans)")
_SAMPLE = 20_000
"""Characters from the beginning that tell the language."""
_LEAST_ORDINARY = 0.6
_SHORTEST = 3
_LEAST_TOKENS = 2
"""Different tokens in which a part stands that is joined by hyphens alone."""
_VOCABULARY = word_list(read_word_lists("clew.indexing.ner", "words", "names.toml")["computing"])


def technical_words(text: str) -> frozenset[str]:
    """Words in small letters, ordinary ones and the common vocabulary of computing left out.

    Words with hyphens are such where one of their parts is (`dpkg-buildpackage`). None of a text
    that is not in English, whose words are all unknown here.
    """
    joined = {run for run in map(re.Match.group, _RUN.finditer(text)) if _JOINED.search(run)}
    hyphened = {run for run in joined if _HYPHENED.fullmatch(run)}
    sure = {part for run in joined - hyphened for part in _telling(run)}
    often = Counter(part for run in hyphened for part in _telling(run))
    sure |= {name for name in _KIND_SAID.findall(text) if is_telling(name)}
    found = sure | {part for part, count in often.items() if count >= _LEAST_TOKENS}
    if not found or not _is_english(text):
        return frozenset()
    return frozenset(found) | {run for run in hyphened if not found.isdisjoint(run.split("-"))}


def _telling(run: str) -> set[str]:
    return {part for part in _PART.findall(run) if part.islower() and is_telling(part)}


def is_telling(part: str) -> bool:
    """Whether a word in small letters is in no dictionary, however it may be made up."""
    return (
        len(part) >= _SHORTEST
        and part.isascii()
        and part not in HOSTS
        and part not in ENDINGS
        and part not in _VOCABULARY
        and not part.endswith("o")  # combining forms: "anarcho-", "socio-"
        and not is_ordinary(part)
        and not _DERIVED.search(part)
        and not is_compound(part)
        and not is_ordinary(_PREFIX.sub("", part))
    )


def _is_english(text: str) -> bool:
    words = _SMALL_WORD.findall(text, 0, _SAMPLE)
    return sum(map(is_ordinary, words)) >= _LEAST_ORDINARY * len(words)
