"""What a whole document says about its names: who a surname stands for, what is short for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.indexing.ner.entity_types import (
    COMMON_WORDS,
    DEMONYMS,
    LABELS,
    PLACES,
    STARTERS,
    NameSpan,
    SentenceSpans,
    is_first_name,
    is_ordinary,
    is_person_shaped,
)
from clew.text import entity_key
from clew.types import AliasEvidence
from clew.word_lists import read_patterns, word_list

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["coreference"]

# Endings of ordinary derived words, which no list could hold: "Practicing", "Congratulations".
_GENERATION = frozenset(("jr", "sr", "ii", "iii", "iv", "v", "vi"))
_NEVER_A_PERSON = PLACES | DEMONYMS | STARTERS


@dataclass(frozen=True, slots=True)
class Coreference:
    """Which names of a document mean the same, and what they name."""

    full: Mapping[str, str]
    """The name in full by the short name that stands for it ("Nolan", "Mel", "WHO")."""
    short: frozenset[str]
    """First names and surnames among them."""
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
        return not (is_ordinary(lower) or _RE["derived"].search(lower))

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
    # The words of the document tell what is a name where a place alone does not.
    is_doubtful = any(span.initial or _is_plain_word(span) for span in spans)
    words = Counter(_RE["word"].findall(text) if is_doubtful else ())
    told = speakers.union(s.name for s in spans if not (s.initial or _is_mostly_small(s, words)))
    # Full names, the document's own subject first.
    full = dict.fromkeys([*(name for name, _ in about), *(s.name for s in spans if not s.nested)])
    persons = [n for n in full if is_person_shaped(n) and types.get(entity_key(n)) == "person"]
    short = _parts_of_persons(persons)
    return Coreference(
        full=short | {a.alias: a.name for a in aliases if a.method == "acronym"},
        short=frozenset(short),
        types=types,
        told=told,
        words=words,
    )


def _is_plain_word(span: NameSpan) -> bool:
    is_word = span.entity_type == "name" and span.name.isalpha() and span.name[1:].islower()
    return is_word and not span.nested and is_ordinary(span.name)


def _is_mostly_small(span: NameSpan, words: Mapping[str, int]) -> bool:
    """Whether it is a word that the document writes small at least as often as like a name."""
    lower = span.name.casefold()
    return words.get(lower, 0) >= words.get(span.name, 1) and _is_plain_word(span)


def _parts_of_persons(persons: Sequence[str]) -> dict[str, str]:
    """First names and surnames that belong to one person of the document only."""
    owners: dict[str, list[str]] = {}
    words = {person: frozenset(person.split()) for person in persons}
    for person in persons:
        tokens = person.split()
        while len(tokens) > 1 and tokens[-1].casefold().strip(".") in _GENERATION:
            tokens.pop()
        is_word = is_ordinary(tokens[0]) and not is_first_name(tokens[0])  # "Project Leader"
        parts = (tokens[-1],) if is_word else (tokens[0], tokens[-1])
        for part in dict.fromkeys(parts):
            owners.setdefault(part, []).append(person)
    return {
        part: names[0]
        for part, names in owners.items()
        if len(part) > 2
        and part.replace("-", "").isalpha()
        and part.casefold() not in _NEVER_A_PERSON
        # Two full names may be one person's where one has all words of the other.
        and all(words[n] <= words[names[0]] or words[n] >= words[names[0]] for n in names)
    }


# Names that a text ties together itself: short forms in parentheses, "also known as".


_SMALL_WORDS = word_list("of the and for in on to a an at de la des du et und der y &")
_LONGEST_LONG_FORM = 160
"""Characters."""


class Definition(NamedTuple):
    """A short form and the long form that a text gives with it, as ranges of the text."""

    short: tuple[int, int]
    long: tuple[int, int]


def find_definitions(text: str, start: int, end: int) -> Iterator[Definition]:
    """Short forms whose letters fit: "World Health Organization (WHO)", "WHO (World Health …)".

    After Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in
    biomedical text" (2003): the letters of the short form stand in the long form, in order, and
    the first one begins it.
    """
    for match in _RE["parenthesis"].finditer(text, start, end):
        inside = match["inside"].strip()
        left = match.end("inside") - len(match["inside"].lstrip())
        place = (left, left + len(inside))
        if is_short_form(inside):
            long = _long_form_before(text, start, match.start(), inside)
            if long is not None:
                yield Definition(place, long)
            continue
        before = _RE["nearest_word"].search(text, max(start, match.start() - 14), match.start())
        if before and is_short_form(before["word"]) and _fits(before["word"], inside):
            yield Definition(before.span("word"), place)


def is_short_form(word: str) -> bool:
    """Two to twelve characters, two capitals at least, and as many capitals as small letters."""
    if _RE["short"].fullmatch(word) is None:
        return False
    capitals = sum(c.isupper() for c in word)
    return capitals >= 2 and capitals * 2 >= sum(c.isalpha() for c in word)


def _fits(short: str, long: str) -> bool:
    """Whether a long form begins with the first letter of a short one, and has the others after."""
    letters, rest = _letters(short), iter(long.casefold())
    return long.casefold().startswith(letters[0]) and all(letter in rest for letter in letters)


def _letters(short: str) -> str:
    bare = short.removesuffix("s") if short[:-1].isupper() else short
    return "".join(filter(str.isalnum, bare.casefold()))


def _long_form_before(text: str, start: int, end: int, short: str) -> tuple[int, int] | None:
    """The range of the words before a parenthesis that its short form abbreviates."""
    first = max(start, end - _LONGEST_LONG_FORM, text.rfind(")", start, end) + 1)
    last = first + len(text[first:end].rstrip().removesuffix("'s").removesuffix("’s"))
    words = [m.span() for m in _RE["word_acronyms"].finditer(text, first, last)]
    nearest = words[: -min(len(short) + 5, 2 * len(short)) - 1 : -1]
    if not nearest or nearest[0][1] != last:
        return None
    for by_initials in (True, False):
        for left, right in nearest:
            long = text[left:last]
            said = long.casefold().split()
            content = [word for word in said if word not in _SMALL_WORDS]
            if said[0] in _SMALL_WORDS:
                continue
            initials = ("".join(w[0] for w in said), "".join(w[0] for w in content))
            is_longer = len(long) > max(right - left, len(short) + 2) and short not in long
            if (
                _letters(short) in initials
                if by_initials
                else is_longer and len(content) <= len(short) + 1 and _fits(short, long)
            ):
                return left, last
    return None
