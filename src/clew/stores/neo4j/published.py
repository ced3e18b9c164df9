"""Declared types in the server's own terms, for people's own Cypher and for Bloom.

Entities of a declared type bear its label beside `ClewEntity`, and have its fields as properties:
times as the server's `ZONED DATETIME`, days as its `DATE`. What relations of a declared type state
is a relationship of that type, one for each fact, beside `RELATES`. All of it is derived: what Clew
asks never reads it, and it is brought up to date after every run that changes what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_LABEL = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_TYPE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OWN = frozenset({"namespace", "id", "name", "key", "entity_type", "content", "tier"})
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
SET e += row[2]
"""
_GONE = """
UNWIND $types AS type
CALL (type) {
    MATCH (h:ClewEntity {namespace: $namespace})-[x:$(type) {namespace: $namespace}]->(t)
    WHERE NOT EXISTS {
        MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: type}]->(t)
        WHERE r.retracted_at IS NULL }
    DELETE x
}
"""
_STATED = """
UNWIND $types AS type
CALL (type) {
    MATCH (h:ClewEntity {namespace: $namespace})
        -[r:RELATES {namespace: $namespace, relation_type: type}]->(t)
    WHERE r.retracted_at IS NULL
    WITH type, h, t, max(r.weight) AS weight, min(r.valid_from) AS valid_from,
        CASE WHEN count(r.valid_until) = count(r) THEN max(r.valid_until) END AS valid_until
    MERGE (h)-[x:$(type) {namespace: $namespace}]->(t)
    SET x.weight = weight, x.valid_from = datetime(valid_from),
        x.valid_until = datetime(valid_until)
}
"""


def publish(
    database: Neo4jDatabase,
    labels: Mapping[str, str],
    relation_types: Sequence[str],
    properties: Sequence[tuple[str, str, Mapping[str, Any]]],
) -> None:
    """See `ports.StoreUpkeep.publish`; names that are no plain words are left out."""
    types = [name for name in relation_types if _TYPE.fullmatch(name)]
    named = [[kind, label] for kind, label in labels.items() if _LABEL.fullmatch(label)]
    rows = [
        [key, kind, {name: value for name, value in values.items() if name not in _OWN}]
        for key, kind, values in properties
    ]

    def work() -> None:
        database.rows(_LABELS, labels=named)
        for first in range(0, len(rows), _AT_ONCE):
            database.rows(_PROPERTIES, rows=rows[first : first + _AT_ONCE])
        database.rows(_GONE, types=types)
        database.rows(_STATED, types=types)

    database.write(work)
