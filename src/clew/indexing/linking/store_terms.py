"""Terms that the store knows, found in the texts that are indexed after them.

A name makes a term known where no prose says it by chance: one of several words that somebody
defined, stressed or stated, or of which one is in no dictionary; or a single word that is in none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from clew.indexing.ner.known_terms import (
    KnownTerms,
    Words,
    may_be_term,
    phrases,
    stands_apart,
)
from clew.indexing.ner.layout import find_fences, is_code_line
from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.pattern_extractor import owner_of
from clew.indexing.ner.patterns.technical_words import is_telling
from clew.indexing.ner.spans import NameSpan
from clew.indexing.relations.patterns import Owner, find_owned_relations, find_relations
from clew.indexing.splitting.code_blocks import is_code
from clew.spelling import term_words
from clew.text import entity_key
from clew.types import (
    Chunk,
    ChunkExtraction,
    Document,
    ExtractedRelation,
    Extraction,
    KnownName,
    Mention,
)

if TYPE_CHECKING:
    from clew.ports import GraphStore

_ASKED_AT_ONCE = 20_000
"""Terms."""
_LONE_TYPES = frozenset(("product", "organisation", "code"))
_SHORTEST_LONE = 4
"""Letters of a term of one word, at least."""


class StoreTerms:
    """Finds the terms of a store in a document; asks for those whose words stand there."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def found(
        self, document: Document, chunks: Sequence[Chunk], extraction: Extraction
    ) -> Extraction:
        """The extraction with a mention of each term that it lacks, in sentences of prose."""
        if is_code(document.media_type):
            return extraction
        prose = [
            _Prose(chunk.text, list(_sentences(chunk.text, found)), found, owner_of(document))
            for chunk, found in zip(chunks, extraction.chunks, strict=True)
        ]
        terms = self._terms_of(prose)
        if not terms.types:
            return extraction
        return replace(extraction, chunks=tuple(map(terms.within, prose)))

    def _terms_of(self, prose: Iterable[_Prose]) -> _Terms:
        """The terms whose words stand in some texts."""
        asked = dict.fromkeys(
            phrase
            for part in prose
            for start, end, _ in part.sentences
            for phrase in phrases(part.text, start, end)
        )
        terms, left = _Terms(), list(asked)
        while left:
            terms.add(self._store.known_terms(left[:_ASKED_AT_ONCE]))
            left = left[_ASKED_AT_ONCE:]
        return terms


class _Prose(NamedTuple):
    """A chunk of prose."""

    text: str
    sentences: list[tuple[int, int, int]]
    """(start, end, ordinal) of those that are no code."""
    found: ChunkExtraction
    owner: Owner | None
    """What it was told of, if it is an observation."""


class _Terms:
    """Some terms of a store."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        """Entity type by name."""
        self._only_related: set[str] = set()
        """Words told by hand that prose says by chance: where a relation is stated of them."""
        self._names: dict[Words, str] = {}
        self._openings: set[Words] = set()
        self._known = KnownTerms(self._names, self._openings)

    def add(self, names: Iterable[KnownName]) -> None:
        """Learn names; the first of those that differ by case, plural or hyphens stays."""
        for known in names:
            words = term_words(known.name)
            if words not in self._names and (_is_term(known) or known.tier == "manual"):
                if not _is_term(known):
                    self._only_related.add(known.name)
                self._names[words] = known.name
                self.types[known.name] = known.entity_type
                self._openings.update(words[:n] for n in range(1, len(words) + 1))

    def within(self, prose: _Prose) -> ChunkExtraction:
        """What was found in a chunk, with a mention of each term that it lacks.

        And with what its sentences state of these terms, a word that is told by hand among them.
        """
        text, found = prose.text, prose.found
        taken = bytearray(len(text))
        for mention in found.mentions:
            taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
        new: dict[tuple[int, str], Mention] = {}
        spans: dict[int, list[NameSpan]] = {}
        for start, end, ordinal in prose.sentences:
            for left, right, name in self._known.find(text, start, end):
                if any(taken[left:right]) or not stands_apart(text, left, right):
                    continue
                spans.setdefault(ordinal, []).append(NameSpan(left, right, name, self.types[name]))
                if name in self._only_related:
                    continue
                kind, key = self.types[name], (ordinal, entity_key(name))
                first = Mention(
                    name=name, entity_type=kind, sentence=ordinal, start=left, end=right, count=0
                )
                before = new.get(key, first)
                new[key] = replace(before, count=before.count + 1)
        related = list(self._related(prose, spans))
        for ordinal, of_sentence in spans.items():
            ends = {n for r in related if r.sentence == ordinal for n in (r.head, r.tail)}
            for span in of_sentence:
                if span.name in ends:
                    new.setdefault((ordinal, entity_key(span.name)), _mention(span, ordinal))
        said = {(mention.sentence, entity_key(mention.name)) for mention in found.mentions}
        added = [mention for key, mention in new.items() if key not in said]
        if not (added or related):
            return found
        return replace(
            found,
            mentions=(*found.mentions, *added),
            relations=(*found.relations, *related),
        )

    def _related(
        self, prose: _Prose, spans: Mapping[int, list[NameSpan]]
    ) -> Iterator[ExtractedRelation]:
        """What sentences state of terms and names that they have, and was not found before."""
        known = {
            (one.sentence, entity_key(one.head), one.relation_type, entity_key(one.tail))
            for one in prose.found.relations
        }
        for start, end, ordinal in prose.sentences:
            if ordinal not in spans:
                continue
            names = [
                NameSpan(one.start, one.end, one.name, one.entity_type)
                for one in prose.found.mentions
                if one.sentence == ordinal
            ]
            names = sorted([*names, *spans[ordinal]], key=lambda span: (span.start, -span.end))
            terms = {span.name for span in spans[ordinal]}
            place = (start, end, ordinal)
            stated = [*find_relations(prose.text, place, names, ())]
            if prose.owner:
                stated += find_owned_relations(prose.text, place, names, prose.owner)
            for one in stated:
                fact = ordinal, entity_key(one.head), one.relation_type, entity_key(one.tail)
                if fact not in known and not terms.isdisjoint((one.head, one.tail)):
                    yield one


def _mention(span: NameSpan, sentence: int) -> Mention:
    return Mention(
        name=span.name,
        entity_type=span.entity_type,
        sentence=sentence,
        start=span.start,
        end=span.end,
    )


def _sentences(text: str, found: ChunkExtraction) -> Iterator[tuple[int, int, int]]:
    fences = find_fences(text)
    for ordinal, (start, end) in enumerate(found.sentences):
        if not is_code_line(text, start) and not any(a <= start < b for a, b in fences):
            yield start, end, ordinal


def _is_term(known: KnownName) -> bool:
    name = known.name
    stated = known.tier == "manual" or known.entity_type == "concept"
    if may_be_term(name):
        return stated or not all(map(is_ordinary, name.split()))
    if not name.isalpha() or len(name) < _SHORTEST_LONE or not is_telling(name.casefold()):
        return False
    return stated or known.entity_type in _LONE_TYPES or not name[1:].islower()
