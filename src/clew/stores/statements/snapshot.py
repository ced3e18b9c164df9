"""What matrices and other derived structures are built from, and what a question reads instead.

Batches are ranges of ids, which an index serves. A list a column: a driver's row costs many values.
"""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG, AMONG_KEYS

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
MENTIONS_OF = Statement(
    f"SELECT chunk_id, sentence, entity_id, count FROM entity_mentions WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (:ClewChunk {namespace: $namespace, id: id})-[m:MENTIONS {namespace: $namespace}]->(e)
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

# --- around a question: what `graph` walks over where it has no snapshot

# Counted as far as it takes to tell an entity of few mentions from one of more than `most`.
_SQL_FEW = """
(SELECT count(*) FROM (
    SELECT 1 FROM aliases a JOIN mentions m ON m.alias_id = a.id
    WHERE a.entity_id = f.id LIMIT :most + 1)) <= :most
"""
# How many relationships a node has is kept with it.
_CYPHER_PASSAGES_OF = """
WITH e WHERE COUNT { (e)<-[:MENTIONS]-() } <= $most
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-(c:ClewChunk)
"""
# The chunks with the ids and those beside them, those of the entities that have few mentions, by id
# or by name, and those about the subjects; but for those that are known.
# Columns: those of `PASSAGES`, and the mentions: lists of sentence, entity and count.
NEARBY_PASSAGES = Statement(
    f"""
WITH followed (id, about) AS (
    SELECT value, 0 FROM json_each(:entities)
    UNION ALL SELECT entity_id, 0 FROM aliases WHERE key {AMONG_KEYS}
    UNION ALL SELECT value, 1 FROM json_each(:subjects)
),
near (id) AS (
    SELECT n.id FROM json_each(:ids) i JOIN chunks c ON c.id = i.value
    JOIN chunks n ON n.id BETWEEN c.id - 1 AND c.id + 1 AND n.document_id = c.document_id
    UNION
    SELECT m.chunk_id FROM followed f
    JOIN aliases a ON a.entity_id = f.id JOIN mentions m ON m.alias_id = a.id
    WHERE {_SQL_FEW} AND (f.about = 0 OR m.sentence = -1)
    EXCEPT SELECT value FROM json_each(:known)
)
SELECT c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language,
    (SELECT json_group_array(json_array(m.sentence, a.entity_id, m.count))
        FROM mentions m JOIN aliases a ON a.id = m.alias_id WHERE m.chunk_id = c.id)
FROM near JOIN chunks c ON c.id = near.id JOIN documents d ON d.id = c.document_id
""",
    f"""
CALL () {{
    UNWIND $ids AS id
    MATCH (b:ClewChunk {{namespace: $namespace, id: id}})
    UNWIND [id - 1, id, id + 1] AS near
    MATCH (c:ClewChunk {{namespace: $namespace, id: near}}) WHERE c.document_id = b.document_id
    RETURN c
    UNION
    UNWIND $entities AS id
    MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
    {_CYPHER_PASSAGES_OF}
    RETURN c
    UNION
    UNWIND $keys AS key
    MATCH (:ClewAlias {{namespace: $namespace, key: key}})-[:NAMES {{namespace: $namespace}}]->(e)
    {_CYPHER_PASSAGES_OF}
    RETURN c
    UNION
    UNWIND $subjects AS id
    MATCH (e:ClewEntity {{namespace: $namespace, id: id}})
    {_CYPHER_PASSAGES_OF} WHERE m.sentence = -1
    RETURN c
}}
WITH c WHERE NOT c.id IN $known
MATCH (d:ClewDocument {{namespace: $namespace, id: c.document_id}})
RETURN [c.id, c.document_id, c.ordinal, c.text, c.context, c.sentences, d.language, COLLECT {{
    MATCH (c)-[m:MENTIONS {{namespace: $namespace}}]->(e:ClewEntity)
    RETURN [m.sentence, e.id, m.count]
}}] AS row
""",
)
# Columns: entity, chunks, mentions (two of a chunk at most), chunks that are about it.
ENTITY_COUNTS = Statement(
    f"""
SELECT entity_id, count(*), sum(min(times, 2)), sum(about) FROM (
    SELECT a.entity_id, sum(CASE WHEN m.sentence = -1 THEN 0 ELSE m.count END) AS times,
        max(m.sentence = -1) AS about
    FROM aliases a JOIN mentions m ON m.alias_id = a.id
    WHERE a.entity_id IN (
        SELECT value FROM json_each(:counted)
        UNION SELECT entity_id FROM aliases WHERE key {AMONG_KEYS})
    GROUP BY a.entity_id, m.chunk_id)
GROUP BY entity_id
""",
    """
CALL () {
    UNWIND $counted AS id
    MATCH (e:ClewEntity {namespace: $namespace, id: id}) RETURN e
    UNION
    UNWIND $keys AS key
    MATCH (:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
    RETURN e
}
MATCH (e)<-[m:MENTIONS {namespace: $namespace}]-()
WITH e.id AS id, m.chunk_id AS chunk,
    sum(CASE m.sentence WHEN -1 THEN 0 ELSE m.count END) AS times,
    max(CASE m.sentence WHEN -1 THEN 1 ELSE 0 END) AS about
WITH id, count(*) AS chunks, sum(CASE WHEN times > 2 THEN 2 ELSE times END) AS times,
    sum(about) AS about
RETURN [id, chunks, times, about] AS row
""",
)
# Columns: term, chunks that hold it.
TERM_COUNTS = Statement(
    """
SELECT t.value, (SELECT count(*) FROM keywords
    WHERE keywords MATCH '"' || replace(t.value, '"', '""') || '"')
FROM json_each(:terms) t
""",
    r"""
UNWIND $terms AS term
CALL (term) {
    WITH '"' + replace(replace(term, '\\', '\\\\'), '"', '\\"') + '"' AS phrase
    CALL db.index.fulltext.queryNodes('clew_keywords_' + $namespace, phrase) YIELD node
    RETURN count(node) AS chunks
}
RETURN [term, chunks] AS row
""",
)
CHUNK_COUNT = Statement(
    "SELECT count(*) FROM chunks",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN [count(c)] AS row
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
