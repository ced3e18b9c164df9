"""Typed relations between two names of one sentence, from the words between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise, zip_longest
from typing import NamedTuple

from clew.indexing.ner.entity_types import AFTER_NAME
from clew.indexing.ner.name_lexicon import DEMONYMS, PERSON_NOUNS
from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.periods import read_validity
from clew.indexing.relations.phrases import KINDS, Phrase, phrase_between, read_attribute
from clew.text import entity_key
from clew.types import ExtractedRelation

LONGEST_GAP = 70
"""Characters between two names that are read at all."""
PRONOUN_FACTOR = 0.8
"""What a relation's confidence is multiplied with where a pronoun stands for its head."""

_IS = re.compile(rf"{AFTER_NAME}(?:is|was|are|were) (?:an?|the|one of the) ")
_GOVERNING = (" of ", " in ", " at ", " by ", " from ", " with ", " to ", " for ", " on ", " near ")
_BEFORE_DATES = ("_in", "_on", "_since", "_from", "_during", "_after", "_before", "_around", "_at")
_SUBJECT = re.compile(
    r"(?:(?P<person>he|she|they)|it|(?:the|this) (?:"
    + "|".join(sorted(KINDS - PERSON_NOUNS))
    + r"))(?P<have>['’]ve)?\s+(?=\w)",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"(?P<person>I)(?:['’]m|(?P<have>['’]ve))?\s+(?=\w)")
_DATE_FIRST = re.compile(r"(?:(?:in|on|since|from|until|during|by|after|before) (?:the )?)?", re.I)
_AFTER_DATE = re.compile(r"[,\s]*")


class Antecedent(NamedTuple):
    """What a pronoun stands for: the subject of the document, or the speaker."""

    name: str
    start: int
    """Where the pronoun may stand: the start of a sentence, or of a speaker's words."""
    speaks: bool = False
    """Whether "I" means it; otherwise "he", "she", "it" and "the film" do."""


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
    written: datetime | None,
) -> Iterator[ExtractedRelation]:
    """Relations between neighbours among `names` (ordered, none within another), each once.

    `sentence` is its range and its ordinal. One of `antecedents` stands for a pronoun that
    opens it. A relation holds when the sentence says, else from when the passage was `written`.
    """
    start, end, ordinal = sentence
    seen: set[tuple[str, str, str]] = set()
    candidates = list(_candidates(text, start, end, names, antecedents))
    dates = [name for name in names if name.entity_type == "date"] if candidates else []
    for candidate, following in zip_longest(candidates, candidates[1:]):
        key = candidate.key()
        if key in seen or key[0] == key[2]:
            continue
        seen.add(key)
        validity = read_validity(
            text, dates, candidate.start, candidate.tail, _limit(candidate, following, end)
        )
        yield ExtractedRelation(
            head=candidate.first,
            tail=candidate.last,
            relation_type=candidate.phrase.relation_type,
            sentence=ordinal,
            confidence=candidate.phrase.confidence,
            is_causal=candidate.phrase.is_causal,
            valid_from=validity.valid_from if validity else written,
            valid_until=validity.valid_until if validity else None,
        )


def _limit(candidate: _Candidate, following: _Candidate | None, end: int) -> int:
    """Where the text ends that may say when the fact held."""
    if following is None:
        return end
    return following.start if following.start >= candidate.tail.end else following.tail.start


def _candidates(
    text: str, start: int, end: int, names: Sequence[NameSpan], antecedents: Sequence[Antecedent]
) -> Iterator[_Candidate]:
    """What is said of neighbours; the sentence's subject is the head where that is meant."""
    told = [n for n in names if n.name.casefold() not in DEMONYMS]
    if not told:
        return
    for antecedent in antecedents:
        yield from _about_antecedent(text, told, antecedent)
    subject = told[0] if _IS.match(text, told[0].end, end) else None
    for left, right in pairwise(told):
        gap = text[left.end : right.start]
        if not 5 < len(gap) <= LONGEST_GAP or text.startswith(("'s", "’s"), right.end):
            continue
        head, phrase = left, None
        if not _is_governed(text, start, left, gap):
            phrase = phrase_between(gap, _type(text, left), right.entity_type)
        if subject and (phrase is None or gap.startswith(",")) and (later := read_attribute(gap)):
            head, phrase = subject, later
        if phrase and _fits(phrase, right):
            yield _Candidate(head.name, phrase, right, head.start)


def _type(text: str, name: NameSpan) -> str:
    """The name's type; "the Rockets" are no person, whatever else they are."""
    article = text[max(0, name.start - 4) : name.start].lower() == "the "
    return "thing" if name.entity_type == "name" and article else name.entity_type


def _about_antecedent(
    text: str, told: Sequence[NameSpan], antecedent: Antecedent
) -> Iterator[_Candidate]:
    """What a sentence states of an antecedent, where a pronoun for it opens the sentence."""
    told = [name for name in told if name.start >= antecedent.start]
    if not told:
        return
    start, first = _behind_date(text, antecedent.start, told)
    opening = (_SPEAKER if antecedent.speaks else _SUBJECT).match(text, start, first.start)
    if opening is None:
        return
    kind = "person" if opening["person"] else "thing"
    gap = (" have" if opening["have"] else "") + text[opening.end() - 1 : first.start]
    phrase = phrase_between(gap, kind, first.entity_type)
    if phrase and _fits(phrase, first):
        confidence = round(phrase.confidence * PRONOUN_FACTOR, 3)
        yield _Candidate(
            antecedent.name, phrase._replace(confidence=confidence), first, opening.start()
        )


def _behind_date(text: str, start: int, told: Sequence[NameSpan]) -> tuple[int, NameSpan]:
    """Where a sentence begins and its first name, but for a date: "In 2019 | she moved to Rome"."""
    first = told[0]
    is_date = first.entity_type == "date" and _DATE_FIRST.fullmatch(text, start, first.start)
    if not is_date or len(told) == 1:
        return start, first
    gap = _AFTER_DATE.match(text, first.end)
    return (gap.end() if gap else first.end), told[1]


def _is_governed(text: str, start: int, name: NameSpan, gap: str) -> bool:
    """Whether the name depends on what stands before it: "the mother *of X* was born in Y"."""
    if gap.lstrip(" ,").startswith(("which ", "who ", "that ")):
        return False
    before = text[max(start, name.start - 14) : name.start].removesuffix("the ")
    return name.entity_type == "date" or before.lower().endswith(_GOVERNING)


def _fits(phrase: Phrase, right: NameSpan) -> bool:
    """Whether a date, if there is one, can stand where it does: "died in 1990"."""
    if right.entity_type != "date":
        return True
    return not phrase.inverse and phrase.relation_type.endswith(_BEFORE_DATES)
