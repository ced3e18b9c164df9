"""What a whole document says about its names: who a surname stands for, what is short for what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.ner.name_lexicon import (
    COMMON_WORDS,
    DEMONYMS,
    LABELS,
    PLACES,
    STARTERS,
    is_first_name,
    is_ordinary,
)
from clew.indexing.ner.spans import NameSpan, SentenceSpans
from clew.text import entity_key
from clew.types import AliasEvidence

_WORD = re.compile(r"\w+")
# Endings of ordinary derived words, which no list could hold: "Practicing", "Congratulations".
_DERIVED = re.compile(
    r"..(?:[^j]ing|ly|tions?|ments?|ness|[ai]bility|ities|[ai]ble|ful|less|ously|ists)$"
)
_INITIALLED = re.compile(r"(?:[^\W\d_]\. ?){1,3}[^\W\d_]{2,40}")
_GENERATION = frozenset(("jr", "sr", "ii", "iii", "iv", "v", "vi"))
_SHORTEST_NICKNAME = 3
_NICKNAME_SCORE = 0.8
_NEVER_A_PERSON = PLACES | DEMONYMS | STARTERS


@dataclass(frozen=True, slots=True)
class Coreference:
    """Which names of a document mean the same, and what they name."""

    full: Mapping[str, str]
    """The name in full by the short name that stands for it ("Nolan", "Mel", "WHO")."""
    short: frozenset[str]
    """First names, surnames and nicknames among them."""
    nicknames: tuple[AliasEvidence, ...]
    """Short names that mean the same person outside this document, too."""
    types: Mapping[str, str]
    """Entity type by key, where any place of the document shows one."""
    told: frozenset[str]
    """Single words that are names wherever they stand."""
    words: Mapping[str, int]
    """How often the document has each word, as written."""

    def is_name(self, span: NameSpan) -> bool:
        """Whether a word that opens a sentence is a name, going by the rest of the document."""
        if span.name.casefold() in LABELS:
            return False
        if span.name in self.told or span.name in self.full:
            return True
        if span.initial and span.nested:
            return False
        if not span.initial:
            return not _is_mostly_small(span, self.words)
        if " " in span.name:
            return not all(map(is_ordinary, span.name.split()))
        lower = span.name.casefold()
        if span.name.isupper():  # an acronym, or a word that is shouted
            return not (lower in self.words or lower.capitalize() in self.words)
        if lower in COMMON_WORDS or lower in self.words:
            return False
        if is_first_name(lower) or lower in PLACES:
            return True
        return not (is_ordinary(lower) or _DERIVED.search(lower))

    def resolve(self, name: str) -> str:
        """The name in full."""
        return self.full.get(name, name)

    def type_of(self, span: NameSpan, name: str) -> str:
        """The kind of thing: what the place shows, else what the document shows."""
        if span.entity_type != "name" and name == span.name:
            return span.entity_type
        product, _, version = name.rpartition(" ")
        if version.isdigit() and self.types.get(entity_key(product)) == "product":
            return "product"
        return self.types.get(entity_key(name), span.entity_type)


def resolve_coreference(
    text: str,
    found: Sequence[Sequence[SentenceSpans]],
    about: Sequence[tuple[str, str]],
    aliases: Sequence[AliasEvidence],
    speakers: Iterable[str],
) -> Coreference:
    """Combine what all chunks of a document show.

    `found` has one list of sentences a chunk; `speakers` are the names before the colon in a
    conversation.
    """
    spans = [span for chunk in found for sentence in chunk for span in sentence.spans]
    speakers = frozenset(speakers)
    types: dict[str, str] = {}
    for name, kind in [
        *((s, "person") for s in speakers),
        *about,
        *((s.name, s.entity_type) for s in spans),
    ]:
        if kind != "name":
            types.setdefault(entity_key(name), kind)
    words = Counter(_WORD.findall(text) if any(map(_is_doubtful, spans)) else ())
    told = speakers.union(s.name for s in spans if not (s.initial or _is_mostly_small(s, words)))
    nicknames = tuple(_nicknames(spans, speakers))
    persons = _persons(spans, about, types)
    short = {a.alias: a.name for a in nicknames} | _parts_of_persons(persons)
    short |= _initialled(spans, persons)
    return Coreference(
        full=short | {a.alias: a.name for a in aliases if a.method == "acronym"},
        short=frozenset(short),
        nicknames=nicknames,
        types=types,
        told=told,
        words=words,
    )


def _is_doubtful(span: NameSpan) -> bool:
    """Whether the words of the document must tell if it is a name."""
    return span.initial or _is_plain_word(span)


def _is_plain_word(span: NameSpan) -> bool:
    is_word = span.entity_type == "name" and span.name.isalpha() and span.name[1:].islower()
    return is_word and not span.nested and is_ordinary(span.name)


def _is_mostly_small(span: NameSpan, words: Mapping[str, int]) -> bool:
    """Whether it is a word that the document writes small at least as often as like a name."""
    lower = span.name.casefold()
    return words.get(lower, 0) >= words.get(span.name, 1) and _is_plain_word(span)


def _persons(
    spans: Sequence[NameSpan], about: Sequence[tuple[str, str]], types: Mapping[str, str]
) -> list[str]:
    """Full names of persons, the document's own subject first."""
    names = dict.fromkeys([*(name for name, _ in about), *(s.name for s in spans if not s.nested)])
    return [n for n in names if is_person_shaped(n) and types.get(entity_key(n)) == "person"]


def _parts_of_persons(persons: Sequence[str]) -> dict[str, str]:
    """First names and surnames that belong to one person of the document only."""
    owners: dict[str, list[str]] = {}
    for person in persons:
        tokens = person.split()
        while len(tokens) > 1 and tokens[-1].casefold().strip(".") in _GENERATION:
            tokens.pop()
        parts = (tokens[-1],) if _is_no_first_name(tokens[0]) else (tokens[0], tokens[-1])
        for part in dict.fromkeys(parts):
            owners.setdefault(part, []).append(person)
    return {
        part: names[0]
        for part, names in owners.items()
        if _stands_alone(part) and all(_same_person(names[0], other) for other in names[1:])
    }


def _is_no_first_name(word: str) -> bool:
    """Whether a word that opens a name is an ordinary one: "Project Leader"."""
    return is_ordinary(word) and not is_first_name(word)


def _initialled(spans: Sequence[NameSpan], persons: Sequence[str]) -> dict[str, str]:
    """Names with initials ("J. Smith") that may be one person's of the document only."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(s.name for s in spans if _INITIALLED.fullmatch(s.name)):
        owners = [p for p in persons if p[0] == name[0] and p.split()[-1] == name.split()[-1]]
        owners = [p for p in owners if not _INITIALLED.fullmatch(p)]
        if owners and all(_same_person(owners[0], other) for other in owners[1:]):
            found[name] = owners[0]
    return found


def _stands_alone(part: str) -> bool:
    is_word = len(part) > 2 and part.replace("-", "").isalpha()
    return is_word and part.casefold() not in _NEVER_A_PERSON


def _same_person(name: str, other: str) -> bool:
    """Whether two full names may be one person's: one has all words of the other."""
    first, second = set(name.split()), set(other.split())
    return first <= second or second <= first


def _nicknames(spans: Sequence[NameSpan], speakers: frozenset[str]) -> Iterator[AliasEvidence]:
    """Short names: "Mel" for the speaker "Melanie", where no other speaker's name begins so."""
    if not speakers:
        return
    names = {span.name for span in spans if not span.nested} - speakers
    for name in sorted(names):
        if len(name) >= _SHORTEST_NICKNAME and name.isalpha() and name.casefold() not in STARTERS:
            meant = [s for s in speakers if s.startswith(name) and " " not in s]
            if len(meant) == 1:
                yield AliasEvidence(
                    alias=name,
                    name=meant[0],
                    method="exact",
                    score=_NICKNAME_SCORE,
                    evidence=f"short for {meant[0]}, who speaks here",
                )
