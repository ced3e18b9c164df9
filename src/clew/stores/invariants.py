"""What must hold in a store of any kind; each function yields what breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.derived_files import damaged_files, derived_files
from clew.text import terms
from clew.types import CheckReport, Problem

if TYPE_CHECKING:
    from clew.types import Vector

VersionRow: TypeAlias = tuple[str, int, str, str, int | None, str | None, str | None, str | None]
"""(source; version, sha256, derived_from of the document; the same of one of its versions, and
when it was replaced)"""

_UNIT_TOLERANCE = 1e-3


def broken_sections(
    source: str, characters: int, sections: Iterable[tuple[int, int, str]]
) -> Iterator[str]:
    """The sections (start, end, text) of a document, in order, partition its text."""
    at = 0
    for ordinal, (start, end, text) in enumerate(sections):
        if start != at or len(text) != end - start:
            yield f"section {ordinal} of {source!r} does not go on at {at} or not to its end"
            return
        at = end
    if at != characters:
        yield f"the sections of {source!r} end at {at} of {characters} characters"


def broken_chunk(
    name: str,
    whole: str,
    text: str,
    place: tuple[int, int],
    sentences: str,
    section: tuple[int, int] | None,
) -> Iterator[str]:
    """A chunk's text is the document's at its place; its section and its sentences fit.

    `sentences` are ranges as JSON; `section` is the place of the chunk's, if there is one.
    """
    start, end = place
    if whole[start:end] != text:
        yield f"the text of chunk {name} is not the document's at {start}:{end}"
    if section is not None and not section[0] <= start <= section[1]:
        yield f"chunk {name} does not begin in its section"
    if not _ordered(json.loads(sentences), len(text)):
        yield f"the sentences of chunk {name} are out of order or out of its text"


def _ordered(ranges: list[tuple[int, int]], length: int) -> bool:
    """Whether ranges follow one another within a text of that length."""
    edges = [0, *(edge for pair in ranges for edge in pair), length]
    return edges == sorted(edges)


def broken_terms(chunk_id: int, context: str, text: str, indexed: str | None) -> Iterator[str]:
    """What a chunk is found by are the terms of its context and text."""
    if indexed != chunk_terms(context, text):
        yield f"chunk {chunk_id} is not in the keyword index as it should be"


def chunk_terms(context: str, text: str) -> str:
    """The terms of a chunk as the keyword index holds them."""
    return " ".join(terms(f"{context}\n{text}"))


def broken_vector(chunk_id: int, vector: Vector, dimension: int) -> Iterator[str]:
    """An embedding is of the store's dimension and of unit length."""
    if len(vector) != dimension:
        yield f"the embedding of chunk {chunk_id} has {len(vector)} of {dimension} numbers"
        return
    length = float(np.linalg.norm(vector))
    if not abs(length - 1) <= _UNIT_TOLERANCE:  # also true of NaN
        yield f"the embedding of chunk {chunk_id} has length {length:.4g}, not 1"


def broken_versions(rows: Iterable[VersionRow]) -> Iterator[str]:
    """A document's versions count from 1, each from the one before; the last is the one held.

    The rows come by source and version; a document without any version has one row, of None.
    """
    for source, of_document in groupby(rows, key=itemgetter(0)):
        lines = list(of_document)
        held = lines[0][1:4]
        if [line[4] for line in lines] != [*range(1, held[0] + 1)] or lines[-1][4:7] != held:
            yield f"the versions of {source!r} do not lead from 1 to the one held, {held[0]}"
        elif [line[6] for line in lines] != ["", *(line[5] for line in lines[:-1])]:
            yield f"a version of {source!r} is not derived from the one before"
        elif [line[7] is None for line in lines] != [*[False] * (len(lines) - 1), True]:
            yield f"not the last version of {source!r}, and that alone, is the one held"


def broken_ends(
    rows: Iterable[tuple[int, str | None, str | None]], derived: Mapping[int, str | None]
) -> Iterator[str]:
    """A relation ends where its text says or, if its type is functional, the next one begins.

    The rows are (id, end that the text states, end that is shown).
    """
    for relation_id, stated_until, valid_until in rows:
        if valid_until != derived.get(relation_id, stated_until):
            yield f"relation {relation_id} does not end where the text or another relation says"


def sum_up(invariant: str, details: Iterable[str], *, repairable: bool) -> Problem | None:
    """The first detail in full and the number of the others; None where nothing is broken."""
    every = list(details)
    if not every:
        return None
    more = f" (and {len(every) - 1} more)" if len(every) > 1 else ""
    return Problem(invariant=invariant, detail=every[0] + more, repairable=repairable)


def check_and_mend(
    checked: Sequence[str],
    find: Callable[[], Sequence[Problem]],
    mend: Callable[[], None] | None,
) -> CheckReport:
    """What was found and mended; `problems` are those that are left after mending."""
    problems = find()
    repaired: tuple[str, ...] = ()
    if mend is not None and any(problem.repairable for problem in problems):
        before = problems
        mend()
        problems = find()
        left = {problem.invariant for problem in problems}
        repaired = tuple(f"{p.invariant}: {p.detail}" for p in before if p.invariant not in left)
    return CheckReport(checked=checked, problems=tuple(problems), repaired=repaired)


def broken_files(folder: Path) -> Iterator[str]:
    """Every file that is derived from the database is as it was written."""
    for path in damaged_files(folder):
        yield f"{path.name} is damaged; it is made again from the database when it is needed"


def files_ahead(folder: Path, generation: int) -> Iterator[str]:
    """What is derived from the database is not newer than it."""
    for path, of in derived_files(folder).items():
        if of > generation:
            yield f"{path.name} is ahead of the database, at {generation}"
