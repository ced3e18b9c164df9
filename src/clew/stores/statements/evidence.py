"""The statements of a fact: what its weight is derived from, and what stays retracted."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements.relations import CYPHER_OF_ENTITIES, SQL_ENDS, SQL_OF_ENTITIES

# `facts`: lists of head, relation type and tail. Columns: those of `weights.Evidence`.
EVIDENCE = Statement(
    """
SELECT r.id, h.entity_id, r.relation_type, t.entity_id, c.document_id, r.confidence, r.extractor,
    r.weight, r.valid_until IS NOT r.stated_until
FROM json_each(:facts) AS f
JOIN aliases h ON h.entity_id = json_extract(f.value, '$[0]')
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = json_extract(f.value, '$[1]')
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = json_extract(f.value, '$[2]')
JOIN chunks c ON c.id = r.chunk_id
WHERE r.retracted_at IS NULL
""",
    """
UNWIND $facts AS f
MATCH (h:ClewEntity {namespace: $namespace, id: f[0]})
    -[r:RELATES {namespace: $namespace, relation_type: f[1]}]->
    (t:ClewEntity {namespace: $namespace, id: f[2]})
WHERE r.retracted_at IS NULL
MATCH (c:ClewChunk {namespace: $namespace, id: r.chunk_id})
RETURN [r.id, h.id, r.relation_type, t.id, c.document_id, r.confidence, r.extractor, r.weight,
    coalesce(r.valid_until, '') <> coalesce(r.stated_until, '')] AS row
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
# Facts from some entities of which texts state nothing that is not retracted. Columns: head,
# relation type, tail, when the last was retracted.
RETRACTED_FACTS = Statement(
    """
SELECT h.entity_id, r.relation_type, t.entity_id, max(r.retracted_at)
FROM relations r JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id
WHERE r.retracted_at IS NOT NULL AND h.entity_id IN (SELECT value FROM json_each(:ids))
    AND NOT EXISTS (
        SELECT 1 FROM aliases ha
        JOIN relations q ON q.from_alias_id = ha.id AND q.relation_type = r.relation_type
        JOIN aliases ta ON ta.id = q.to_alias_id
        WHERE ha.entity_id = h.entity_id AND ta.entity_id = t.entity_id
            AND q.retracted_at IS NULL)
GROUP BY 1, 2, 3
""",
    """
UNWIND $ids AS id
MATCH (h:ClewEntity {namespace: $namespace, id: id})-[r:RELATES {namespace: $namespace}]->(t)
WITH h, r.relation_type AS kind, t, count(*) AS stated, count(r.retracted_at) AS retracted,
    max(r.retracted_at) AS until
WHERE stated = retracted
RETURN [h.id, kind, t.id, until] AS row
""",
)
# Columns: id.
STATEMENTS_OF_FACT = Statement(
    """
SELECT r.id FROM relations q
JOIN aliases qh ON qh.id = q.from_alias_id JOIN aliases qt ON qt.id = q.to_alias_id
JOIN aliases h ON h.entity_id = qh.entity_id
JOIN relations r ON r.from_alias_id = h.id AND r.relation_type = q.relation_type
JOIN aliases t ON t.id = r.to_alias_id AND t.entity_id = qt.entity_id
WHERE q.id = :id
""",
    """
MATCH (h)-[q:RELATES {namespace: $namespace, id: $id}]->(t)
MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: q.relation_type}]->(t)
RETURN [r.id] AS row
""",
)
