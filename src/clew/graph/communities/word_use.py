"""Whether texts use a word as a noun or as a verb, by the words beside it; no lists of either.

"the list", "of lists" speak for a noun; "to install", "installs the" for a verb (the classes of a
word by its neighbours: Schütze 1995). English texts alone are read so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.text import fold
from clew.word_lists import read_word_lists, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints

    Marks = NDArray[np.bool_]

_LISTS = read_word_lists("clew.graph.communities", "phrases.toml")
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
