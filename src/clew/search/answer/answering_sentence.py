"""The sentence of a passage that answers, by words of the question and by the thread."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clew.search.question import compared_sides, find_names
from clew.text import question_language, question_terms, sentence_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clew.search.session import QuerySession
    from clew.types import CharRange, Hit, PassageRecord, StoredChunk


_ON_THREAD = 0.1
"""What it counts that the thread to the passage ends in a sentence, as a share of all words."""
_HANDED_ON = 0.5
"""Of what a question or a heading in a passage counts, what the sentence behind it does."""
_NAMED = 0.5
"""What a term of a name counts, next to the others."""
_ASKS = tuple("?\uff1f\u061f")


def answering_sentences(
    question: str,
    passages: Sequence[PassageRecord],
    threads: Mapping[int, int],
    names: Iterable[str] = (),
) -> dict[int, CharRange]:
    """Ranges in their documents of the sentences that answer best, by chunk id.

    A sentence counts by the share of the question's terms that it holds, each weighed by its rarity
    among the sentences of all these passages (log((n + 1) / (df + 0.5))). Terms of `names` count
    half: the question asks something of them. `threads` are positions of sentences, by chunk id. A
    question says nothing: half of what it counts goes to the sentence behind it. So do headings,
    which answer only where no sentence does. Headers of a message say nothing, nor do lines quoted
    from another, and lines without letters and digits. Passages without any such sign have no
    answering sentence.
    """
    languages = {passage.chunk.language for passage in passages}
    asked = frozenset(question_terms(question, languages))
    held = {
        passage.chunk.id: [
            asked.intersection(words)
            for words in sentence_terms(passage.sentences, passage.chunk.language)
        ]
        for passage in passages
    }
    named = {term for name in names for term in question_terms(name, languages)}
    everything = [words for of_one in held.values() for words in of_one]
    frequency = Counter(word for words in everything for word in words)
    rarity = {word: math.log((len(everything) + 1) / (frequency[word] + 0.5)) for word in asked}
    counted = {w: max(rare, 0.01) * (_NAMED if w in named else 1) for w, rare in rarity.items()}
    total = math.fsum(counted.values()) or 1.0
    weights = {word: weight / total for word, weight in counted.items()}
    found: dict[int, CharRange] = {}
    for passage in passages:
        id_ = passage.chunk.id
        # Exact sums: in whatever order the words are, sentences with the same are equal.
        values = [math.fsum(weights[word] for word in words) for words in held[id_]]
        if (on_thread := threads.get(id_, -1)) in range(len(values)):
            values[on_thread] += _ON_THREAD
        best = _best(passage, values)
        if best is not None:
            found[id_] = passage.sentence_ranges[best]
    return found


def _best(passage: PassageRecord, values: Sequence[float]) -> int | None:
    told, headings = [0.0] * len(values), [0.0] * len(values)
    handed_on = 0.0
    body = header_end(passage.chunk)
    for place, (text, value) in enumerate(zip(passage.sentences, values, strict=True)):
        line = text.strip()
        in_header = passage.sentence_ranges[place][0] < body
        if in_header or line.startswith(">") or not any(map(str.isalnum, line)):
            continue
        if line.startswith("#") or line == passage.chunk.title:
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


def header_end(chunk: StoredChunk) -> int:
    """Where the lines end, in the document, that say who sent a message; 0 where there are none."""
    if not chunk.text.startswith("From: "):
        return 0
    end = chunk.text.find("\n\n")
    return chunk.start + (len(chunk.text) if end < 0 else end)


# What a question asks about its names and no passage says: a name alone is no answer.
#
# The ranker knows the words of a question that the store holds. Of one that it does not hold,
# "salary" in "What is the salary of Marta Kovalenko?", it sees nothing: the name is all there is.


_SHARED_START = 5
"""Letters with which two words of one family begin alike, at least: "repair", "repaired"."""


_MOST_LOST = 0.9
"""Share of the confidence that is lost where nothing asked is said, nor anything like it."""
_ALIKE = (0.1, 0.3)
"""Cosine of what is asked and the best passage: up to the first it says nothing like it, from the
second enough."""
_LIKELY = 0.5
"""Share of the best confidence from which a passage is compared."""


def without_unsaid(session: QuerySession, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits, less sure where none says what is asked about the names of the question.

    Words count by stem and by family. Where words are missing, the passage nearest in meaning to
    all that is asked besides the names decides. Texts in another language than the question's have
    other words for all of it: they are left as they are.
    """
    best = max((hit.confidence or 0.0 for hit in hits), default=0.0)
    likely = [hit.chunk for hit in hits if (hit.confidence or 0.0) >= _LIKELY * best]
    language = question_language(session.question, session.languages)
    if not best or any((chunk.language or "en") != language for chunk in likely):
        return hits
    asked = _asked_words(session)
    unsaid = unsaid_share(session, asked, [hit.chunk for hit in hits])
    lost = unsaid and _MOST_LOST * unsaid * (1 - _said_otherwise(session, asked, likely))
    if not lost:
        return hits
    return tuple(
        hit if hit.confidence is None else replace(hit, confidence=hit.confidence * (1 - lost))
        for hit in hits
    )


def _said_otherwise(
    session: QuerySession, asked: Sequence[str], chunks: Sequence[StoredChunk]
) -> float:
    """0 to 1: how near in meaning the best passage is to what is asked besides the names."""
    terms_of = partial(question_terms, languages=session.languages)
    words = [w for w in session.question.split() if not set(asked).isdisjoint(terms_of(w))]
    held = np.array([c.id for c in chunks if c.id not in session.earlier], np.int64)
    if not words or not len(held):
        return 1.0
    kept, embedder = session.resources.query_vectors, session.resources.embedder
    vector = kept.get_or_make(" ".join(words), partial(embedder.embed_query, " ".join(words)))
    nearest = float((session.vectors_of(held) @ vector).max())
    return float(np.interp(nearest, _ALIKE, (0.0, 1.0)))


def unsaid_share(
    session: QuerySession, asked: Sequence[str], chunks: Sequence[StoredChunk]
) -> float:
    """Share, 0 to 1, of the terms asked that none of the passages says.

    Terms weigh their rarity; one that the store does not hold is as rare as one held once.
    """
    missing = list(asked)
    for chunk in chunks:
        if not missing:
            return 0.0
        said = set(terms(f"{chunk.title}\n{chunk.context}\n{chunk.text}", chunk.language))
        missing = [term for term in missing if not _is_said(term, said)]
    if not missing:
        return 0.0
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
    asked = " ".join(compared_sides(session.question)) or session.question
    words = question_terms(asked, languages)
    return [term for term in words if term not in named] if named else []


def _is_said(term: str, said: set[str]) -> bool:
    start = term[: max(_SHARED_START, len(term) - 2)]
    return term in said or any(
        word.startswith(start) or (len(word) >= _SHARED_START and term.startswith(word))
        for word in said
    )
