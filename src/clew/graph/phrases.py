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
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Adjacency, distinct
from clew.languages import language_words, read_word_lists, word_list
from clew.text import STOP_WORDS, fold, terms

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


class Phrases:
    """Phrases that several of the texts hold, shorter ones first; numbers are positions."""

    def __init__(self, texts: Iterable[str], at_least: int = 2) -> None:
        self._read(texts)
        levels = [self._stems]
        for length in range(2, LONGEST + 1):
            levels.append(self._longer(levels[-1], length, at_least))
        levels = levels[1:]
        sizes = [int(level.max(initial=-1)) + 1 for level in levels]
        self.lengths = np.repeat(np.arange(2, LONGEST + 1), sizes)
        """(P,) words."""
        firsts = np.cumsum([0, *sizes[:-1]])
        numbered = [np.where(n >= 0, n + f, _BREAK) for n, f in zip(levels, firsts, strict=True)]
        phrase = np.concatenate([level[level >= 0] for level in numbered])
        at = np.concatenate([np.flatnonzero(level >= 0) for level in numbered])
        order = np.lexsort((at, phrase))
        self._starts = Adjacency.from_pairs(phrase[order], at[order], len(self.lengths))
        """By phrase: where it begins."""
        self._phrase = phrase[order]
        width = int(self._passages.max(initial=0)) + 1
        held, counts = np.unique(phrase * width + self._passages[at], return_counts=True)
        self.occurrences = np.column_stack([*np.divmod(held, width), counts])
        """(n, 3): phrase, place of the passage, how often; sorted."""
        self.independence = self._independence(numbered)
        """(P,) 0 to 1: the share of its occurrences that C-value leaves a phrase."""

    def _read(self, texts: Iterable[str]) -> None:
        """The words of all texts in a row, a break after each and where a phrase cannot go on."""
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
        self._stem_texts, self._word_texts = list(stem_numbers), list(word_numbers)
        self._stems, self._words = np.array(stems, np.int64), np.array(words, np.int64)
        """(N,) numbers of the stems, and of the words as they are written; -1 for a break."""
        self._passages = np.array(passages, np.int64)
        """(N,) place of the text."""

    def _longer(self, shorter: Ints, length: int, at_least: int) -> Ints:
        """(N,) the phrase of one word more than `shorter` that begins at each place; -1 for none.

        Enough passages hold it. None ends with a participle: "film directed" is half of one.
        """
        last = length - 1
        ending = [not _PARTICIPLE.search(word) for word in self._word_texts]
        ends = np.array([*ending, False])[self._words] & (self._stems >= 0)
        starts = np.flatnonzero((shorter >= 0) & np.append(ends, [False] * last)[last:])
        codes = shorter[starts] * max(len(self._stem_texts), 1) + self._stems[starts + last]
        phrases, phrase = np.unique(codes, return_inverse=True)
        width = int(self._passages.max(initial=0)) + 1
        holders = distinct(phrase * width + self._passages[starts]) // width
        frequent = np.bincount(holders, minlength=len(phrases)) >= at_least
        numbers = np.full(len(shorter), _BREAK)
        numbers[starts] = np.where(frequent, np.cumsum(frequent) - 1, _BREAK)[phrase]
        return numbers

    def _independence(self, levels: Sequence[Ints]) -> NDArray[np.float64]:
        """1 - t / (c · f): f occurrences, t of them within c longer phrases."""
        frequency = np.diff(self._starts.starts)
        size = max(len(frequency), 1)
        pairs = [
            (level[at + step], longer[at])
            for level, longer in pairwise(levels)
            for at in [np.flatnonzero(longer >= 0)]
            for step in (0, 1)
        ]
        inner, outer = (np.concatenate(column) for column in zip(*pairs, strict=True))
        nested = np.bincount(inner, minlength=len(frequency))
        kinds = np.bincount(distinct(inner * size + outer) // size, minlength=len(frequency))
        return np.clip(1 - nested / np.maximum(kinds * frequency, 1), 0, 1)

    # --- how phrases are worded

    def _numbers(self, phrase: int, of: Ints) -> list[int]:
        """The words of a phrase where it stands first, as `of` numbers words."""
        first = int(self._starts.row(phrase)[0])
        return of[first : first + int(self.lengths[phrase])].tolist()

    def key(self, phrase: int) -> str:
        """Its stems, joined by spaces."""
        numbers = self._numbers(phrase, self._stems)
        return " ".join(self._stem_texts[number] for number in numbers)

    def words(self, phrase: int) -> list[str]:
        """As it is worded first."""
        return [self._word_texts[number] for number in self._numbers(phrase, self._words)]

    def name(self, phrase: int) -> str:
        """As it is most often worded; the first of equals."""
        length = int(self.lengths[phrase])
        wordings = Counter(
            tuple(self._words[start : start + length].tolist())
            for start in self._starts.row(phrase)[:_WORDINGS].tolist()
        )
        (best, _), *_ = wordings.most_common(1)
        return " ".join(self._word_texts[number] for number in best)

    # --- whether they are any

    def is_varied(self) -> Marks:
        """(P,) whether it is no part of something longer, which goes on with one word.

        Nor of a text that was copied, which has the same words on both sides (accessor variety,
        Feng et al. 2004).
        """
        size, kinds = len(self.lengths), len(self._word_texts) + 1
        phrase, at = self._phrase, self._starts.items
        # Each place has one before it; the end of a text has the last number.
        bounded = np.concatenate([[_BREAK], self._words])
        stem = np.concatenate([[_BREAK], self._stems])
        is_mark = np.array([*(not word[0].isalnum() for word in self._word_texts), True])
        fixed, held = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        for place in (at, at + self.lengths[phrase] + 1):
            pairs = distinct(phrase * kinds + bounded[place] + 1)
            alone = np.bincount(pairs // kinds, minlength=size) == 1
            alone &= np.bincount(phrase, is_mark[bounded[place]], size) == 0
            fixed += alone
            held |= alone & (np.bincount(phrase, stem[place] >= 0, size) > 0)
        return ~held & (fixed < 2)

    def is_together(self) -> Marks:
        """(P,) whether its words stand together clearly more often than chance has them.

        By normalised pointwise mutual information (Bouma 2009).
        """
        total = max(len(self._stems), 2)
        counts = np.bincount(self._stems[self._stems >= 0], minlength=len(self._stem_texts))
        often = np.log(np.diff(self._starts.starts) / total)
        first = self._starts.items[self._starts.starts[:-1]]
        by_chance = np.zeros(len(self.lengths))
        for place in range(LONGEST):
            has = self.lengths > place
            by_chance[has] += np.log(counts[self._stems[first[has] + place]] / total)
        return often - by_chance > -_LEAST_TOGETHER * often * (self.lengths - 1)

    def is_nominal(self, is_english: Marks) -> Marks:
        """(P,) whether a phrase names something rather than tells what is done.

        `is_english` tells of each text whether its words count. A word is a verb where far more of
        its places show one than show a noun; a phrase's own places may tell otherwise.
        """
        known: dict[str, int] = {}
        folded = [known.setdefault(fold(word), len(known)) for word in self._word_texts]
        words = np.array([*folded, len(known)])[self._words]
        bounded = np.concatenate([[len(known)], words, [len(known)]])
        after_noun_sign, after_verb_sign, before_object = (
            np.array([*(word in signs for word in known), False])[beside]
            for signs, beside in (
                (_BEFORE_NOUNS, bounded[:-2]),
                (_BEFORE_VERBS, bounded[:-2]),
                (_AFTER_VERBS, bounded[2:]),
            )
        )
        counts, nouns, before, after = (
            np.bincount(words[marks & is_english[self._passages]], minlength=len(known) + 1)
            for marks in (words >= 0, after_noun_sign, after_verb_sign, before_object)
        )
        verbs = before + after
        often = (verbs >= _LEAST) & (verbs >= _LEAST_SHARE * counts)
        opening, ending = (often & (verbs > times * nouns) for times in (_FIRST, _LAST))
        # Within a phrase, a verb of the third person ("allows") needs to be no more than opening.
        third = np.array([*(word[-1:] == "s" != word[-2:-1] for word in known), False])
        inside = np.where(third, opening, ending)

        phrase, starts, lengths = self._phrase, self._starts.items, self.lengths
        held = np.diff(self._starts.starts)
        first = starts[self._starts.starts[:-1]]
        last, size = first + lengths - 1, len(lengths)
        as_noun, as_verb, with_object = (
            np.bincount(phrase, marks, size)
            for marks in (
                after_noun_sign[starts],
                after_verb_sign[starts],
                before_object[starts + lengths[phrase] - 1],
            )
        )
        wrong = opening[words[first]] & (as_noun <= as_verb)
        wrong |= ending[words[last]] | (opening[words[last]] & (3 * with_object > held))
        for place in range(1, LONGEST - 1):
            middle = np.minimum(first + place, last)
            wrong |= (lengths > place + 1) & inside[words[middle]]
        return ~wrong


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
