"""The sentence of a passage that answers, by words of the question and by the thread."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.search.analysis.question_patterns import find_names
from clew.search.analysis.sub_questions import compared_sides
from clew.text import fold, question_language, question_terms, terms
from clew.times import find_periods
from clew.times.names import MONTH

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import CharRange, Hit, PassageRecord, StoredChunk


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


# What kind of thing a question asks for, by its question words, and what holds such a thing.


Kind = Literal["number", "time", "name"]

_WORDS: Mapping[Kind, str] = {
    "number": "how (?:many|much|long|old|often|far|high|tall|large|big|deep|wide|fast|heavy)"
    "|what (?:age|amount|number|percentage|price|share|sum|version)"
    "|wie (?:viele?|hoch|lange|alt|oft|weit|gro(?:ß|ss)|schwer)|combien|quel âge"
    "|cuánt[oa]s?|quant[oaie]",
    "time": "when|(?:what|which) (?:date|day|month|time|weekday|year)"
    "|wann|in welchem jahr|quand|en quelle année|cuándo|quando",
    "name": "who|whom|whose|where|wer|wem|wen|wessen|wo|wohin|qui|où|quién(?:es)?|dónde|chi",
}
_ASKS_ASKED_KIND = {kind: re.compile(rf"\b(?:{w})\b", re.IGNORECASE) for kind, w in _WORDS.items()}
_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million"
    "|once|twice|half|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|deux|trois|quatre|cinq"
)
_NUMBER = re.compile(rf"\d\w*|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)
_TIME = re.compile(
    rf"\b(?:{MONTH})\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b\d{1,2}(?::\d\d| ?[ap]m\b)"
)
_ANY_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""Whether words say a time does not depend on when they are said."""
_ENUMERATED = re.compile(r"\s*(?:[-*•]\s+)?(?:\(?\d{1,3}[.)](?=\s)|TOP \d+\b)?")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANY_WORD = re.compile(r"\w+")


@lru_cache(maxsize=8)
def asked_kind(question: str) -> Kind | None:
    """What it asks for; None where its words do not tell. The first question word decides."""
    found = [
        (m.start(), kind)
        for kind, words in _ASKS_ASKED_KIND.items()
        if (m := words.search(question))
    ]
    return min(found)[1] if found else None


def without_number(sentence: str) -> str:
    """A sentence without the number or the bullet that it has in a list."""
    return sentence[_ENUMERATED.match(sentence).end() :]  # type: ignore[union-attr]


def holds_kind(sentence: str, kind: Kind, question: str) -> bool:
    """Whether a sentence holds something of the kind that the question does not say itself."""
    text = without_number(sentence)
    if kind == "name":
        asked = _said(_WORD, question)
        words = [match for match in _WORD.finditer(text) if match.start()]
        return any(w.group()[0].isupper() and fold(w.group()) not in asked for w in words)
    pattern = _NUMBER if kind == "number" else _TIME
    found = [match.group() for match in pattern.finditer(text)]
    if kind == "time":  # a number alone is none: "Invoice 2087"
        for one in find_periods(text, _ANY_DAY):
            found += text[one.start : one.end].split()
    said = _said(_ANY_WORD, question)
    return any(fold(words) not in said for words in found)


@lru_cache(maxsize=8)
def _said(words: re.Pattern[str], question: str) -> frozenset[str]:
    """The words of a question, folded; every sentence that may answer is compared with them."""
    return frozenset(map(fold, words.findall(question)))


# What a question asks about its names and no passage says: a name alone is no answer.
#
# The ranker knows the words of a question that the store holds. Of one that it does not hold,
# "salary" in "What is the salary of Marta Kovalenko?", it sees nothing: the name is all there is.


_SHARED_START = 5
"""Letters with which two words of one family begin alike, at least: "repair", "repaired"."""


_MOST_LOST = 0.9
"""Share of the confidence that is lost where nothing asked is said, nor anything like it."""
_ALIKE = (0.1, 0.3)
"""Cosine of what is asked and the best sentence: up to the first it says nothing like it, from the
second enough. By the open halves of `benchmarks/unsaid` and `benchmarks/real`."""
_LIKELY = 0.5
"""Share of the best confidence from which the sentences of a passage are compared."""
_SENTENCES, _CHARACTERS = 4, 200
"""Compared at most, of each: together they cost about three times what embedding costs."""


def without_unsaid(session: QuerySession, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits, less sure where none says what is asked about the names of the question.

    Words count by stem and by family. Where words are missing, the sentence nearest in meaning to
    all that is asked besides the names decides. Texts in another language than the question's have
    other words for all of it: they are left as they are.
    """
    best = max((hit.confidence or 0.0 for hit in hits), default=0.0)
    likely = [hit for hit in hits if (hit.confidence or 0.0) >= _LIKELY * best]
    language = question_language(session.question, session.languages)
    if not best or any((hit.chunk.language or "en") != language for hit in likely):
        return hits
    unsaid = unsaid_share(session, hits)
    lost = unsaid and _MOST_LOST * unsaid * (1 - _said_otherwise(session, likely))
    if not lost:
        return hits
    return tuple(
        hit if hit.confidence is None else replace(hit, confidence=hit.confidence * (1 - lost))
        for hit in hits
    )


def _said_otherwise(session: QuerySession, hits: Sequence[Hit]) -> float:
    """0 to 1: how near in meaning the best sentence is to what is asked besides the names."""
    asked, languages = set(_asked_words(session)), session.languages
    words = [
        w for w in session.question.split() if asked.intersection(question_terms(w, languages))
    ]
    found = (text[:_CHARACTERS] for hit in hits for text in _around_answer(session, hit))
    sentences = list(islice(dict.fromkeys(found), _SENTENCES))
    if not words or not sentences:
        return 1.0
    embedder = session.resources.embedder
    question = " ".join(words)
    vector = session.resources.query_vectors.get_or_make(
        question, lambda: embedder.embed_query(question)
    )
    nearest = float(np.max(embedder.embed_documents(sentences) @ vector))
    return float(np.interp(nearest, _ALIKE, (0.0, 1.0)))


def _around_answer(session: QuerySession, hit: Hit) -> list[str]:
    """The answering sentence of a hit and the next one; its first where none is told."""
    passage = session.records.passages.get(hit.chunk.id)
    if passage is None:
        return []
    ranges = passage.sentence_ranges
    at = ranges.index(hit.answer) if hit.answer in ranges else 0
    return list(passage.sentences[at : at + 2])


def unsaid_share(session: QuerySession, hits: Sequence[Hit]) -> float:
    """Share, 0 to 1, of what is asked about the question's names that none of the hits says.

    Words weigh their rarity; one that the store does not hold is as rare as one held once.
    """
    asked = _asked_words(session)
    if not asked:
        return 0.0
    missing = asked
    for hit in hits:
        if not missing:
            return 0.0
        said = set(
            terms((f"{hit.chunk.title}\n{hit.chunk.context}\n{hit.chunk.text}"), hit.chunk.language)
        )
        missing = [term for term in missing if not _is_said(term, said)]
    snapshot = session.snapshot
    most = math.log(snapshot.size + 1)
    found = {term: snapshot.term_rows([term]) for term in asked}
    weights = {t: float(snapshot.term_idf[r[0]]) if len(r) else most for t, r in found.items()}
    return sum(weights[term] for term in missing) / sum(weights.values())


def _asked_words(session: QuerySession) -> list[str]:
    """Terms of the question that belong to no name; none for a question without names."""
    languages, keys = session.languages, [seed.key for seed in session.known_seeds]
    # German writes every noun with a capital.
    by_capitals = question_language(session.question, languages) != "de"
    found = find_names(session.question, keys) if by_capitals else ([], [])
    names = [name for some in found for name in some]
    named = {term for name in (*keys, *names) for term in question_terms(name, languages)}
    # That two things are compared is said by neither.
    words = question_terms(
        " ".join(compared_sides(session.question) or [session.question]), languages
    )
    return [term for term in words if term not in named] if named else []


def _is_said(term: str, said: set[str]) -> bool:
    start = term[: max(_SHARED_START, len(term) - 2)]
    return term in said or any(
        word.startswith(start) or (len(word) >= _SHARED_START and term.startswith(word))
        for word in said
    )
