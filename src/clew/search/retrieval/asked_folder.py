"""Documents by the folder that they lie in: "latest minutes", "overview of the recipes".

What a file is (minutes, a recipe, an invoice) is often said by its folder alone.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from clew.filters import literal
from clew.search.retrieval.asked_author import first_of_each
from clew.text import one_line, terms
from clew.types import Condition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession

_NAME = r"(?P<{}>[^\W\d]\w*(?:[ -]\w+){{0,2}})"
_LEADING = r"^\W*(?:(?:please|give|show|tell|list|find|me|us|what|which|is|are|the|our|my) )*"
_NEWEST = rf"(?:latest|newest|most recent|last) {_NAME.format('newest')}"
_WHOLE = (
    r"(?:(?:an? )?(?:(?:short|brief|quick) )?(?:overview|summary|list) (?:of|over)"
    rf"|summari[sz]e|list) (?:(?:all|of|the|our|my|these) )*{_NAME.format('whole')}"
)


@cache
def _asked() -> re.Pattern[str]:
    return re.compile(rf"{_LEADING}(?:{_NEWEST}|{_WHOLE})\W*$", re.IGNORECASE)


def asked_folder(question: str) -> str:
    """What may be the name of a folder whose documents are asked for; empty where none are."""
    found = _asked().match(one_line(question))
    return (found["newest"] or found["whole"]) if found else ""


def in_folder(session: QuerySession, ranking: Ranking) -> Iterator[int]:
    """The best passage of each document in the folder of that name, or the first of the newest."""
    found, store = _asked().match(one_line(session.question)), session.resources.store
    name = terms(asked_folder(session.question))
    if not found or not name:
        return
    ids = store.matching_chunks([Condition("path", "~", f"{literal(name[0])}*/**")])
    ids = ids[session.allows(ids)]
    places = {id_: place for place, id_ in enumerate(ranking.ids.tolist())}
    if found["newest"]:
        said = store.published_at(ids.tolist())
        newest = sorted(said, key=lambda id_: (-said[id_].timestamp(), id_))
        ordered = newest or ids.tolist()
    else:
        ordered = sorted(ids.tolist(), key=lambda id_: (places.get(id_, len(places)), id_))
    yield from first_of_each(session, ordered, lambda chunk: _lies_in(chunk.source, name))


def _lies_in(source: str, name: list[str]) -> bool:
    return any(terms(part) == name for part in PurePath(source.split("#")[0]).parts[:-1])
