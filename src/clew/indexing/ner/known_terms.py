"""Terms that a document makes known, found wherever it uses them, in small letters too.

A heading, bold text, an identifier, a path and a name that is no ordinary word make a term known.
It counts once the text uses it in small letters; plural, hyphens and case make no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from clew.indexing.ner.name_lexicon import COMMON_WORDS, CONNECTORS, STARTERS, is_ordinary
from clew.indexing.ner.patterns.technical_words import technical_words
from clew.indexing.ner.spans import NameSpan, SentenceSpans
from clew.indexing.structure.code import CODE
from clew.spelling import LONGEST_TERM, singular, term_words
from clew.text import entity_key, fold

MOST_TERMS = 2_000
"""Of one document; the first ones count."""
LEAST_USES = 2
"""Uses in small letters that make a heading a term."""
_TOOL = "product"
"""What a word is that no dictionary has, where it stands in monospaced type and in prose."""
_TERM_TYPES = frozenset(("name", "concept"))
_WORD = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ \t]++(?P<text>[^\n#]{3,80})", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<text>[^\s#|>*-][^\n]{2,79})\n(?:={3,}|-{3,}|~{3,})$", re.MULTILINE)
_BOLD = re.compile(r"(?<![\w*])\*\*(?P<text>[^\s*][^*\n]{2,60})\*\*(?![\w*])")
_JOINED = frozenset((" ", "-", "\u2010", "\n"))
_PARTS = frozenset("/_.@-\\=")
_SIGNS = frozenset("+#")
"""What makes a word another name."""
_LONE_TYPES = frozenset(("name", "product", "organisation", "code"))
_SHORTEST_LONE = 4
"""Letters of a term of one word, at least."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownTerms:
    """Terms by their words, for a search that reads each word of a text a bounded time."""

    names: Mapping[Words, str]
    """The term as it was made known, by its singular folded words."""
    openings: Set[Words]
    """The words that any of them begins with."""

    @classmethod
    def of(cls, names: Iterable[str]) -> KnownTerms:
        """The first of names that differ by case, plural or hyphens stays."""
        terms: dict[Words, str] = {}
        for name in names:
            words = term_words(name)
            is_plain = entity_key(name).replace(" ", "").isalnum()  # no "C++ library"
            if 0 < len(words) <= LONGEST_TERM and is_plain and len(terms) < MOST_TERMS:
                terms.setdefault(words, name)
        return cls(terms, frozenset(w[:n] for w in terms for n in range(1, len(w) + 1)))

    def find(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, name) of each term of `text[start:end]`, the longest where several begin."""
        tokens = [match.span() for match in _WORD.finditer(text, start, end)]
        at = 0
        while at < len(tokens):
            left, right = tokens[at]
            if (singular(text[left:right]),) not in self.openings:  # as with nearly all words
                at += 1
                continue
            size, name = self._longest(text, tokens[at : at + LONGEST_TERM])
            if size:
                yield tokens[at][0], tokens[at + size - 1][1], name
            at += size or 1

    def _longest(self, text: str, tokens: Sequence[tuple[int, int]]) -> tuple[int, str]:
        words: Words = ()
        found = (0, "")
        for i, (left, right) in enumerate(tokens):
            if i and text[tokens[i - 1][1] : left] not in _JOINED:
                break
            words = (*words, singular(text[left:right]))
            if words not in self.openings:
                break
            if words in self.names:
                found = (i + 1, self.names[words])
        return found


def phrases(text: str, start: int, end: int) -> Iterator[str]:
    """Words in a row of `text[start:end]` that a term may have, as `lookup_keys` gives them."""
    tokens = [match.span() for match in _WORD.finditer(text, start, end)]
    words = [singular(text[left:right]) for left, right in tokens]
    for first, word in enumerate(words):
        if word.isalpha():
            yield word
        if word in CONNECTORS:
            continue
        phrase = word
        for at in range(first, min(first + LONGEST_TERM, len(words))):
            word = words[at]
            if not word.isalpha() or (word in STARTERS and word not in CONNECTORS):
                break
            if at > first:
                if text[tokens[at - 1][1] : tokens[at][0]] not in _JOINED:
                    break
                phrase = f"{phrase} {word}"
                yield phrase


def add_known_terms(
    text: str, chunks: Sequence[str], found: Sequence[Sequence[SentenceSpans]]
) -> list[list[SentenceSpans]]:
    """The sentences of each chunk with the terms that the document `text` makes known."""
    technical = technical_words(text)
    known = KnownTerms.of([*_made_known(text, found), *sorted(technical)])
    if not known.names:
        return [list(sentences) for sentences in found]
    uses = Counter(name for a, b, name in known.find(text, 0, len(text)) if text[a:b].islower())
    stated = {term_words(s.name) for s in _sure_names(found)} | set(_stressed(text))
    kept = KnownTerms.of(
        name
        for words, name in known.names.items()
        if uses[name] >= (1 if words in stated else LEAST_USES)
    )
    if not kept.names:
        return [list(sentences) for sentences in found]
    kinds = dict.fromkeys(technical, _TOOL) | {
        span.name: _TOOL if span.entity_type == CODE and span.name.isalpha() else span.entity_type
        for span in _sure_names(found)
    }
    return [
        [_with_terms(chunk, sentence, kept, kinds) for sentence in sentences]
        for chunk, sentences in zip(chunks, found, strict=True)
    ]


def _made_known(text: str, found: Sequence[Sequence[SentenceSpans]]) -> Iterator[str]:
    for span in _sure_names(found):
        yield span.name
    for pattern in (_BOLD, _HEADING, _UNDERLINED):
        for match in pattern.finditer(text):
            name = match["text"].strip().rstrip(":.")
            if may_be_term(name):
                yield name


def _sure_names(found: Sequence[Sequence[SentenceSpans]]) -> Iterator[NameSpan]:
    """Names of several words that may be written small as well: of no person, place or title."""
    for sentences in found:
        for sentence in sentences:
            for span in sentence.spans:
                if span.initial or span.nested:
                    continue
                if _may_be_written_small(span) or _may_stand_alone(span):
                    yield span


def _may_be_written_small(span: NameSpan) -> bool:
    """Several words; of a person or a place, say, one that no dictionary has: no "rose hill"."""
    telling = span.entity_type in _TERM_TYPES or (
        span.entity_type != CODE and not all(map(is_ordinary, span.name.split()))
    )
    return telling and may_be_term(span.name)


def _stressed(text: str) -> Iterator[Words]:
    for match in _BOLD.finditer(text):
        yield term_words(match["text"])


def may_be_term(name: str) -> bool:
    """Several words that mean something together; not a sentence and not a common heading."""
    words = [fold(word) for word in _WORD.findall(name)]
    if not 2 <= len(words) <= LONGEST_TERM or not all(word.isalpha() for word in words):
        return False
    if any(word in STARTERS and word not in CONNECTORS for word in words):
        return False
    return words[0] not in CONNECTORS and not all(word in COMMON_WORDS for word in words)


def _may_stand_alone(span: NameSpan) -> bool:
    """A word that no dictionary knows and that is no surname: "PyPI", written "pypi"; `pytest`."""
    return (
        not (span.entity_type == "name" and span.name[1:].islower())
        and span.entity_type in _LONE_TYPES
        and len(span.name) >= _SHORTEST_LONE
        and span.name.isalpha()
        and not is_ordinary(span.name)
    )


def _with_terms(
    text: str, sentence: SentenceSpans, known: KnownTerms, kinds: Mapping[str, str]
) -> SentenceSpans:
    taken = bytearray(sentence.end - sentence.start)
    for span in sentence.spans:
        if not span.initial:
            left, right = span.start - sentence.start, span.end - sentence.start
            taken[left:right] = b"\1" * (right - left)
    new = [
        NameSpan(left, right, name, kinds.get(name, "concept" if _is_small(name) else "name"))
        for left, right, name in known.find(text, sentence.start, sentence.end)
        if not any(taken[left - sentence.start : right - sentence.start])
        and stands_apart(text, left, right)
    ]
    if not new:
        return sentence
    spans = sorted([*sentence.spans, *new], key=lambda s: (s.start, -s.end, s.nested))
    return sentence._replace(spans=tuple(spans))


def stands_apart(text: str, left: int, right: int) -> bool:
    """Whether the words are no part of a path, an address or a variable."""
    before, after = text[left - 1 : left] if left else "", text[right : right + 2]
    goes_on = after[:1] in _SIGNS or (after[:1] in _PARTS and after[1:].isalnum())
    return before not in _PARTS and not goes_on


def _is_small(name: str) -> bool:
    return all(map(is_ordinary, name.split()))
