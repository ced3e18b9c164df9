"""Names in scripts without capitals: by repetition, by what ends or precedes names, by shape.

No dictionaries: what a document says at least twice, what carries a telling ending (市, 大学,
씨, …) and what follows a telling word (مدينة, …) is taken for a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.indexing.ner.scripts.cjk_ner import (
    COMMON_KOREAN,
    find_east_asian,
    repeated_han,
    without_particle,
)
from clew.indexing.ner.spans import NameSpan
from clew.word_lists import read_word_lists, word_list

_CASELESS = re.compile(
    "[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u10d0-\u10ff\u1200-\u137f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]"
)


_WORD = re.compile(
    "[\u0590-\u05ff]+(?:[\"״'׳-][\u0590-\u05ff]+)*|[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f]+"
    "|[\u0900-\u0963\u0970-\u0dff]+|[\u10d0-\u10ff]+|[\u1200-\u137f]+|[\uac00-\ud7a3]+"
)
_ARABIC_PREFIX = re.compile("^(?:وال|بال|فال|كال|لل|ال|و(?=ال))")

_LISTS = read_word_lists("clew.indexing.ner", "words", "caseless.toml")
_COMMON = word_list(_LISTS["common"])
_LEADS = {word: kind for kind, words in _LISTS["leads"].items() for word in words.split()}
"""Entity type of the name that a word precedes ("city of", "doctor")."""
_KEEPS_LEAD = word_list(_LISTS["keeps_lead"])
_TAILS = {word: kind for kind, words in _LISTS["tails"].items() for word in words.split()}
_KEEPS_TAIL = word_list(_LISTS["keeps_tail"])


def has_caseless(text: str) -> bool:
    """Whether any letter of the text belongs to a script without capitals."""
    return not text.isascii() and _CASELESS.search(text) is not None


@dataclass(frozen=True, slots=True)
class CaselessNames:
    """What one document says often enough to be taken for a name."""

    han: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> CaselessNames:
        """Count the document's Han sequences and its words once."""
        return cls(han=repeated_han(text), words=repeated_words(text))

    def find(self, text: str, start: int, end: int) -> Iterator[NameSpan]:
        """Names of `text[start:end]`, longer ones first where they overlap."""
        spans = [
            *find_east_asian(text, start, end, self.han),
            *find_words(text, start, end, self.words),
        ]
        yield from longest(spans)


def longest(spans: Iterable[NameSpan]) -> list[NameSpan]:
    """Spans that lie within no other, in order of the text."""
    kept: list[NameSpan] = []
    for span in sorted(set(spans), key=lambda s: (s.start, -s.end, s.entity_type == "name")):
        if span.nested or not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept


def repeated_words(text: str) -> frozenset[str]:
    """Stems of words, and of pairs of neighbours, that the text says at least twice."""
    stems: Counter[str] = Counter()
    previous: tuple[int, str] | None = None
    for match in _WORD.finditer(text):
        stem = _stem(match.group())
        if not _may_name(match.group(), stem):
            previous = None
            continue
        stems[stem] += 1
        if previous and text[previous[0] : match.start()] == " ":
            stems[f"{previous[1]} {stem}"] += 1
        previous = (match.end(), stem)
    return frozenset(stem for stem, n in stems.items() if n > 1)


def find_words(text: str, start: int, end: int, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """Repeated words and pairs, and what stands beside a telling word."""
    previous: re.Match[str] | None = None
    for match in _WORD.finditer(text, start, end):
        word = match.group()
        stem = _stem(word)
        if _may_name(word, stem):
            if stem in repeated:
                yield _span(match, stem)
            if previous is not None and text[previous.end() : match.start()] == " ":
                yield from _beside(text, previous, match, repeated)
        elif previous is not None and word in _TAILS:
            yield from _before_tail(text, previous, match)
        previous = match


def _beside(
    text: str, left: re.Match[str], right: re.Match[str], repeated: frozenset[str]
) -> Iterator[NameSpan]:
    first, second = left.group(), right.group()
    lead = _LEADS.get(first)
    if lead:
        start = left.start() if first in _KEEPS_LEAD else right.start()
        yield NameSpan(start, right.end(), text[start : right.end()], lead)
    elif second in _TAILS and _may_name(first, _stem(first)):
        yield from _before_tail(text, left, right)
    if f"{_stem(first)} {_stem(second)}" in repeated:
        yield NameSpan(left.start(), right.end(), text[left.start() : right.end()])


def _before_tail(text: str, left: re.Match[str], tail: re.Match[str]) -> Iterator[NameSpan]:
    if not _may_name(left.group(), _stem(left.group())) or text[left.end() : tail.start()] != " ":
        return
    end = tail.end() if tail.group() in _KEEPS_TAIL else left.end()
    yield NameSpan(left.start(), end, text[left.start() : end], _TAILS[tail.group()])


def _span(match: re.Match[str], stem: str) -> NameSpan:
    """A repeated word; a Korean one without its particle."""
    word = match.group()
    name = stem if word.startswith(stem) else word
    return NameSpan(match.start(), match.start() + len(name), name)


def _stem(word: str) -> str:
    """What forms of one word share: without a Korean particle, an Arabic article or conjunction."""
    if "\uac00" <= word[0] <= "\ud7a3":
        return without_particle(word)
    if "\u0600" <= word[0] <= "\u06ff":
        bare = _ARABIC_PREFIX.sub("", word)
        return bare if len(bare) > 2 else word
    return word


def _may_name(word: str, stem: str) -> bool:
    shortest = 2 if word[0] >= "\u0900" else 3
    return (
        len(stem) >= shortest
        and word not in _COMMON
        and stem not in COMMON_KOREAN
        and word not in COMMON_KOREAN
    )
