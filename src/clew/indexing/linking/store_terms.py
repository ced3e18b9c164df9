"""Terms that the store knows, found in the texts that are indexed after them.

A name makes a term known where no prose says it by chance: one of several words that somebody
defined, stressed or stated, or of which one is in no dictionary; or a single word that is in none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.indexing.ner.known_terms import (
    KnownTerms,
    Words,
    may_be_term,
    stands_apart,
    term_words,
)
from clew.indexing.ner.layout import find_fences, is_code_line
from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.patterns.technical_words import is_telling
from clew.indexing.splitting.code_blocks import is_code
from clew.text import entity_key
from clew.types import Chunk, ChunkExtraction, Document, Extraction, KnownName, Mention

_LONE_TYPES = frozenset(("product", "organisation", "code"))
_SHORTEST_LONE = 4
"""Letters of a term of one word, at least."""


class StoreTerms:
    """The terms among a store's names; grows with them."""

    def __init__(self) -> None:
        self._names: dict[Words, str] = {}
        self._types: dict[str, str] = {}
        self._openings: set[Words] = set()
        self._terms = KnownTerms(self._names, self._openings)

    def add(self, names: Iterable[KnownName]) -> None:
        """Learn names; the first of those that differ by case, plural or hyphens stays."""
        for known in names:
            words = term_words(known.name)
            if words not in self._names and _is_term(known):
                self._names[words] = known.name
                self._types[known.name] = known.entity_type
                self._openings.update(words[:n] for n in range(1, len(words) + 1))

    def found(
        self, document: Document, chunks: Sequence[Chunk], extraction: Extraction
    ) -> Extraction:
        """The extraction with a mention of each term that it lacks, in sentences of prose."""
        if not self._names or is_code(document.media_type):
            return extraction
        return replace(
            extraction,
            chunks=tuple(
                self._in_chunk(chunk.text, found)
                for chunk, found in zip(chunks, extraction.chunks, strict=True)
            ),
        )

    def _in_chunk(self, text: str, found: ChunkExtraction) -> ChunkExtraction:
        taken = bytearray(len(text))
        for mention in found.mentions:
            taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
        fences = find_fences(text)
        new: dict[tuple[int, str], Mention] = {}
        for ordinal, (start, end) in enumerate(found.sentences):
            if is_code_line(text, start) or any(a <= start < b for a, b in fences):
                continue
            for left, right, name in self._terms.find(text, start, end):
                if any(taken[left:right]) or not stands_apart(text, left, right):
                    continue
                kind, key = self._types[name], (ordinal, entity_key(name))
                first = Mention(
                    name=name, entity_type=kind, sentence=ordinal, start=left, end=right, count=0
                )
                before = new.get(key, first)
                new[key] = replace(before, count=before.count + 1)
        said = {(mention.sentence, entity_key(mention.name)) for mention in found.mentions}
        added = [mention for key, mention in new.items() if key not in said]
        return replace(found, mentions=(*found.mentions, *added)) if added else found


def _is_term(known: KnownName) -> bool:
    name = known.name
    stated = known.tier == "manual" or known.entity_type == "concept"
    if may_be_term(name):
        return stated or not all(map(is_ordinary, name.split()))
    if not name.isalpha() or len(name) < _SHORTEST_LONE or not is_telling(name.casefold()):
        return False
    return stated or known.entity_type in _LONE_TYPES or not name[1:].islower()
