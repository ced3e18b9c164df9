"""What a question offers to look for: words for a full-text index, and what may be names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.text import STOP_WORDS, fold

MAX_WORDS = 100
"""Words of a question that count."""
LONGEST_NAME = 6
"""Words of a name, at most; each character is one in scripts without spaces."""

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:['’.&-]+[^\W_{_UNSPACED}]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a question that may be a name."""

    text: str
    """As the question writes it."""
    start: int
    """Its first word."""
    end: int
    """The word after its last."""

    @property
    def folded(self) -> str:
        """In small letters, as Cypher's toLower makes them."""
        return self.text.lower()

    def as_parameter(self) -> dict[str, object]:
        """The span as queries read it."""
        place = {"start": self.start, "end": self.end, "words": self.end - self.start}
        return {"text": self.text, "folded": self.folded, **place}


def spans(question: str) -> list[Span]:
    """Every sequence of words that may be a name, in order."""
    plain = _POSSESSIVE.sub("", question)
    words = list(_WORD.finditer(plain))[:MAX_WORDS]
    return list(_spans(plain, words))


def _spans(text: str, words: list[re.Match[str]]) -> Iterator[Span]:
    common = [fold(word.group()) in STOP_WORDS for word in words]
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            if not all(common[start:end]):
                yield Span(text[words[start].start() : words[end - 1].end()], start, end)


def lucene_words(question: str) -> str:
    """The question's words as a query for a full-text index, any of them; may be empty.

    The index has its own way with case and endings: the words stay as they are. Stop words go,
    unless there are no others.
    """
    found = [word.group() for word in _WORD.finditer(question)][:MAX_WORDS]
    telling = [word for word in found if fold(word) not in STOP_WORDS] or found
    return " ".join(_term(word) for word in dict.fromkeys(telling))


def lucene_phrases(texts: Iterable[str]) -> str:
    """A query for a full-text index that finds any of the texts as a phrase."""
    return " ".join(_phrase(text) for text in dict.fromkeys(texts))


def _term(word: str) -> str:
    """Letters and digits need no quotes, and operators are written in capitals."""
    if word in _OPERATORS:
        return word.lower()
    return word if word.isalnum() else _phrase(word)


def _phrase(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
