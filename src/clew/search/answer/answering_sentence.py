"""Which sentence of a passage answers: by the question's words, and by the thread that found it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.types import CharRange, PassageRecord

_ON_THREAD = 0.3
"""What it counts that the thread to the passage ends in a sentence, as a share of all words."""


def answering_sentences(
    question: str, passages: Sequence[PassageRecord], threads: Mapping[int, int]
) -> dict[int, CharRange]:
    """Ranges in their documents of the sentences that answer best, by chunk id.

    A sentence counts by the share of the question's terms that it holds, each weighed by its rarity
    among the sentences of all these passages (log((n + 1) / (df + 0.5))). `threads` are positions
    of sentences, by chunk id. Passages without any such sign have no answering sentence.
    """
    languages = {passage.chunk.language for passage in passages}
    asked = frozenset(question_terms(question, languages))
    held = {
        passage.chunk.id: [
            asked.intersection(terms(text, passage.chunk.language)) for text in passage.sentences
        ]
        for passage in passages
    }
    weights = _rarity(asked, [words for of_one in held.values() for words in of_one])
    found: dict[int, CharRange] = {}
    for passage in passages:
        best = _best(held[passage.chunk.id], weights, threads.get(passage.chunk.id))
        if best is not None:
            found[passage.chunk.id] = passage.sentence_ranges[best]
    return found


def _rarity(asked: Iterable[str], sentences: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weight of each term; together 1."""
    frequency = Counter(word for words in sentences for word in words)
    count = len(sentences) + 1
    weights = {word: math.log(count / (frequency[word] + 0.5)) for word in asked}
    positive = {word: max(weight, 0.01) for word, weight in weights.items()}
    total = sum(positive.values()) or 1.0
    return {word: weight / total for word, weight in positive.items()}


def _best(
    sentences: Sequence[frozenset[str]], weights: Mapping[str, float], on_thread: int | None
) -> int | None:
    values = [sum(weights[word] for word in words) for words in sentences]
    if on_thread is not None and 0 <= on_thread < len(values):
        values[on_thread] += _ON_THREAD
    if not values or max(values) <= 0:
        return None
    return values.index(max(values))
