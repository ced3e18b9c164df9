"""The statements of a fact: what its weight is derived from, and what stays retracted."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements.relations import CYPHER_OF_ENTITIES, SQL_ENDS, SQL_OF_ENTITIES

# Columns: those of `weights.Evidence`.
_SQL_EVIDENCE = """
SELECT DISTINCT r.id, h.entity_id, r.relation_type, t.entity_id, c.document_id, r.confidence,
    r.extractor, r.weight, r.valid_until IS NOT r.stated_until, r.retracted_at
"""
_CYPHER_EVIDENCE = """
MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: f[1]}]->(t)
OPTIONAL MATCH (c:ClewChunk {namespace: $namespace, id: r.chunk_id})
RETURN DISTINCT [r.id, h.id, r.relation_type, t.id, c.document_id, r.confidence, r.extractor,
    r.weight, coalesce(r.valid_until, '') <> coalesce(r.stated_until, ''), r.retracted_at] AS row
"""
# `facts`: lists of head, relation type and tail.
EVIDENCE = Statement(
    f"""
{_SQL_EVIDENCE} FROM json_each(:facts) AS f
JOIN aliases h ON h.entity_id = json_extract(f.value, '$[0]')
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = json_extract(f.value, '$[1]')
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = json_extract(f.value, '$[2]')
LEFT JOIN chunks c ON c.id = r.chunk_id
""",
    f"""
UNWIND $facts AS f
MATCH (h:ClewEntity {{namespace: $namespace, id: f[0]}})
MATCH (t:ClewEntity {{namespace: $namespace, id: f[2]}})
{_CYPHER_EVIDENCE}
""",
)
# The same of what names state, before ids are known. `stated`: lists of the head's key, relation
# type and the tail's key.
EVIDENCE_BY_KEYS = Statement(
    f"""
{_SQL_EVIDENCE} FROM json_each(:stated) AS f
JOIN aliases hk ON hk.key = json_extract(f.value, '$[0]')
JOIN aliases tk ON tk.key = json_extract(f.value, '$[2]')
JOIN aliases h ON h.entity_id = hk.entity_id
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = json_extract(f.value, '$[1]')
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = tk.entity_id
LEFT JOIN chunks c ON c.id = r.chunk_id
""",
    f"""
UNWIND $stated AS f
MATCH (:ClewAlias {{namespace: $namespace, key: f[0]}})-[:NAMES {{namespace: $namespace}}]->(h)
MATCH (:ClewAlias {{namespace: $namespace, key: f[2]}})-[:NAMES {{namespace: $namespace}}]->(t)
{_CYPHER_EVIDENCE}
""",
)
# Columns: head, relation type, tail.
RELATIONS_AROUND = Statement(
    f"""
SELECT DISTINCT h.entity_id, r.relation_type, t.entity_id {SQL_ENDS}
WHERE {SQL_OF_ENTITIES} AND r.chunk_id IS NOT NULL
""",
    f"""
{CYPHER_OF_ENTITIES} WHERE r.chunk_id IS NOT NULL
WITH r, startNode(r) AS h, endNode(r) AS t
RETURN DISTINCT [h.id, r.relation_type, t.id] AS row
""",
)
# Of the same period: what nobody dated may belong to any that it does not end before. Columns: id.
STATEMENTS_OF_FACT = Statement(
    """
SELECT r.id FROM relations q
JOIN aliases qh ON qh.id = q.from_alias_id JOIN aliases qt ON qt.id = q.to_alias_id
JOIN aliases h ON h.entity_id = qh.entity_id
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = q.relation_type
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = qt.entity_id
WHERE q.id = :id AND coalesce(r.valid_from, '') < coalesce(q.valid_until, '~')
    AND coalesce(q.valid_from, '') < coalesce(r.valid_until, '~')
""",
    """
MATCH (h)-[q:RELATES {namespace: $namespace, id: $id}]->(t)
MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: q.relation_type}]->(t)
WHERE coalesce(r.valid_from, '') < coalesce(q.valid_until, '~')
    AND coalesce(q.valid_from, '') < coalesce(r.valid_until, '~')
RETURN [r.id] AS row
""",
)
