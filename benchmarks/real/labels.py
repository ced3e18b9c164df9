"""Names, entities, relations and dates that were judged by hand, by their text.

Each is a line of a file in `labels/`. They are keyed by text (a name or a relation, and the
sentence that it stands in), so that they hold for another extractor, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("labels")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence with all names that it holds."""

    sentence: str
    names: tuple[tuple[str, tuple[str, ...]], ...]
    """(surface, types that are right)."""
    optional: tuple[str, ...]
    """Surfaces that a reader may or may not take for names: right or wrong they count nothing."""


@dataclass(frozen=True, slots=True)
class JudgedEntity:
    """A name that an extractor gave of a sentence."""

    name: str
    sentence: str
    types: tuple[str, ...]
    """Types that are right; empty: it is no name and no concept, or more or less than one."""


@dataclass(frozen=True, slots=True)
class JudgedRelation:
    """A relation that an extractor gave of a sentence."""

    head: str
    relation: str
    tail: str
    sentence: str
    right: bool
    """The sentence states it, of both names in full."""


@dataclass(frozen=True, slots=True)
class StatingSentence:
    """A sentence of two names at least, with all relations that it states of names in it."""

    sentence: str
    relations: tuple[tuple[str, tuple[str, ...], str], ...]
    """(head, relation types that are right, tail)."""


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """What a document says of its own date."""

    path: str
    dates: tuple[str, ...]
    """`2015`, `2015-04` or `2015-04-26`, one of which is right; empty: it states none."""
    where: str
    """`metadata`, `title`, `text` or `none`."""


def marked_sentences() -> list[MarkedSentence]:
    """The sentences of which all names are marked."""
    return [
        MarkedSentence(
            row["sentence"],
            tuple((surface, tuple(types)) for surface, types in row["names"]),
            tuple(row.get("optional", ())),
        )
        for row in _rows("sentences")
    ]


def judged_entities() -> list[JudgedEntity]:
    """The sample of entities."""
    rows = _rows("entities")
    return [JudgedEntity(row["name"], row["sentence"], tuple(row["types"])) for row in rows]


def judged_relations() -> list[JudgedRelation]:
    """The sample of relations."""
    return [JudgedRelation(**row) for row in _rows("relations")]


def stating_sentences() -> list[StatingSentence]:
    """The sentences of which all relations are marked."""
    return [
        StatingSentence(
            row["sentence"],
            tuple((head, tuple(types), tail) for head, types, tail in row["relations"]),
        )
        for row in _rows("stated")
    ]


def document_dates() -> list[DocumentDate]:
    """The documents whose dates are known."""
    return [
        DocumentDate(
            row["path"], tuple(row["date"].split("|") if row["date"] else ()), row["where"]
        )
        for row in _rows("dates")
    ]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)
