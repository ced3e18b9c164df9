"""The sentence of a passage that answers, by words of the question and by the thread."""

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
_HANDED_ON = 0.5
"""Of what a question or a heading in a passage counts, what the sentence behind it does."""
_ASKS = tuple("?\uff1f\u061f")


def answering_sentences(
    question: str, passages: Sequence[PassageRecord], threads: Mapping[int, int]
) -> dict[int, CharRange]:
    """Ranges in their documents of the sentences that answer best, by chunk id.

    A sentence counts by the share of the question's terms that it holds, each weighed by its rarity
    among the sentences of all these passages (log((n + 1) / (df + 0.5))). `threads` are positions
    of sentences, by chunk id. A question says nothing: half of what it counts goes to the sentence
    behind it. So does a heading, which answers only where no sentence does. Headers of a message
    say nothing, nor do lines quoted from another, and lines without letters and digits. Passages
    without any such sign have no answering sentence.
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
        best = _best(passage, held[passage.chunk.id], weights, threads.get(passage.chunk.id))
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
    passage: PassageRecord,
    sentences: Sequence[frozenset[str]],
    weights: Mapping[str, float],
    on_thread: int | None,
) -> int | None:
    values = [sum(weights[word] for word in words) for words in sentences]
    if on_thread is not None and 0 <= on_thread < len(values):
        values[on_thread] += _ON_THREAD
    told, headings = [0.0] * len(values), [0.0] * len(values)
    handed_on = 0.0
    header_end = _header_end(passage)
    for place, (text, value) in enumerate(zip(passage.sentences, values, strict=True)):
        line = text.strip()
        in_header = passage.sentence_ranges[place][0] < header_end
        if in_header or line.startswith(">") or not any(map(str.isalnum, line)):
            continue
        if line.startswith("#") or line == passage.chunk.title or _is_title(line):
            headings[place] = value
            handed_on = max(handed_on, _HANDED_ON * value)
        elif line.rstrip("\"'”») ").endswith(_ASKS):
            handed_on = max(handed_on, _HANDED_ON * value)
        else:
            told[place], handed_on = max(value, handed_on), 0.0
    for counted in (told, headings):
        if max(counted, default=0.0) > 0:
            return counted.index(max(counted))
    return None


def _is_title(line: str) -> bool:
    """Whether a line is written as titles are: "The Debian Linux Manifesto", ruled or not."""
    name = line.rstrip("*=-~^_ \n")
    return name[-1:].isalnum() and all(w[0].isupper() for w in name.split() if len(w) > 3)


def _header_end(passage: PassageRecord) -> int:
    """Where the lines end, in the document, that say who sent a message; 0 where there are none."""
    chunk = passage.chunk
    if not chunk.text.startswith("From: "):
        return 0
    end = chunk.text.find("\n\n")
    return chunk.start + (len(chunk.text) if end < 0 else end)
