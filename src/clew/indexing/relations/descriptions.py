"""What a name is said to be: "X is a lighthouse", "the engineer X", "A's brother B", "Rome, Italy".

Hearst, "Automatic acquisition of hyponyms" (1992), for the copula and the apposition.
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
    PLACES,
    ROLES,
    WORK_NOUNS,
    NameSpan,
)
from clew.indexing.relations.phrases import KINDS, RELATIONAL
from clew.indexing.relations.sentences import (
    CODE_KINDS,
    MAY_FOLLOW,
    find_places,
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
_ENDS_PHRASE = (
    "of in by from who which that at on for with based located founded born to set directed"
    " written produced developed created released published starring used designed made formed"
    " known owned where whose as near between built held run over than when while aimed intended"
    " allowing using enabling providing offering handling containing running living working"
    " serving specializing specialising consisting featuring"
)
_IS_A = re.compile(
    rf"{AFTER_NAME}(?:is|was) an? (?P<what>(?:[\w'’-]+[ \n]){{0,7}}?[a-z]{{3,}})"
    r"(?=(?P<joined>,|[ \n](?:and|or)\b)|[.;:(]|$"
    rf"|[ \n](?:{_ENDS_PHRASE.replace(' ', '|')})\b)"
)
_LONGEST_APPOSITION = 90
_LONGEST_KIND = 80
_LONGEST_GAP = 100
_NAMED_KINDS = word_list(_LISTS["named_kinds"])
_SHOUTED_KINDS = word_list(_LISTS["shouted_kinds"])
_THINGS = KINDS - PERSON_NOUNS - {"order", "state", "party", "court", "force", "record"}
_APPOSABLE = KINDS | ROLES | word_list(_LISTS["apposed_nouns"])


class _Between(NamedTuple):
    """What two neighbours are to each other by the words between them; see `phrases.toml`."""

    pattern: re.Pattern[str]
    relation_type: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    confidence: float = 0.7
    inverse: bool = False


_NOUNS = {
    "work": WORK_NOUNS | {"paper", "article", "pamphlet"},
    "part": CODE_KINDS | word_list(_LISTS["part_nouns"]),
    "role": RELATIONAL | PERSON_NOUNS | ROLES,
    "office": RELATIONAL,
}
_EXPANDED = {f"<{name}>": "|".join(map(re.escape, sorted(nouns))) for name, nouns in _NOUNS.items()}


def _read_between(row: dict[str, Any]) -> _Between:
    pattern = row["pattern"].replace("\n", "")
    for name, nouns in _EXPANDED.items():
        pattern = pattern.replace(name, nouns)
    ends = {end: tuple(row[end].split()) for end in ("left", "right")}
    return _Between(**{**row, **ends, "pattern": re.compile(pattern)})


_BETWEEN = tuple(map(_read_between, _LISTS["between"]))


def find_descriptions(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[Description]:
    """What the sentence `text[start:end]` says that its names are."""
    for name in names:
        if found := _trade_before(text, start, name):
            yield name, IS_A, found, 0.75
        elif noun := (
            _kind_before(text, start, name)
            or _apposed(text, start, end, name)
            or _kind_after(text, start, end, name)
        ):
            yield name, IS_A, NameSpan(name.end, name.end, noun, CONCEPT), 0.75
    first = names[0]
    if text[start : first.start].casefold().strip(' "“‘*_') in ("", "the") and (
        concept := concept_of(text[:end], first.end, is_person(first))
    ):
        yield first, IS_A, NameSpan(first.end, first.end, concept, CONCEPT), 0.8
    for left, right in pairwise(names):
        yield from _between(text, end, left, right)
    for place, region in find_places(text, start, end, names):
        yield place, "located_in", region, 0.75


def concept_of(text: str, position: int = 0, is_person: bool = False) -> str | None:
    """What " is a 2016 Indian drama film directed by Y" says at a position: "drama film"."""
    said = _IS_A.match(text, position)
    if said is None:
        return None
    words = said["what"].split()
    noun = words[-1]
    if noun in _NO_NOUNS or noun.endswith(("ed", "ing", "ly", "ous", "ful")):
        return None
    if not STOP_WORDS.isdisjoint(words) or (
        said["joined"] and noun not in (PERSON_NOUNS if is_person else KINDS)
    ):
        return None
    modifier = words[-2] if len(words) > 1 else ""
    is_compound = (
        _RE["word"].fullmatch(modifier)
        and _RE["modifier"].match(modifier)
        and modifier not in _NO_NOUNS
    )
    return f"{modifier} {noun}" if is_compound else noun


def _trade_before(text: str, start: int, name: NameSpan) -> NameSpan | None:
    """What "the engineer Corwin Hale" says: "engineer"."""
    if not is_person(name):
        return None
    before = _RE["before"].search(text, max(start, name.start - 24), name.start)
    if before is None or before["role"] not in PERSON_NOUNS or before["role"] in RELATIONAL:
        return None
    return NameSpan(before.start("role"), before.end("role"), before["role"], CONCEPT)


def _kind_before(text: str, start: int, name: NameSpan) -> str | None:
    """What "the novel X" and "a company called X" say: "novel", "company"."""
    before = _RE["kind_before"].search(text, max(start, name.start - _LONGEST_KIND), name.start)
    if before is None or before["noun"] not in _THINGS:
        return None
    if before["called"]:
        return before["noun"] if name.entity_type != "person" else None
    article = before["article"].casefold()
    is_told = article in ("the", "this") or article in DEMONYMS  # "the Tamil film X"
    return before["noun"] if is_told and not is_person(name) else None


def _kind_after(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """What "the dpkg command" and "the GNU project" say of a name without marks of code."""
    after = _RE["kind_after"].match(text, name.end, end)
    is_capital = name.name[0].isupper() and name.name.replace(" ", "").isalpha()
    # "The Perl script" is one in Perl, "the dpkg script" is dpkg.
    kinds = _NAMED_KINDS if is_capital else CODE_KINDS
    if is_capital and name.name.isupper():
        kinds = kinds | _SHOUTED_KINDS
    if after is None or after["noun"] not in kinds or is_person(name):
        return None
    following = after["next"] or "and"
    if following not in MAY_FOLLOW and not following.endswith(("ed", "es")):
        return None
    return (
        after["noun"]
        if _RE["before_kind"].search(text, max(start, name.start - 8), name.start)
        else None
    )


def _apposed(text: str, start: int, end: int, name: NameSpan) -> str | None:
    """What "X, a maker of looms, …" says: a noun that says what such a thing is."""
    apposed = _RE["apposed"].match(text, name.end, end)
    if apposed is None or _RE["governed"].search(text, max(start, name.start - 10), name.start):
        return None
    what = text[apposed.end() : min(end, apposed.end() + _LONGEST_APPOSITION)]
    concept = concept_of(f" is a {what}", is_person=is_person(name))
    return concept if concept and concept.rpartition(" ")[2] in _APPOSABLE else None


def _between(text: str, end: int, left: NameSpan, right: NameSpan) -> Iterator[Description]:
    gap, kinds = text[left.end : right.start], (_kinds(left), _kinds(right))
    for row in _BETWEEN if len(gap) <= _LONGEST_GAP else ():
        if not (_fits(kinds[0], row.left) and _fits(kinds[1], row.right)):
            continue
        said = row.pattern.fullmatch(gap)
        if said and (row.relation_type != "part_of" or is_whole(text, right, end, "")):
            relation_type = row.relation_type.format(**said.groupdict()).casefold()
            head, tail = (right, left) if row.inverse else (left, right)
            yield head, relation_type, tail, row.confidence


def _kinds(name: NameSpan) -> set[str]:
    """What a name is, by its type and beyond it."""
    is_option = name.name.startswith("--")
    kinds = {"option" if is_option else name.entity_type}
    kinds |= {"human"} if is_person(name) else set()
    return kinds | ({"region"} if name.name.casefold() in PLACES else set())


def _fits(kinds: set[str], wanted: tuple[str, ...]) -> bool:
    """Whether a name is one of those wanted, or none of those unwanted ("!place")."""
    unwanted = {kind[1:] for kind in wanted if kind[0] == "!"}
    return kinds.isdisjoint(unwanted) if unwanted else not kinds.isdisjoint(wanted)
