"""What a question asks for: its terms, its vector, and the entities that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.graph.snapshot import term_hash
from clew.text import STOP_WORDS, entity_key, fold, question_terms, question_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Protocol

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.types import Vector

    class Names(Protocol):
        """What analysis needs of a graph store."""

        def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
            """Entity id by key."""
            ...


MAX_TERMS = 64
"""Terms of a question that count; the rarest where there are more (a bit of a mask each)."""
MAX_WORDS = 400
"""Words of a question in which names are looked for."""
LONGEST_NAME = 10
"""Words of a name, at most."""

_MOST_PARTS = 5
"""Words that may be the parts of one identifier."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
_PLURAL = re.compile(r"[a-z]{3}[^\W\dsui]s$")
_SIGN = re.compile(r"[^\w\s]")
_SIGNS_BEFORE = re.compile(r"(?<!\S)[^\w\s]+(?=\w)")
_SIGNS_AFTER = re.compile(r"[^\w\s]+(?!\w)|[^\w\s]*[^\w\s,.:;/&@'’\"()\[\]{}–—-]")
_SOFT_END = re.compile(r"[!?*]\Z")
_SOFT_SIGNS = re.compile("[!?*\u2032†‡§]+")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
"""A character of a script without spaces between words."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that the question names."""

    entity_id: int
    key: str
    row: int
    """Row in the snapshot."""
    idf: float
    """The entity's idf, or that of its words where these are more common."""
    weight: float
    """The idf times the trust (0 to 1) that the question means this entity by these words."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question as the later steps see it."""

    text: str
    terms: tuple[str, ...]
    """Search terms, each once."""
    term_rows: Ints
    """(t,) the terms that the store holds, as rows of the snapshot; at most `MAX_TERMS`."""
    term_idf: Floats
    """(t,)"""
    seeds: tuple[Seed, ...]
    vector: Vector
    words: int = 0
    """Words of the question, stop words aside."""
    unknown: int = 0
    """Those of them that no text of the store holds, in whatever form."""
    languages: frozenset[str] = frozenset()
    """Those of the store's texts; see `clew.text.question_terms`."""


def analyse(
    question: str,
    vector: Vector,
    snapshot: Snapshot,
    names: Names,
    languages: frozenset[str] = frozenset(),
) -> Analysis:
    """The question's terms and seeds; none of either is a legal outcome."""
    found = tuple(question_terms(question, languages))
    words = question_words(question, languages)
    rows = snapshot.term_rows(found)
    if len(rows) > MAX_TERMS:
        rows = rows[np.argsort(-snapshot.term_idf[rows], kind="stable")[:MAX_TERMS]]
    # Words of which the store holds no term.
    meant = [(place, term_hash(term)) for place, word in enumerate(words) for term in word]
    _, held = snapshot.find_terms(np.array([hash_ for _, hash_ in meant], np.uint64))
    return Analysis(
        text=question,
        terms=found,
        term_rows=rows,
        term_idf=snapshot.term_idf[rows],
        seeds=find_seeds(question, snapshot, names, languages),
        vector=vector,
        words=len(words),
        unknown=(
            len(words) - len({place for (place, _), hit in zip(meant, held, strict=True) if hit})
        ),
        languages=languages,
    )


def find_seeds(
    question: str, snapshot: Snapshot, names: Names, languages: frozenset[str] = frozenset()
) -> tuple[Seed, ...]:
    """Entities whose key is one of the question's longest word sequences, in order of the text.

    A seed weighs its idf, but no more than its words do: "body" may be rare as an entity and yet a
    common word. One in small letters is trusted as far as its words are mostly that name here.
    """
    spans = list(_candidate_names(question))
    known = names.resolve(list(dict.fromkeys(span.key for span in spans)))
    rows = snapshot.entity_rows(list(known.values()))
    taken: set[int] = set()
    found: dict[int, _Span] = {}
    for span in sorted(spans, key=lambda s: (s.start - s.end, s.start)):
        row = rows.get(known.get(span.key, -1))
        if row is None or any(i in taken for i in range(span.start, span.end)):
            continue
        taken.update(range(span.start, span.end))
        found.setdefault(row, span)
    return tuple(
        _seed(snapshot, row, span, known[span.key], languages) for row, span in found.items()
    )


def candidate_keys(question: str) -> list[str]:
    """The keys of every sequence of words that may be a name."""
    return list(dict.fromkeys(span.key for span in _candidate_names(question)))


def _seed(
    snapshot: Snapshot, row: int, span: _Span, entity_id: int, languages: frozenset[str]
) -> Seed:
    idf, trust = float(snapshot.entity_idf[row]), 1.0
    words = snapshot.term_rows(question_terms(span.key, languages))
    if len(words):
        idf = min(idf, float(snapshot.term_idf[words].sum()))
        if not span.named:
            holding = float(snapshot.term_frequency[words].min())
            trust = min(float(snapshot.entity_frequency[row]) / holding, 1.0)
    return Seed(entity_id, span.key, row, idf, idf * trust)


class _Span(NamedTuple):
    """A sequence of words that may be a name."""

    start: int
    """First word."""
    end: int
    """Word after the last."""
    key: str
    named: bool
    """Whether a word of it is written as names are: not in small letters."""


class _Token(NamedTuple):
    """A word of a question."""

    word: str
    left: int
    """Where it starts, and the signs before it that stand at no other word."""
    right: int
    """Where it ends, and the signs after it."""


def _candidate_names(question: str) -> Iterator[_Span]:
    """Every sequence of words that may be a name."""
    question = _POSSESSIVE.sub(" ", question)
    places = _tokens(question)[:MAX_WORDS]
    tokens = [token.word for token in places]
    words = [fold(token) for token in tokens]
    for start in range(len(words)):
        telling = named = spaced = False
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            telling |= words[end - 1] not in STOP_WORDS
            named |= not tokens[end - 1].islower()
            spaced |= not UNSPACED.search(words[end - 1])
            keys = _keys(question, places[start:end], spaced) if telling else ()
            for key in keys:
                if len(key) < 2:
                    continue
                yield _Span(start, end, key, named)
                if not named and _PLURAL.search(key):  # stored in the singular
                    yield _Span(start, end, key[:-1], named)
                # An identifier by its parts: "read timeout" for `ReadTimeout`.
                if 1 < end - start <= _MOST_PARTS and key.isascii():
                    yield _Span(start, end, key.replace(" ", ""), named)
        # … and the other way round: `ReadTimeout` for `read_timeout`.
        parts = _HUMP.sub(" ", tokens[start]) if tokens[start].isascii() else ""
        if " " in parts:
            yield _Span(start, start + 1, entity_key(parts), True)


def _keys(question: str, tokens: Sequence[_Token], spaced: bool) -> Sequence[str]:
    """The keys that words may have: with the signs that they are written with, the likelier first.

    A sign that tells names apart ("C++") is never left out; what may as well end the sentence or
    stress the words ("Yahoo!") is tried without, too.
    """
    written = question[tokens[0].left : tokens[-1].right]
    if not _SIGN.search(written):
        return [entity_key((" " if spaced else "").join(token.word for token in tokens))]
    key = entity_key(written)
    without = _SOFT_END.sub("", key), _SOFT_SIGNS.sub(" ", key)
    return list(dict.fromkeys([key, *map(entity_key, without)]))


def _tokens(question: str) -> list[_Token]:
    """The words; in scripts without spaces each character is a word."""
    before = {match.end(): match.start() for match in _SIGNS_BEFORE.finditer(question)}
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(question):
        start, end = match.span()
        after = _SIGNS_AFTER.match(question, end)
        token = _Token(match[0], before.get(start, start), after.end() if after else end)
        if UNSPACED.search(match[0]):
            tokens.extend(_Token(question[i], i, i + 1) for i in range(start, end))
        else:
            tokens.append(token)
    return tokens
