"""Typed relations between two names of one sentence, from the words between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from clew.indexing.ner.entity_types import (
    AFTER_NAME,
    PERSON_NOUNS,
    NameSpan,
    is_ordinary,
    type_of_description,
    type_of_name,
)
from clew.indexing.relations.descriptions import (
    CONCEPT,
    IS_A,
    TIMELESS,
    find_descriptions,
)
from clew.indexing.relations.phrases import (
    KINDS,
    Phrase,
    is_denied,
    opening_verb,
    phrase_between,
    read_phrase,
    read_validity,
    states_facts,
)
from clew.indexing.relations.sentences import (
    Antecedent,
    gap_between,
    is_attribute,
    is_person,
    is_whole,
    without_role,
)
from clew.text import entity_key
from clew.types import ExtractedRelation
from clew.word_lists import read_patterns

_RE = read_patterns("clew.indexing.relations", "patterns.toml")["patterns"]

LONGEST_GAP = 70
"""Characters between two names that are read at all."""
PRONOUN_FACTOR = 0.8
"""What a relation's confidence is multiplied with where a pronoun stands for its head."""
_IS = re.compile(rf"{AFTER_NAME}(?:is|was|are|were) (?:an?|the|one of the) ")
_GOVERNING = (" of ", " in ", " at ", " by ", " from ", " with ", " to ", " for ", " on ", " near ")
_SUBJECT = re.compile(
    r"(?:(?P<person>he|she)|it|(?:the|this) (?P<kind>"
    + "|".join(sorted(KINDS - PERSON_NOUNS))
    + r"))(?P<have>['’]ve)?\s+(?=\w)",
    re.IGNORECASE,
)
_AFTER_A_NAME = " \n,'’("
_FINITE = frozenset(("is", "was", "are", "were", "has", "had", "have", "will"))


class Owner(NamedTuple):
    """What an observation was told of."""

    name: str
    entity_type: str


class _Candidate(NamedTuple):
    head: str
    phrase: Phrase
    tail: NameSpan
    start: int
    """Where its first name, or the pronoun for it, begins."""

    def key(self) -> tuple[str, str, str]:
        """Candidates with the same key are the same."""
        return entity_key(self.first), self.phrase.relation_type, entity_key(self.last)

    @property
    def first(self) -> str:
        return self.tail.name if self.phrase.inverse else self.head

    @property
    def last(self) -> str:
        return self.head if self.phrase.inverse else self.tail.name


def find_relations(
    text: str,
    sentence: tuple[int, int, int],
    names: Sequence[NameSpan],
    antecedents: Sequence[Antecedent],
) -> Iterator[ExtractedRelation]:
    """Relations between neighbours among `names` (ordered, none within another), each once.

    `sentence` is its range and its ordinal. One of `antecedents` stands for a pronoun that
    opens it. A relation holds when its sentence says so; the date of its text is none of its own.
    """
    start, end, ordinal = sentence
    if not states_facts(text[start:end]):
        return
    seen: set[tuple[str, str, str]] = set()
    dates = [name for name in names if name.entity_type == "date"]
    named = [without_role(name) for name in names if name.entity_type != "date"]
    candidates = sorted(
        _candidates(text, start, end, named, dates, antecedents), key=lambda c: c.tail.start
    )
    for candidate, following in zip_longest(candidates, candidates[1:]):
        key = candidate.key()
        if key in seen or key[0] == key[2]:
            continue
        seen.add(key)
        relation_type, tail = candidate.phrase.relation_type, candidate.tail
        # A date beside it is that of something else: "in Rome, Italy, in 2004".
        is_apposed = relation_type == IS_A and not _IS.match(text, tail.start, end)
        validity = None
        if not is_apposed and relation_type not in TIMELESS:
            limit = end
            if following:
                is_behind = following.start >= tail.end
                limit = following.start if is_behind else following.tail.start
            validity = read_validity(text, dates, candidate.start, tail, limit)
        yield ExtractedRelation(
            head=candidate.first,
            tail=candidate.last,
            relation_type=relation_type,
            sentence=ordinal,
            confidence=candidate.phrase.confidence,
            is_causal=candidate.phrase.is_causal,
            valid_from=validity.valid_from if validity else None,
            valid_until=validity.valid_until if validity else None,
            tail_type=CONCEPT if tail.entity_type == CONCEPT else "name",
        )


def find_owned_relations(
    text: str, sentence: tuple[int, int, int], names: Sequence[NameSpan], owner: Owner
) -> Iterator[ExtractedRelation]:
    """What the verbs without a subject state of the owner: the same as behind the owner's name.

    "Moved to Bilbao." says what "Amparo moved to Bilbao." does, and so does "Sold up and moved to
    Bilbao."
    """
    start, end, ordinal = sentence
    if not states_facts(text[start:end]):
        return
    for first, last in _predicates(text, opening_word(text, start), end, names, owner):
        yield from _said_of(owner, text, (first, last, ordinal), names)


def _said_of(
    owner: Owner, text: str, predicate: tuple[int, int, int], names: Sequence[NameSpan]
) -> Iterator[ExtractedRelation]:
    """What a predicate states where the owner's name stands before it."""
    start, end, ordinal = predicate
    said = f"{owner.name} {text[start : start + 1].lower()}{text[start + 1 : end]}"
    length = len(owner.name)
    if _RE["predicate"].match(said, length) is None:
        return
    moved = length + 1 - start
    kept = (name for name in names if start <= name.start < end)
    spans = [name._replace(start=name.start + moved, end=name.end + moved) for name in kept]
    subject, key = NameSpan(0, length, owner.name, owner.entity_type), entity_key(owner.name)
    for one in find_relations(said, (0, len(said), ordinal), [subject, *spans], ()):
        if key in (entity_key(one.head), entity_key(one.tail)):
            yield one


def _predicates(
    text: str, start: int, end: int, names: Sequence[NameSpan], owner: Owner
) -> Iterator[tuple[int, int]]:
    """Where a sentence says something of the owner without its name: "left A | and joined B".

    All of it, where it has no subject and one verb; what follows the first verb, where it opens
    with the owner's name, or as the first one with a pronoun for it.
    """
    key, told = entity_key(owner.name), [name for name in names if name.entity_type != "date"]
    subject = next((name for name in told if name.start == start), None)
    at = start
    if subject is not None and entity_key(subject.name) == key:
        at = subject.end + 1
    elif opening_word(text, 0) == start and (opening := _SUBJECT.match(text, start, end)):
        meant = Antecedent(owner.name, start, entity_type=owner.entity_type)
        at = opening.end() if _means(opening, meant) else start
    if (at == start and subject is not None) or any(
        name.start >= at and entity_key(name.name) == key for name in told
    ):
        return  # another one is its subject, or it speaks of the owner otherwise
    verbs = [at, *_further_verbs(text, at, end)]
    for first, last in pairwise([*verbs, end]):
        if first > at or at == start:
            yield first, last


def _further_verbs(text: str, start: int, end: int) -> Iterator[int]:
    """Where each further verb of the subject of the first one begins."""
    if not opening_verb(text[start:end]):
        return
    for joined in _RE["joins_verbs"].finditer(text, start, end):
        before = text[start : joined.start()]
        if _RE["other_clause"].search(before):
            return  # "knows Iker, who left A and joined B"
        verb = opening_verb(text[joined.end() : end])
        is_free = joined.group() == ", " or is_denied(before)
        if verb == "finite" or (verb and not is_free):
            yield joined.end()


def opening_word(text: str, start: int) -> int:
    """Where the first word of a sentence is, behind the mark of an item of a list."""
    mark = _RE["opening"].match(text, start)
    return mark.end() if mark else start


def without_opening_verb(text: str, end: int, name: NameSpan) -> NameSpan | None:
    """A name that opens a sentence without the verb that it seems to begin with, if it does so.

    "Married Iker in June" names Iker, "United Airlines pilot" an airline.
    """
    verb, _, rest = text[name.start : name.end].partition(" ")
    gap = f" {verb.casefold()} "
    if not rest or not is_ordinary(verb) or read_phrase(gap) is None:
        return None
    found = NameSpan(name.end - len(rest), name.end, rest, type_of_name(rest))
    after = _RE["following"].match(text, name.end, end)
    word = after["word"] if after else ""
    goes_on = word in _FINITE | KINDS or read_phrase(f" {word} ")
    return None if goes_on or not is_whole(text, found, end, gap) else found


def _candidates(
    text: str,
    start: int,
    end: int,
    names: Sequence[NameSpan],
    dates: Sequence[NameSpan],
    antecedents: Sequence[Antecedent],
) -> Iterator[_Candidate]:
    """What is said of neighbours; the sentence's subject is the head where that is meant."""
    told = [n for n in names if not is_attribute(n.name)]
    if not told:
        return
    for antecedent in antecedents:
        yield from _about_antecedent(text, told, dates, antecedent)
    for head, relation_type, tail, confidence in find_descriptions(text, start, end, told):
        yield _Candidate(head.name, Phrase(relation_type, confidence), tail, head.start)
    yield from _of_neighbours(text, start, end, told, dates)


def _of_neighbours(
    text: str,
    start: int,
    end: int,
    told: Sequence[NameSpan],
    dates: Sequence[NameSpan],
) -> Iterator[_Candidate]:
    """What the words between two neighbours say."""
    object_at = -1  # where the last object of an active verb begins
    for left, right in pairwise(told):
        gap = gap_between(text, left.end, right.start, dates)
        if not 3 < len(gap) <= LONGEST_GAP or gap[0] not in _AFTER_A_NAME:
            continue
        is_object = left.start == object_at and _RE["verb_first"].match(gap)
        if is_object or _is_governed(text, start, left, gap):
            continue
        # "The Rockets" are no person, whatever else they are.
        article = text[max(0, left.start - 4) : left.start].lower() == "the "
        is_thing = article and left.entity_type == "name"
        phrase = phrase_between(gap, "thing" if is_thing else left.entity_type, right.entity_type)
        if phrase and is_whole(text, right, end, gap):
            object_at = right.start
            yield _Candidate(left.name, phrase, right, left.start)


def _about_antecedent(
    text: str, told: Sequence[NameSpan], dates: Sequence[NameSpan], antecedent: Antecedent
) -> Iterator[_Candidate]:
    """What a sentence states of an antecedent, where a pronoun for it opens the sentence."""
    first = next((name for name in told if name.start >= antecedent.start), None)
    if first is None:
        return
    start = _behind_date(text, antecedent.start, dates)
    opening = (_RE["speaker"] if antecedent.speaks else _SUBJECT).match(text, start, first.start)
    if opening is None or not _means(opening, antecedent):
        return
    kind = "person" if opening["person"] else "thing"
    words = gap_between(text, opening.end() - 1, first.start, dates)
    gap = (" have" if opening["have"] else "") + words
    phrase = phrase_between(gap, kind, first.entity_type)
    if phrase and is_whole(text, first, len(text), gap):
        confidence = round(phrase.confidence * PRONOUN_FACTOR, 3)
        phrase = phrase._replace(confidence=confidence)
        yield _Candidate(antecedent.name, phrase, first, opening.start())


def _means(opening: re.Match[str], antecedent: Antecedent) -> bool:
    """Whether the pronoun, or "the film", can mean the antecedent."""
    if antecedent.speaks:
        return True
    if kind := opening["kind"]:
        return type_of_description(kind.casefold()) == antecedent.entity_type
    return not antecedent.is_described and bool(opening["person"]) == is_person(antecedent)


def _behind_date(text: str, start: int, dates: Sequence[NameSpan]) -> int:
    """Where a sentence begins, but for a date: "In 2019 | she moved to Rome"."""
    first = next((date for date in dates if date.start >= start), None)
    if first is None or not _RE["date_first"].fullmatch(text, start, first.start):
        return start
    gap = _RE["after_date"].match(text, first.end)
    return gap.end() if gap else first.end


def _is_governed(text: str, start: int, name: NameSpan, gap: str) -> bool:
    """Whether the name depends on what stands before it: "the mother *of X* was born in Y"."""
    if gap.lstrip(" ,").startswith(("which ", "who ", "that ")):
        return False
    before = text[max(start, name.start - 30) : name.start].lower().removesuffix("the ")
    if before.endswith("/") or _RE["within_clause"].search(before):
        return True
    return before.endswith(_GOVERNING) or (gap.startswith(",") and before.endswith(" and "))
