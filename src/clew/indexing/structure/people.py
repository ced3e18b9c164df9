"""Who is credited in a document: who stands in a list of contributors, or with an address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_ordinary, is_person_shaped
from clew.indexing.structure.enter import structure
from clew.types import Statement
from clew.word_lists import read_patterns

if TYPE_CHECKING:
    from clew.types import Document


_RE = read_patterns("clew.indexing.structure", "patterns.toml")["people"]


_MOST_LISTED = 300
"""Lines of a list of people."""
_LONGEST_HANDLE = 3
"""Words of a line of such a list that is no name of a person: it is passed over."""


@structure(most=1_000)
def credited(document: Document) -> Iterator[Statement]:
    """`credited_in` the document, of each person in full, once."""
    for name, (start, end) in _people(document.text):
        yield Statement(
            head=name,
            head_type="person",
            relation_type="credited_in",
            tail=document.title,
            start=start,
            end=end,
        )


def _people(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for listed in _RE["with_address"].finditer(text):
        yield " ".join(listed["name"].split()), listed.span("name")
    for heading in _RE["contributors"].finditer(text):
        at = heading.end()
        for _ in range(_MOST_LISTED):
            item = _RE["item"].match(text, at)
            name = " ".join(_RE["aside"].sub(" ", item["name"]).split()) if item else ""
            # One word may be somebody's handle: "jxlil", "Kadino".
            is_handle = _RE["handle"].fullmatch(name) and not is_ordinary(name)
            if item and (is_person_shaped(name) or is_handle):
                yield name, item.span("name")
            elif item is None or len(name.split()) > _LONGEST_HANDLE:
                break
            at = item.end()
