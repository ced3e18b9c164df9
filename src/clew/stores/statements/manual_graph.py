"""Entities made by hand, and observations about them."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG

# Rows: id, key, name, entity_type, content.
MAKE_ENTITIES = Statement(
    """
UPDATE entities SET tier = 'manual', name = :name, key = :key,
    entity_type = CASE WHEN :entity_type = 'name' THEN entity_type ELSE :entity_type END,
    content = CASE WHEN :content = '' THEN content ELSE :content END
WHERE id = :id
""",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.id})
SET e.tier = 'manual', e.name = row.name, e.key = row.key,
    e.entity_type = CASE row.entity_type WHEN 'name' THEN e.entity_type ELSE row.entity_type END,
    e.content = CASE row.content WHEN '' THEN e.content ELSE row.content END
""",
)
# Rows: key, name.
NAME_BY_HAND = Statement(
    """
UPDATE aliases SET name = :name, method = 'manual', score = 1, evidence = 'made by hand'
WHERE key = :key
""",
    """
UNWIND $rows AS row
MATCH (a:ClewAlias {namespace: $namespace, key: row.key})
SET a.name = row.name, a.method = 'manual', a.score = 1.0, a.evidence = 'made by hand'
""",
)
MADE_BY_HAND = Statement(
    "SELECT id FROM entities WHERE tier = 'manual' AND id > :after ORDER BY id LIMIT :limit",
    # Few entities are made by hand: the planner takes the longer way by their ids otherwise.
    """
MATCH (e:ClewEntity {namespace: $namespace, tier: 'manual'})
USING INDEX e:ClewEntity(namespace, tier)
WHERE e.id > $after
RETURN [e.id] AS row ORDER BY e.id LIMIT $limit
""",
)
MADE_BY_HAND_AMONG = Statement(
    f"""
SELECT id FROM entities WHERE tier = 'manual' AND id > :after AND id {AMONG}
ORDER BY id LIMIT :limit
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
WHERE e.tier = 'manual' AND e.id > $after
WITH DISTINCT e.id AS id
RETURN [id] AS row ORDER BY id LIMIT $limit
""",
)
# One row a section, the oldest observation first. Columns: entity id, document id, text.
OBSERVATIONS = Statement(
    f"""
SELECT a.entity_id, d.id, s.text
FROM aliases a JOIN documents d ON d.origin = 'memory:' || a.key
LEFT JOIN document_versions v ON v.document_id = d.id AND v.version = 1
LEFT JOIN sections s ON s.document_id = d.id
WHERE a.entity_id {AMONG} ORDER BY v.indexed_at, s.id
""",
    """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})<-[:NAMES {namespace: $namespace}]-(a)
MATCH (d:ClewDocument {namespace: $namespace, origin: 'memory:' + a.key})
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id, version: 1})
OPTIONAL MATCH (s:ClewSection {namespace: $namespace, document_id: d.id})
RETURN [id, d.id, s.text] AS row ORDER BY v.indexed_at, s.id
""",
)
