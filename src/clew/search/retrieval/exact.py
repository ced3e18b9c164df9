"""What a question names exactly: a file, an identifier, a title, a quoted phrase, a number.

Such a name is no matter of degree, so what bears it comes before all that a strategy ranks. The
names are looked up by their keys in indexes of the store: no document is read for it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from operator import contains
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.filters import literal
from clew.text import (
    STOP_WORDS,
    fold,
    name_key,
    one_line,
    question_terms,
    split_file_name,
    terms,
    words,
)
from clew.types import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.search.answer.blocks import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import NamedDocument, StoredChunk


MAX_WORDS = 400
"""Words of a question that are looked at."""
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
_BEFORE_NUMBER = ("", "v", "version ", "release ")
"""What a file's name has before the number of a version: "3_35_0.html", "v3.35.0.md"."""


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


def numbers(question: str) -> list[str]:
    """Words of several parts with a digit in them: of a version, an order, a section."""
    words = (word.strip(_EDGES + ".") for word in question.split()[:MAX_WORDS])
    found = (w for w in words if any(c.isdecimal() for c in w) and len(terms(w)) > 1)
    return list(dict.fromkeys(found))[:MAX_QUOTED]


def exact_names(question: str) -> list[ExactName]:
    """A short question as a whole, what one quotes, its file names and its words with a number."""
    title = [question] if len(question.split()) <= LONGEST_TITLE else []
    whole = [ExactName(text, name_key(text), "") for text in (*title, *quoted_phrases(question))]
    words = [word.strip(_EDGES) for word in question.split()[:MAX_WORDS]]
    found: dict[tuple[str, str], ExactName] = {}
    versions = [f"{before}{number}" for number in numbers(question) for before in _BEFORE_NUMBER]
    numbered = [ExactName(text, name_key(text), "") for text in versions]
    for name in (*whole, *_file_names(words), *_identifiers(words), *numbered):
        if name.key:
            found.setdefault((name.key, name.ending), name)
    return list(found.values())


def _file_names(words: Sequence[str]) -> Iterator[ExactName]:
    for word in words:
        stem, ending = split_file_name(word)
        if ending:
            yield ExactName(word, name_key(stem), ending)


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
        leading = _listed(session, places)
        leading = leading or [*_named(session, places), *_quoting(session, places)]
    ids = np.array(list(dict.fromkeys(leading)), dtype=np.int64)
    if not len(ids):
        return found
    return replace(
        found,
        ranking=found.ranking.led_by(ids),
        scores={**found.scores, "exact": dict.fromkeys(ids.tolist(), 1.0)},
    )


def _named(session: QuerySession, places: dict[int, int]) -> Iterator[int]:
    """The best passage of each document that the question names."""
    names = exact_names(session.question)
    # The titles in which a number of the question stands, where they are few.
    for number in numbers(session.question):
        chunks = _holding(session, number, {}, in_text=stands_in)
        titles = {c.title for c in chunks if stands_in(fold(c.title), fold(number))}
        if len(titles) <= MAX_LEADING:
            names += [ExactName(number, name_key(title), "") for title in sorted(titles)]
    documents = (
        session.resources.store.named_documents([name.key for name in names]) if names else ()
    )
    for name in names if documents else ():
        said = set(terms(name.text))
        others = [term for term in question_terms(session.question) if term not in said]
        bearing = []
        for document in documents:
            held = np.array(document.chunk_ids, dtype=np.int64)
            allowed: list[int] = held[session.allows(held)].tolist()
            if allowed and name.names(document):
                bearing.append((document, allowed))
        for _, ids in _meant(bearing, others, places)[:MAX_LEADING]:
            yield _best(session, ids, others, places)


def _meant(
    bearing: Sequence[tuple[NamedDocument, list[int]]],
    others: Sequence[str],
    places: dict[int, int],
) -> list[tuple[NamedDocument, list[int]]]:
    """Of documents with one name those whose path has most of the question's other words."""
    shared = [len(set(others) & set(terms(document.source))) for document, _ in bearing]
    most = max(shared, default=0)
    meant = [one for one, count in zip(bearing, shared, strict=True) if count == most]
    return sorted(meant, key=lambda one: min(places.get(id_, len(places)) for id_ in one[1]))


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
    """Passages that hold what the question quotes: all where it asks for nothing else, else one.

    Of those that hold a number the best, where they are few: else it tells nothing apart. Numbers
    of a date are none.
    """
    phrases = quoted_phrases(session.question)
    said = {term for phrase in phrases for term in terms(phrase)}
    alone = all(term in said for term in question_terms(session.question))
    for phrase in phrases:
        holding = [chunk.id for chunk in _holding(session, phrase, places, in_text=contains)]
        yield from holding if alone else holding[:1]
    for number in numbers(session.question) if session.named_period is None else ():
        holding = [chunk.id for chunk in _holding(session, number, places, in_text=stands_in)]
        yield from holding[:1] if len(holding) <= MAX_LEADING else ()


def _holding(
    session: QuerySession,
    phrase: str,
    places: dict[int, int],
    *,
    in_text: Callable[[str, str], bool],
) -> list[StoredChunk]:
    """Passages that hold a phrase, the best first."""
    if not terms(phrase):
        return []  # stop words are not in the index
    store = session.resources.store
    # Terms with a space between them are a phrase of the keyword index.
    said_in = [" ".join(terms(phrase, code)) for code in ("", *session.languages)]
    ids, _ = store.search_keywords(list(filter(None, said_in)), _READ, session.allowed)
    wanted = one_line(fold(phrase))
    holding = [c for c in store.chunks(ids.tolist()) if in_text(one_line(fold(c.text)), wanted)]
    return sorted(holding, key=lambda chunk: places.get(chunk.id, len(places)))


def stands_in(text: str, number: str) -> bool:
    """Whether a number stands in a text by itself, not as a part of a longer one."""
    return re.search(rf"(?<![\w.-]){re.escape(number)}(?![\w-]|\.\w)", text) is not None


# Documents by who wrote them ("which files did Marta write?"), or by the folder that they lie in
# ("latest minutes"): what a file is (minutes, a recipe, an invoice) is often said by that alone.


def _listed(session: QuerySession, places: dict[int, int]) -> list[int]:
    """The best passage of each document by the author, or in the folder, that is asked for.

    Of the newest of a folder, the first passage of each, the newest first. At most `limit`.
    """
    store = session.resources.store
    for condition, is_meant, newest in _listings(session.question):
        ids = store.matching_chunks([condition])
        allowed: list[int] = ids[session.allows(ids)].tolist()
        if newest:
            said = store.published_at(allowed)
            allowed = sorted(said, key=lambda id_: (-said[id_].timestamp(), id_)) or allowed
        else:
            allowed.sort(key=lambda id_: (places.get(id_, len(places)), id_))
        first: dict[str, int] = {}
        for chunk in store.chunks(allowed):
            if len(first) < session.options.limit and is_meant(chunk):
                first.setdefault(chunk.document_id, chunk.id)
        if first:
            return list(first.values())
    return []


def _listings(question: str) -> Iterator[tuple[Condition, Callable[[StoredChunk], bool], bool]]:
    """What finds passages, which of them are meant, and whether the newest of them are."""
    if author := asked_author(question):
        by = Condition("author", "~", f"*{literal(author)}*")
        yield by, lambda chunk: _is_by(author, chunk.metadata["author"]), False
    if folder := terms(asked_folder(question)):
        found = _folder_pattern().match(one_line(question))
        within = Condition("path", "~", f"{literal(folder[0])}*/**")
        yield within, lambda chunk: _lies_in(chunk.source, folder), bool(found and found["newest"])


def _is_by(name: str, author: object) -> bool:
    """Whether the name's words are whole words of the author, or of one of several."""
    authors = author if isinstance(author, (list, tuple)) else [author]
    return any(set(words(name)) <= set(words(str(one))) for one in authors)


def _lies_in(source: str, name: list[str]) -> bool:
    return any(terms(part) == name for part in PurePath(source.split("#")[0]).parts[:-1])


MAX_NAME = 4
"""Words of an author's name, at most."""
_NAME = rf"(\w[\w.'’-]*(?: \w[\w.'’-]*){{0,{MAX_NAME - 1}}}?)"
_THINGS = (
    r"(?:documents?|files?|notes?|papers?|pages?|articles?|essays?|reports?|letters?|mails?|e-?mails?"
    r"|messages?|posts?|minutes|texts?|entries)"
)
_END = r"(?= (?:about|on|concerning|regarding|in|since|before|after|to)\b|\s*[?.!]?\s*$)"
_ASKED = (
    rf"\b(?:which|what)(?: \w+)? {_THINGS} (?:did|has|have|were|was|are|is) {_NAME}"
    rf" (?:writes?|written|wrote|authored?|sent|send){_END}"
    rf"|^\W*what (?:did|has) {_NAME} (?:write|written){_END}"
    rf"|\b(?:{_THINGS}|everything|anything|all|what)(?: that)?(?: (?:was|were|is|are))?"
    rf" (?:written|authored|sent) by {_NAME}{_END}"
    rf"|^\W*(?:(?:all|any|the|list|show|find|which|what|me) )*{_THINGS} by {_NAME}{_END}"
    rf"|\b(?:{_THINGS}|everything|anything) (?:that )?{_NAME} (?:wrote|has written|sent){_END}"
)
_SAYING = ("by ", "writ", "wrote", "sen")
"""One of which stands in every question that asks so: others are not looked at more closely."""
_AUXILIARY = re.compile(r"^(?:were|was|are|is|by|written|authored|sent)\b", re.IGNORECASE)


@cache
def _author_pattern() -> re.Pattern[str]:
    return re.compile(_ASKED, re.IGNORECASE)  # which takes longer than to look for a word


def asked_author(question: str) -> str:
    """The name of whom the question asks the documents of; empty where it does not."""
    said = one_line(question).lower()
    matches = (
        _author_pattern().finditer(one_line(question)) if any(w in said for w in _SAYING) else ()
    )
    for found in matches:
        name = next(filter(None, found.groups()), "")
        if name and not _AUXILIARY.match(name):
            return name
    return ""


def asks_author_alone(question: str) -> bool:
    """Whether it asks for the documents of somebody, on whatever they are."""
    if not asked_author(question):
        return False
    return not question_terms(_author_pattern().sub(" ", one_line(question)))


_FOLDER = r"(?P<{}>[^\W\d]\w*(?:[ -]\w+){{0,2}})"
_LEADING = r"^\W*(?:(?:please|give|show|tell|list|find|me|us|what|which|is|are|the|our|my) )*"
_NEWEST = rf"(?:latest|newest|most recent|last) {_FOLDER.format('newest')}"
_WHOLE = (
    r"(?:(?:an? )?(?:(?:short|brief|quick) )?(?:overview|summary|list) (?:of|over)"
    rf"|summari[sz]e|list) (?:(?:all|of|the|our|my|these) )*{_FOLDER.format('whole')}"
)


@cache
def _folder_pattern() -> re.Pattern[str]:
    return re.compile(rf"{_LEADING}(?:{_NEWEST}|{_WHOLE})\W*$", re.IGNORECASE)


def asked_folder(question: str) -> str:
    """What may be the name of a folder whose documents are asked for; empty where none are."""
    found = _folder_pattern().match(one_line(question))
    return (found["newest"] or found["whole"]) if found else ""
