"""Documents with their sections and chunks."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.documents.metadata import COLUMNS
from clew.stores.statements import AMONG
from clew.stores.statements.enrichments import described

DOCUMENT = (
    "id source origin title sha256 media_type language created_at date_source date_precision"
    " updated_at indexed_at metadata recipe characters version derived_from read_from"
).split()
"""Columns of a document; then the numbers of its sections and chunks, and its description."""
_DOCUMENT = ", ".join(f"d.{name}" for name in DOCUMENT)
_SAID = described("'document:' || d.id", "'document:' + d.id")
_SQL_DOCUMENT = f"""
SELECT {_DOCUMENT},
    (SELECT count(*) FROM sections s WHERE s.document_id = d.id),
    (SELECT count(*) FROM chunks c WHERE c.document_id = d.id), {_SAID[0]}
FROM documents d
"""
_CYPHER_DOCUMENT = f"""
RETURN [{_DOCUMENT},
    COUNT {{ (d)<-[:PART_OF {{namespace: $namespace}}]-(:ClewSection) }},
    COUNT {{ (d)<-[:PART_OF {{namespace: $namespace}}]-(:ClewChunk) }}, {_SAID[1]}] AS row
"""
_DOCUMENTS_OF_IDS = """
UNWIND $ids AS id
MATCH (d:ClewDocument {namespace: $namespace, id: id})
"""

DOCUMENTS = Statement(
    _SQL_DOCUMENT,
    f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.source >= ''
{_CYPHER_DOCUMENT}
""",
)
DOCUMENTS_BY_ORIGIN = Statement(
    f"{_SQL_DOCUMENT} WHERE d.origin = :origin",
    f"MATCH (d:ClewDocument {{namespace: $namespace, origin: $origin}}) {_CYPHER_DOCUMENT}",
)
DOCUMENTS_BY_ID = Statement(
    f"{_SQL_DOCUMENT} WHERE d.id {AMONG}", f"{_DOCUMENTS_OF_IDS} {_CYPHER_DOCUMENT}"
)
DESCRIBED = Statement(
    f"{_SQL_DOCUMENT} WHERE d.describes = :type AND d.ends >= :since AND d.begins < :until",
    f"""
MATCH (d:ClewDocument {{namespace: $namespace, describes: $type}})
USING INDEX d:ClewDocument(namespace, describes, ends)
WHERE d.ends >= $since AND d.begins < $until
{_CYPHER_DOCUMENT}
""",
)
# Each language once, read from an index.
LANGUAGES = Statement(
    """
WITH RECURSIVE found (language) AS (
    SELECT min(language) FROM documents WHERE language > ''
    UNION ALL
    SELECT (SELECT min(language) FROM documents d WHERE d.language > found.language)
    FROM found WHERE found.language IS NOT NULL
)
SELECT language FROM found WHERE language IS NOT NULL
""",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.language > ''
RETURN DISTINCT [d.language] AS row
""",
)
KNOWN_DOCUMENTS = Statement(
    f"SELECT d.id FROM documents d WHERE d.id {AMONG}",
    f"{_DOCUMENTS_OF_IDS} RETURN [d.id] AS row",
)
_NAMED = 200
# At most `_NAMED` documents. Columns: id, source, title_key, file_key and the chunk's id.
NAMED_CHUNKS = Statement(
    f"""
SELECT d.id, d.source, d.title_key, d.file_key, c.id FROM (
    SELECT id, source, title_key, file_key FROM documents
    WHERE title_key IN (SELECT value FROM json_each(:keys))
        OR file_key IN (SELECT value FROM json_each(:keys))
    ORDER BY source LIMIT {_NAMED}
) d JOIN chunks c ON c.document_id = d.id ORDER BY d.source, c.ordinal
""",
    f"""
CALL () {{
    UNWIND $keys AS key
    MATCH (d:ClewDocument {{namespace: $namespace, title_key: key}}) RETURN d
    UNION
    UNWIND $keys AS key
    MATCH (d:ClewDocument {{namespace: $namespace, file_key: key}}) RETURN d
}}
WITH DISTINCT d ORDER BY d.source LIMIT {_NAMED}
MATCH (c:ClewChunk {{namespace: $namespace, document_id: d.id}})
RETURN [d.id, d.source, d.title_key, d.file_key, c.id] AS row ORDER BY d.source, c.ordinal
""",
)
# What filters ask about: columns and metadata of documents, and what chunks have of their own.
ASKED_DOCUMENTS = Statement(
    f"SELECT id, metadata, {', '.join(COLUMNS)} FROM documents",
    f"""
MATCH (d:ClewDocument {{namespace: $namespace}}) WHERE d.id >= ''
RETURN [d.id, d.metadata, {", ".join(f"d.{name}" for name in COLUMNS)}] AS row
""",
)
ASKED_CHUNKS = Statement(
    "SELECT id, document_id, nullif(metadata, '{}') FROM chunks",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0
RETURN [c.id, c.document_id, CASE c.metadata WHEN '{}' THEN null ELSE c.metadata END] AS row
""",
)
# --- chunks and sections

CHUNK = {
    "id": "c.id",
    "document_id": "c.document_id",
    "source": "d.source",
    "title": "d.title",
    "ordinal": "c.ordinal",
    "section_id": "c.section_id",
    "start": "c.start",
    "end": "c.end",
    "page": "c.page",
    "text": "c.text",
    "context": "c.context",
    "key": "c.key",
    "document_metadata": "d.metadata",
    "metadata": "c.metadata",
    "language": "d.language",
}
"""Columns of a chunk, by name."""
SECTION = ("id", "document_id", "ordinal", "start", "end", "headings", "text")
PROVENANCE = {
    "document": "c.document_id",
    "title": "d.title",
    "source": "d.source",
    "version": "d.version",
    "sha256": "d.sha256",
    "derived_from": "d.derived_from",
    "page": "c.page",
    "start": "c.start",
    "end": "c.end",
    "indexed_at": "d.indexed_at",
    "created_at": "d.created_at",
    "date_source": "d.date_source",
    "date_precision": "d.date_precision",
    "recipe": "d.recipe",
    "document_metadata": "d.metadata",
    "metadata": "c.metadata",
}
"""Columns of a chunk's provenance, by name."""
_CHUNK = ", ".join(CHUNK.values())
_SECTION = ", ".join(f"s.{name}" for name in SECTION)
_PROVENANCE = ", ".join(PROVENANCE.values())
_SQL_CHUNKS = "FROM chunks c JOIN documents d ON d.id = c.document_id"
_CYPHER_DOCUMENT_OF = """
MATCH (c)-[:PART_OF {namespace: $namespace}]->(d:ClewDocument {namespace: $namespace})
"""
_CHUNKS_OF_IDS = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
"""

CHUNKS = Statement(
    f"SELECT {_CHUNK} {_SQL_CHUNKS} WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF} RETURN [{_CHUNK}] AS row",
)
DOCUMENT_CHUNKS = Statement(
    f"SELECT {_CHUNK} {_SQL_CHUNKS} WHERE d.id {AMONG} ORDER BY c.document_id, c.ordinal",
    f"""
UNWIND $ids AS id
MATCH (c:ClewChunk {{namespace: $namespace, document_id: id}})
{_CYPHER_DOCUMENT_OF} RETURN [{_CHUNK}] AS row ORDER BY c.document_id, c.ordinal
""",
)
SECTIONS = Statement(
    f"SELECT {_SECTION} FROM sections s WHERE s.id {AMONG}",
    f"""
UNWIND $ids AS id
MATCH (s:ClewSection {{namespace: $namespace, id: id}}) RETURN [{_SECTION}] AS row
""",
)
DOCUMENT_SECTIONS = Statement(
    f"SELECT {_SECTION} FROM sections s WHERE s.document_id {AMONG}"
    " ORDER BY s.document_id, s.ordinal",
    f"""
UNWIND $ids AS id
MATCH (s:ClewSection {{namespace: $namespace, document_id: id}})
RETURN [{_SECTION}] AS row ORDER BY s.document_id, s.ordinal
""",
)
# Columns: id, text, start, sentences.
SENTENCES = Statement(
    f"SELECT c.id, c.text, c.start, c.sentences FROM chunks c WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} RETURN [c.id, c.text, c.start, c.sentences] AS row",
)
# Columns: id, sketch.
SKETCHES = Statement(
    f"SELECT c.id, c.sketch FROM chunks c WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} RETURN [c.id, c.sketch] AS row",
)
# Columns: id, then those of PROVENANCE.
PROVENANCES = Statement(
    f"SELECT c.id, {_PROVENANCE} {_SQL_CHUNKS} WHERE c.id {AMONG}",
    f"{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF} RETURN [c.id, {_PROVENANCE}] AS row",
)
# Columns: CHUNK, SECTION, PROVENANCE, and the chunk's sentences.
PASSAGES = Statement(
    f"""
SELECT {_CHUNK}, {_SECTION}, {_PROVENANCE}, c.sentences
{_SQL_CHUNKS} JOIN sections s ON s.id = c.section_id WHERE c.id {AMONG}
""",
    f"""
{_CHUNKS_OF_IDS} {_CYPHER_DOCUMENT_OF}
MATCH (c)-[:IN_SECTION {{namespace: $namespace}}]->(s:ClewSection {{namespace: $namespace}})
RETURN [{_CHUNK}, {_SECTION}, {_PROVENANCE}, c.sentences] AS row
""",
)

# --- saving and deleting

# Columns: version, derived_from, sha256.
HELD_VERSION = Statement(
    "SELECT version, derived_from, sha256 FROM documents WHERE id = :id",
    """
MATCH (d:ClewDocument {namespace: $namespace, id: $id})
RETURN [d.version, d.derived_from, d.sha256] AS row
""",
)
# The text is read only where it may be the same. Columns: ordinal, text.
HELD_TEXT = Statement(
    """
SELECT s.ordinal, s.text FROM documents d JOIN sections s ON s.document_id = d.id
WHERE d.id = :id AND d.sha256 = :sha256
""",
    """
MATCH (d:ClewDocument {namespace: $namespace, id: $id}) WHERE d.sha256 = $sha256
MATCH (s:ClewSection {namespace: $namespace, document_id: d.id})
RETURN [s.ordinal, s.text] AS row
""",
)
CLOSE_VERSION = Statement(
    """
UPDATE document_versions SET replaced_at = :moment
WHERE document_id = :id AND version = :version
""",
    """
MATCH (v:ClewVersion {namespace: $namespace, document_id: $id, version: $version})
SET v.replaced_at = $moment
""",
)
_SQL_CHUNKS_OF = f"SELECT id FROM chunks WHERE document_id {AMONG}"
# Entities that the documents mention or state relations of.
TOUCHED_ENTITIES = Statement(
    f"""
SELECT entity_id FROM entity_mentions WHERE chunk_id IN ({_SQL_CHUNKS_OF})
UNION SELECT from_entity_id FROM entity_relations WHERE chunk_id IN ({_SQL_CHUNKS_OF})
UNION SELECT to_entity_id FROM entity_relations WHERE chunk_id IN ({_SQL_CHUNKS_OF})
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
CALL (c) {
    MATCH (c)-[:MENTIONS {namespace: $namespace}]->(e:ClewEntity) RETURN e
    UNION
    MATCH (h)-[:RELATES {namespace: $namespace, chunk_id: c.id}]->(t)
    UNWIND [h, t] AS e
    RETURN e
}
RETURN DISTINCT [e.id] AS row
""",
)
# What documents state now: a later version that still does states nothing new.
# Columns: id and key of the head, type, key of the tail, recorded_at, retracted_at.
STATED_HISTORY = Statement(
    f"""
SELECT h.entity_id, h.key, r.relation_type, t.key, min(r.recorded_at),
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END, t.entity_id
FROM relations r
JOIN aliases h ON h.id = r.from_alias_id
JOIN aliases t ON t.id = r.to_alias_id
WHERE r.chunk_id IN ({_SQL_CHUNKS_OF})
GROUP BY 1, 2, 3, 4
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id})
MATCH (head)-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->(tail)
MATCH (h:ClewAlias {namespace: $namespace, id: r.from_alias_id})
MATCH (t:ClewAlias {namespace: $namespace, id: r.to_alias_id})
WITH head.id AS head, h.key AS from, r.relation_type AS type, t.key AS to,
    min(r.recorded_at) AS since,
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END AS until,
    tail.id AS tail
RETURN [head, from, type, to, since, until, tail] AS row
""",
)
