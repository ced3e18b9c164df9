"""Checking a store's invariants, and mending whatever can be derived from what is sound."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from clew.derived_files import damaged_files, derived_files, remove_files
from clew.stores.backend import Backend
from clew.stores.entities import delete_orphans
from clew.stores.keywords import damaged_keywords
from clew.stores.passages import broken_versions, drop_broken
from clew.stores.relations import derived_ends, read_facts, recompute_all
from clew.stores.snapshot import id_ranges
from clew.stores.state import COUNT_CHANGE, StoreState
from clew.stores.statements import check as statements
from clew.stores.statements.check import ENTITY_IDS, GIVE_UP_ORIGINS, KEEP_OBSERVED
from clew.stores.statements.snapshot import CHUNK_IDS
from clew.text import terms
from clew.types import CheckReport, Problem

if TYPE_CHECKING:
    from clew.ports.upkeep import Progress


# What must hold in a store over any back end; each function yields what breaks it.


Invariant: TypeAlias = Callable[[Backend], Iterator[str]]

_UNIT_TOLERANCE = 1e-3
_CHUNKS = 500
_DOCUMENTS = 100
"""Documents and chunks that are read at once."""


def names(backend: Backend) -> Iterator[str]:
    """Every alias has a source; every entity has an alias, and is shown under one."""
    for (name,) in backend.rows(statements.UNUSED_ALIASES):
        yield f"the alias {name!r} is in no mention and no relation"
    for (name,) in backend.rows(statements.NAMELESS_ENTITIES):
        yield f"the entity {name!r} has no alias of that name"


def memory(backend: Backend) -> Iterator[str]:
    """An observation belongs to an entity that was made by hand."""
    for (source,) in backend.rows(statements.OBSERVATIONS_OF_NOBODY):
        yield f"the observation {source!r} is of no entity that was made by hand"


def mentions(backend: Backend) -> Iterator[str]:
    """Mentions lie in a sentence and in the text of their chunk; relations in a sentence."""
    for chunk_id, start, end, sentence, count in backend.rows(statements.MISPLACED_MENTIONS):
        yield f"chunk {chunk_id}: mention at {start}:{end} of sentence {sentence}, {count} times"
    for relation_id, sentence, chunk_id in backend.rows(statements.MISPLACED_RELATIONS):
        yield f"relation {relation_id} is from sentence {sentence} of chunk {chunk_id}"


def times(backend: Backend) -> Iterator[str]:
    """A chunk was said once at most; every period ends after its start."""
    for chunk_id, text in backend.rows(statements.EMPTY_TIMES):
        yield f"chunk {chunk_id} has the time {text!r}, which ends before it starts"
    for (chunk_id,) in backend.rows(statements.CHUNKS_SAID_TWICE):
        yield f"chunk {chunk_id} was said at more than one time"


def validity(backend: Backend) -> Iterator[str]:
    """A relation ends where its text says or, if its type is functional, the next one begins."""
    derived = derived_ends(read_facts(backend, StoreState(backend).state().functional))
    for relation_id, stated_until, valid_until in backend.rows(statements.ENDS):
        if valid_until != derived.get(relation_id, stated_until):
            yield f"relation {relation_id} does not end where the text or another relation says"


def versions(backend: Backend) -> Iterator[str]:
    """A document's versions count from 1, each from the one before; the last is the one held."""
    for source, rows in groupby(backend.rows(statements.VERSIONS), key=itemgetter(0)):
        lines = [tuple(row) for row in rows]
        held = lines[0][1:4]
        if [line[4] for line in lines] != [*range(1, held[0] + 1)] or lines[-1][4:7] != held:
            yield f"the versions of {source!r} do not lead from 1 to the one held, {held[0]}"
        elif [line[6] for line in lines] != ["", *(line[5] for line in lines[:-1])]:
            yield f"a version of {source!r} is not derived from the one before"
        elif [line[7] is None for line in lines] != [*[False] * (len(lines) - 1), True]:
            yield f"not the last version of {source!r}, and that alone, is the one held"


def earlier(backend: Backend) -> Iterator[str]:
    """An earlier text is of a version that was replaced, and can be read."""
    for _, detail in broken_versions(backend):
        yield detail


# --- texts


def sections(backend: Backend) -> Iterator[str]:
    """The sections of a document partition its text."""
    for documents in _documents(backend):
        found = _by_document(backend.gather(statements.SECTIONS, ids=list(documents))[0])
        for document_id, (source, characters) in documents.items():
            yield from _broken_sections(source, characters, found[document_id])


def _broken_sections(source: str, characters: int, rows: list[Sequence[Any]]) -> Iterator[str]:
    at = 0
    for number, (_, start, end, text) in enumerate(rows):
        if start != at or len(text) != end - start:
            yield f"section {number} of {source!r} does not go on at {at} or not to its end"
            return
        at = end
    if at != characters:
        yield f"the sections of {source!r} end at {at} of {characters} characters"


def chunks(backend: Backend) -> Iterator[str]:
    """A chunk's text is the document's at its range; its section and its sentences fit."""
    for documents in _documents(backend):
        parts = backend.gather(statements.SECTIONS, statements.CHUNKS, ids=list(documents))
        of_sections, of_chunks = map(_by_document, parts)
        for document_id in documents:
            whole = "".join(row[3] for row in of_sections[document_id])
            for ordinal, *chunk in of_chunks[document_id]:
                yield from _broken_chunk(f"{document_id}#{ordinal}", whole, *chunk)


def _broken_chunk(
    name: str,
    whole: str,
    text: str,
    start: int,
    end: int,
    sentences: str,
    *section: int | None,
) -> Iterator[str]:
    if whole[start:end] != text:
        yield f"the text of chunk {name} is not the document's at {start}:{end}"
    first, last = section
    if first is not None and last is not None and not first <= start <= last:
        yield f"chunk {name} does not begin in its section"
    if not _ordered(json.loads(sentences), len(text)):
        yield f"the sentences of chunk {name} are out of order or out of its text"


def _ordered(ranges: list[tuple[int, int]], length: int) -> bool:
    """Whether ranges follow one another within a text of that length."""
    edges = [0, *(edge for pair in ranges for edge in pair), length]
    return edges == sorted(edges)


def _documents(backend: Backend) -> Iterator[dict[str, tuple[str, int]]]:
    """(source, characters) by id, of some documents at a time."""
    rows = backend.rows(statements.DOCUMENTS)
    for first in range(0, len(rows), _DOCUMENTS):
        yield {row[0]: (row[1], row[2]) for row in rows[first : first + _DOCUMENTS]}


def _by_document(rows: Sequence[Sequence[Any]]) -> Mapping[str, list[Sequence[Any]]]:
    """Rows, which begin with a document and an ordinal, by document and in order; without it."""
    found: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for row in sorted(rows, key=itemgetter(1)):
        found[row[0]].append(row[1:])
    return found


# --- what chunks are found by


def keywords(backend: Backend) -> Iterator[str]:
    """The keyword index holds every chunk's terms."""
    for chunk_id, indexed, right in chunk_terms(backend):
        if indexed != right:
            yield f"chunk {chunk_id} is not in the keyword index as it should be"


def chunk_terms(backend: Backend) -> Iterator[tuple[int, str | None, str]]:
    """(chunk, its terms in the keyword index, those of its context and text) of every chunk."""
    for low, high in _ranges(backend):
        rows = backend.rows(statements.TERMS, after=low, until=high)
        for chunk_id, language, context, text, indexed in rows:
            yield chunk_id, indexed, terms_of(language, context, text)


def terms_of(language: str | None, context: str, text: str) -> str:
    """The terms of a chunk as the keyword index holds them."""
    return " ".join(terms(f"{context}\n{text}", language or ""))


def vectors(backend: Backend) -> Iterator[str]:
    """Every chunk has one embedding as it was written, of the store's dimension and unit length."""
    dimension = StoreState(backend).state().dimension
    for low, high in _ranges(backend):
        rows = backend.rows(statements.VECTORS, after=low, until=high)
        for chunk_id, vector, damaged in rows:
            yield from _broken_vector(chunk_id, vector, damaged, dimension)


def _broken_vector(
    chunk_id: int, vector: bytes | list[float] | None, damaged: bool, dimension: int
) -> Iterator[str]:
    if vector is None:
        yield f"chunk {chunk_id} has no embedding"
        return
    numbers = len(vector) / (4 if isinstance(vector, bytes) else 1)
    if numbers != dimension:
        yield f"the embedding of chunk {chunk_id} has {numbers:g} of {dimension} numbers"
    elif damaged:
        yield f"the embedding of chunk {chunk_id} is damaged: index its document anew"
    else:
        read = np.frombuffer(vector, "<f4") if isinstance(vector, bytes) else np.array(vector)
        length = float(np.linalg.norm(read))
        if not abs(length - 1) <= _UNIT_TOLERANCE:  # also true of NaN
            yield f"the embedding of chunk {chunk_id} has length {length:.4g}, not 1"


def _ranges(backend: Backend) -> Iterator[tuple[int, int]]:
    """(above, up to) of ids that hold some chunks at a time."""
    (ids,) = backend.columns(CHUNK_IDS, ["i8"])
    return id_ranges(np.sort(ids), _CHUNKS)


# --- files


def files_ahead(backend: Backend) -> Iterator[str]:
    """What is derived from the database is not newer than it."""
    generation = StoreState(backend).generation()
    for path, of in derived_files(backend.folder).items():
        if of > generation:
            yield f"{path.name} is ahead of the database, at {generation}"


def files_damaged(backend: Backend) -> Iterator[str]:
    """Every file that is derived from the database is as it was written."""
    files = (path.name for path in damaged_files(backend.folder))
    for name in chain(files, damaged_keywords(backend.folder)):
        yield f"{name} is damaged; it is made again from the database when it is needed"


B = TypeVar("B", bound=Backend)

_SHARED: Mapping[str, Invariant] = {
    "names": names,
    "memory": memory,
    "sections": sections,
    "chunks": chunks,
    "mentions": mentions,
    "keywords": keywords,
    "vectors": vectors,
    "versions": versions,
    "earlier texts": earlier,
    "times": times,
    "validity": validity,
    "generation": files_ahead,
    "derived files": files_damaged,
}
_DERIVED = frozenset(
    {"names", "memory", "keywords", "earlier texts", "validity", "generation", "derived files"}
)
"""Mended, or dropped where it can only be lost."""
_ENTITIES = 500
"""Entities whose names are mended at once."""


class StoreCheck(Generic[B]):
    """What is checked in every store; a back end adds what only it can break, in a subclass."""

    derived: frozenset[str]
    """Invariants of the back end that can be mended."""

    def __init__(self, backend: B, progress: Progress | None = None) -> None:
        """`progress` is told of each invariant before it is examined."""
        self.backend = backend
        self._progress = progress

    def run(self, *, repair: bool) -> CheckReport:
        """Verify every invariant; `problems` are those that are left after mending."""
        problems = self.find()
        repaired: tuple[str, ...] = ()
        if repair and any(problem.repairable for problem in problems):
            before = problems
            self.mend()
            problems = self.find()
            left = {problem.invariant for problem in problems}
            repaired = tuple(
                f"{p.invariant}: {p.detail}" for p in before if p.invariant not in left
            )
        return CheckReport(checked=self.checked(), problems=tuple(problems), repaired=repaired)

    def own(self) -> Mapping[str, Invariant]:
        """What else is examined within one state of the store, or in another way."""
        raise NotImplementedError

    def checked(self) -> tuple[str, ...]:
        """The names of all invariants."""
        return tuple({**_SHARED, **self.own()})

    def find(self) -> list[Problem]:
        """At most one problem an invariant."""
        with self.backend.reading():
            every = {**_SHARED, **self.own()}.items()
            found = [self.problem(name, broken(self.backend)) for name, broken in every]
        return [problem for problem in found if problem]

    def problem(self, invariant: str, details: Iterable[str]) -> Problem | None:
        """The first detail in full and the number of the others; None where nothing is broken."""
        if self._progress is not None:
            names = self.checked()
            self._progress(f"checking {invariant}", names.index(invariant), len(names))
        every = iter(self.examined(details))
        first = next(every, None)
        if first is None:
            return None
        others = sum(1 for _ in every)  # counted, not kept: there may be as many as chunks
        more = f" (and {others} more)" if others else ""
        repairable = invariant in _DERIVED | self.derived
        return Problem(invariant=invariant, detail=first + more, repairable=repairable)

    def examined(self, details: Iterable[str]) -> Iterator[str]:
        """What breaks an invariant."""
        yield from details

    def mend(self) -> None:
        """Mend all that can be."""
        self.backend.write(self._mend_rows)
        # They were built from what was broken, and are made again when they are needed.
        remove_files(derived_files(self.backend.folder))

    def _mend_rows(self) -> None:
        """Each step may leave work to the next one."""
        self.mend_references()
        drop_broken(self.backend)
        self.backend.execute(KEEP_OBSERVED)
        self.backend.execute(GIVE_UP_ORIGINS)
        entities = [row[0] for row in self.backend.rows(ENTITY_IDS)]
        for first in range(0, len(entities), _ENTITIES):
            delete_orphans(self.backend, entities[first : first + _ENTITIES])
        self.mend_keywords()
        recompute_all(self.backend, StoreState(self.backend).state().functional)
        self.backend.execute(COUNT_CHANGE, changes=1, moves=1)

    def mend_references(self) -> None:
        """Tie again or delete what belongs to nothing, inside `write`."""
        raise NotImplementedError

    def mend_keywords(self) -> None:
        """Write the terms of every chunk that are not those of its text, inside `write`."""
        rows = [
            {"id": chunk_id, "terms": right}
            for chunk_id, indexed, right in chunk_terms(self.backend)
            if indexed != right
        ]
        self.backend.update("chunks", rows)
