"""Checking a namespace's invariants, and mending whatever can be derived from what is sound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clew.derived_files import derived_files, remove_files
from clew.stores.entities import delete_orphans
from clew.stores.invariants import (
    broken_chunk,
    broken_ends,
    broken_files,
    broken_sections,
    broken_terms,
    broken_vector,
    broken_versions,
    check_and_mend,
    chunk_terms,
    files_ahead,
    sum_up,
)
from clew.stores.neo4j.backend import Neo4jBackend
from clew.stores.neo4j.invariants import RULES
from clew.stores.neo4j.schema import (
    MIGRATIONS,
    SHARED_INDEXES,
    define_keywords,
    define_vectors,
    keyword_index,
    vector_index,
)
from clew.stores.snapshot import id_ranges
from clew.stores.statements.state import COUNT_CHANGE, STATE, State
from clew.stores.validity import derived_ends, read_facts, recompute_all

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase, Row
    from clew.types import CheckReport, Problem

Broken: TypeAlias = tuple[str, str]
"""(name of an invariant, what breaks it)"""

_CHECKED = (
    *dict.fromkeys(rule.invariant for rule in RULES),
    *("sections", "chunks", "keywords", "vectors", "versions", "validity", "indexes"),
    *("generation", "derived files"),
)
_DERIVED = frozenset(
    {
        *("references", "names", "memory", "ids", "keywords", "validity", "indexes"),
        *("generation", "derived files"),
    }
)
_BATCH = 500

_DOCUMENT_IDS = """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL RETURN collect(d.id)
"""
_DOCUMENTS = """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id})
RETURN d.id, d.source, d.characters,
    COLLECT {
        MATCH (s:ClewSection {namespace: $namespace, document_id: id})
        RETURN [s.start, s.end, s.text] ORDER BY s.ordinal
    },
    COLLECT {
        MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
        OPTIONAL MATCH (s:ClewSection {namespace: $namespace, id: c.section_id})
        RETURN [c.ordinal, c.text, c.start, c.end, c.sentences, s.start, s.end] ORDER BY c.ordinal
    }
"""
_CHUNK_IDS = "MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN collect(c.id)"
_CHUNKS = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
RETURN c.id, c.context, c.text, c.terms, c.vector ORDER BY c.id
"""
_TERMS = """
UNWIND $rows AS row MATCH (c:ClewChunk {namespace: $namespace, id: row[0]}) SET c.terms = row[1]
"""
_VERSIONS = """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id}) WHERE v.version > 0
RETURN d.source AS source, d.version, d.sha256, d.derived_from, v.version AS version, v.sha256,
    v.derived_from, v.replaced_at
ORDER BY source, version
"""
_ENDS = """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
RETURN r.id AS id, r.stated_until, r.valid_until ORDER BY id
"""
_ENTITY_IDS = "MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 RETURN collect(e.id)"
_DIMENSION = "MATCH (s:ClewStore {namespace: $namespace}) RETURN s.dimension"
_INDEXES = "SHOW INDEXES YIELD name, state WHERE name IN $names RETURN name, state"


def check(backend: Neo4jBackend, *, repair: bool) -> CheckReport:
    """Verify every invariant. Writers wait meanwhile."""
    return check_and_mend(
        _CHECKED, lambda: _find(backend), (lambda: _mend(backend)) if repair else None
    )


def _find(backend: Neo4jBackend) -> list[Problem]:
    """At most one problem an invariant."""
    database, folder = backend.database, backend.folder
    details: dict[str, list[str]] = {name: [] for name in _CHECKED}
    with database.reading():
        for name, detail in chain(
            _broken_rules(database),
            _broken_documents(database),
            _broken_chunks(database),
            (("versions", d) for d in broken_versions(map(tuple, database.rows(_VERSIONS)))),
            _broken_ends(backend),
            (("generation", d) for d in files_ahead(folder, _state(backend).generation)),
            (("derived files", d) for d in broken_files(folder)),
        ):
            details[name].append(detail)
    details["indexes"] = list(_broken_indexes(database))
    problems = (sum_up(name, d, repairable=name in _DERIVED) for name, d in details.items())
    return [problem for problem in problems if problem]


def _broken_rules(database: Neo4jDatabase) -> Iterator[Broken]:
    for rule in RULES:
        for (detail,) in database.rows(rule.broken):
            yield rule.invariant, detail


def _broken_documents(database: Neo4jDatabase) -> Iterator[Broken]:
    """Sections and chunks that do not fit their document's text."""
    ids = sorted(database.value(_DOCUMENT_IDS))
    for start in range(0, len(ids), _BATCH):
        for document in database.rows(_DOCUMENTS, ids=ids[start : start + _BATCH]):
            document_id, source, characters, sections, chunks = document
            for detail in broken_sections(source, characters, sections):
                yield "sections", detail
            whole = "".join(text for _, _, text in sections)
            for ordinal, text, start, end, sentences, *section in chunks:
                place = None if section[0] is None else (section[0], section[1])
                name = f"{document_id}#{ordinal}"
                for detail in broken_chunk(name, whole, text, (start, end), sentences, place):
                    yield "chunks", detail


def _broken_chunks(database: Neo4jDatabase) -> Iterator[Broken]:
    """Terms and embeddings that are not those of their chunk."""
    dimension = int(database.value(_DIMENSION) or 0)
    for chunk_id, context, text, indexed, vector in _chunks(database):
        for detail in broken_terms(chunk_id, context, text, indexed):
            yield "keywords", detail
        if vector is None:
            yield "vectors", f"chunk {chunk_id} has no embedding"
            continue
        for detail in broken_vector(chunk_id, np.array(vector, dtype=np.float32), dimension):
            yield "vectors", detail


def _chunks(database: Neo4jDatabase) -> Iterator[Row]:
    """(id, context, text, terms, embedding) of every chunk, by id."""
    ids = np.sort(np.array(database.value(_CHUNK_IDS), dtype=np.int64))
    for low, high in id_ranges(ids, _BATCH):
        yield from database.rows(_CHUNKS, after=low, until=high)


def _state(backend: Neo4jBackend) -> State:
    return State(backend.rows(STATE))


def _broken_ends(backend: Neo4jBackend) -> Iterator[Broken]:
    derived = derived_ends(read_facts(backend, _state(backend).functional))
    rows = ((row[0], row[1], row[2]) for row in backend.database.rows(_ENDS))
    for detail in broken_ends(rows, derived):
        yield "validity", detail


def _broken_indexes(database: Neo4jDatabase) -> Iterator[str]:
    names = [*SHARED_INDEXES, keyword_index(database.namespace)]
    if database.value(_DIMENSION):
        names.append(vector_index(database.namespace))
    states = dict(database.rows(_INDEXES, names=names))
    for name in names:
        if states.get(name) in (None, "FAILED"):
            yield f"the index {name!r} {'failed' if name in states else 'is missing'}"


def _mend(backend: Neo4jBackend) -> None:
    """Mend all that can be: each step may leave work to the next one."""
    _mend_indexes(backend.database)
    backend.write(lambda: _mend_rows(backend))
    # They were built from what was broken, and are made again when they are needed.
    remove_files(derived_files(backend.folder))


def _mend_indexes(database: Neo4jDatabase) -> None:
    """Make what is missing; of what failed, the namespace's own, which nothing depends on."""
    own = [keyword_index(database.namespace), vector_index(database.namespace)]
    for name, state in database.rows(_INDEXES, names=own):
        if state == "FAILED":
            database.define(f"DROP INDEX `{name}` IF EXISTS")
    for migration in MIGRATIONS:
        migration(database)
    define_keywords(database)
    if dimension := database.value(_DIMENSION):
        define_vectors(database, dimension)


def _mend_rows(backend: Neo4jBackend) -> None:
    database = backend.database
    for rule in RULES:
        if rule.mend:
            database.rows(rule.mend)
    entities = database.value(_ENTITY_IDS)
    for start in range(0, len(entities), _BATCH):
        delete_orphans(backend, entities[start : start + _BATCH])
    _mend_terms(database)
    recompute_all(backend, _state(backend).functional)
    backend.execute(COUNT_CHANGE, changes=1, moves=1)


def _mend_terms(database: Neo4jDatabase) -> None:
    chunks = ((row[0], row[3], chunk_terms(row[1], row[2])) for row in _chunks(database))
    rows = [[chunk_id, terms] for chunk_id, indexed, terms in chunks if terms != indexed]
    for start in range(0, len(rows), _BATCH):
        database.rows(_TERMS, rows=rows[start : start + _BATCH])
