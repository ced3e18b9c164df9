"""What was extracted after indexing: relations found by reading again, and what agents found."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG

# --- the log of reading the passages of entities for relations

# Rows: entity_id, relationships_found, extracted_at; entities that are gone are left out.
LOG_EXTRACTION = Statement(
    """
INSERT INTO relationship_extraction_log
SELECT id, :relationships_found, :extracted_at FROM entities WHERE id = :entity_id
""",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (l:ClewExtractionLog {namespace: $namespace}) SET l += row
""",
)
# Entities without an entry.
UNREAD_ENTITIES = Statement(
    """
SELECT id FROM entities e WHERE NOT EXISTS (
    SELECT 1 FROM relationship_extraction_log l WHERE l.entity_id = e.id)
ORDER BY id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (e:ClewEntity {namespace: $namespace})
WHERE e.id IS NOT NULL AND NOT EXISTS {
    MATCH (:ClewExtractionLog {namespace: $namespace, entity_id: e.id})
}
RETURN [e.id] AS row ORDER BY e.namespace, e.id LIMIT $limit
""",
)
# Columns: id of a document that mentions the entity, entity id.
# Those that mention an entity, or state a relation to it without naming it: "is a lighthouse".
ENTITY_DOCUMENTS = Statement(
    f"""
SELECT c.document_id, m.entity_id FROM entity_mentions m JOIN chunks c ON c.id = m.chunk_id
WHERE m.entity_id {AMONG}
UNION
SELECT c.document_id, a.entity_id FROM aliases a
JOIN relations r ON r.to_alias_id = a.id JOIN chunks c ON c.id = r.chunk_id
WHERE a.entity_id {AMONG} ORDER BY 1, 2
""",
    """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})
CALL (e) {
    MATCH (e)<-[:MENTIONS {namespace: $namespace}]-(c:ClewChunk) RETURN c
    UNION
    MATCH (e)<-[r:RELATES {namespace: $namespace}]-()
    MATCH (c:ClewChunk {namespace: $namespace, id: r.chunk_id}) RETURN c
}
WITH DISTINCT c.document_id AS document_id, id
RETURN [document_id, id] AS row ORDER BY document_id, id
""",
)
LIVING_CHUNKS = Statement(
    f"SELECT id FROM chunks WHERE id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) RETURN [c.id] AS row
""",
)

# --- what agents found in passages, and which ones they have read

UNREAD_CHUNKS = Statement(
    """
SELECT c.id FROM chunks c
WHERE c.id > :after AND NOT EXISTS (SELECT 1 FROM agent_extractions r WHERE r.chunk_id = c.id)
ORDER BY c.id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after AND c.read_at IS NULL
RETURN [c.id] AS row ORDER BY c.namespace, c.id LIMIT $limit
""",
)
COUNT_UNREAD_CHUNKS = Statement(
    "SELECT (SELECT count(*) FROM chunks) - (SELECT count(*) FROM agent_extractions)",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id IS NOT NULL AND c.read_at IS NULL
RETURN [count(*)] AS row
""",
)
MARK_AS_READ = Statement(
    """
INSERT OR REPLACE INTO agent_extractions
SELECT value, :moment FROM json_each(:ids)
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) SET c.read_at = $moment
""",
)
MENTION_KEYS = Statement(
    f"SELECT chunk_id, sentence, alias_id FROM mentions WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH ()-[m:MENTIONS {namespace: $namespace, chunk_id: id}]->()
RETURN [m.chunk_id, m.sentence, m.alias_id] AS row
""",
)
# Rows: a mention's columns and entity_id. Those that are new, or of which there are more now.
ADD_MENTIONS = Statement(
    """
INSERT INTO mentions VALUES (:chunk_id, :sentence, :alias_id, :start, :end, :count)
ON CONFLICT DO UPDATE SET count = excluded.count WHERE excluded.count > mentions.count
""",
    """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.chunk_id})
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
MERGE (c)-[m:MENTIONS {namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence,
    alias_id: row.alias_id}]->(e)
ON CREATE SET m.start = row.start, m.end = row.end, m.count = 0
WITH m, row WHERE row.count > m.count
SET m.count = row.count
RETURN count(*)
""",
)
# Rows: id, content; for entities that have no description.
DESCRIBE_ENTITIES = Statement(
    "UPDATE entities SET content = :content WHERE id = :id AND content = ''",
    """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row.id}) WHERE e.content = ''
SET e.content = row.content
""",
)
