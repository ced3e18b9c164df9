"""Functional relations (see `validity`) in Neo4j: deriving their ends, whom a change concerns."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from clew.stores.neo4j.batches import send_rows
from clew.stores.neo4j.numbers import count_change
from clew.stores.validity import FOREVER, Fact, changed_ends, derived_ends

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_DECLARE = "MATCH (s:ClewStore {namespace: $namespace}) SET s.functional = $functional"
_FORGET_ENDS = """
MATCH ()-[r:RELATES {namespace: $namespace}]->()
WHERE r.id IS NOT NULL AND coalesce(r.valid_until, '') <> coalesce(r.stated_until, '')
SET r.valid_until = r.stated_until
"""
_FACT = """
WHERE r.relation_type IN $types AND r.recorded_at <= $known
    AND coalesce(r.retracted_at, '~') > $known
RETURN r.id, h.id, r.relation_type, t.id, r.valid_from IS NOT NULL,
    coalesce(r.valid_from, r.recorded_at), r.stated_until, r.valid_until
"""
_FACTS_FROM = f"""
UNWIND $heads AS id
MATCH (h:ClewEntity {{namespace: $namespace, id: id}})-[r:RELATES {{namespace: $namespace}}]->(t)
{_FACT}
"""
_ALL_FACTS = f"""
MATCH (h)-[r:RELATES {{namespace: $namespace}}]->(t) WHERE r.id IS NOT NULL
WITH h, r, t {_FACT}
"""
_END = """
UNWIND $rows AS row
MATCH ()-[r:RELATES {namespace: $namespace, id: row[0]}]->() SET r.valid_until = row[1]
"""
_HEADS_OF_CHUNKS = """
UNWIND $document_ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
MATCH (h)-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->()
WHERE r.relation_type IN $types RETURN DISTINCT h.id
"""
_HEADS_OF_TAILS = """
UNWIND $entity_ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})<-[r:RELATES {namespace: $namespace}]-(h)
WHERE r.relation_type IN $types RETURN DISTINCT h.id
"""


def declare_functional(database: Neo4jDatabase, types: Collection[str]) -> None:
    """Remember the functional types and derive every end by them; call inside `write`."""
    database.rows(_DECLARE, functional=json.dumps(sorted(types)))
    settle_all(database, types)
    count_change(database)


# --- deriving ends -----------------------------------------------------------------------


def settle(database: Neo4jDatabase, heads: Collection[int], functional: Collection[str]) -> None:
    """Derive the ends of the relations of functional types from the entities given."""
    if heads and functional:
        _write_ends(database, read_facts(database, functional, heads))


def settle_all(database: Neo4jDatabase, functional: Collection[str]) -> None:
    """Derive every relation's end."""
    database.rows(_FORGET_ENDS)
    if functional:
        _write_ends(database, read_facts(database, functional))


def _write_ends(database: Neo4jDatabase, facts: Sequence[Fact]) -> None:
    send_rows(database, _END, changed_ends(facts))


def read_facts(
    database: Neo4jDatabase,
    functional: Collection[str],
    heads: Collection[int] | None = None,
    known: str = FOREVER,
) -> list[Fact]:
    """The functional facts of some entities or of all, as they were known at a moment."""
    types = list(functional)
    if heads is None:
        rows = database.rows(_ALL_FACTS, types=types, known=known)
    else:
        rows = database.rows(_FACTS_FROM, types=types, known=known, heads=list(heads))
    return [Fact(*row) for row in rows]


def ends_known_at(
    database: Neo4jDatabase, heads: Collection[int], functional: Collection[str], known: str
) -> dict[int, str | None]:
    """Ends of the functional relations from the entities, by what was known at a moment; by id."""
    if not heads or not functional:
        return {}
    return derived_ends(read_facts(database, functional, heads, known))


# --- whom a change concerns --------------------------------------------------------------


def heads_of_documents(
    database: Neo4jDatabase, document_ids: Sequence[str], functional: Collection[str]
) -> set[int]:
    """Entities of which the documents state functional relations."""
    if not functional:
        return set()
    types = list(functional)
    rows = database.rows(_HEADS_OF_CHUNKS, document_ids=list(document_ids), types=types)
    return {row[0] for row in rows}


def heads_around(
    database: Neo4jDatabase, entity_ids: Collection[int], functional: Collection[str]
) -> set[int]:
    """The entities, and those from which functional relations lead to them."""
    if not functional or not entity_ids:
        return set(entity_ids)
    types = list(functional)
    rows = database.rows(_HEADS_OF_TAILS, entity_ids=list(entity_ids), types=types)
    return {*entity_ids, *(row[0] for row in rows)}
