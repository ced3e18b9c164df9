"""Entities made by hand in Neo4j, and what was told about them (see `sqlite_memory`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.stores.entity_merge import HeldAlias, HeldEntity, part_names
from clew.stores.errors import named_key, unknown_entities
from clew.stores.naming import Named
from clew.stores.neo4j.batches import at_most, send_rows
from clew.stores.neo4j.mending import part, read_held
from clew.stores.neo4j.naming import resolve_names
from clew.stores.neo4j.numbers import count_change, read_numbers
from clew.stores.neo4j.save import delete_documents
from clew.stores.neo4j.sweep import sweep
from clew.stores.neo4j.written import delete_relations
from clew.types import NewEntity, Observation

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_GUESSED = """
UNWIND $keys AS key
MATCH (a:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
WHERE a.method = 'fuzzy' AND COUNT { (e)<-[:NAMES {namespace: $namespace}]-() } > 1
RETURN e.id, a.key
"""
_MAKE = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.id})
SET e.tier = 'manual', e.name = row.name, e.key = row.key,
    e.entity_type = CASE row.entity_type WHEN 'name' THEN e.entity_type ELSE row.entity_type END,
    e.content = CASE row.content WHEN '' THEN e.content ELSE row.content END
WITH row
MATCH (a:ClewAlias {namespace: $namespace, key: row.key})
SET a.name = row.name, a.method = 'manual', a.score = 1.0, a.evidence = 'made by hand'
"""
_UPDATE = """
MATCH (e:ClewEntity {namespace: $namespace, id: $id})
SET e.entity_type = coalesce($entity_type, e.entity_type), e.content = coalesce($content, e.content)
RETURN e.id
"""
_UNMAKE = """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id}) SET e.tier = 'extracted', e.content = ''
"""
_RELATIONS_OF = """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})-[r:RELATES {namespace: $namespace}]-()
WHERE r.chunk_id IS NULL
RETURN DISTINCT r.id
"""
# Few entities are made by hand: the planner takes the longer way by their ids otherwise.
_MADE = """
MATCH (e:ClewEntity {namespace: $namespace, tier: 'manual'})
USING INDEX e:ClewEntity(namespace, tier)
WHERE e.id > $after
RETURN e.id AS id ORDER BY id LIMIT $limit
"""
_MADE_AMONG = """
UNWIND $ids AS wanted
MATCH (e:ClewEntity {namespace: $namespace, id: wanted})
WHERE e.tier = 'manual' AND e.id > $after
RETURN DISTINCT e.id AS id ORDER BY id LIMIT $limit
"""
_OBSERVATIONS = """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})<-[:NAMES {namespace: $namespace}]-(a)
MATCH (d:ClewDocument {namespace: $namespace, origin: 'memory:' + a.key})
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id, version: 1})
CALL (d) {
    MATCH (s:ClewSection {namespace: $namespace, document_id: d.id})
    WITH s ORDER BY s.ordinal
    RETURN collect(s.text) AS texts, min(s.id) AS place
}
RETURN id, d.id, texts ORDER BY v.indexed_at, place
"""


# --- entities ----------------------------------------------------------------------------


def add_entities(database: Neo4jDatabase, entities: Sequence[NewEntity]) -> list[tuple[int, bool]]:
    """Make entities by hand; (id, whether it was not made by hand before) of each, in order."""
    keys = [named_key(entity.name) for entity in entities]
    freed = _free_guesses(database, keys)
    names: dict[str, Named] = {}
    for key, entity in zip(keys, entities, strict=True):
        names.setdefault(key, Named(name=entity.name, entity_type=entity.entity_type))
    ids = resolve_names(database, names, ()).entity_ids
    made = set(read_manual(database, ids=list(ids.values())))
    results: list[tuple[int, bool]] = []
    new: list[dict[str, object]] = []
    for key, entity in zip(keys, entities, strict=True):
        entity_id = ids[key]
        results.append((entity_id, entity_id not in made))
        if entity_id not in made:
            made.add(entity_id)
            new.append(_made(entity_id, key, entity))
    if new:
        send_rows(database, _MAKE, new)
        count_change(database, entities_moved=freed)
    return results


def _made(entity_id: int, key: str, entity: NewEntity) -> dict[str, object]:
    return {
        "id": entity_id,
        "key": key,
        "name": entity.name,
        "entity_type": entity.entity_type,
        "content": entity.content,
    }


def _free_guesses(database: Neo4jDatabase, keys: Sequence[str]) -> bool:
    """Who makes an entity says that its name is nobody else's: ties by likeness were wrong.

    Whether there were any. What cannot be parted is refused before anything is written.
    """
    guessed = database.rows(_GUESSED, keys=list(dict.fromkeys(keys)))
    if not guessed:
        return False
    entity_ids = list(dict.fromkeys(row[0] for row in guessed))
    held = {entity.id: entity for entity in read_held(database, entity_ids)}
    partings: list[tuple[HeldEntity, list[HeldAlias], list[HeldAlias]]] = []
    for entity_id, key in guessed:
        whole = held[entity_id]
        if len(whole.aliases) > 1:
            parted, left = part_names(whole, [key])
            partings.append((whole, parted, left))
            held[entity_id] = whole.without(parted)
    for whole, parted, left in partings:
        part(database, whole, parted, left, read_numbers(database))
    return bool(partings)


def update_entity(
    database: Neo4jDatabase, entity_id: int, entity_type: str | None, content: str | None
) -> None:
    """Give an entity another type, another description or both."""
    found = database.rows(_UPDATE, id=int(entity_id), entity_type=entity_type, content=content)
    if not found:
        raise unknown_entities([entity_id])
    count_change(database)


def delete_entities(database: Neo4jDatabase, entity_ids: Sequence[int]) -> int:
    """Take back entities made by hand, with what was written of them; how many they were.

    What texts say of them stays, and so do those that a text names, as any entity does.
    """
    made = read_manual(database, ids=entity_ids)
    if made:
        told = [row[1] for row in database.rows(_OBSERVATIONS, ids=made)]
        delete_documents(database, told)
        written = [row[0] for row in database.rows(_RELATIONS_OF, ids=made)]
        database.rows(_UNMAKE, ids=made)
        delete_relations(database, written)
        sweep(database, made)
        count_change(database)
    return len(made)


def read_manual(
    database: Neo4jDatabase,
    *,
    ids: Sequence[int] | None = None,
    after: int = 0,
    limit: int = -1,
) -> list[int]:
    """Ids of entities made by hand above `after`, among those given or of all; sorted."""
    most = at_most(limit)
    if ids is None:
        rows = database.rows(_MADE, after=after, limit=most)
    else:
        among = [int(i) for i in ids]
        rows = database.rows(_MADE_AMONG, ids=among, after=after, limit=most)
    return [row[0] for row in rows]


# --- observations ------------------------------------------------------------------------


def read_observations(
    database: Neo4jDatabase, entity_ids: Sequence[int]
) -> dict[int, list[Observation]]:
    """What was told of each entity, by id, oldest first; none for those without."""
    found: dict[int, list[Observation]] = {}
    rows = database.rows(_OBSERVATIONS, ids=[int(i) for i in entity_ids])
    for entity_id, document_id, texts in rows:
        told = Observation(document_id=document_id, text="".join(texts))
        found.setdefault(entity_id, []).append(told)
    return found
