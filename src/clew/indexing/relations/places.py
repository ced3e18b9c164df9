"""Where a sentence says that its places lie: "in Notodden, Telemark, Norway"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from clew.indexing.ner.name_lexicon import PLACES
from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.antecedents import is_person
from clew.word_lists import read_word_lists, word_list

_COMMA = re.compile(r", ")
_IN_BEFORE = re.compile(r"\b(?:in|at|near|from|of|to) (?:the )?$")
_AFTER_REGION = re.compile(
    r"[.,;:)]?(?:$|\n|[ ](?P<joined>(?:and|or)[ ](?=[a-z]))?(?!and\b|or\b|[A-Z&]))|[)]"
)
_LONGEST_CHAIN = 4
_REGIONS = PLACES | {
    name.replace("-", " ")
    for name in word_list(read_word_lists("clew.indexing.relations", "phrases.toml")["regions"])
}


def find_places(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[tuple[NameSpan, NameSpan]]:
    """Neighbours of "in Notodden, Telemark, Norway", each of which lies in the next one.

    The last is a well-known place, the first is none where there are more: such is a list.
    """
    for i, region in enumerate(names):
        after = _AFTER_REGION.match(text, region.end, end)
        if after is None or region.name.casefold() not in _REGIONS:
            continue
        first = i
        while first and i - first < _LONGEST_CHAIN and _may_lie(text, names[first - 1 : first + 1]):
            first -= 1
        before = _IN_BEFORE.search(text, max(start, names[first].start - 10), names[first].start)
        is_known = names[first].name.casefold() in _REGIONS
        is_list = (is_known or after["joined"]) if i - first > 1 else is_known and after["joined"]
        if before and not is_list:
            yield from pairwise(names[first : i + 1])


def _may_lie(text: str, names: Sequence[NameSpan]) -> bool:
    place, region = names
    is_place = place.entity_type in ("place", "name") and not is_person(place)
    return is_place and _COMMA.fullmatch(text, place.end, region.start) is not None
