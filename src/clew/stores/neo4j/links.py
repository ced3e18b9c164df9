"""Aliases that move to another entity, with all that texts say under these names."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

# A relationship keeps its ends for good: it is made anew, after the one with its id is gone.
_MOVE = """
UNWIND $alias_ids AS alias_id
MATCH (a:ClewAlias {namespace: $namespace, id: alias_id})
    -[n:NAMES {namespace: $namespace}]->(old:ClewEntity {namespace: $namespace})
MATCH (new:ClewEntity {namespace: $namespace, id: $entity_id}) WHERE new <> old
DELETE n
CREATE (a)-[:NAMES {namespace: $namespace}]->(new)
WITH alias_id, old, new
CALL (alias_id, old, new) {
    MATCH (c:ClewChunk {namespace: $namespace})
        -[m:MENTIONS {namespace: $namespace, alias_id: alias_id}]->(old)
    WITH new, c, m, properties(m) AS values
    DELETE m
    CREATE (c)-[moved:MENTIONS]->(new) SET moved = values
}
CALL (alias_id, old, new) {
    MATCH (old)-[r:RELATES {namespace: $namespace, from_alias_id: alias_id}]
        ->(tail:ClewEntity {namespace: $namespace})
    WITH new, tail, r, properties(r) AS values
    DELETE r
    CREATE (new)-[moved:RELATES]->(tail) SET moved = values
}
CALL (alias_id, old, new) {
    MATCH (head:ClewEntity {namespace: $namespace})
        -[r:RELATES {namespace: $namespace, to_alias_id: alias_id}]->(old)
    WITH new, head, r, properties(r) AS values
    DELETE r
    CREATE (head)-[moved:RELATES]->(new) SET moved = values
}
"""


def move_aliases(database: Neo4jDatabase, alias_ids: Collection[int], entity_id: int) -> None:
    """Make aliases another entity's, with their mentions and relations; call inside `write`.

    Neither the entities that they leave nor their method and evidence change.
    """
    database.rows(_MOVE, alias_ids=[int(i) for i in alias_ids], entity_id=int(entity_id))
