"""Reading everything at once: what matrices and other derived structures are built from.

Batches are ranges of ids, which an index serves. A list a column: a driver's row costs many values.
"""

from __future__ import annotations

from clew.stores.backend import Statement

# Without ORDER BY, SQLite reads a small index in place of the table with its texts.
CHUNK_IDS = Statement(
    "SELECT id FROM chunks",
    "MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN collect(c.id)",
)
CHUNK_IDS_AFTER = Statement(
    "SELECT id FROM chunks WHERE id > :after",
    "MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after RETURN collect(c.id)",
)
# Columns: id, document_id, ordinal, text, context, sentences, language.
PASSAGES = Statement(
    """
SELECT c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language
FROM chunks c LEFT JOIN documents d ON d.id = c.document_id
WHERE c.id > :after ORDER BY c.id LIMIT :limit
""",
    # Ordered as the index is, so that it ends where there are enough.
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after
WITH c ORDER BY c.namespace, c.id LIMIT $limit
OPTIONAL MATCH (d:ClewDocument {namespace: $namespace, id: c.document_id})
RETURN [c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language] AS row
""",
)
# Columns: chunk, sentence, entity, count.
MENTIONS = Statement(
    """
SELECT chunk_id, sentence, entity_id, count FROM entity_mentions
WHERE chunk_id > :after AND chunk_id <= :until
""",
    """
MATCH ()-[m:MENTIONS {namespace: $namespace}]->(e:ClewEntity)
WHERE $after < m.chunk_id <= $until
RETURN collect(m.chunk_id), collect(m.sentence), collect(e.id), collect(m.count)
""",
)
RELATION_IDS = Statement(
    "SELECT id FROM relations",
    "MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0 RETURN collect(r.id)",
)
# Columns: those of `ports.RelationRows`.
RELATIONS = Statement(
    """
SELECT id, from_entity_id, to_entity_id, weight, coalesce(chunk_id, 0), coalesce(sentence, -1)
FROM entity_relations WHERE id > :after AND id <= :until AND retracted_at IS NULL ORDER BY id
""",
    """
MATCH (head:ClewEntity)-[r:RELATES {namespace: $namespace}]->(tail:ClewEntity)
WHERE $after < r.id <= $until AND r.retracted_at IS NULL
WITH r, head, tail ORDER BY r.id
RETURN collect(r.id), collect(head.id), collect(tail.id), collect(r.weight),
    collect(coalesce(r.chunk_id, 0)), collect(coalesce(r.sentence, -1))
""",
)
ENTITIES_OF_TYPE = Statement(
    "SELECT id FROM entities WHERE entity_type = :type",
    """
MATCH (e:ClewEntity {namespace: $namespace, entity_type: $type})
USING INDEX e:ClewEntity(namespace, entity_type)
RETURN collect(e.id)
""",
)

# --- figures

# The number of sentences is that of the inner brackets of their JSON.
# Columns: documents, sections, chunks, entities, aliases, sentences, mentions.
COUNTS = Statement(
    """
SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM sections),
    (SELECT count(*) FROM chunks), (SELECT count(*) FROM entities),
    (SELECT count(*) FROM aliases),
    (SELECT coalesce(sum(json_array_length(sentences)), 0) FROM chunks),
    (SELECT coalesce(sum(count), 0) FROM mentions WHERE sentence >= 0)
""",
    """
CALL () {
    MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0
    RETURN count(c) AS chunks, sum(size(split(c.sentences, '[')) - 2) AS sentences
}
CALL () {
    MATCH ()-[m:MENTIONS {namespace: $namespace}]->() WHERE m.chunk_id > 0 AND m.sentence >= 0
    RETURN sum(m.count) AS mentions
}
RETURN [
    COUNT { (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL },
    COUNT { (n:ClewSection {namespace: $namespace}) WHERE n.id > 0 },
    chunks,
    COUNT { (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 },
    COUNT { (a:ClewAlias {namespace: $namespace}) WHERE a.id > 0 },
    sentences, mentions
] AS row
""",
)
# Columns: type, relations, those that ended or were retracted.
RELATION_TYPES = Statement(
    """
SELECT relation_type, count(*) AS number,
    sum(CASE WHEN retracted_at IS NOT NULL OR valid_until <= :now THEN 1 ELSE 0 END)
FROM relations GROUP BY 1 ORDER BY number DESC, 1
""",
    """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
WITH r.relation_type AS type, count(*) AS number,
    sum(CASE WHEN r.retracted_at IS NOT NULL OR r.valid_until <= $now THEN 1 ELSE 0 END) AS ended
RETURN [type, number, ended] AS row ORDER BY number DESC, type
""",
)
