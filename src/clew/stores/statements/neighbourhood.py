"""The passages around a question: what `graph` walks over where it has no snapshot."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG_KEYS

# Columns: key, entity.
NAMED = Statement(
    f"SELECT key, entity_id FROM aliases WHERE key {AMONG_KEYS}",
    """
UNWIND $keys AS key
MATCH (:ClewAlias {namespace: $namespace, key: key})-[:NAMES {namespace: $namespace}]->(e)
RETURN [key, e.id] AS row
""",
)
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
# Columns: those of `snapshot.PASSAGES`, and the mentions: lists of sentence, entity and count.
PASSAGES = Statement(
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
