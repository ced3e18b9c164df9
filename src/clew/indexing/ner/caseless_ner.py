"""Names in scripts without capitals: by repetition, by what ends or precedes names, by shape.

No dictionaries: what a document says at least twice, what carries a telling ending (市, 大学,
씨, …) and what follows a telling word (مدينة, …) is taken for a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.indexing.ner.caseless_words import find_words, repeated_words
from clew.indexing.ner.cjk_ner import find_east_asian, repeated_han
from clew.indexing.ner.spans import NameSpan

_CASELESS = re.compile(
    "[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u10d0-\u10ff\u1200-\u137f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]"
)


def has_caseless(text: str) -> bool:
    """Whether any letter of the text belongs to a script without capitals."""
    return not text.isascii() and _CASELESS.search(text) is not None


@dataclass(frozen=True, slots=True)
class CaselessNames:
    """What one document says often enough to be taken for a name."""

    han: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> CaselessNames:
        """Count the document's Han sequences and its words once."""
        return cls(han=repeated_han(text), words=repeated_words(text))

    def find(self, text: str, start: int, end: int) -> Iterator[NameSpan]:
        """Names of `text[start:end]`, longer ones first where they overlap."""
        spans = [
            *find_east_asian(text, start, end, self.han),
            *find_words(text, start, end, self.words),
        ]
        yield from longest(spans)


def longest(spans: Iterable[NameSpan]) -> list[NameSpan]:
    """Spans that lie within no other, in order of the text."""
    kept: list[NameSpan] = []
    for span in sorted(set(spans), key=lambda s: (s.start, -s.end, s.entity_type == "name")):
        if span.nested or not kept or span.end > kept[-1].end:
            kept.append(span)
    return kept
