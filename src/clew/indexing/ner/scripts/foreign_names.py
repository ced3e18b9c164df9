"""Names in languages other than English: which capitals show a name there.

Where nouns are written small, a word that only its place capitalises is no name, and function
words are none. Where all nouns have a capital, as in German, a capital says nothing by itself: a
name goes without article, adjective and common ending, has a shape of its own, or a title before
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clew.indexing.ner.entity_types import type_of_name
from clew.indexing.ner.layout import opens_line
from clew.indexing.ner.name_lexicon import COURTESY, PLACES, TITLES, is_first_name
from clew.indexing.ner.spans import NameSpan
from clew.languages import LanguageWords, language_words
from clew.text import terms
from clew.types import Document
from clew.word_lists import word_list

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TOKEN = re.compile(r"\S+")
_BLANK = frozenset((" ", "\n"))
_AND = frozenset(("et", "und", "y"))
_OF_PERSONS = frozenset(("von", "van", "zu", "zur", "vom", "der", "den"))
_COURTESY = COURTESY | word_list(
    "herrn frau señor señora señorita signor signora senhor senhora monsieur madame meneer mevrouw"
)
_COMPANY_FORMS = frozenset(("AG", "GmbH", "KG", "OHG", "SE", "KGaA", "UG"))
"""Right behind a company's name, which may follow an article: "von der Krones AG"."""
_MARKS = ".,;:!?'’"
_LONGEST_TITLE = 20
"""Characters before a name in which a title is looked for."""
LEAST_USES = 2
"""Times that a noun must stand without article for it to be a name, where nouns have capitals."""
MOST_MODIFIED = 0.25
"""Share of the places of a name at which an article or an adjective stands before it, at most."""

RARELY_SMALL = 4
"""How many times as often as small a name must be written with its capital."""
_JOINTS = frozenset("./@_:~=<\\`#$&?")
_JOINED = re.compile(r"[/@_~=>\\`$&]|[.:](?=\w)")

Token = tuple[int, str]
"""Where a word starts, and the word."""


@dataclass(frozen=True, slots=True)
class ForeignNames:
    """What one document shows of its capitals."""

    words: LanguageWords
    small: frozenset[str]
    """Its words that are written small somewhere."""
    told: frozenset[str]
    """Words whose capital shows a name within its sentences."""
    nouns: frozenset[str]
    """Capitalised words, in all their forms, with an article or an adjective before them."""

    @classmethod
    def of(cls, document: Document) -> ForeignNames | None:
        """None for English, unknown languages and those that have no word list."""
        words = language_words(document.language)
        if words is None:
            return None
        small, capitals = Counter[str](), Counter[str]()
        bare, modified = Counter[str](), Counter[str]()
        for before, word in _with_word_before(document.text):
            if word.islower():
                small[word] += 1
            elif before:
                capitals[word] += 1
                count = modified if _is_modified(before, words) else bare
                count[_stem(word, document.language)] += 1
        needed = LEAST_USES if words.nouns else 1
        told, nouns = set[str](), set[str]()
        for word in capitals:
            stem = _stem(word, document.language)
            if modified[stem] > MOST_MODIFIED * (bare[stem] + modified[stem]):
                nouns.add(word)
            elif bare[stem] >= needed:
                told.add(word)
        # A name may be written small now and then: in a command, a folder, by oversight.
        often = {word for word in small if small[word] * RARELY_SMALL > capitals[word.title()]}
        return cls(words, frozenset(often), frozenset(told), frozenset(nouns))

    def filter(self, text: str, start: int, spans: Iterable[NameSpan]) -> list[NameSpan]:
        """The names among the spans of a sentence that starts there, without words around them."""
        found: dict[tuple[int, int], NameSpan] = {}
        for span in spans:
            for part in self._parts(text, span):
                if name := self._name(text, start, span, part):
                    found.setdefault((name.start, name.end), name)
        return list(found.values())

    def _parts(self, text: str, span: NameSpan) -> Iterator[Sequence[Token]]:
        """The words of a span, apart at "and" and, where nouns have capitals, at what joins them.

        "Rest des Systems" is no name; "Otto von Bismarck" is one.
        """
        part: list[Token] = []
        for match in _TOKEN.finditer(text, span.start, span.end):
            word = match.group()
            is_joint = word in _AND or (self.words.nouns and word in self.words.stop_words)
            is_of_person = word in _OF_PERSONS and part and is_first_name(part[0][1])
            if is_joint and not is_of_person:
                yield part
                part = []
            else:
                part.append((match.start(), word))
        yield part

    def _name(
        self, text: str, start: int, span: NameSpan, tokens: Sequence[Token]
    ) -> NameSpan | None:
        opens = bool(tokens) and opens_line(text, start, tokens[0][0])
        while tokens and self._is_common(tokens[0][1], opens and len(tokens) > 1):
            if len(tokens) == 2 and self._is_company(tokens):
                break
            tokens, opens = tokens[1:], False
        while tokens and self._is_common(tokens[-1][1], opens=False):
            tokens = tokens[:-1]
        if not tokens or (len(tokens) == 1 and not self._names_alone(text, start, *tokens[0])):
            return None
        if opens and self.words.nouns and not any(self._is_known(word) for _, word in tokens):
            return None
        left, right = tokens[0][0], tokens[-1][0] + len(tokens[-1][1])
        if (left, right) == (span.start, span.end):
            return span._replace(initial=False) if len(tokens) == 1 else span
        right = left + len(text[left:right].rstrip(_MARKS))
        name = " ".join(text[left:right].split())
        return NameSpan(left, right, name, type_of_name(name), nested=span.nested)

    def _is_common(self, token: str, opens: bool) -> bool:
        """Whether a word at the edge of a name is none of it: a function word, a verb, a noun."""
        word = token.strip(_MARKS)
        lower = word.casefold()
        if not word[:1].isalpha() or word.isupper():
            return False
        if lower in self.words.stop_words | _COURTESY or (opens and lower in self.small):
            return True
        if self.words.nouns is None or is_first_name(word):
            return False
        if "-" in word:
            return not all(part in self.told for part in word.split("-"))
        is_plain = word[1:].islower()
        return is_plain and (word in self.nouns or lower.endswith(self.words.nouns.endings))

    def _is_company(self, tokens: Sequence[Token]) -> bool:
        """Whether a noun and the form of a company stand together: "von der Krones AG"."""
        word, form = (token.strip(_MARKS) for _, token in tokens)
        return word.casefold() not in self.words.stop_words and form in _COMPANY_FORMS

    def _is_known(self, token: str) -> bool:
        word = token.strip(_MARKS)
        return word in self.told or not word[1:].islower() or is_first_name(word)

    def _names_alone(self, text: str, start: int, at: int, token: str) -> bool:
        """Whether one word is a name: by its shape, a title before it, or the document."""
        word = token.strip(_MARKS)
        if not all(part[1:].islower() for part in word.split("-")):
            return True  # "iPhone", "KDE"
        before = text[max(start, at - _LONGEST_TITLE) : at].split()
        if before and before[-1].casefold().strip(".") in TITLES | _COURTESY:
            return True
        lower = word.casefold()
        if lower in self.small or lower in self.words.stop_words:
            return False
        return word in self.told or is_first_name(lower) or lower in PLACES


def _with_word_before(text: str) -> Iterator[tuple[str, str]]:
    """Each word, and the one before it in its sentence; empty where something stands between.

    What is part of an address, a path or a name of code is no word.
    """
    before, end = "", 0
    for match in _WORD.finditer(text):
        if text[match.start() - 1 : match.start()] in _JOINTS or _JOINED.match(text, match.end()):
            before, end = "", match.end()
            continue
        yield (before if text[end : match.start()] in _BLANK else ""), match.group()
        before, end = match.group(), match.end()


def _stem(word: str, language: str) -> str:
    """What forms of a word have in common; a compound with a hyphen has none."""
    return word if "-" in word else " ".join(terms(word, language)) or word


def _is_modified(before: str, words: LanguageWords) -> bool:
    """Whether the word before a noun is an article or may be an adjective."""
    if words.nouns is None:
        return False
    lower = before.casefold()
    if lower in words.nouns.articles:
        return True
    is_adjective = before.islower() and lower not in words.stop_words
    return is_adjective and lower.endswith(words.nouns.adjectives)
