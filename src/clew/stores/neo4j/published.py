"""Declared types in the server's own terms, for people's own Cypher and for Bloom.

Entities of a declared type bear its label beside `ClewEntity`, and have its fields as properties:
times as the server's `ZONED DATETIME`, days as its `DATE`. What relations state is a relationship
of their type, one for each fact, beside `RELATES`, where the type is a plain word. Every entity has
a vector, in an index: that of the passage that describes it, else that of its name. All of it is
derived: what Clew asks never reads it, and it is brought up to date after every run that changes
what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.stores.neo4j.schema import define_entity_vectors, entity_label

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import Vectors

_LABEL = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_TYPE = "[a-z][a-z0-9_]{0,63}"
"""Relation types that are relationships of their own; Clew's own are in capitals."""
_OWN = frozenset(
    {"namespace", "id", "name", "key", "entity_type", "content", "tier", "vector", "vector_of"}
)
"""Properties of an entity that no field replaces."""
_AT_ONCE = 1000

_LABELS = """
UNWIND $labels AS kind
CALL (kind) {
    MATCH (e:ClewEntity {namespace: $namespace, entity_type: kind[0]})
    WHERE NOT kind[1] IN labels(e)
    SET e:$(kind[1])
}
CALL (kind) {
    MATCH (e:ClewEntity:$(kind[1]) {namespace: $namespace}) WHERE e.entity_type <> kind[0]
    REMOVE e:$(kind[1])
}
"""
_PROPERTIES = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, key: row[0], entity_type: row[1]})
SET e += row[3]
WITH e, row
MATCH (c:ClewChunk {namespace: $namespace, document_id: row[2], ordinal: 0})
WHERE c.vector IS NOT NULL AND NOT coalesce(e.vector_of, '') = 'passage ' + c.id
SET e:$($label), e.vector = c.vector, e.vector_of = 'passage ' + c.id
"""
_WITHOUT_VECTOR = """
MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > $after
WITH e, e.name + CASE e.content WHEN '' THEN '' ELSE ': ' + e.content END AS text
WHERE e.vector IS NULL OR NOT e.vector_of STARTS WITH 'passage ' AND e.vector_of <> 'name ' + text
RETURN e.id, text ORDER BY e.id LIMIT $limit
"""
_VECTORS = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row[0]})
SET e:$($label), e.vector_of = 'name ' + row[1], e.vector = row[2]
"""
_GONE = """
MATCH (h:ClewEntity {namespace: $namespace})-[x {namespace: $namespace}]->(t:ClewEntity)
WHERE type(x) =~ $type AND NOT EXISTS {
    MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: type(x)}]->(t)
    WHERE r.retracted_at IS NULL }
DELETE x
"""
_STATED = """
MATCH (h:ClewEntity {namespace: $namespace})-[r:RELATES {namespace: $namespace}]->(t)
WHERE r.retracted_at IS NULL AND r.relation_type =~ $type
WITH r.relation_type AS type, h, t, max(r.weight) AS weight, min(r.valid_from) AS valid_from,
    CASE WHEN count(r.valid_until) = count(r) THEN max(r.valid_until) END AS valid_until
MERGE (h)-[x:$(type) {namespace: $namespace}]->(t)
SET x.weight = weight, x.valid_from = datetime(valid_from), x.valid_until = datetime(valid_until)
"""


def publish(
    database: Neo4jDatabase,
    labels: Mapping[str, str],
    properties: Sequence[tuple[str, str, str, Mapping[str, Any]]],
    embed: Callable[[Sequence[str]], Vectors] | None,
    dimension: int,
) -> None:
    """See `ports.StoreUpkeep.publish`; names that are no plain words are left out."""
    label = entity_label(database.namespace)
    named = [[kind, label] for kind, label in labels.items() if _LABEL.fullmatch(label)]
    rows = [
        [*found, {name: value for name, value in values.items() if name not in _OWN}]
        for *found, values in properties
    ]

    def work() -> None:
        database.rows(_LABELS, labels=named)
        for first in range(0, len(rows), _AT_ONCE):
            database.rows(_PROPERTIES, rows=rows[first : first + _AT_ONCE], label=label)
        database.rows(_GONE, type=_TYPE)
        database.rows(_STATED, type=_TYPE)

    database.write(work)
    if embed is not None and dimension:
        define_entity_vectors(database, dimension)
        for found in _embedded(database, embed):
            database.write(partial(database.rows, _VECTORS, rows=found, label=label))


def _embedded(
    database: Neo4jDatabase, embed: Callable[[Sequence[str]], Vectors]
) -> Iterator[list[list[Any]]]:
    """Entities that lack a vector, with what it is of and the vector; no lock is held meanwhile."""
    after = 0
    while found := database.rows(_WITHOUT_VECTOR, after=after, limit=_AT_ONCE):
        vectors = embed([text for _, text in found]).tolist()
        yield [[*row, vector] for row, vector in zip(found, vectors, strict=True)]
        after = found[-1][0]
