"""When chunks were said and the times that they speak of; how often they were used."""

from __future__ import annotations

from clew.stores.backend import Statement

LONG = 366 * 24 * 60 * 60
"""Seconds of a long period: more than this is rare, and looked up apart from the others."""

# What overlaps a period starts before its end; all that started over a year before its start can
# be left out but for the few long ones (decades, open sides), which have an index of their own.
CHUNKS_WITHIN = Statement(
    f"""
SELECT chunk_id FROM chunk_times WHERE start >= :earliest AND start < :end AND "end" > :start
UNION ALL SELECT chunk_id FROM chunk_times
    WHERE "end" - start > {LONG} AND start < :earliest AND start < :end AND "end" > :start
""",
    """
CALL () {
    UNWIND [0, 1] AS said
    MATCH (t:ClewTime {namespace: $namespace, said: said})
    USING INDEX t:ClewTime(namespace, said, start)
    WHERE t.start >= $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
    UNION ALL
    MATCH (t:ClewTime {namespace: $namespace, long: true})
    USING INDEX t:ClewTime(namespace, long, start)
    WHERE t.start < $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
}
RETURN collect(DISTINCT id)
""",
)
SAID_LATER = Statement(
    "SELECT chunk_id FROM chunk_times WHERE said = 1 AND start > :second",
    """
MATCH (t:ClewTime {namespace: $namespace, said: 1})
USING INDEX t:ClewTime(namespace, said, start)
WHERE t.start > $second
RETURN collect(t.chunk_id)
""",
)
# What came to the store later is told by its version, since the same text may be indexed again.
CAME_LATER = Statement(
    """
SELECT c.id FROM document_versions v JOIN chunks c ON c.document_id = v.document_id
WHERE v.replaced_at IS NULL AND v.indexed_at > :known
""",
    """
MATCH (v:ClewVersion {namespace: $namespace})
WHERE v.indexed_at > $known AND v.replaced_at IS NULL
MATCH (c:ClewChunk {namespace: $namespace, document_id: v.document_id})
RETURN collect(c.id)
""",
)
# Columns: chunk_id, said, start, end, text.
CHUNK_DATES = Statement(
    """
SELECT chunk_id, said, start, "end", text FROM chunk_times
WHERE chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (t:ClewTime {namespace: $namespace, chunk_id: id})
RETURN [id, t.said, t.start, t.end, t.text] AS row
""",
)
PUBLISHED_AT = Statement(
    """
SELECT chunk_id, start FROM chunk_times
WHERE said = 1 AND chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (t:ClewTime {namespace: $namespace, chunk_id: id}) WHERE t.said = 1
RETURN [id, t.start] AS row
""",
)
NEWEST_DATE = Statement(
    """
SELECT start FROM chunk_times WHERE said = 1 AND start <= :second ORDER BY start DESC LIMIT 1
""",
    """
MATCH (t:ClewTime {namespace: $namespace, said: 1})
USING INDEX t:ClewTime(namespace, said, start)
WHERE t.start <= $second
RETURN [t.start] AS row ORDER BY t.namespace DESC, t.said DESC, t.start DESC LIMIT 1
""",
)
FIRST_RECORDED = Statement(
    "SELECT indexed_at FROM document_versions ORDER BY indexed_at LIMIT 1",
    """
MATCH (v:ClewVersion {namespace: $namespace}) WHERE v.indexed_at IS NOT NULL
RETURN [v.indexed_at] AS row ORDER BY v.namespace, v.indexed_at LIMIT 1
""",
)
RECORD_USE = Statement(
    """
INSERT INTO usage SELECT id, 1, :moment FROM chunks
WHERE id IN (SELECT value FROM json_each(:ids))
ON CONFLICT (chunk_id) DO UPDATE SET
    uses = uses + 1, last_used = max(last_used, excluded.last_used)
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
SET c.uses = coalesce(c.uses, 0) + 1,
    c.last_used = CASE WHEN c.last_used > $moment THEN c.last_used ELSE $moment END
""",
)
USAGE = Statement(
    """
SELECT chunk_id, uses, last_used FROM usage
WHERE chunk_id IN (SELECT value FROM json_each(:ids))
""",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) WHERE c.uses IS NOT NULL
RETURN [id, c.uses, c.last_used] AS row
""",
)
