"""What breaks an invariant of a store, and what mends it from what is sound.

A composite index of Neo4j finds only nodes that have every property that it is made of, hence
`id > 0`.
"""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements.names import CYPHER_USED

_HAS_SOURCE = """
EXISTS { (e)<-[:MENTIONS {namespace: $namespace}]-() }
OR EXISTS { (e)-[:RELATES {namespace: $namespace}]-() }
"""
_SENTENCES = "size(split(c.sentences, '[')) - 2"  # the inner brackets of JSON

# --- names

UNUSED_ALIASES = Statement(
    "SELECT name FROM aliases WHERE id IN (SELECT id FROM orphan_aliases)",
    f"""
MATCH (a:ClewAlias {{namespace: $namespace}})-[:NAMES {{namespace: $namespace}}]->(e)
WHERE a.id > 0 AND NOT ({CYPHER_USED})
    AND NOT (a.method = 'manual' AND e.tier = 'manual')
    AND NOT (({_HAS_SOURCE}) AND EXISTS {{
        (r:ClewRule {{namespace: $namespace, key: a.key}}) WHERE r.name <> '' }})
RETURN [a.name] AS row
""",
)
NAMELESS_ENTITIES = Statement(
    """
SELECT name FROM entities e
WHERE NOT EXISTS (SELECT 1 FROM aliases a WHERE a.entity_id = e.id AND a.key = e.key)
""",
    """
MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 AND NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: e.key})-[:NAMES {namespace: $namespace}]->(e) }
RETURN [e.name] AS row
""",
)
ENTITY_IDS = Statement(
    "SELECT id FROM entities",
    "MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 RETURN [e.id] AS row",
)
# An observation belongs to an entity that was made by hand; its source goes on behind its origin.
_SQL_TOLD_OF_NOBODY = """
WHERE origin GLOB 'memory:*' AND (source = origin OR NOT EXISTS (
    SELECT 1 FROM aliases a JOIN entities e ON e.id = a.entity_id
    WHERE a.key = substr(origin, 8) AND e.tier = 'manual'))
"""
_CYPHER_TOLD_OF_NOBODY = """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.origin STARTS WITH 'memory:' AND (d.source = d.origin OR NOT EXISTS {
    (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
        -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
    WHERE e.tier = 'manual' })
"""
OBSERVATIONS_OF_NOBODY = Statement(
    f"SELECT source FROM documents {_SQL_TOLD_OF_NOBODY}",
    f"{_CYPHER_TOLD_OF_NOBODY} RETURN [d.source] AS row",
)
# Such a text stays and is found; its origin no longer says that it was told.
GIVE_UP_ORIGINS = Statement(
    f"UPDATE documents SET origin = 'text:' || origin {_SQL_TOLD_OF_NOBODY}",
    f"{_CYPHER_TOLD_OF_NOBODY} SET d.origin = 'text:' + d.origin",
)
KEEP_OBSERVED = Statement(
    """
UPDATE entities SET tier = 'manual' WHERE id IN (
    SELECT a.entity_id FROM documents d JOIN aliases a ON a.key = substr(d.origin, 8)
    WHERE d.origin GLOB 'memory:*' AND d.source <> d.origin)
""",
    """
MATCH (d:ClewDocument {namespace: $namespace})
WHERE d.origin STARTS WITH 'memory:' AND d.source <> d.origin
MATCH (:ClewAlias {namespace: $namespace, key: substring(d.origin, 7)})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
SET e.tier = 'manual'
""",
)

# --- mentions, times, ends

MISPLACED_MENTIONS = Statement(
    """
SELECT m.chunk_id, m.start, m."end", m.sentence, m.count
FROM mentions m JOIN chunks c ON c.id = m.chunk_id
WHERE m.sentence < -1 OR m.sentence >= json_array_length(c.sentences) OR m.count < 1
    OR m.start < 0 OR m."end" < m.start OR m."end" > c."end" - c.start
""",
    f"""
MATCH (c:ClewChunk {{namespace: $namespace}}) WHERE c.id > 0
WITH c, {_SENTENCES} AS sentences
MATCH (c)-[m:MENTIONS {{namespace: $namespace}}]->()
WHERE m.sentence < -1 OR m.sentence >= sentences OR m.count < 1 OR m.start < 0
    OR m.end < m.start OR m.end > c.end - c.start
RETURN [c.id, m.start, m.end, m.sentence, m.count] AS row
""",
)
MISPLACED_RELATIONS = Statement(
    """
SELECT r.id, r.sentence, r.chunk_id FROM relations r JOIN chunks c ON c.id = r.chunk_id
WHERE r.sentence NOT BETWEEN 0 AND json_array_length(c.sentences) - 1
""",
    f"""
MATCH ()-[r:RELATES {{namespace: $namespace}}]->() WHERE r.chunk_id > 0
MATCH (c:ClewChunk {{namespace: $namespace, id: r.chunk_id}})
WHERE NOT 0 <= r.sentence < {_SENTENCES}
RETURN [r.id, r.sentence, r.chunk_id] AS row
""",
)
EMPTY_TIMES = Statement(
    'SELECT chunk_id, text FROM chunk_times WHERE start >= "end"',
    """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.start >= t.end
RETURN [t.chunk_id, t.text] AS row
""",
)
CHUNKS_SAID_TWICE = Statement(
    "SELECT chunk_id FROM chunk_times WHERE said = 1 GROUP BY chunk_id HAVING count(*) > 1",
    """
MATCH (t:ClewTime {namespace: $namespace}) WHERE t.chunk_id > 0 AND t.said = 1
WITH t.chunk_id AS chunk_id, count(*) AS number WHERE number > 1
RETURN [chunk_id] AS row
""",
)
ENDS = Statement(
    "SELECT id, stated_until, valid_until FROM relations ORDER BY id",
    """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
RETURN [r.id, r.stated_until, r.valid_until] AS row ORDER BY r.id
""",
)

# --- texts and vectors

# Columns: version, sha256, derived_from of the document; the same of a version, and its end.
VERSIONS = Statement(
    """
SELECT d.source, d.version, d.sha256, d.derived_from, v.version, v.sha256, v.derived_from,
    v.replaced_at
FROM documents d LEFT JOIN document_versions v ON v.document_id = d.id
ORDER BY d.source, v.version
""",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL
OPTIONAL MATCH (v:ClewVersion {namespace: $namespace, document_id: d.id}) WHERE v.version > 0
RETURN [d.source, d.version, d.sha256, d.derived_from, v.version, v.sha256, v.derived_from,
    v.replaced_at] AS row ORDER BY d.source, v.version
""",
)
DOCUMENTS = Statement(
    "SELECT id, source, characters FROM documents ORDER BY id",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL
RETURN [d.id, d.source, d.characters] AS row ORDER BY d.id
""",
)
SECTIONS = Statement(
    """
SELECT document_id, ordinal, start, "end", text FROM sections
WHERE document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (s:ClewSection {namespace: $namespace, document_id: id})
RETURN [id, s.ordinal, s.start, s.end, s.text] AS row
""",
)
CHUNKS = Statement(
    """
SELECT c.document_id, c.ordinal, c.text, c.start, c."end", c.sentences, s.start, s."end"
FROM chunks c LEFT JOIN sections s ON s.id = c.section_id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
OPTIONAL MATCH (s:ClewSection {namespace: $namespace, id: c.section_id})
RETURN [id, c.ordinal, c.text, c.start, c.end, c.sentences, s.start, s.end] AS row
""",
)
TERMS = Statement(
    """
SELECT c.id, d.language, c.context, c.text, k.terms
FROM chunks c LEFT JOIN documents d ON d.id = c.document_id LEFT JOIN keywords k ON k.rowid = c.id
WHERE c.id > :after AND c.id <= :until
""",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
OPTIONAL MATCH (d:ClewDocument {namespace: $namespace, id: c.document_id})
RETURN [c.id, d.language, c.context, c.text, c.terms] AS row
""",
)
# Columns: chunk, vector, whether it is not as it was written.
VECTORS = Statement(
    """
SELECT c.id, e.vector, e.checksum IS NOT crc32(e.vector)
FROM chunks c LEFT JOIN embeddings e ON e.chunk_id = c.id WHERE c.id > :after AND c.id <= :until
""",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE $after < c.id <= $until
RETURN [c.id, c.vector, false] AS row
""",
)
