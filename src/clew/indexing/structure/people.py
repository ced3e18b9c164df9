"""Who does what in a document: in minutes, and where it gives credit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import (
    COURTESY,
    is_first_name,
    is_ordinary,
    is_person_shaped,
)
from clew.indexing.structure.enter import structure
from clew.types import Statement
from clew.word_lists import read_patterns

if TYPE_CHECKING:
    import re
    from datetime import datetime

    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["people"]


_KINDS = frozenset({"text/plain", "text/markdown", "text/x-rst", "text/html"})
_MOST_LISTED = 300
"""Lines of a list of people."""


@structure(most=400)
def minutes_structure(document: Document) -> Iterator[Statement]:
    """Who `attended` the meeting, who was `absent_from` it, and who `spoke_in` it."""
    if document.media_type not in _KINDS:
        return
    text, title, at = document.text, document.title, document.created_at
    # Who was there opens a line by the name, or by a part of it that is nobody else's: "Ada: …".
    short: dict[str, set[str]] = {}
    for line in _RE["present"].finditer(text):
        on_it = line if (line["names"] or "").strip(" *_") else None
        relation = "absent_from" if line["absent"] else "attended"
        for listed in [on_it] if on_it else _below(text, line.end(), _RE["item_minutes"]):
            for name in _persons(listed["names"]):
                yield _by_person(name, listed.span("names"), relation, title, at)
                for part in {name, *name.split()} if relation == "attended" else ():
                    short.setdefault(part, set()).add(name)
    for match in _RE["said"].finditer(text):
        if len(meant := short.get(match["name"], ())) == 1:
            yield _by_person(next(iter(meant)), match.span("name"), "spoke_in", title, at)


def _by_person(
    name: str, place: tuple[int, int], relation: str, tail: str, at: datetime | None = None
) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        start=place[0],
        end=place[1],
        valid_from=at,
    )


def _below(text: str, at: int, item: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The items of the list that begins there."""
    for _ in range(_MOST_LISTED):
        found = item.match(text, at)
        if found is None:
            return
        yield found
        at = found.end()


def _persons(text: str) -> Iterator[str]:
    """The names of persons among what is listed, nothing else."""
    for part in _RE["between"].split(text):
        name = " ".join(_RE["aside"].sub(" ", part).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name


# Who is credited in a document: who stands in a list of contributors, or of names with addresses.


_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


@structure(most=1_000)
def credited(document: Document) -> Iterator[Statement]:
    """`credited_in` the document, of each person in full, once."""
    text, title = document.text, document.title
    for listed in _RE["with_address"].finditer(text):
        yield _by_person(
            " ".join(listed["name"].split()), listed.span("name"), "credited_in", title
        )
    for heading in _RE["contributors"].finditer(text):
        for item in _below(text, heading.end(), _RE["item_credits"]):
            name = " ".join(_RE["aside"].sub(" ", item["name"]).split())
            # One word may be somebody's handle: "jxlil", "Kadino".
            is_handle = _RE["handle"].fullmatch(name) and not is_ordinary(name)
            if is_person_shaped(name) or is_handle:
                yield _by_person(name, item.span("name"), "credited_in", title)
            elif len(name.split()) > _LONGEST_HANDLE:
                break
