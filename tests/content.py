"""What a store holds, whatever the ids and the moments: two that hold the same compare equal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

_QUERIES = {
    "documents": "SELECT id, source, title, sha256, metadata, recipe, characters FROM documents",
    "sections": 'SELECT document_id, ordinal, start, "end", headings, text FROM sections',
    "chunks": """
        SELECT c.document_id, c.ordinal, s.ordinal, c.start, c."end", c.page, c.key, c.metadata,
            c.sentences, c.context, c.text, k.terms
        FROM chunks c JOIN sections s ON s.id = c.section_id JOIN keywords k ON k.rowid = c.id""",
    "embeddings": """
        SELECT c.document_id, c.ordinal, v.vector
        FROM embeddings v JOIN chunks c ON c.id = v.chunk_id""",
    "times": """
        SELECT c.document_id, c.ordinal, t.said, t.start, t."end", t.text
        FROM chunk_times t JOIN chunks c ON c.id = t.chunk_id""",
    "entities": "SELECT name, key, entity_type, content, tier FROM entities",
    "aliases": """
        SELECT a.key, a.name, e.key, a.method, a.score, a.evidence
        FROM aliases a JOIN entities e ON e.id = a.entity_id""",
    "rules": "SELECT key, target, name FROM link_rules",
    "mentions": """
        SELECT c.document_id, c.ordinal, m.sentence, a.key, m.start, m."end", m.count
        FROM mentions m JOIN chunks c ON c.id = m.chunk_id JOIN aliases a ON a.id = m.alias_id""",
    "relations": """
        SELECT c.document_id, c.ordinal, r.sentence, h.key, r.relation_type, t.key, r.weight,
            r.confidence, r.valid_from, r.valid_until, r.retracted_at IS NULL, r.extractor
        FROM relations r LEFT JOIN chunks c ON c.id = r.chunk_id
        JOIN aliases h ON h.id = r.from_alias_id JOIN aliases t ON t.id = r.to_alias_id""",
    "meta": "SELECT name, value FROM meta WHERE name IN ('embedder', 'dimension', 'functional')",
}


def content(file: Path) -> dict[str, list[Any]]:
    """The rows of a store's file by what they are, in an order of their own."""
    with closing(sqlite3.connect(file)) as connection:
        return {
            name: sorted(connection.execute(query).fetchall(), key=repr)
            for name, query in _QUERIES.items()
        }
