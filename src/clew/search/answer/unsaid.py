"""What a question asks about its names and no passage says: a name alone is no answer.

The ranker knows the words of a question that the store holds. Of one that it does not hold,
"salary" in "What is the salary of Marta Kovalenko?", it sees nothing: the name is all there is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from clew.search.analysis.question_patterns import find_names
from clew.search.analysis.sub_questions import compared_sides
from clew.text import question_language, question_terms, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.session import QuerySession
    from clew.types import Hit

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
        said = set(terms(_text(hit), hit.chunk.language))
        missing = [term for term in missing if not _is_said(term, said)]
    weights = _rarity(session, asked)
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


def _rarity(session: QuerySession, asked: Sequence[str]) -> dict[str, float]:
    snapshot = session.snapshot
    most = math.log(snapshot.size + 1)
    found = {term: snapshot.term_rows([term]) for term in asked}
    return {t: float(snapshot.term_idf[r[0]]) if len(r) else most for t, r in found.items()}


def _text(hit: Hit) -> str:
    return f"{hit.chunk.title}\n{hit.chunk.context}\n{hit.chunk.text}"
