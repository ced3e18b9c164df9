"""Documents by who wrote them: "which files did Marta write?", "papers by Ada Quill"."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from clew.filters import literal
from clew.text import one_line, question_terms, words
from clew.types import Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import StoredChunk

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
def _asked() -> re.Pattern[str]:
    return re.compile(_ASKED, re.IGNORECASE)  # which takes longer than to look for a word


def asked_author(question: str) -> str:
    """The name of whom the question asks the documents of; empty where it does not."""
    said = one_line(question).lower()
    matches = _asked().finditer(one_line(question)) if any(w in said for w in _SAYING) else ()
    for found in matches:
        name = next(filter(None, found.groups()), "")
        if name and not _AUXILIARY.match(name):
            return name
    return ""


def asks_author_alone(question: str) -> bool:
    """Whether it asks for the documents of somebody, on whatever they are."""
    if not asked_author(question):
        return False
    return not question_terms(_asked().sub(" ", one_line(question)))


def by_author(session: QuerySession, ranking: Ranking) -> Iterator[int]:
    """The best passage of each document whose metadata name that author, best first."""
    name, store = asked_author(session.question), session.resources.store
    if not name:
        return
    ids = store.matching_chunks([Condition("author", "~", f"*{literal(name)}*")])
    ids = ids[session.allows(ids)]
    places = {id_: place for place, id_ in enumerate(ranking.ids.tolist())}
    ordered = sorted(ids.tolist(), key=lambda id_: (places.get(id_, len(places)), id_))
    yield from first_of_each(session, ordered, lambda c: _is_by(name, c.metadata["author"]))


def first_of_each(
    session: QuerySession, ids: Sequence[int], meant: Callable[[StoredChunk], bool]
) -> Iterator[int]:
    """The first passage of each document that is meant, as many as are wanted."""
    seen: set[str] = set()
    for chunk in session.resources.store.chunks(ids):
        if chunk.document_id not in seen and meant(chunk):
            seen.add(chunk.document_id)
            yield chunk.id
        if len(seen) >= session.options.limit:
            return


def _is_by(name: str, author: object) -> bool:
    """Whether the name's words are whole words of the author, or of one of several."""
    authors = author if isinstance(author, (list, tuple)) else [author]
    return any(set(words(name)) <= set(words(str(one))) for one in authors)
