"""Names in scripts without capitals: by repetition, by what ends or precedes names, by shape.

No dictionaries: what a document says at least twice, what carries a telling ending (市, 大学,
씨, …) and what follows a telling word (مدينة, …) is taken for a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clew.indexing.ner.cased_ner import opens_line
from clew.indexing.ner.entity_types import (
    COURTESY,
    PLACES,
    TITLES,
    NameSpan,
    is_first_name,
    type_of_name,
)
from clew.languages import LanguageWords, language_words, read_patterns, read_word_lists, word_list
from clew.text import terms
from clew.types import Document

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["other_scripts"]


_LISTS = read_word_lists("clew.indexing.ner", "words", "caseless.toml")
_COMMON = word_list(_LISTS["common"])
_LEADS = {word: kind for kind, words in _LISTS["leads"].items() for word in words.split()}
"""Entity type of the name that a word precedes ("city of", "doctor")."""
_KEEPS_LEAD = word_list(_LISTS["keeps_lead"])
_TAILS = {word: kind for kind, words in _LISTS["tails"].items() for word in words.split()}
_KEEPS_TAIL = word_list(_LISTS["keeps_tail"])


_KANA_AFTER_NAME = frozenset("はがのでにをとへもやさ、")
_CJK = read_word_lists("clew.indexing.ner", "words", "cjk.toml")
_BREAKS = re.compile(
    f"[{''.join(_CJK['single_breaks'].split())}]|{'|'.join(sorted(_CJK['word_breaks'].split()))}"
)
_SUFFIX = re.compile(
    "|".join(
        f"(?P<{kind}>[\u3400-\u9fff々]{{1,7}}(?:{'|'.join(sorted(endings.split()))}))$"
        for kind, endings in _CJK["suffixes"].items()
    )
)
_LOCATIVES = frozenset("在于於到至")
_SURNAMES = frozenset("".join(_CJK["surnames"].split()))
_COMMON_HAN = word_list(_CJK["common_han"])
_COMMON_KOREAN = word_list(_CJK["common_korean"])


def has_caseless(text: str) -> bool:
    """Whether any letter of the text belongs to a script without capitals."""
    return not text.isascii() and _RE["caseless"].search(text) is not None


@dataclass(frozen=True, slots=True)
class CaselessNames:
    """What one document says often enough to be taken for a name."""

    han: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> CaselessNames:
        """Count the document's Han sequences and its words once."""
        return cls(han=_repeated_han(text), words=_repeated_words(text))

    def find(self, text: str, start: int, end: int) -> list[NameSpan]:
        """Names of `text[start:end]` that lie within no other, in order."""
        spans = {
            *find_east_asian(text, start, end, self.han),
            *_find_words(text, start, end, self.words),
        }
        kept: list[NameSpan] = []
        for span in sorted(spans, key=lambda s: (s.start, -s.end, s.entity_type == "name")):
            if span.nested or not kept or span.end > kept[-1].end:
                kept.append(span)
        return kept


def _repeated_words(text: str) -> frozenset[str]:
    """Stems of words, and of pairs of neighbours, that the text says at least twice."""
    stems: Counter[str] = Counter()
    end, before = 0, ""
    for match in _RE["word"].finditer(text):
        stem = _stem(match.group())
        if not _may_name(match.group()):
            stem = ""
        elif before and text[end : match.start()] == " ":
            stems.update((stem, f"{before} {stem}"))
        else:
            stems[stem] += 1
        end, before = match.end(), stem
    return frozenset(stem for stem, n in stems.items() if n > 1)


def _find_words(text: str, start: int, end: int, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """Repeated words and pairs, what stands beside a telling word, and Korean names by endings."""
    before: re.Match[str] | None = None
    for match in _RE["word"].finditer(text, start, end):
        word, stem = match.group(), _stem(match.group())
        if _may_name(word):
            ending = _RE["hangul_suffix"].search(stem) if len(stem) > 2 else None
            if ending or stem in repeated:
                name = stem if word.startswith(stem) else word
                kind = (ending and ending.lastgroup) or "name"
                yield NameSpan(match.start(), match.start() + len(name), name, kind)
        if before and text[before.end() : match.start()] == " ":
            first = before.group()
            left, right, kind = before.start(), match.end(), ""
            if first in _LEADS and _may_name(word):
                left, kind = (left if first in _KEEPS_LEAD else match.start()), _LEADS[first]
            elif (tail := _RE["josa"].sub("", word)) in _TAILS and _may_name(first):
                right, kind = (right if word in _KEEPS_TAIL else before.end()), _TAILS[tail]
            elif f"{_stem(first)} {stem}" in repeated:
                kind = "name"
            if kind:
                yield NameSpan(left, right, text[left:right], kind)
        before = match


def _stem(word: str) -> str:
    """What forms of one word share: without a Korean particle, an Arabic article or conjunction."""
    pattern = _RE["josa"] if "\uac00" <= word[0] <= "\ud7a3" else _RE["arabic_prefix"]
    bare = pattern.sub("", word)
    return bare if len(bare) > (1 if pattern is _RE["josa"] else 2) else word


def _may_name(word: str) -> bool:
    stem = _stem(word)
    shortest = 2 if word[0] >= "\u0900" else 3
    return len(stem) >= shortest and not {word, stem} & (_COMMON | _COMMON_KOREAN)


def _repeated_han(text: str) -> frozenset[str]:
    """Sequences of two to six Han characters that occur twice, not only within a longer one."""
    counts: Counter[str] = Counter()
    for run in _RE["han"].findall(text):
        for piece in _BREAKS.split(run):
            counts.update(gram for _, gram in _grams(piece))
    often = {gram: n for gram, n in counts.items() if n > 1 and gram not in _COMMON_HAN}
    inner = {
        part
        for gram, n in often.items()
        if len(gram) > 2
        for part in (gram[1:], gram[:-1])
        if often.get(part) == n
    }
    return frozenset(often.keys() - inner)


def _grams(run: str) -> Iterator[tuple[int, str]]:
    """Where each sequence of two to six characters begins, and the sequence."""
    for size in range(min(6, len(run)), 1, -1):
        for at in range(len(run) - size + 1):
            yield at, run[at : at + size]


def find_east_asian(
    text: str, start: int, end: int, repeated: frozenset[str]
) -> Iterator[NameSpan]:
    """Katakana words and Han names."""
    for match in _RE["katakana"].finditer(text, start, end):
        if len(match.group()) > 1:
            yield NameSpan(match.start(), match.end(), match.group())
    japanese = _RE["hiragana"].search(text, start, end) is not None
    for match in _RE["han"].finditer(text, start, end):
        if japanese:
            yield from _kanji(text, match.start(), match.group(), repeated)
            continue
        # A run of Chinese is a sentence; function words cut it into pieces.
        edges = [edge for cut in _BREAKS.finditer(match.group()) for edge in cut.span()]
        ends = zip([0, *edges[1::2]], [*edges[::2], len(match.group())], strict=True)
        for first, last in ends:
            yield from _piece(text, match.start() + first, match.start() + last, repeated)


def _kanji(text: str, start: int, run: str, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """A run of kanji stands between kana, so that it is a word or a few."""
    end = start + len(run)
    honoured = _RE["honorific"].match(text, end) is not None
    if len(run) > 8:
        yield from _repeated_within(start, run, repeated)
    elif len(run) > 1 and run not in _COMMON_HAN:
        followed = end >= len(text) or text[end] in _KANA_AFTER_NAME or not text[end].isalnum()
        if honoured or run in repeated or (followed and not _RE["trade"].search(run)):
            yield NameSpan(start, end, run, "person" if honoured else _kind_by_suffix(run))


def _piece(text: str, start: int, end: int, repeated: frozenset[str]) -> Iterator[NameSpan]:
    """Names in Chinese words that no function word parts."""
    piece = text[start:end]
    if len(piece) < 2 or piece in _COMMON_HAN:
        return
    yield from _repeated_within(start, piece, repeated)
    if known := _RE["known_places"].match(piece):
        yield NameSpan(start, start + known.end(), known.group(), "place")
    parts = list(_RE["districts"].finditer(piece))
    for part in parts if len(parts) > 1 else ():  # "浙江省绍兴市"
        left, right = start + part.start(), start + part.end()
        yield NameSpan(left, right, part.group(), "place", nested=True)
    kind = _kind_by_suffix(piece)
    if kind != "name" or piece in repeated:
        yield NameSpan(start, end, piece, kind)
    elif len(piece) <= 3 and piece[0] in _SURNAMES:
        yield NameSpan(start, end, piece, "person")
    elif len(piece) <= 4 and text[start - 1 : start] in _LOCATIVES:
        yield NameSpan(start, end, piece, "place")


def _repeated_within(start: int, run: str, repeated: frozenset[str]) -> Iterator[NameSpan]:
    for at, gram in _grams(run):
        if gram in repeated:
            left = start + at
            yield NameSpan(left, left + len(gram), gram, _kind_by_suffix(gram))


def _kind_by_suffix(name: str) -> str:
    match = _SUFFIX.match(name)
    return match.lastgroup or "name" if match else "name"


# Names in languages other than English: which capitals show a name there.
#
# Where nouns are written small, a word that only its place capitalises is no name, and function
# words are none. Where all nouns have a capital, as in German, a capital says nothing by itself:
# a name goes
# without article, adjective and common ending, has a shape of its own, or a title before it.


_BLANK = frozenset((" ", "\n"))
_AND = frozenset(("et", "und", "y"))
_OF_PERSONS = frozenset(("von", "van", "zu", "zur", "vom", "der", "den"))
_COURTESY = COURTESY | word_list(
    "herrn frau señor señora señorita signor signora senhor senhora monsieur madame meneer mevrouw"
)
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
                count[_stem_foreign_names(word, document.language)] += 1
        needed = LEAST_USES if words.nouns else 1
        told, nouns = set[str](), set[str]()
        for word in capitals:
            stem = _stem_foreign_names(word, document.language)
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
        for match in _RE["token"].finditer(text, span.start, span.end):
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
    for match in _RE["word_foreign_names"].finditer(text):
        if text[match.start() - 1 : match.start()] in _JOINTS or _RE["joined"].match(
            text, match.end()
        ):
            before, end = "", match.end()
            continue
        yield (before if text[end : match.start()] in _BLANK else ""), match.group()
        before, end = match.group(), match.end()


def _stem_foreign_names(word: str, language: str) -> str:
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
