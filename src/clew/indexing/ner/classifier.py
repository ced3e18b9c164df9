"""What a name names, or that it is none, learned from labelled entities.

What is written like a name may be none: a heading, a word that opens its line, a piece of a name.
Such terms tie passages like any name, and are no entities for people to look at. A linear model
over hashed features tells them apart, and which type a name has: its words and their endings, the
words beside it, whether it opens its line, whether the document writes it small, too. A type that a
pattern shows stays.
`training.entities` learns it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from math import log1p
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from clew.indexing.ner.entity_types import CODE, is_first_name, is_ordinary
from clew.text import entity_key
from clew.types import TERM, UNKNOWN_TYPE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import CharRange, Chunk, Extraction

    Values = NDArray[np.float64]

BUCKETS = 1 << 15
"""Features are told apart by so many hashes."""
KINDS = ("person", "place", "organisation", "product", "work", "event", "concept")
UNCLASSIFIED = frozenset(("date", CODE, "concept"))
MOST_PLACES = 4
"""Places of a name that are looked at, from the first."""
_WORD = re.compile(r"\w+|[^\w\s]")
_AROUND = 60
"""Characters on either side of a name in which the words beside it stand."""
_BESIDE = 3
"""Words on either side."""
_RUN = re.compile(r"(.)\1+")


class Mentioned(NamedTuple):
    """A place where a name stands."""

    text: str
    """Of the chunk."""
    start: int
    end: int
    sentence: CharRange


@dataclass(slots=True)
class NamedThing:
    """A name of a document, with what the document shows of it."""

    name: str
    kind: str = UNKNOWN_TYPE
    """The type that a pattern shows."""
    mentions: int = 0
    places: list[Mentioned] = field(default_factory=list)
    """The first `MOST_PLACES`; empty where only the title has it."""


def classified(chunks: Sequence[Chunk], title: str, found: Extraction) -> Extraction:
    """Return what was found, each name with its type by all of its document.

    What is an end of a relation, or stands for another name, is no mere term.
    """
    things = named_things(chunks, found)
    types = Classifier.shipped().types(things, chunks, title)
    relations = [relation for chunk in found.chunks for relation in chunk.relations]
    ends = [(one.head, one.tail) for one in relations]
    for name in chain(*ends, *((one.alias, one.name) for one in found.aliases)):
        if types.get(key := entity_key(name)) == TERM:
            types[key] = things[key].kind
    return replace(
        found,
        chunks=tuple(
            replace(
                chunk,
                mentions=tuple(
                    replace(one, entity_type=types.get(entity_key(one.name), one.entity_type))
                    for one in chunk.mentions
                ),
            )
            for chunk in found.chunks
        ),
        about=tuple((name, types.get(entity_key(name), kind)) for name, kind in found.about),
    )


def named_things(chunks: Sequence[Chunk], found: Extraction) -> dict[str, NamedThing]:
    """Return the names of a document by their keys.

    Left out is what the model does not know: dates, code, concepts, which a text marks as such, and
    names in scripts without capitals.
    """
    things: dict[str, NamedThing] = {}
    unknown = set[str]()

    def thing(name: str, kind: str) -> NamedThing:
        one = things.setdefault(key := entity_key(name), NamedThing(name))
        one.kind = kind if one.kind == UNKNOWN_TYPE else one.kind
        if kind in UNCLASSIFIED or name.lower() == name.upper():
            unknown.add(key)
        return one

    for chunk, said in zip(chunks, found.chunks, strict=True):
        for mention in said.mentions:
            one = thing(mention.name, mention.entity_type)
            one.mentions += mention.count
            if len(one.places) < MOST_PLACES:
                sentence = said.sentences[mention.sentence]
                one.places.append(Mentioned(chunk.text, mention.start, mention.end, sentence))
    for name, kind in found.about:
        thing(name, kind)
    return {key: one for key, one in things.items() if key not in unknown}


class Spelling:
    """How a document writes its words: small, or with a capital."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._written = Counter(word for text in texts for word in _WORD.findall(text))
        self._all: Counter[str] = Counter()
        for word, count in self._written.items():
            self._all[word.lower()] += count

    def small(self, word: str) -> float:
        """Return the share of its places, 0 to 1, in which a word (in lower case) is small."""
        return self._written[word] / max(1, self._all[word])


def features(thing: NamedThing, spelling: Spelling, title: str) -> Iterator[tuple[str, float]]:
    """Yield what tells which kind of thing a name names, each with its value (0 to about 3)."""
    name = thing.name
    words = _WORD.findall(name.lower()) or [""]
    share = 1 / len(words)
    shape = "".join(
        "A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in name
    )
    shape = _RUN.sub(r"\1", shape)[:12]
    for said in (
        "bias",
        f"kind={thing.kind}",
        f"first={words[0]}",
        f"last={words[-1]}",
        f"shape={shape}",
    ):
        yield said, 1.0
    for word in words:
        yield from {
            f"word={word}": 1.0,
            f"begins={word[:3]}": 1.0,
            f"ends={word[-3:]}": 1.0,
            f"ends2={word[-2:]}": 1.0,
            "ordinary": share * is_ordinary(word),
            "first name": share * is_first_name(word),
            "small": share * spelling.small(word),
        }.items()
    yield from {
        "bias": 1.0,
        f"kind={thing.kind}": 1.0,
        f"first={words[0]}": 1.0,
        f"last={words[-1]}": 1.0,
        f"shape={shape}": 1.0,
        "all ordinary": float(all(map(is_ordinary, words))),
        "some small": max(map(spelling.small, words)),
        "words": min(len(words), 8) / 4,
        f"words={min(len(words), 6)}": 1.0,
        "characters": min(len(name), 60) / 20,
        "capitals": sum(word[:1].isupper() for word in name.split()) / max(1, len(name.split())),
        "shouted": float(name.isupper()),
        "digits": float(any(map(str.isdigit, name))),
        "marks": sum(not c.isalnum() and c not in " '’-." for c in name) / 2,
        "mentions": log1p(thing.mentions) / 2,
        "title": float(name.lower() in title.lower()),
        "title alone": float(not thing.places),
    }.items()
    part = 1 / max(1, len(thing.places))
    for place in thing.places:
        for seen, value in _beside(place):
            yield seen, part * value


def _beside(place: Mentioned) -> Iterator[tuple[str, float]]:
    """Yield what stands around a name."""
    text, start, end, (first, last) = place
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    before = _WORD.findall(text[max(line_start, start - _AROUND) : start])[-_BESIDE:]
    behind = _WORD.findall(text[end : end + _AROUND])[:_BESIDE]
    for side, beside in (("before", before[::-1]), ("behind", behind)):
        for at, word in enumerate(beside):
            yield f"{side}{at}={word.lower()}", 1.0
            yield f"{side}={word.lower()}", 1.0
    sentence = text[first:last]
    words = sentence.split()
    yield from {
        "opens sentence": float(not any(map(str.isalnum, text[first:start]))),
        "opens line": float(not any(map(str.isalnum, text[line_start:start]))),
        "fills line": (end - start) / max(1, len(line.strip())),
        "heading": float(line.startswith("#")),
        "table": float(line.count("|") > 1),
        "ends": float(sentence.rstrip("\"'”’)] \n")[-1:] in {".", "!", "?"}),
        "capitals beside": sum(w[0].isupper() for w in words) / max(1, len(words)),
        "sentence": log1p(len(words)) / 2,
        "small before": float(bool(before) and before[-1][0].islower()),
        "capital before": float(bool(before) and before[-1][0].isupper()),
        "small behind": float(bool(behind) and behind[0][0].islower()),
        "capital behind": float(bool(behind) and behind[0][0].isupper()),
        "broken": float("\n" in text[start:end]),
    }.items()


def hashed(seen: Iterable[tuple[str, float]]) -> tuple[list[int], list[float]]:
    """Return the hashes of features (0 to `BUCKETS` - 1) and their values."""
    places, values = zip(*seen, strict=True)
    return [crc32(one.encode()) % BUCKETS for one in places], list(values)


@dataclass(frozen=True, slots=True)
class Classifier:
    """The model: a softmax over what a name may be."""

    weights: Values
    """(`BUCKETS`, 1 + kinds): the first column is of what names nothing."""
    likely: float
    """Least probability of naming something; else it is a term."""
    sure: float
    """Least share of that probability which a type has; else the name has none."""

    @classmethod
    @cache
    def shipped(cls) -> Classifier:
        """Return the model of the package."""
        with (
            (files("clew.indexing.ner") / "classifier.npz").open("rb") as file,
            np.load(file) as made,
        ):
            weights = made["weights"].astype(np.float64) * made["scale"]
            return cls(weights, float(made["likely"]), float(made["sure"]))

    def types(
        self, things: Mapping[str, NamedThing], chunks: Sequence[Chunk], title: str
    ) -> dict[str, str]:
        """Return the types of names by their keys: one of `KINDS`, `UNKNOWN_TYPE` or `TERM`."""
        spelling = Spelling(chunk.text for chunk in chunks if things)
        found = {}
        for key, thing in things.items():
            at, values = hashed(features(thing, spelling, title))
            odds = np.array(values) @ self.weights[at]
            chances = np.exp(odds - odds.max())
            none, *kinds = (chances / chances.sum()).tolist()
            is_sure = max(kinds) >= self.sure * (1 - none)
            kind = (
                KINDS[kinds.index(max(kinds))]
                if is_sure and thing.kind == UNKNOWN_TYPE
                else thing.kind
            )
            found[key] = kind if 1 - none >= self.likely else TERM
        return found
