"""Key phrases of passages: word sequences that come back, found without a language model.

Candidates are the sequences of 2 to 4 words without a stop word or a mark between them (RAKE, Rose
et al. 2010). Those of several passages are kept, longer ones grown from shorter ones (Apriori,
Agrawal & Srikant 1994). What stands mostly inside longer phrases is worth less: C-value (Frantzi,
Ananiadou & Mima 2000).
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Adjacency, distinct
from clew.languages import language_words
from clew.text import STOP_WORDS, fold, terms
from clew.word_lists import read_word_lists, word_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints

    Marks = NDArray[np.bool_]

# --- how texts use a word ----------------------------------------------------------------

# Whether texts use a word as a noun or as a verb, by the words beside it; no lists of either.
#
# "the list", "of lists" speak for a noun; "to install", "installs the" for a verb (the classes
# of a word by its neighbours: Schütze 1995). English texts alone are read so.

_LISTS = read_word_lists("clew.graph", "phrases.toml")
_BEFORE_NOUNS = word_list(_LISTS["determiners"]) | word_list(_LISTS["prepositions"])
_BEFORE_VERBS = word_list(_LISTS["before_verbs"])
_AFTER_VERBS = word_list(_LISTS["determiners"]) | word_list(_LISTS["objects"])
_LEAST = 2
"""Places of a verb that are needed to call a word one."""
_LEAST_SHARE = 0.05
"""Share of a word's places, likewise: what stands beside most others tells nothing."""
_FIRST = 2
"""How many times as often as a noun a word is a verb that opens no phrase; its own places may say
otherwise ("the access control")."""
_LAST = 8
"""Likewise, that ends none: nouns seldom follow an article where they have adjectives."""


@dataclass(frozen=True, slots=True)
class WordUse:
    """Marks by place of all texts in a row, and counts by word."""

    numbers: Ints
    """(N,) the word at each place, however it is written."""
    after_noun_sign: Marks
    """(N,) whether an article or a preposition stands before the place."""
    after_verb_sign: Marks
    """(N,) whether what stands before it makes it a verb: "to", "can", "they"."""
    before_object: Marks
    """(N,) whether an article or a pronoun follows it."""
    nouns: Ints
    """(W,) places by word where it is a noun, or opens what a noun ends."""
    verbs: Ints
    """(W,) places where it is a verb."""
    counts: Ints
    """(W,) all places."""
    is_third_person: Marks
    """(W,) whether a verb would be one of the third person: "allows"."""

    @classmethod
    def of(cls, words: Ints, texts: Sequence[str], is_english: Marks) -> WordUse:
        """Of the words of all texts in a row; `texts` has what each number stands for.

        Only places with `is_english` are counted.
        """
        known: dict[str, int] = {}
        folded = np.array([known.setdefault(fold(text), len(known)) for text in texts] + [-1])
        folded[-1] = len(known)
        numbers = folded[words]
        signs = [
            np.array([*(word in listed for word in known), False])
            for listed in (_BEFORE_NOUNS, _BEFORE_VERBS, _AFTER_VERBS)
        ]
        bounded = np.concatenate([[len(known)], numbers, [len(known)]])
        noun, verb = signs[0][bounded[:-2]], signs[1][bounded[:-2]]
        followed = signs[2][bounded[2:]]

        def count(marks: Marks) -> Ints:
            return np.bincount(numbers[marks & is_english], minlength=len(known) + 1)

        return cls(
            numbers=numbers,
            after_noun_sign=noun,
            after_verb_sign=verb,
            before_object=followed,
            nouns=count(noun),
            verbs=count(verb) + count(followed),
            counts=count(np.ones(len(numbers), dtype=bool)),
            is_third_person=np.array([*(w[-1:] == "s" != w[-2:-1] for w in known), False]),
        )

    def is_nominal(self, phrase: Ints, starts: Ints, lengths: Ints) -> Marks:
        """(P,) whether each phrase names something; the i-th occurrence of `phrase` is at `starts`.

        `lengths` gives the words of each phrase.
        """
        size = len(lengths)
        first = np.zeros(size, dtype=np.int64)
        first[phrase[::-1]] = starts[::-1]
        last = first + lengths - 1
        own = _sums(phrase, self.after_noun_sign[starts], size)
        own_verb = _sums(phrase, self.after_verb_sign[starts], size)
        opens = self.numbers[first]
        wrong = self._is_verb(opens, _FIRST) & ~(own > own_verb)
        ends = self.numbers[last]
        wrong |= self._is_verb(ends, _LAST)
        followed = _sums(phrase, self.before_object[starts + lengths[phrase] - 1], size)
        wrong |= self._is_verb(ends, _FIRST) & (3 * followed > np.bincount(phrase, minlength=size))
        for place in range(1, int(lengths.max(initial=0)) - 1):
            within = lengths > place + 1
            middle = self.numbers[np.where(within, first + place, first)]
            times = np.where(self.is_third_person[middle], _FIRST, _LAST)
            wrong |= within & self._is_verb(middle, times)
        return ~wrong

    def _is_verb(self, words: Ints, times: int | Ints) -> Marks:
        verbs = self.verbs[words]
        enough = (verbs >= _LEAST) & (verbs >= _LEAST_SHARE * self.counts[words])
        return enough & (verbs > times * self.nouns[words])


def _sums(phrase: Ints, marks: Marks, size: int) -> Ints:
    return np.bincount(phrase[marks], minlength=size)


# --- phrases -----------------------------------------------------------------------------


LONGEST = 4
"""Words of a phrase, at most."""

_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|\n(?=\s|[A-Z][\w-]{1,30}:)")
"""Words, marks, and the ends of lines before an empty or indented one, or a header's name."""
_PARTICIPLE = re.compile(r"\w{4}ed$", re.IGNORECASE)
_BREAK = -1
_LEAST_TOGETHER = 0.2
"""Normalised pointwise mutual information of neighbours, from -1 to 1, that a phrase needs."""
_WORDINGS = 50
"""Occurrences that decide how a phrase is worded."""
FILLERS = word_list(_LISTS["fillers"]) | word_list(_LISTS["code_words"])
"""Words that begin, end or fill sentences of every subject: they name none."""
_EMPTY = STOP_WORDS | FILLERS


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that several passages hold, shorter ones first; numbers are positions."""

    lengths: Ints
    """(P,) words."""
    independence: NDArray[np.float64]
    """(P,) 0 to 1: the share of its occurrences that C-value leaves a phrase."""
    occurrences: Ints
    """(n, 3): phrase, place of the passage, how often; sorted."""
    is_varied: NDArray[np.bool_]
    """(P,) whether it is no part of something longer, which goes on with one word, nor of a text
    that was copied, which has the same words on both sides (accessor variety, Feng et al. 2004)."""
    is_together: NDArray[np.bool_]
    """(P,) whether its words stand together clearly more often than chance has them (normalised
    pointwise mutual information, Bouma 2009)."""
    _words: Words
    _starts: Adjacency
    """By phrase: where it begins."""

    def key(self, phrase: int) -> str:
        """Its stems, joined by spaces."""
        first = int(self._starts.row(phrase)[0])
        numbers = self._words.stems[first : first + int(self.lengths[phrase])].tolist()
        return " ".join(self._words.stem_texts[number] for number in numbers)

    def words(self, phrase: int) -> list[str]:
        """As it is worded first."""
        first = int(self._starts.row(phrase)[0])
        numbers = self._words.words[first : first + int(self.lengths[phrase])].tolist()
        return [self._words.word_texts[number] for number in numbers]

    def name(self, phrase: int) -> str:
        """As it is most often worded; the first of equals."""
        length = int(self.lengths[phrase])
        wordings = Counter(
            tuple(self._words.words[start : start + length].tolist())
            for start in self._starts.row(phrase)[:_WORDINGS].tolist()
        )
        (best, _), *_ = wordings.most_common(1)
        return " ".join(self._words.word_texts[number] for number in best)

    def is_nominal(self, is_english: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(P,) whether a phrase names something rather than tells what is done.

        `is_english` tells of each text whether it counts.
        """
        words = self._words
        use = WordUse.of(words.words, words.word_texts, is_english[words.passages])
        phrase = np.repeat(np.arange(len(self.lengths)), np.diff(self._starts.starts))
        return use.is_nominal(phrase, self._starts.items, self.lengths)


def find_phrases(texts: Iterable[str], at_least: int = 2) -> Phrases:
    """The phrases that at least so many of the texts hold."""
    words = read_words(texts)
    levels: list[_Level] = []
    shorter = words.stems
    for length in range(2, LONGEST + 1):
        level = _extend(words, shorter, length, at_least)
        levels.append(level)
        shorter = level.numbers
    return _gather(words, levels)


def names_something(words: Sequence[str], language: str) -> bool:
    """Whether the words may name something in the language of the text.

    None of them is a function word or comes twice, they are not all shouted, and where common nouns
    have a capital, the last one does.
    """
    folded = {word.casefold() for word in words}
    if len(folded) < len(words) or all(word.isupper() for word in words):
        return False
    known = language_words(language)
    if known is None:
        return True
    ends_well = known.nouns is None or words[-1][0].isupper()
    return ends_well and folded.isdisjoint(known.stop_words | known.fillers)


@dataclass(frozen=True, slots=True)
class Words:
    """All texts in a row, a break after each and wherever a phrase cannot go on."""

    stems: Ints
    """(N,) numbers of the stems; -1 for a break."""
    words: Ints
    """(N,) numbers of the words as they are written; -1 for a break."""
    passages: Ints
    """(N,) place of the text."""
    ends: NDArray[np.bool_]
    """(N,) whether a phrase may end there; "film directed" is half of one."""
    stem_texts: Sequence[str]
    word_texts: Sequence[str]


def read_words(texts: Iterable[str]) -> Words:
    """The words of texts, by number."""
    stem_numbers: dict[str, int] = {}
    word_numbers: dict[str, int] = {}
    stem_of: dict[str, int] = {}
    stems, words, passages = array("q"), array("q"), array("q")
    for place, text in enumerate(texts):
        before = len(words)
        for word in _TOKEN.findall(text):
            number = stem_of.get(word)
            if number is None:
                stem = _stem(word)
                number = stem_numbers.setdefault(stem, len(stem_numbers)) if stem else _BREAK
                stem_of[word] = number
            stems.append(number)
            words.append(word_numbers.setdefault(word, len(word_numbers)))
        stems.append(_BREAK)
        words.append(_BREAK)
        passages.extend([place] * (len(words) - before))
    numbers = np.array(words, dtype=np.int64)
    ending = np.array([not _PARTICIPLE.search(word) for word in word_numbers], dtype=bool)
    return Words(
        stems=np.array(stems, dtype=np.int64),
        words=numbers,
        passages=np.array(passages, dtype=np.int64),
        ends=np.append(ending, False)[numbers],
        stem_texts=tuple(stem_numbers),
        word_texts=tuple(word_numbers),
    )


def _stem(word: str) -> str:
    """The stem that a word has in a phrase; empty for one that is in none."""
    folded = fold(word)
    if len(folded) < 3 or not folded[0].isalpha() or folded in _EMPTY:
        return ""
    if folded.endswith("ly") or "'" in folded or "’" in folded:  # adverbs, "didn't"
        return ""
    found = terms(word)
    unspaced = len(found) > 1 and "-" not in word  # bigrams of a script without spaces
    return "" if unspaced else "-".join(found)


@dataclass(frozen=True, slots=True)
class _Level:
    """Phrases of one length."""

    numbers: Ints
    """(N,) the phrase that begins at each place; -1 for none."""
    size: int
    """Number of phrases."""


def _extend(words: Words, shorter: Ints, length: int, at_least: int) -> _Level:
    """Phrases of one word more than `shorter`, those that enough passages hold."""
    last = length - 1
    within_limits = (words.stems[last:] >= 0) & words.ends[last:]
    starts = np.flatnonzero((shorter[: len(within_limits)] >= 0) & within_limits)
    codes = shorter[starts] * max(len(words.stem_texts), 1) + words.stems[starts + last]
    phrases, phrase = np.unique(codes, return_inverse=True)
    held = distinct(phrase * (int(words.passages.max(initial=0)) + 1) + words.passages[starts])
    holders = held // (int(words.passages.max(initial=0)) + 1)
    frequent = np.bincount(holders, minlength=len(phrases)) >= at_least
    number = np.where(frequent, np.cumsum(frequent) - 1, _BREAK)
    numbers = np.full(len(shorter), _BREAK, dtype=np.int64)
    numbers[starts] = number[phrase]
    return _Level(numbers, int(frequent.sum()))


def _gather(words: Words, levels: Sequence[_Level]) -> Phrases:
    sizes = [level.size for level in levels]
    first = np.cumsum([0, *sizes])
    starts = [np.flatnonzero(level.numbers >= 0) for level in levels]
    phrase = np.concatenate(
        [level.numbers[at] + base for level, at, base in zip(levels, starts, first, strict=False)]
    )
    at = np.concatenate(starts)
    order = np.lexsort((at, phrase))
    rows = Adjacency.from_pairs(phrase[order], at[order], int(first[-1]))
    width = int(words.passages.max(initial=0)) + 1
    held, counts = np.unique(phrase * width + words.passages[at], return_counts=True)
    lengths = np.repeat(np.arange(2, LONGEST + 1), sizes)
    return Phrases(
        lengths=lengths,
        independence=np.concatenate(
            [_independence(*pair) for pair in zip(levels, [*levels[1:], None], strict=True)]
        ),
        occurrences=np.column_stack([*np.divmod(held, width), counts]),
        is_varied=_is_varied(words, rows, lengths),
        is_together=_is_together(words, rows, lengths),
        _words=words,
        _starts=rows,
    )


def _is_varied(words: Words, starts: Adjacency, lengths: Ints) -> NDArray[np.bool_]:
    size, kinds = len(lengths), len(words.word_texts) + 1
    phrase, at = np.repeat(np.arange(size), np.diff(starts.starts)), starts.items
    # Each place has one before it; the end of a text has the last number.
    bounded = np.concatenate([[_BREAK], words.words])
    stem = np.concatenate([[_BREAK], words.stems])
    is_mark = np.array([*(not word[0].isalnum() for word in words.word_texts), True], dtype=bool)
    fixed, held = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    for place in (at, at + lengths[phrase] + 1):
        pairs = distinct(phrase * kinds + bounded[place] + 1)
        alone = np.bincount(pairs // kinds, minlength=size) == 1
        alone &= np.bincount(phrase, weights=is_mark[bounded[place]], minlength=size) == 0
        fixed += alone
        held |= alone & (np.bincount(phrase, weights=stem[place] >= 0, minlength=size) > 0)
    return ~held & (fixed < 2)


def _is_together(words: Words, starts: Adjacency, lengths: Ints) -> NDArray[np.bool_]:
    total = max(len(words.stems), 2)
    counts = np.bincount(words.stems[words.stems >= 0], minlength=len(words.stem_texts))
    often = np.log(np.diff(starts.starts) / total)
    first = starts.items[starts.starts[:-1]]
    by_chance = np.zeros(len(lengths))
    for place in range(LONGEST):
        has = lengths > place
        by_chance[has] += np.log(counts[words.stems[first[has] + place]] / total)
    return often - by_chance > -_LEAST_TOGETHER * often * (lengths - 1)


def _independence(level: _Level, longer: _Level | None) -> NDArray[np.float64]:
    """1 - t / (c · f): f occurrences, t of them within c longer phrases."""
    if longer is None:
        return np.ones(level.size)
    frequency = np.bincount(level.numbers[level.numbers >= 0], minlength=level.size)
    at = np.flatnonzero(longer.numbers >= 0)
    inner = np.concatenate([level.numbers[at], level.numbers[at + 1]])
    outer = np.concatenate([longer.numbers[at], longer.numbers[at]])
    nested = np.bincount(inner, minlength=level.size)
    pairs = distinct(inner * max(longer.size, 1) + outer)
    kinds = np.bincount(pairs // max(longer.size, 1), minlength=level.size)
    return np.clip(1 - nested / np.maximum(kinds * frequency, 1), 0, 1)
