"""The words of a question beside those of the store: what it names exactly, and what it misspells.

An exact name (a file, an identifier, a title, a quoted phrase) is no matter of degree, so what
bears it comes before all that a strategy ranks. The names are looked up by their keys in indexes of
the store: no document is read for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.snapshot import find_sorted
from clew.graph.vocabulary import LONGEST, sound
from clew.languages import english_words, function_words, language_words, listed_languages
from clew.search.question import MAX_WORDS, candidate_keys
from clew.text import (
    STOP_WORDS,
    fold,
    name_key,
    one_line,
    question_language,
    question_terms,
    split_file_name,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.graph.snapshot import Ints, Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.search.answer.blocks import RetrievalResult
    from clew.search.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Ids, NamedDocument


LONGEST_NAME = 4
"""Words of an identifier, its number among them, at most."""
LONGEST_TITLE = 8
"""Words of a question that may be a title as a whole."""
MAX_QUOTED = 5
"""Phrases in quotation marks that are looked up."""
MAX_OTHERS = 3
"""Terms beside a quotation that a question may have, or as many as are quoted: else it only
mentions in passing what it quotes."""
MAX_LEADING = 3
"""Documents of one name that come first, at most."""
_READ = 50
"""Passages with a phrase's terms in a row that are read to see whether they hold the phrase."""

_QUOTED = re.compile(r"(?<!\w)[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")
_EDGES = "\"'“”„«»‘’()[]{}<>,;:!?."
_FILLER = frozenset({"version", "number", "no", "release"})


class ExactName(NamedTuple):
    """What the question may mean as the name of a document."""

    text: str
    key: str
    ending: str
    """Of a file; "" for any, and for a title."""

    def names(self, document: NamedDocument) -> bool:
        """Whether it is this document's name."""
        if self.ending:
            ending = split_file_name(document.source)[1]
            return (document.file_key, ending) == (self.key, self.ending)
        return self.key in (document.title_key, document.file_key)


def quoted_phrases(question: str) -> list[str]:
    """What stands in quotation marks, each once; none where the question is about other things."""
    found = (one_line(match[1]) for match in _QUOTED.finditer(question))
    phrases = list(dict.fromkeys(phrase for phrase in found if phrase))[:MAX_QUOTED]
    quoted = {term for phrase in phrases for term in terms(phrase)}
    others = [term for term in question_terms(question) if term not in quoted]
    return phrases if len(others) <= max(MAX_OTHERS, len(quoted)) else []


def exact_names(question: str) -> list[ExactName]:
    """A short question as a whole, what one quotes, its file names and its words with a number."""
    title = [question] if len(question.split()) <= LONGEST_TITLE else []
    whole = [ExactName(text, name_key(text), "") for text in (*title, *quoted_phrases(question))]
    words = [word.strip(_EDGES) for word in question.split()[:MAX_WORDS]]
    files = ((word, *split_file_name(word)) for word in words if "." in word)
    of_files = [ExactName(word, name_key(stem), ending) for word, stem, ending in files if ending]
    found: dict[tuple[str, str], ExactName] = {}
    for name in (*whole, *of_files, *_identifiers(words)):
        if name.key:
            found.setdefault((name.key, name.ending), name)
    return list(found.values())


def _identifiers(words: Sequence[str]) -> Iterator[ExactName]:
    """Words that end in a number: "RFC 2616", "rfc2616", "social contract 1.1"."""
    for last, word in enumerate(words):
        if not any(c.isdecimal() for c in word):
            continue
        for first in range(max(last - LONGEST_NAME + 1, 0), last + 1):
            if words[first][:1].isalpha() and fold(words[first]) not in STOP_WORDS:
                text = " ".join(w for w in words[first : last + 1] if fold(w) not in _FILLER)
                yield ExactName(text, name_key(text), "")


def exact_first(session: QuerySession, found: RetrievalResult) -> RetrievalResult:
    """The same passages, behind those that the question names exactly (`exact` in the scores)."""
    places = {id_: place for place, id_ in enumerate(found.ranking.ids.tolist())}
    with session.timings.step("exact"):
        leading = dict.fromkeys([*_named(session, places), *_quoting(session, places)], 1.0)
    if not leading:
        return found
    return replace(
        found,
        ranking=found.ranking.led_by(np.array(list(leading), dtype=np.int64)),
        scores={**found.scores, "exact": leading},
    )


def _named(session: QuerySession, places: dict[int, int]) -> Iterator[int]:
    """The best passage of each document that the question names."""
    names = exact_names(session.question)
    store, keys = session.resources.store, [name.key for name in names]
    documents = store.named_documents(keys) if keys else ()
    asked = question_terms(session.question) if documents else []
    for name in names if documents else ():
        said = set(terms(name.text))
        others = [term for term in asked if term not in said]
        bearing = []
        for document in documents:
            held = np.array(document.chunk_ids, dtype=np.int64)
            allowed: list[int] = held[session.allows(held)].tolist()
            if allowed and name.names(document):
                bearing.append((document, allowed))
        # Of documents with one name those whose path has most of the question's other words.
        shared = [len(set(others) & set(terms(document.source))) for document, _ in bearing]
        most = max(shared, default=0)
        meant = [ids for (_, ids), count in zip(bearing, shared, strict=True) if count == most]
        meant.sort(key=lambda ids: min(places.get(id_, len(places)) for id_ in ids))
        for ids in meant[:MAX_LEADING]:
            yield _best(session, ids, others, places)


def _best(
    session: QuerySession, ids: Sequence[int], others: Sequence[str], places: dict[int, int]
) -> int:
    """The passage that the rest of the question is about; the first where there is no rest."""
    if not others:
        return ids[0]
    ranked = [id_ for id_ in ids if id_ in places]
    if ranked:
        return min(ranked, key=places.__getitem__)
    allowed = np.array(sorted(ids), dtype=np.int64)
    found, _ = session.resources.store.search_keywords(others, 1, allowed)
    return int(found[0]) if len(found) else ids[0]


def _quoting(session: QuerySession, places: dict[int, int]) -> Iterator[int]:
    """Passages that hold what the question quotes: all where it asks for nothing else, else one."""
    phrases = quoted_phrases(session.question)
    said = {term for phrase in phrases for term in terms(phrase)}
    alone = all(term in said for term in question_terms(session.question))
    store = session.resources.store
    for phrase in phrases:
        # Terms with a space between them are a phrase of the keyword index.
        rows = [" ".join(terms(phrase, code)) for code in ("", *session.languages)]
        ids, _ = store.search_keywords(list(filter(None, rows)), _READ, session.allowed)
        wanted = one_line(fold(phrase))
        holding = [c.id for c in store.chunks(ids.tolist()) if wanted in one_line(fold(c.text))]
        holding.sort(key=lambda id_: places.get(id_, len(places)))
        yield from holding if alone else holding[:1]


# Looking up: a few words that ask nothing mean the passages that hold every one of them.


def holding_all_first(session: QuerySession, ranking: Ranking) -> Ranking:
    """The same passages, behind those of the keyword channel that hold every term."""
    by_keyword = session.channels.by_keyword().ids
    return ranking.led_by(by_keyword[np.isin(by_keyword, holding_all(session))])


def holding_all(session: QuerySession) -> Ids:
    """Chunks that hold every term of the question, in one of its languages; none for no terms."""
    snapshot = session.snapshot
    found = np.zeros(0, np.int64)
    for code in ("", *session.languages):
        wanted = terms(session.question, code)
        rows = snapshot.term_rows(wanted)
        if len(rows) and len(rows) == len(set(wanted)):
            chunks = [snapshot.sentence_chunk[snapshot.postings.row(row)] for row in rows]
            found = np.union1d(found, snapshot.chunk_ids[reduce(np.intersect1d, chunks)])
    return found


# Spelling: words of a question that the store does not have, read as the nearest that it has.
#
# A word that the store has stays as it is, and so does a word of a name that the store knows, an
# English word, a function word of any language, and what is quoted or looks like code, a file or
# an address: none of these is a slip. What may be one is asked in both readings, and the better
# one wins. In a question in a language that the store does not hold, whose words are not known
# here, the other reading must be the likelier one: "Mongolei" finds more as "Mongolia". Of texts in
# other languages than the question's only names are read: "Passwort" is no slip of "passport".


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
_QUOTATION = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|`[^`]*`")
_SPELT = re.compile(r"[^\W\d_]+")
_WORD = re.compile(rf"(?<![\w./\\@:#$])[^\W\d_]{{{SHORTEST},{LONGEST}}}+(?![\w/\\@#(]|[.:]\w)")


def read_as_spelt(session: QuerySession) -> QuerySession:
    """The session of the question as it is meant; what was read otherwise is in the notes."""
    if not session.views.in_memory:
        return session  # the words of a store are as many as it is large
    with session.timings.step("spelling"):
        # Words that might be slips, and where each begins.
        unquoted = _QUOTATION.sub(lambda match: " " * len(match.group()), session.question)
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
    found = function_words(_SPELT.findall(session.question.casefold()), STOP_WORDS)
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
    near_to = partial(nearest, vocabulary=session.resources.vocabulary, held=held)
    beside = held.rarest(session.question)
    spoken = question_language(session.question, listed_languages())
    found = {
        word: near
        for word in islice(foreign, MOST_READ)
        if (near := near_to(fold(word), beside=beside))
        and (spoken == "en" or _crosses(session, held.chunks(near), near, spoken))
    }
    if not found:
        return {}
    if not _is_foreign(session):  # whose other words say nothing of those that are near
        found = {word: near for word, near in found.items() if held.together(near, beside)}
    keys = candidate_keys(session.question)
    named = {part for key in session.resources.store.resolve(keys) for part in key.split()}
    return {w: _as_written(w, near) for w, near in found.items() if fold(w) not in named}


def _crosses(session: QuerySession, holding: Ids, near: str, spoken: str) -> bool:
    """Whether passages that hold the word are in the language that is spoken, or it is a name.

    A name has a capital wherever it is written, and is no ordinary word of English.
    """
    texts = [chunk.text for chunk in session.resources.store.chunks(holding[:_READ].tolist())]
    if spoken in (question_language(text, listed_languages()) for text in texts):
        return True
    return not (_is_known(near) or any(near in text for text in texts))


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

    def chunks(self, word: str) -> Ids:
        """Ids of the passages that hold the word."""
        passages = [self._passages(int(row)) for row in self.rows(word)]
        return self.snapshot.chunk_ids[np.unique(np.concatenate(passages))]

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
