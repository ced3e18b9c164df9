"""What a language model made of passages, and what it says of other things."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG

# Columns: chunk id, JSON by kind of enrichment.
ENRICHED = Statement(
    "SELECT chunk_id, enriched FROM enrichments",
    """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id IS NOT NULL AND c.enriched IS NOT NULL
RETURN [c.id, c.enriched] AS row
""",
)
ENRICHED_AMONG = Statement(
    f"SELECT chunk_id, enriched FROM enrichments WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) WHERE c.enriched IS NOT NULL
RETURN [c.id, c.enriched] AS row
""",
)
# Rows: id, enriched (null for nothing); chunks that are gone are left out.
FORGET_ENRICHED = Statement(
    f"DELETE FROM enrichments WHERE chunk_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) SET c.enriched = null
""",
)
SET_ENRICHED = Statement(
    """
INSERT OR REPLACE INTO enrichments
SELECT id, :enriched FROM chunks WHERE id = :id
""",
    """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.id}) SET c.enriched = row.enriched
""",
)
# Rows: chunk_id, sentence, alias_id.
DELETE_MENTIONS = Statement(
    """
DELETE FROM mentions
WHERE chunk_id = :chunk_id AND sentence = :sentence AND alias_id = :alias_id
""",
    """
UNWIND $rows AS row
MATCH ()-[m:MENTIONS {namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence,
    alias_id: row.alias_id}]->()
DELETE m
""",
)
ENTITIES_OF_ALIASES = Statement(
    f"SELECT DISTINCT entity_id FROM aliases WHERE id {AMONG}",
    """
UNWIND $ids AS id
MATCH (:ClewAlias {namespace: $namespace, id: id})-[:NAMES {namespace: $namespace}]->(e)
RETURN DISTINCT [e.id] AS row
""",
)
# Columns: id, context, text, the document's language, the vector.
PASSAGES = Statement(
    f"""
SELECT c.id, c.context, c.text, d.language, e.vector
FROM chunks c JOIN documents d ON d.id = c.document_id JOIN embeddings e ON e.chunk_id = c.id
WHERE c.id {AMONG} ORDER BY c.id
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})-[:PART_OF {namespace: $namespace}]->(d)
WHERE d:ClewDocument
RETURN [c.id, c.context, c.text, d.language, c.vector] AS row ORDER BY c.id
""",
)

# --- descriptions

COLUMNS = ("key", "name", "title", "text", "sources", "documents", "basis", "reason")
# Those whose key is between two others, the second left out.
DESCRIPTIONS = Statement(
    f"SELECT {', '.join(COLUMNS)} FROM descriptions WHERE key >= :first AND key < :after",
    f"""
MATCH (s:ClewDescription {{namespace: $namespace}}) WHERE s.key >= $first AND s.key < $after
RETURN [{", ".join(f"s.{name}" for name in COLUMNS)}] AS row
""",
)


def described(sql_key: str, cypher_key: str) -> tuple[str, str]:
    """A column with title, text and sources of what has that key, null for nothing; see `read`."""
    return (
        "(SELECT json_array(s.title, s.text, s.sources) FROM descriptions s"
        f" WHERE s.key = {sql_key})",
        "head(COLLECT { MATCH (said:ClewDescription {namespace: $namespace, key: "
        f"{cypher_key}}}) RETURN [said.title, said.text, said.sources] }})",
    )
