"""What the words before, between and behind names say of them, by the rows of `around.toml`.

"X is a lighthouse", "the engineer X", "A's brother B", "Rome, Italy", "the founder of X is Y".
Hearst, "Automatic acquisition of hyponyms" (1992), for the copula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from clew.indexing.ner.entity_types import (
    AFTER_NAME,
    DEMONYMS,
    PERSON_NOUNS,
    ROLES,
    WORK_NOUNS,
    NameSpan,
)
from clew.indexing.relations.phrases import KINDS, OFFICES, RELATIONAL, SEATS, THINGS
from clew.indexing.relations.sentences import (
    CODE_KINDS,
    MAY_FOLLOW,
    REGIONS,
    is_person,
    is_whole,
)
from clew.text import STOP_WORDS
from clew.word_lists import read_patterns, read_word_lists, word_list

_RE = read_patterns("clew.indexing.relations", "patterns.toml")["descriptions"]

CONCEPT = "concept"
"""Entity type of what is no name."""
IS_A = "is_a"
TIMELESS = frozenset(("located_in", "option_of"))
"""What holds whenever something happened there."""
Description: TypeAlias = tuple[NameSpan, str, NameSpan, float]
"""(head, relation type, tail, confidence)"""

_LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")
_NO_NOUNS = word_list(_LISTS["vague_nouns"]) | DEMONYMS | word_list(_LISTS["participles"])
_IS_A = re.compile(
    rf"{AFTER_NAME}(?:is|was) an? (?P<what>(?:[\w'’-]+[ \n]){{0,7}}?[a-z]{{3,}})"
    r"(?=(?P<joined>,|[ \n](?:and|or)\b)|[.;:(]|$"
    rf"|[ \n](?:{'|'.join(_LISTS['ends_phrase'].split())})\b)"
)
_LONGEST_BESIDE = 80
"""Characters before a name that say what it is, and of what stands between two names."""


class _Row(NamedTuple):
    """What the words beside a name, or around two neighbours, say; see `around.toml`."""

    relation_type: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    confidence: float = 0.75
    inverse: bool = False
    before: re.Pattern[str] = re.compile("")
    between: re.Pattern[str] = re.compile("")
    after: re.Pattern[str] = re.compile("")


_NOUNS = {
    "work": WORK_NOUNS | {"paper", "article", "pamphlet"},
    "part": CODE_KINDS | word_list(_LISTS["part_nouns"]),
    "role": RELATIONAL | PERSON_NOUNS | ROLES,
    "office": RELATIONAL | OFFICES,
    "shared": THINGS,
    "seat": SEATS,
    "trade": PERSON_NOUNS - RELATIONAL,
    "thing": KINDS - PERSON_NOUNS - {"order", "state", "party", "court", "force", "record"},
    "demonym": DEMONYMS,
    "tool": CODE_KINDS,
    "known": word_list(_LISTS["named_kinds"]),
    "shouted": word_list(_LISTS["named_kinds"]) | word_list(_LISTS["shouted_kinds"]),
    "follows": MAY_FOLLOW,
}
_EXPANDED = {
    f"<{name}>": "|".join(re.escape(n).replace("\\-", "[ -]") for n in sorted(nouns, key=len)[::-1])
    for name, nouns in _NOUNS.items()
}


def _read_row(row: dict[str, Any]) -> _Row:
    read = dict(row)
    for part in {"before", "between", "after"} & row.keys():
        pattern = row[part].replace("\n", "")
        for name, nouns in _EXPANDED.items():
            pattern = pattern.replace(name, nouns)
        read[part] = re.compile(pattern)
    for end in {"left", "right"} & row.keys():
        read[end] = tuple(row[end].split())
    return _Row(**read)


_ROWS = read_word_lists("clew.indexing.relations", "around.toml")
_OF_ONE = tuple(map(_read_row, _ROWS["beside"]))
_OF_TWO = tuple(map(_read_row, _ROWS["between"]))


def find_descriptions(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[Description]:
    """What the sentence `text[start:end]` says that its names are."""
    for name in names:
        if noun := _noun_beside(text, start, end, name):
            yield name, IS_A, NameSpan(name.end, name.end, noun, CONCEPT), 0.75
    first = names[0]
    if text[start : first.start].casefold().strip(' "“‘*_') in ("", "the") and (
        concept := concept_of(text[:end], first.end, is_person(first))
    ):
        yield first, IS_A, NameSpan(first.end, first.end, concept, CONCEPT), 0.8
    for left, right in pairwise(names):
        if right.start - left.end <= _LONGEST_BESIDE:
            yield from said_of_two(text, start, end, left, right)


def concept_of(text: str, position: int = 0, is_person: bool = False) -> str | None:
    """What " is a 2016 Indian drama film directed by Y" says at a position: "drama film"."""
    said = _IS_A.match(text, position)
    if said is None:
        return None
    *others, noun = said["what"].split()
    if noun in _NO_NOUNS or noun.endswith(("ed", "ing", "ly", "ous", "ful")):
        return None
    is_listed = said["joined"] and noun not in (PERSON_NOUNS if is_person else KINDS)
    if is_listed or not STOP_WORDS.isdisjoint((*others, noun)):
        return None
    modifier = others[-1] if others else ""
    is_compound = _RE["modifier"].fullmatch(modifier) and modifier not in _NO_NOUNS
    return f"{modifier} {noun}" if is_compound else noun


def _noun_beside(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """The noun of "the engineer Corwin Hale", "a company called X", "the dpkg command"."""
    kinds = _kinds(name)
    for row in _OF_ONE:
        if _fits(kinds, row.left) and (nouns := _around(text, start, end, row, name, name)):
            return nouns["noun"]
    return None


def said_of_two(
    text: str, start: int, end: int, left: NameSpan, right: NameSpan
) -> Iterator[Description]:
    """What two neighbours are to each other by the words before, between and behind them."""
    gap, kinds = text[left.end : right.start], (_kinds(left), _kinds(right))
    for row in _OF_TWO:
        if not (_fits(kinds[0], row.left) and _fits(kinds[1], row.right)):
            continue
        said = row.between.fullmatch(gap)
        around = _around(text, start, end, row, left, right) if said else None
        if said is None or around is None:
            continue
        if row.relation_type != "part_of" or is_whole(text, right, end, ""):
            noun = (said.groupdict() | around).get("noun") or ""
            relation_type = re.sub(r"[ -]", "_", row.relation_type.format(noun=noun.casefold()))
            head, tail = (right, left) if row.inverse else (left, right)
            yield head, relation_type, tail, row.confidence


def _around(
    text: str, start: int, end: int, row: _Row, left: NameSpan, right: NameSpan
) -> dict[str, str] | None:
    """The groups of what a row wants before the first name and behind the second one."""
    first = max(start, left.start - _LONGEST_BESIDE)
    before = row.before.search(text, first, left.start)
    after = row.after.match(text, right.end, end) if before else None
    return before.groupdict() | after.groupdict() if before and after else None


def _kinds(name: NameSpan) -> set[str]:
    """What a name is, by its type and beyond it."""
    kinds = {"option" if name.name.startswith("--") else name.entity_type}
    kinds |= {"human"} if is_person(name) else set()
    if name.name[0].isupper() and name.name.replace(" ", "").isalpha():
        kinds.add("shouted" if name.name.isupper() else "capital")
    return kinds | ({"region"} if name.name.casefold() in REGIONS else set())


def _fits(kinds: set[str], wanted: tuple[str, ...]) -> bool:
    """Whether a name is one of those wanted, or any, and none of those unwanted ("!place")."""
    unwanted = {kind[1:] for kind in wanted if kind[0] == "!"}
    others = [kind for kind in wanted if kind[0] != "!"]
    return kinds.isdisjoint(unwanted) and not (others and kinds.isdisjoint(others))
