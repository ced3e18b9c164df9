"""Names and entities without a source leave the graph; the others show a name that they have."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from clew.stores.neo4j.batches import send_rows

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_EACH = """
UNWIND $rows AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
"""
# A name given by hand stays without a text: that of an entity made by hand by itself, that of
# another as long as a text has another name of it.
_DROP_NAMES = """
CALL (e) {
    MATCH (a:ClewAlias {namespace: $namespace})-[:NAMES {namespace: $namespace}]->(e)
    WITH e, a,
        EXISTS { (e)<-[m:MENTIONS {namespace: $namespace}]-() WHERE m.alias_id = a.id }
        OR EXISTS { (e)-[r:RELATES {namespace: $namespace}]->() WHERE r.from_alias_id = a.id }
        OR EXISTS { (e)<-[r:RELATES {namespace: $namespace}]-() WHERE r.to_alias_id = a.id }
        AS used
    WITH e, collect({alias: a, used: used}) AS names
    WITH e, names, any(name IN names WHERE name.used) AS is_used
    UNWIND names AS name
    WITH e, is_used, name.alias AS a, name.used AS used
    WHERE NOT used AND NOT (a.method = 'manual' AND e.tier = 'manual')
        AND NOT (is_used AND EXISTS {
            (r:ClewRule {namespace: $namespace, key: a.key}) WHERE r.name <> ''
        })
    DETACH DELETE a
}
"""
_SHOW = """
CALL (e) {
    WITH e WHERE NOT EXISTS {
        (e)<-[:NAMES {namespace: $namespace}]-(a:ClewAlias) WHERE a.key = e.key
    }
    MATCH (a:ClewAlias {namespace: $namespace})-[:NAMES {namespace: $namespace}]->(e)
    WITH e, a ORDER BY a.id LIMIT 1
    SET e.name = a.name, e.key = a.key
}
"""
_DROP_ENTITIES = """
WITH e WHERE NOT EXISTS { (e)<-[:NAMES {namespace: $namespace}]-(:ClewAlias) }
CALL (e) {
    MATCH (l:ClewReading {namespace: $namespace, entity_id: e.id})
    DELETE l
}
DETACH DELETE e
"""


def sweep(database: Neo4jDatabase, entity_ids: Collection[int]) -> None:
    """Delete names without a source, then entities without a name, among the entities given."""
    send_rows(database, _EACH + _DROP_NAMES + _SHOW + _DROP_ENTITIES, list(entity_ids))


def show_living_names(database: Neo4jDatabase, entity_ids: Collection[int]) -> None:
    """Entities whose shown name is no longer theirs take their oldest one."""
    send_rows(database, _EACH + _SHOW, list(entity_ids))
