"""The sentence of a passage that answers, by words of the question and by the thread."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from clew.search.answer.asked_kind import asked_kind, holds_kind, without_number
from clew.text import question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from clew.types import CharRange, PassageRecord, StoredChunk

_ON_THREAD = 0.1
"""What it counts that the thread to the passage ends in a sentence, as a share of all words."""
_HANDED_ON = 0.5
"""Of what a question or a heading in a passage counts, what the sentence behind it does."""
_NAMED = 0.5
"""What a term of a name counts, next to the others."""
_OF_KIND = 0.25
"""What it counts that a sentence holds what is asked for: a number, a time or a name."""
_LABEL_WORDS = 3
"""Words of a label at most: "2. Bees. Mrs Brandt keeps two hives." """
_ASKS = tuple("?\uff1f\u061f")


def answering_sentences(
    question: str,
    passages: Sequence[PassageRecord],
    threads: Mapping[int, int],
    names: Iterable[str] = (),
) -> dict[int, CharRange]:
    """Ranges in their documents of the sentences that answer best, by chunk id.

    A sentence counts by the share of the question's terms that it holds, each weighed by its rarity
    among the sentences of all these passages (log((n + 1) / (df + 0.5))), and by whether it holds
    the kind of thing that is asked for. Terms of `names` count half: the question asks something of
    them. `threads` are positions of sentences, by chunk id. A question says nothing: half of what
    it counts goes to the sentence behind it. So do headings, labels and heads of tables, which
    answer only where no sentence does. Headers of a message say nothing, nor do lines quoted from
    another, and lines without letters and digits. Passages without any such sign have no answering
    sentence.
    """
    languages = {passage.chunk.language for passage in passages}
    asked = frozenset(question_terms(question, languages))
    held = {
        passage.chunk.id: [
            asked.intersection(terms(text, passage.chunk.language)) for text in passage.sentences
        ]
        for passage in passages
    }
    named = {term for name in names for term in question_terms(name, languages)}
    weights = _rarity(asked, [words for of_one in held.values() for words in of_one], named)
    found: dict[int, CharRange] = {}
    for passage in passages:
        id_ = passage.chunk.id
        # Exact sums: in whatever order the words are, sentences with the same are equal.
        values = [math.fsum(weights[word] for word in words) for words in held[id_]]
        if (on_thread := threads.get(id_, -1)) in range(len(values)):
            values[on_thread] += _ON_THREAD
        best = _best(passage, values, question)
        if best is not None:
            found[id_] = passage.sentence_ranges[best]
    return found


def _rarity(
    asked: Iterable[str], sentences: Sequence[frozenset[str]], named: Container[str]
) -> dict[str, float]:
    """Weight of each term; together 1."""
    frequency = Counter(word for words in sentences for word in words)
    count = len(sentences) + 1
    weights = {word: math.log(count / (frequency[word] + 0.5)) for word in asked}
    positive = {
        word: max(weight, 0.01) * (_NAMED if word in named else 1)
        for word, weight in weights.items()
    }
    total = math.fsum(positive.values()) or 1.0
    return {word: weight / total for word, weight in positive.items()}


def _best(passage: PassageRecord, values: Sequence[float], question: str) -> int | None:
    kind = asked_kind(question)
    told, headings = [0.0] * len(values), [0.0] * len(values)
    handed_on = 0.0
    body = header_end(passage.chunk)
    for place, (text, value) in enumerate(zip(passage.sentences, values, strict=True)):
        line = text.strip()
        in_header = passage.sentence_ranges[place][0] < body
        if in_header or line.startswith(">") or not any(map(str.isalnum, line)):
            continue
        counts = value > 0 or handed_on > 0
        of_kind = counts and kind is not None and holds_kind(line, kind, question)
        if _leads_on(passage, place):
            headings[place] = value
            handed_on = max(handed_on, _HANDED_ON * value)
            if of_kind and kind != "name":  # "## 1.2 (3 May 2024)" says when
                told[place] = value
        elif line.rstrip("\"'”») ").endswith(_ASKS):
            handed_on = max(handed_on, _HANDED_ON * value)
        else:
            told[place], handed_on = max(value, handed_on), 0.0
        told[place] += _OF_KIND * (of_kind and told[place] > 0)
    for counted in (told, headings):
        if max(counted, default=0.0) > 0:
            return counted.index(max(counted))
    return None


def _leads_on(passage: PassageRecord, place: int) -> bool:
    """Whether it says what those behind it are about: a heading, a label, the head of a table."""
    line = passage.sentences[place].strip()
    if line.startswith("#") or line == passage.chunk.title or _is_title(line):
        return True
    return _is_label(passage, place) or _is_table_head(passage.sentences, place)


def _is_title(line: str) -> bool:
    """Whether a line is written as titles are: "The Debian Linux Manifesto", ruled or not."""
    name = line.rstrip("*=-~^_ \n")
    return name[-1:].isalnum() and all(w[0].isupper() for w in name.split() if len(w) > 3)


def _is_label(passage: PassageRecord, place: int) -> bool:
    """Whether a sentence of few words names what the next one on its line speaks of."""
    if len(without_number(passage.sentences[place]).split()) > _LABEL_WORDS:
        return False
    (_, end), *behind = passage.sentence_ranges[place : place + 2]
    start = passage.chunk.start
    return bool(behind) and "\n" not in passage.chunk.text[end - start : behind[0][0] - start]


def _is_table_head(sentences: Sequence[str], place: int) -> bool:
    """Whether a line names the columns of a table: a rule of dashes follows it."""
    rule = sentences[place + 1].strip() if place + 1 < len(sentences) else ""
    return sentences[place].count("|") > 1 and rule.startswith(("|-", "| -", "|:", "| :"))


def header_end(chunk: StoredChunk) -> int:
    """Where the lines end, in the document, that say who sent a message; 0 where there are none."""
    if not chunk.text.startswith("From: "):
        return 0
    end = chunk.text.find("\n\n")
    return chunk.start + (len(chunk.text) if end < 0 else end)
