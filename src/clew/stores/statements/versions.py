"""Versions of documents, and the texts of earlier ones."""

from __future__ import annotations

from clew.stores.backend import Statement

VERSIONS = Statement(
    """
SELECT version, sha256, derived_from, indexed_at, replaced_at,
    replaced_at IS NULL OR EXISTS (SELECT 1 FROM earlier_texts e
        WHERE e.document_id = v.document_id AND e.version = v.version)
FROM document_versions v WHERE document_id = :id ORDER BY version
""",
    """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $id}) WHERE v.version > 0
RETURN [v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    v.replaced_at IS NULL OR EXISTS {
        (:ClewEarlierText {namespace: $namespace, document_id: $id, version: v.version}) }] AS row
ORDER BY v.version
""",
)

OF_CHUNK = {
    "id": "c.id",
    "ordinal": "c.ordinal",
    "section_id": "c.section_id",
    "start": "c.start",
    "end": "c.end",
    "page": "c.page",
    "key": "c.key",
    "context": "c.context",
    "metadata": "c.metadata",
    "sentences": "c.sentences",
    "terms": "k.terms",
}
"""What is kept of a chunk, by name, beside its text and its vector."""
_SQL_CHUNK = ", ".join(OF_CHUNK.values())
_CYPHER_CHUNK = _SQL_CHUNK.replace("k.terms", "c.terms")

# In any order. Columns: those of OF_CHUNK, then the vector.
HELD_CHUNKS = Statement(
    f"""
SELECT {_SQL_CHUNK}, e.vector FROM chunks c
JOIN keywords k ON k.rowid = c.id JOIN embeddings e ON e.chunk_id = c.id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    f"""
UNWIND $ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, document_id: id}})
RETURN [{_CYPHER_CHUNK}, c.vector] AS row
""",
)
# In any order. Columns: chunk_id, said, start, end, text.
HELD_DATES = Statement(
    """
SELECT t.chunk_id, t.said, t.start, t."end", t.text
FROM chunks c JOIN chunk_times t ON t.chunk_id = c.id
WHERE c.document_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
MATCH (t:ClewTime {namespace: $namespace, chunk_id: c.id})
RETURN [t.chunk_id, t.said, t.start, t.end, t.text] AS row
""",
)
# Drop the texts of a document's versions up to `last`; their digests stay.
FORGET = Statement(
    "DELETE FROM earlier_texts WHERE document_id = :id AND version <= :last",
    """
MATCH (n:ClewEarlierText {namespace: $namespace, document_id: $id}) WHERE n.version <= $last
DELETE n
""",
)
DROP = Statement(
    "DELETE FROM earlier_texts WHERE document_id = :id AND version = :version",
    """
MATCH (n:ClewEarlierText {namespace: $namespace, document_id: $id, version: $version}) DELETE n
""",
)
# Of documents with a version that is kept: those and the one held, in order.
# Columns: document, version, indexed_at, the date of its text, whether it is the one held.
DATED = Statement(
    """
SELECT e.document_id, e.version, v.indexed_at, e.said_at, 0
FROM earlier_texts e
JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
UNION ALL SELECT v.document_id, v.version, v.indexed_at, d.created_at, 1
FROM (SELECT DISTINCT document_id FROM earlier_texts) e
JOIN document_versions v ON v.document_id = e.document_id AND v.replaced_at IS NULL
JOIN documents d ON d.id = e.document_id
ORDER BY 1, 2
""",
    """
CALL () {
    MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
    MATCH (v:ClewVersion {
        namespace: $namespace, document_id: e.document_id, version: e.version})
    RETURN v, e.said_at AS said_at, false AS is_held
    UNION ALL
    MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
    WITH DISTINCT e.document_id AS id
    MATCH (d:ClewDocument {namespace: $namespace, id: id})
    MATCH (v:ClewVersion {namespace: $namespace, document_id: id, version: d.version})
    RETURN v, d.created_at AS said_at, true AS is_held
}
RETURN [v.document_id, v.version, v.indexed_at, said_at, is_held] AS row
ORDER BY v.document_id, v.version
""",
)
# By `keys`: (document, version). Columns: the version's, then passages and vectors.
KEPT = Statement(
    """
SELECT v.document_id, v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    e.passages, e.vectors
FROM json_each(:keys) k
JOIN earlier_texts e
    ON e.document_id = json_extract(k.value, '$[0]') AND e.version = json_extract(k.value, '$[1]')
JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
""",
    """
UNWIND $keys AS key
MATCH (e:ClewEarlierText {namespace: $namespace, document_id: key[0], version: key[1]})
MATCH (v:ClewVersion {namespace: $namespace, document_id: key[0], version: key[1]})
RETURN [v.document_id, v.version, v.sha256, v.derived_from, v.indexed_at, v.replaced_at,
    e.passages, e.vectors] AS row
""",
)
# Columns: document, version; whether there is such a version, and it was replaced.
KEYS = Statement(
    """
SELECT e.document_id, e.version, v.replaced_at IS NOT NULL FROM earlier_texts e
LEFT JOIN document_versions v ON v.document_id = e.document_id AND v.version = e.version
ORDER BY 1, 2
""",
    """
MATCH (e:ClewEarlierText {namespace: $namespace}) WHERE e.document_id > '' AND e.version > 0
OPTIONAL MATCH (v:ClewVersion {
    namespace: $namespace, document_id: e.document_id, version: e.version})
RETURN [e.document_id, e.version, v.replaced_at IS NOT NULL] AS row
ORDER BY e.document_id, e.version
""",
)
