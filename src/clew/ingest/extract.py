"""Names, dates and relations by patterns, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from clew.ingest.dates import find_dates
from clew.ingest.kinds import (
    is_person_shaped,
    split_parenthesis,
    type_of_description,
    type_of_name,
    type_said_after,
)
from clew.ingest.names import find_names
from clew.ingest.quotes import find_quoted
from clew.ingest.spans import Found, Span
from clew.ingest.vocabulary import COMMON_WORDS
from clew.text import STOP_WORDS, entity_key, sentences
from clew.types import Chunk, ChunkExtraction, Document, Extraction, Mention

_WORD = re.compile(r"\w+")


class PatternExtractor:
    """Reads names by their capitals, quotation marks, repetition and neighbours, in any script."""

    name = "pattern/1"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order. Deterministic: the same text, the same result."""
        found = [self._find(chunk.text) for chunk in chunks]
        known = _capitalised_words(found)
        vocabulary = frozenset(_WORD.findall(document.text))
        results = []
        for sentences_of_chunk in found:
            mentions: list[Mention] = []
            for ordinal, sentence in enumerate(sentences_of_chunk):
                kept = [s for s in sentence.spans if not s.initial or _confirmed(s.name, known, vocabulary)]
                mentions.extend(_mentions(kept, ordinal))
            results.append(
                ChunkExtraction(
                    sentences=tuple((s.start, s.end) for s in sentences_of_chunk),
                    mentions=tuple(mentions),
                )
            )
        return Extraction(chunks=tuple(results), about=about_names(document.title))

    def _find(self, text: str) -> list[Found]:
        return [Found(s, e, tuple(_outermost(_spans(text, s, e)))) for s, e in sentences(text)]


def _spans(text: str, start: int, end: int) -> Iterable[Span]:
    yield from find_dates(text, start, end)
    yield from find_quoted(text, start, end)
    yield from find_names(text, start, end)


def _outermost(spans: Iterable[Span]) -> list[Span]:
    """Spans that do not lie within an earlier quotation; in order of the text."""
    kept: list[Span] = []
    titles: list[Span] = []
    for span in spans:
        if span.entity_type == "work":
            titles.append(span)
        elif any(t.start <= span.start and span.end <= t.end for t in titles):
            continue
        kept.append(span)
    return sorted(kept, key=lambda s: (s.start, -s.end))


def _capitalised_words(found: Sequence[Sequence[Found]]) -> frozenset[str]:
    return frozenset(
        span.name
        for chunk in found
        for sentence in chunk
        for span in sentence.spans
        if not span.initial
    )


def _confirmed(word: str, known: frozenset[str], vocabulary: frozenset[str]) -> bool:
    """Whether a word that opens a sentence is a name, going by the rest of its document."""
    lower = word.casefold()
    if word in known:
        return True
    return lower not in COMMON_WORDS and lower not in vocabulary


def _mentions(spans: Sequence[Span], sentence: int) -> list[Mention]:
    counts: dict[str, int] = {}
    first: dict[str, Span] = {}
    for span in spans:
        key = entity_key(span.name)
        if len(key) < 2 or (key in STOP_WORDS):
            continue
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, span)
    return [
        Mention(
            name=span.name,
            entity_type=span.entity_type,
            sentence=sentence,
            start=span.start,
            end=span.end,
            count=counts[key],
        )
        for key, span in first.items()
    ]


def about_names(title: str) -> tuple[tuple[str, str], ...]:
    """The title, the title without its parenthesis, and the part before its comma."""
    bare, inside = split_parenthesis(title)
    if not bare:
        return ()
    kind = (inside and type_of_description(inside)) or type_of_name(bare)
    names = [(title.strip(), kind)]
    if inside:
        names.append((bare, kind))
    if ", " in bare:
        names.append((bare.split(", ", 1)[0], kind))
    return tuple(dict.fromkeys(n for n in names if len(entity_key(n[0])) > 1))
