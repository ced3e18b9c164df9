"""Checking a store's invariants, and mending whatever can be derived from what is sound.

What is asked comes first. A composite index of Neo4j finds only nodes that have every property that
it is made of, hence `id > 0`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from clew.derived_files import damaged_files, derived_files, remove_files
from clew.stores.backend import Backend, Progress, Statement
from clew.stores.entities import delete_orphans
from clew.stores.keywords import damaged_keywords
from clew.stores.passages import broken_versions, drop_broken
from clew.stores.relations import derived_ends, read_facts, recompute_all
from clew.stores.snapshot import id_ranges
from clew.stores.state import COUNT_CHANGE, StoreState
from clew.stores.statements.names import CYPHER_USED
from clew.stores.statements.snapshot import CHUNK_IDS
from clew.text import terms
from clew.types import CheckReport, Problem

_HAS_SOURCE = """
EXISTS { (e)<-[:MENTIONS {namespace: $namespace}]-() }
OR EXISTS { (e)-[:RELATES {namespace: $namespace}]-() }
"""
_SENTENCES = "size(split(c.sentences, '[')) - 2"  # the inner brackets of JSON

# --- names

UNUSED_ALIASES = Statement(
    "SELECT name FROM aliases WHERE id IN (SELECT id FROM orphan_aliases)",
    f"""
MATCH (a:ClewAlias {{namespace: $namespace}})-[:NAMES {{namespace: $namespace}}]->(e)
WHERE a.id > 0 AND NOT ({CYPHER_USED})
    AND NOT (a.method = 'manual' AND e.tier = 'manual')
    AND NOT (({_HAS_SOURCE}) AND EXISTS {{
        (r:ClewRule {{namespace: $namespace, key: a.key}}) WHERE r.name <> '' }})
RETURN [a.name] AS row
""",
)
NAMELESS_ENTITIES = Statement(
    """
SELECT name FROM entities e
WHERE NOT EXISTS (SELECT 1 FROM aliases a WHERE a.entity_id = e.id AND a.key = e.key)
""",
    """
MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 AND NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: e.key})-[:NAMES {namespace: $namespace}]->(e) }
RETURN [e.name] AS row
""",
)
ENTITY_IDS = Statement(
    "SELECT id FROM entities",
    "MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 RETURN [e.id] AS row",
)
# An observation belongs to an entity that was made by hand; its source goes on behind its origin.
_SQL_TOLD_OF_NOBODY = """
WHERE origin GLOB 'memory:*' AND (source = origin OR NOT EXISTS (
    SELECT 1 FROM aliases a JOIN entities e ON e.id = a.entity_id
    WHERE a.key = substr(origin, 8) AND e.tier = 'manual'))
"""
_CYPHER_TOLD_OF_NOBODY = """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.origin STARTS WITH 'memory:' AND (d.source = d.origin OR NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    WHERE e.tier = 'manual' })
"""
OBSERVATIONS_OF_NOBODY = Statement(
    f"SELECT source FROM documents {_SQL_TOLD_OF_NOBODY}",
    f"{_CYPHER_TOLD_OF_NOBODY} RETURN [d.source] AS row",
)
# Such a text stays and is found; its origin no longer says that it was told.
GIVE_UP_ORIGINS = Statement(
    f"UPDATE documents SET origin = 'text:' || origin {_SQL_TOLD_OF_NOBODY}",
    f"{_CYPHER_TOLD_OF_NOBODY} SET d.origin = 'text:' + d.origin",
)
KEEP_OBSERVED = Statement(
    """
UPDATE entities SET tier = 'manual' WHERE id IN (
    SELECT a.entity_id FROM documents d JOIN aliases a ON a.key = substr(d.origin, 8)
    WHERE d.origin GLOB 'memory:*' AND d.source <> d.origin)
""",
    """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.origin STARTS WITH 'memory:' AND d.source <> d.origin
MATCH (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
SET e.tier = 'manual'
""",
)

# --- mentions, times, ends

MISPLACED_MENTIONS = Statement(
    """
SELECT m.chunk_id, m.start, m."end", m.sentence, m.count
FROM mentions m JOIN chunks c ON c.id = m.chunk_id
WHERE m.sentence < -1 OR m.sentence >= json_array_length(c.sentences) OR m.count < 1
    OR m.start < 0 OR m."end" < m.start OR m."end" > c."end" - c.start
""",
    f"""
MATCH (c:ClewChunk {{namespace: $namespace}}) WHERE c.id > 0
WITH c, {_SENTENCES} AS sentences
MATCH (c)-[m:MENTIONS {{namespace: $namespace}}]->()
WHERE m.sentence < -1 OR m.sentence >= sentences OR m.count < 1 OR m.start < 0
    OR m.end < m.start OR m.end > c.end - c.start
RETURN [c.id, m.start, m.end, m.sentence, m.count] AS row
""",
)
MISPLACED_RELATIONS = Statement(
    """
SELECT r.id, r.sentence, r.chunk_id FROM relations r JOIN chunks c ON c.id = r.chunk_id
WHERE r.sentence NOT BETWEEN 0 AND json_array_length(c.sentences) - 1
""",
    f"""
MATCH ()-[r:RELATES {{namespace: $namespace}}]->() WHERE r.chunk_id > 0
MATCH (c:ClewChunk {{namespace: $namespace, id: r.chunk_id}})
WHERE NOT 0 <= r.sentence < {_SENTENCES}
RETURN [r.id, r.sentence, r.chunk_id] AS row
""",
)
EMPTY_TIMES = Statement(
    'SELECT chunk_id, text FROM chunk_times WHERE start >= "end"',
    """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.start >= t.end
RETURN [t.chunk_id, t.text] AS row
""",
)
CHUNKS_SAID_TWICE = Statement(
    "SELECT chunk_id FROM chunk_times WHERE said = 1 GROUP BY chunk_id HAVING count(*) > 1",
    """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.said = 1
WITH t.chunk_id AS chunk_id, count(*) AS number WHERE number > 1
RETURN [chunk_id] AS row
""",
)
ENDS = Statement(
    "SELECT id, stated_until, valid_until FROM relations ORDER BY id",
    """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
RETURN [r.id, r.stated_until, r.valid_until] AS row ORDER BY r.id
""",
)

# --- texts and vectors

# Columns: version, sha256, derived_from of the document; the same of a version, and its end.
VERSIONS = Statement(
    """
SELECT d.source, d.version, d.sha256, d.derived_from, v.version, v.sha256, v.derived_from,
    v.replaced_at
FROM documents d LEFT JOIN document_versions v ON v.document_id = d.id
ORDER BY d.source, v.version
""",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id}) WHERE v.version > 0
RETURN [d.source, d.version, d.sha256, d.derived_from, v.version, v.sha256, v.derived_from,
    v.replaced_at] AS row ORDER BY d.source, v.version
""",
)
DOCUMENTS = Statement(
    "SELECT id, source, characters FROM documents ORDER BY id",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL
RETURN [d.id, d.source, d.characters] AS row ORDER BY d.id
""",
)
SECTIONS = Statement(
    """
SELECT document_id, ordinal, start, "end", text FROM sections
WHERE document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (s:ClewSection {namespace: $namespace, document_id: id})
RETURN [id, s.ordinal, s.start, s.end, s.text] AS row
""",
)
CHUNKS = Statement(
    """
SELECT c.document_id, c.ordinal, c.text, c.start, c."end", c.sentences, s.start, s."end"
FROM chunks c LEFT JOIN sections s ON s.id = c.section_id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
OPTIONAL MATCH (s:ClewSection {namespace: $namespace, id: c.section_id})
RETURN [id, c.ordinal, c.text, c.start, c.end, c.sentences, s.start, s.end] AS row
""",
)
TERMS = Statement(
    """
SELECT c.id, d.language, c.context, c.text, k.terms
FROM chunks c LEFT JOIN documents d ON d.id = c.document_id LEFT JOIN keywords k ON k.rowid = c.id
WHERE c.id > :after AND c.id <= :until
""",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
OPTIONAL MATCH (d:ClewDocument {namespace: $namespace, id: c.document_id})
RETURN [c.id, d.language, c.context, c.text, c.terms] AS row
""",
)
# Columns: chunk, vector, whether it is not as it was written.
VECTORS = Statement(
    """
SELECT c.id, e.vector, e.checksum IS NOT crc32(e.vector)
FROM chunks c LEFT JOIN embeddings e ON e.chunk_id = c.id WHERE c.id > :after AND c.id <= :until
""",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
RETURN [c.id, c.vector, false] AS row
""",
)


# Checking a store's invariants, and mending whatever can be derived from what is sound.


# What must hold in a store over any back end; each function yields what breaks it.


Invariant: TypeAlias = Callable[[Backend], Iterator[str]]

_UNIT_TOLERANCE = 1e-3
_CHUNKS = 500
_DOCUMENTS = 100
"""Documents and chunks that are read at once."""


# What a statement alone finds broken, in words for each row of it.
_FOUND: Mapping[str, Sequence[tuple[Statement, str]]] = {
    # Every alias has a source; every entity has an alias, and is shown under one.
    "names": (
        (UNUSED_ALIASES, "the alias {!r} is in no mention and no relation"),
        (NAMELESS_ENTITIES, "the entity {!r} has no alias of that name"),
    ),
    # An observation belongs to an entity that was made by hand.
    "memory": (
        (OBSERVATIONS_OF_NOBODY, "the observation {!r} is of no entity that was made by hand"),
    ),
    # Mentions lie in a sentence and in the text of their chunk; relations in a sentence.
    "mentions": (
        (MISPLACED_MENTIONS, "chunk {}: mention at {}:{} of sentence {}, {} times"),
        (MISPLACED_RELATIONS, "relation {} is from sentence {} of chunk {}"),
    ),
    # A chunk was said once at most; every period ends after its start.
    "times": (
        (EMPTY_TIMES, "chunk {} has the time {!r}, which ends before it starts"),
        (CHUNKS_SAID_TWICE, "chunk {} was said at more than one time"),
    ),
}


def _found(invariant: str, backend: Backend) -> Iterator[str]:
    for statement, words in _FOUND[invariant]:
        for row in backend.rows(statement):
            yield words.format(*row)


def validity(backend: Backend) -> Iterator[str]:
    """A relation ends where its text says or, if its type is functional, the next one begins."""
    derived = derived_ends(read_facts(backend, StoreState(backend).state().functional))
    for relation_id, stated_until, valid_until in backend.rows(ENDS):
        if valid_until != derived.get(relation_id, stated_until):
            yield f"relation {relation_id} does not end where the text or another relation says"


def versions(backend: Backend) -> Iterator[str]:
    """A document's versions count from 1, each from the one before; the last is the one held."""
    for source, rows in groupby(backend.rows(VERSIONS), key=itemgetter(0)):
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
        found = _by_document(backend.gather(SECTIONS, ids=list(documents))[0])
        for document_id, (source, characters) in documents.items():
            at = 0
            for number, (_, start, end, text) in enumerate(found[document_id]):
                if start != at or len(text) != end - start:
                    yield f"section {number} of {source!r} does not go on at {at} or not to its end"
                    break
                at = end
            else:
                if at != characters:
                    yield f"the sections of {source!r} end at {at} of {characters} characters"


def chunks(backend: Backend) -> Iterator[str]:
    """A chunk's text is the document's at its range; its section and its sentences fit."""
    for documents in _documents(backend):
        parts = backend.gather(SECTIONS, CHUNKS, ids=list(documents))
        of_sections, of_chunks = map(_by_document, parts)
        for document_id in documents:
            whole = "".join(row[3] for row in of_sections[document_id])
            for ordinal, text, start, end, sentences, first, last in of_chunks[document_id]:
                name = f"{document_id}#{ordinal}"
                if whole[start:end] != text:
                    yield f"the text of chunk {name} is not the document's at {start}:{end}"
                if first is not None and last is not None and not first <= start <= last:
                    yield f"chunk {name} does not begin in its section"
                edges = [0, *chain.from_iterable(json.loads(sentences)), len(text)]
                if edges != sorted(edges):
                    yield f"the sentences of chunk {name} are out of order or out of its text"


def _documents(backend: Backend) -> Iterator[dict[str, tuple[str, int]]]:
    """(source, characters) by id, of some documents at a time."""
    rows = backend.rows(DOCUMENTS)
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
        rows = backend.rows(TERMS, after=low, until=high)
        for chunk_id, language, context, text, indexed in rows:
            yield chunk_id, indexed, terms_of(language, context, text)


def terms_of(language: str | None, context: str, text: str) -> str:
    """The terms of a chunk as the keyword index holds them."""
    return " ".join(terms(f"{context}\n{text}", language or ""))


def vectors(backend: Backend) -> Iterator[str]:
    """Every chunk has one embedding as it was written, of the store's dimension and unit length."""
    dimension = StoreState(backend).state().dimension
    for low, high in _ranges(backend):
        rows = backend.rows(VECTORS, after=low, until=high)
        for chunk_id, vector, damaged in rows:
            if vector is None:
                yield f"chunk {chunk_id} has no embedding"
                continue
            numbers = len(vector) / (4 if isinstance(vector, bytes) else 1)
            if numbers != dimension:
                yield f"the embedding of chunk {chunk_id} has {numbers:g} of {dimension} numbers"
            elif damaged:
                yield f"the embedding of chunk {chunk_id} is damaged: index its document anew"
            else:
                read = np.frombuffer(vector, "<f4") if isinstance(vector, bytes) else vector
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
    "names": partial(_found, "names"),
    "memory": partial(_found, "memory"),
    "sections": sections,
    "chunks": chunks,
    "mentions": partial(_found, "mentions"),
    "keywords": keywords,
    "vectors": vectors,
    "versions": versions,
    "earlier texts": earlier,
    "times": partial(_found, "times"),
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
