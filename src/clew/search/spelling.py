"""Spelling: words of a question that the store does not have, read as the nearest that it has.

A word that the store has stays as it is, and so does a word of a name that the store knows, an
English word, a function word of any language, and what is quoted or looks like code, a file or an
address: none of these is a slip. What may be one is asked in both readings, and the better one
wins. In a question in a language that the store does not hold, whose words are not known here, the
other reading must be the likelier one: "Mongolei" finds more as "Mongolia".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import find_sorted
from clew.graph.vocabulary import LONGEST, sound
from clew.languages import english_words, function_words, language_words, listed_languages
from clew.search.question import candidate_keys
from clew.text import STOP_WORDS, fold, question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.snapshot import Ints, Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.search.session import QuerySession


MOST_WORDS = 100
"""Words that may be slips in a question that is read twice. What is longer was pasted: one word
decides little there, and a second reading takes as long as the first."""
MOST_READ = 8
"""Words of a question that are read otherwise, at most."""
MOST_BESIDE = 8
"""Other words of the question, the rarest, that tell which of several near words is meant."""
SHORTEST = 5
"""Letters of a word that may be a slip: most short ones are near some other word."""
TWO_EDITS = 8
"""Letters of a word from which on two edits may lie between it and what was meant."""
AS_LIKELY = 0.75
"""Share of the likelihood of an answer as it was asked that another reading has, at least: a word
that nothing holds counts for nothing, one that is read otherwise may be missing in the best."""
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|`[^`]*`")
_SPELT = re.compile(r"[^\W\d_]+")
_WORD = re.compile(rf"(?<![\w./\\@:#$])[^\W\d_]{{{SHORTEST},{LONGEST}}}+(?![\w/\\@#(]|[.:]\w)")


def read_as_spelt(session: QuerySession) -> QuerySession:
    """The session of the question as it is meant; what was read otherwise is in the notes."""
    if not session.views.in_memory:
        return session  # the words of a store are as many as it is large
    with session.timings.step("spelling"):
        # Words that might be slips, and where each begins.
        unquoted = _QUOTED.sub(lambda match: " " * len(match.group()), session.question)
        places = [(match.start(), match.group()) for match in _WORD.finditer(unquoted)]
        words = list(dict.fromkeys(word for _, word in places))
        meant = _meant(session, words) if len(words) <= MOST_WORDS else {}
    if not meant:
        return session
    question = session.question
    for start, word in reversed(places):
        if word in meant:
            question = f"{question[:start]}{meant[word]}{question[start + len(word) :]}"
    with session.timings.step("spelling"):
        as_asked = _likelihood(session, session.question)
        share = 1.0 if _is_foreign(session) else AS_LIKELY
        if _likelihood(session, question) <= share * as_asked:
            return session
    session.note(*(f"read {word!r} as {near!r}" for word, near in meant.items()))
    return session.for_question(question)


def _likelihood(session: QuerySession, question: str) -> float:
    """0 to 1: how likely the best passage found by a reading of the question answers it."""
    read = session.for_question(question)
    read.judge()
    return max(read.confidences.values(), default=0.0)


def _is_foreign(session: QuerySession) -> bool:
    """Whether the question's function words are of languages that no text of the store is in."""
    spelt = _SPELT.findall(session.question.casefold())
    found = function_words(spelt, STOP_WORDS)
    most = max(map(len, found.values()))
    spoken = {code for code, own in found.items() if len(own) == most}
    if not most or not spoken.isdisjoint({"en", *session.languages}):
        return False
    # Of short texts no language is told: their function words are words like others.
    held = _HeldWords(session.snapshot, frozenset())
    return not any(all(len(held.rows(word)) for word in found[code]) for code in spoken)


def _meant(session: QuerySession, words: Sequence[str]) -> dict[str, str]:
    """What each of the words that is a slip stands for."""
    held = _HeldWords(session.snapshot, session.languages)
    foreign = (word for word in words if not len(held.rows(word)) and not _is_known(fold(word)))
    unknown = list(islice(foreign, MOST_READ))
    if not unknown:
        return {}
    near_to = partial(nearest, vocabulary=session.resources.vocabulary, held=held)
    beside = held.rarest(session.question)
    found = {word: near for word in unknown if (near := near_to(fold(word), beside=beside))}
    if not _is_foreign(session):  # whose other words say nothing of those that are near
        found = {word: near for word, near in found.items() if held.together(near, beside)}
    if not found:
        return {}
    keys = candidate_keys(session.question)
    named = {part for key in session.resources.store.resolve(keys) for part in key.split()}
    return {w: _as_written(w, near) for w, near in found.items() if fold(w) not in named}


@dataclass(frozen=True, slots=True)
class _HeldWords:
    """The words that texts of a store hold, in whatever form."""

    snapshot: Snapshot
    languages: frozenset[str]

    def rows(self, text: str) -> Ints:
        """The words of a text, not their parts, as rows of the vocabulary; none if not held."""
        return self.snapshot.term_rows(question_terms(text.casefold(), self.languages))

    def rarest(self, text: str) -> Ints:
        """The rarest of them."""
        rows = self.rows(text)
        return rows[np.argsort(-self.snapshot.term_idf[rows], kind="stable")[:MOST_BESIDE]]

    def together(self, word: str, others: Ints) -> bool:
        """Whether a passage has the word and one of the others, where there are others.

        A first name that no text has is no slip of a product's name that is told of elsewhere.
        """
        passages = partial(map, self._passages)
        return not len(others) or any(
            np.intersect1d(own, other).size
            for own in passages(self.rows(word))
            for other in passages(others)
        )

    def _passages(self, row: int) -> Ints:
        return self.snapshot.sentence_chunk[self.snapshot.postings.row(row)]


def _is_known(word: str) -> bool:
    """Whether it is a word of English, in whatever form, or a function word of another language."""
    if word in _function_words():
        return True
    return word in english_words() or any(stem in _english_stems(stem[:1]) for stem in terms(word))


@lru_cache(1)
def _function_words() -> frozenset[str]:
    """Function words and fillers of all languages that have a list, folded."""
    known = filter(None, map(language_words, listed_languages()))
    return frozenset(fold(word) for one in known for word in one.stop_words | one.fillers)


@lru_cache(64)
def _english_stems(first: str) -> frozenset[str]:
    """Stems of the words with a first letter, which stemming leaves as it is."""
    return frozenset(
        stem for word in english_words() if word.startswith(first) for stem in terms(word)
    )


def nearest(word: str, vocabulary: Vocabulary, held: _HeldWords, beside: Ints) -> str:
    """The word of the store that a folded word most likely stands for; empty where none is near.

    It is one of those with the fewest edits between (a letter more, less, other, or two swapped)
    and the same first sound: the one whose sentences have the most of the other words of the
    question (`beside`, rows of the snapshot's vocabulary), else the most common.
    """
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    snapshot, heard, most = held.snapshot, sound(word), 2 if len(word) >= TWO_EDITS else 1
    choices = [layer.by_sound.get(heard[:1], {}) for layer in vocabulary.layers]
    near = partial(extract, heard, scorer=OSA.distance, score_cutoff=most, limit=None)
    found = sorted(chain.from_iterable(map(near, choices)), key=itemgetter(1))
    for _, group in groupby(found, key=itemgetter(1)):
        # Weight of the other words that share a sentence with each, and how common it is.
        fits: dict[str, tuple[float, int]] = {}
        for _, _, other in group:
            rows = held.rows(other)
            if len(rows):
                own = snapshot.postings.row(int(rows[0]))
                shared = [r for r in beside if find_sorted(snapshot.postings.row(r), own)[1].any()]
                weight = float(snapshot.term_idf[shared].sum())
                fits[str(other)] = weight, int(snapshot.term_frequency[rows[0]])
        if fits:
            return max(fits, key=lambda other: (fits[other], other))
    return ""


def _as_written(word: str, near: str) -> str:
    """The near word with the capitals of the one asked."""
    if word.isupper():
        return near.upper()
    return near.capitalize() if word[0].isupper() else near
