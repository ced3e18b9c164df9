"""Reading entities and their names from Neo4j."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clew.stores.entities import EntityRow
from clew.stores.neo4j.batches import at_most
from clew.text import entity_key
from clew.types import Alias

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_ENTITIES = """
MATCH (s:ClewStore {namespace: $namespace})
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
CALL (e) {
    MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-(c:ClewChunk)
    RETURN sum(CASE WHEN m.sentence >= 0 THEN m.count ELSE 0 END) AS mentions,
        count(DISTINCT c.document_id) AS documents
}
RETURN s.generation, e.id, e.name, e.key, e.entity_type, e.content, e.tier, mentions, documents
"""
_MOST_MENTIONED = """
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(e)
WHERE m.chunk_id IS NOT NULL AND m.sentence >= 0
WITH e, sum(m.count) AS mentions
RETURN coalesce(max(mentions), 0)
"""
_NAMES = """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id}) RETURN e.id, e.name
"""
# An entity takes the place of its nearest name, whichever of its names was found first.
_NEAREST = """
WITH e.id AS id,
    min(CASE WHEN a.key = $key THEN 0 WHEN a.key STARTS WITH $key THEN 1 ELSE 2 END) AS step,
    min(size(a.key)) AS length
RETURN id ORDER BY step, length, id LIMIT $limit
"""
_BEGINNING = f"""
MATCH (b:ClewAlias {{namespace: $namespace}}) WHERE b.key STARTS WITH $key
MATCH (b)-[:NAMES {{namespace: $namespace}}]->(e)
WITH DISTINCT e
MATCH (e)<-[:NAMES {{namespace: $namespace}}]-(a) WHERE a.key CONTAINS $key
{_NEAREST}
"""
_HOLDING = f"""
MATCH (a:ClewAlias {{namespace: $namespace}}) WHERE a.key CONTAINS $key
MATCH (a)-[:NAMES {{namespace: $namespace}}]->(e)
{_NEAREST}
"""
_RESOLVE = """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
RETURN a.key, e.id
"""
_ALIAS = "RETURN a.id, a.key, a.name, e.id, a.method, a.score, a.evidence ORDER BY a.id"
_ALIASES = f"""
MATCH (a:ClewAlias {{namespace: $namespace}}) WHERE a.id > $after
MATCH (a)-[:NAMES {{namespace: $namespace}}]->(e)
{_ALIAS}
"""
_ALIASES_OF = f"""
MATCH (e:ClewEntity {{namespace: $namespace, id: $id}})<-[:NAMES {{namespace: $namespace}}]-(a)
WHERE a.id > $after
{_ALIAS}
"""
_CHUNKS = """
MATCH (:ClewEntity {namespace: $namespace, id: $id})<-[m:MENTIONS {namespace: $namespace}]-()
RETURN DISTINCT m.chunk_id AS chunk_id ORDER BY chunk_id
"""
_RULES = """
MATCH (r:ClewRule {namespace: $namespace}) WHERE r.key IS NOT NULL
RETURN r.key, r.target ORDER BY r.key
"""


def read_most_mentioned(database: Neo4jDatabase) -> int:
    """Mentions of the most mentioned entity; reads all mentions."""
    return int(database.value(_MOST_MENTIONED))


def read_entities(
    database: Neo4jDatabase, entity_ids: Iterable[int]
) -> tuple[int, list[EntityRow]]:
    """The store's generation, 0 where no entity is known, and the entities in the order asked."""
    ids = [int(i) for i in entity_ids]
    rows = database.rows(_ENTITIES, ids=ids)
    found = {row[1]: EntityRow(*row[1:]) for row in rows}
    return rows[0][0] if rows else 0, [found[i] for i in ids if i in found]


def read_entity_names(database: Neo4jDatabase, entity_ids: Iterable[int]) -> dict[int, str]:
    """Name by id, of the entities that exist."""
    rows = database.rows(_NAMES, ids=[int(i) for i in entity_ids])
    return {row[0]: row[1] for row in rows}


def find_entity_ids(database: Neo4jDatabase, name: str, limit: int) -> list[int]:
    """Exact key or alias first, then keys that begin with it, then keys that hold it.

    All keys are looked through only where too few begin with it.
    """
    key = entity_key(name)
    if not key:
        return []
    most = at_most(limit)
    found = database.rows(_BEGINNING, key=key, limit=most)
    if len(found) < most:
        found = database.rows(_HOLDING, key=key, limit=most)
    return [row[0] for row in found]


def resolve_keys(database: Neo4jDatabase, keys: Sequence[str]) -> dict[str, int]:
    """Entity id by key, for those keys that are an alias."""
    return {row[0]: row[1] for row in database.rows(_RESOLVE, keys=list(keys))}


def read_aliases(database: Neo4jDatabase, entity_id: int | None, after: int) -> list[Alias]:
    """Aliases of one entity, or of all, with an id above `after`; ordered by id."""
    if entity_id is None:
        rows = database.rows(_ALIASES, after=after)
    else:
        rows = database.rows(_ALIASES_OF, after=after, id=int(entity_id))
    return [
        Alias(id=i, key=key, name=name, entity_id=e, method=method, score=score, evidence=evidence)
        for i, key, name, e, method, score, evidence in rows
    ]


def read_entity_chunks(database: Neo4jDatabase, entity_id: int) -> list[int]:
    """Sorted ids of the chunks that mention the entity or are about it."""
    return [row[0] for row in database.rows(_CHUNKS, id=int(entity_id))]


def read_link_rules(database: Neo4jDatabase) -> dict[str, str]:
    """Target key by key, for what was merged, split or renamed by hand."""
    return {row[0]: row[1] for row in database.rows(_RULES)}
