"""What a question names exactly: a file, an identifier, a title, a quoted phrase.

Such a name is no matter of degree, so what bears it comes before all that a strategy ranks. The
names are looked up by their keys in indexes of the store: no document is read for it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.search.question import MAX_WORDS
from clew.text import STOP_WORDS, fold, name_key, one_line, question_terms, split_file_name, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
                kept = [w for w in words[first : last + 1] if fold(w) not in _FILLER]
                text = " ".join(kept)
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
