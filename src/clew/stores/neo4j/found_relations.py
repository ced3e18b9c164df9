"""Relations found by reading passages once more in Neo4j: what is new is added, all is logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from clew.ports import Fact, FoundRelation
from clew.stores.neo4j.batches import at_most, send_rows
from clew.stores.neo4j.numbers import read_numbers
from clew.stores.neo4j.rows import insert_rows
from clew.stores.neo4j.validity import settle
from clew.stores.relation_plans import plan_found
from clew.stores.relations import End
from clew.stores.values import now
from clew.text import entity_key

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_NAMES = """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
RETURN a.key, a.id, e.id
"""
_LIVING = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) RETURN c.id
"""
_STATED = """
UNWIND $ids AS id
MATCH (h)-[r:RELATES {namespace: $namespace, chunk_id: id}]->(t)
RETURN r.chunk_id, h.id, r.relation_type, t.id
"""
_LOG = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (l:ClewReading {namespace: $namespace}) SET l += row
"""
# Ordered as the index is, so that it ends where there are enough.
_UNREAD = """
MATCH (e:ClewEntity {namespace: $namespace})
WHERE e.id IS NOT NULL AND NOT EXISTS {
    MATCH (:ClewReading {namespace: $namespace, entity_id: e.id})
}
RETURN e.id ORDER BY e.namespace, e.id LIMIT $limit
"""
_DOCUMENTS = """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})
    <-[:MENTIONS {namespace: $namespace}]-(c:ClewChunk)
RETURN DISTINCT c.document_id AS document_id, id ORDER BY document_id, id
"""


def add_found_relations(
    database: Neo4jDatabase, found: Sequence[FoundRelation], among: Set[int], extractor: str
) -> tuple[set[Fact], int]:
    """Add those of which one end is among some entities and which their passage does not state yet.

    All facts found of these entities, and how many relations were added. Names that the store does
    not know, and passages that are gone, are left out. Call inside `write`.
    """
    numbers = read_numbers(database)
    chunks = sorted({int(chunk_id) for chunk_id, _ in found})
    facts, rows = plan_found(
        found,
        among,
        names=_names(database, found),
        living={row[0] for row in database.rows(_LIVING, ids=chunks)},
        stated=[(c, h, kind, t) for c, h, kind, t in database.rows(_STATED, ids=chunks)],
        first_id=numbers.relation,
        moment=now(),
        extractor=extractor,
    )
    if rows:
        counts = numbers.after_change(entities_moved=False)
        insert_rows(database, {"relations": [row._asdict() for row in rows]}, counts=counts)
        settle(database, {head for head, _, _ in facts}, numbers.functional)
    return facts, len(rows)


def _names(database: Neo4jDatabase, found: Iterable[FoundRelation]) -> dict[str, End]:
    """The names that the store knows, by key."""
    keys = {entity_key(name) for _, r in found for name in (r.head, r.tail)}
    rows = database.rows(_NAMES, keys=sorted(keys))
    return {key: End(alias_id, entity_id) for key, alias_id, entity_id in rows}


def log_reading(database: Neo4jDatabase, found: Mapping[int, int]) -> None:
    """Remember that the passages of entities were read for relations, and how many were found."""
    moment = now()
    rows = [
        {"entity_id": int(id_), "relationships_found": int(count), "extracted_at": moment}
        for id_, count in found.items()
    ]
    send_rows(database, _LOG, rows)


def read_unread_entities(database: Neo4jDatabase, limit: int | None) -> list[int]:
    """Ids of entities whose passages were never read for relations and had none, by id."""
    rows = database.rows(_UNREAD, limit=at_most(-1 if limit is None else limit))
    return [row[0] for row in rows]


def read_entity_documents(
    database: Neo4jDatabase, entity_ids: Sequence[int]
) -> dict[str, list[int]]:
    """Entities by the id of a document that mentions them, both in order."""
    found: dict[str, list[int]] = {}
    for document_id, entity_id in database.rows(_DOCUMENTS, ids=[int(i) for i in entity_ids]):
        found.setdefault(document_id, []).append(entity_id)
    return found
