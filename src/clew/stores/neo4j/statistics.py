"""Counts of what a namespace holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.stores.values import now

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

# A composite index finds only nodes that have every property that it is made of. The number of
# sentences is that of the inner brackets of their JSON.
_COUNTS = """
MATCH (s:ClewStore {namespace: $namespace})
CALL () {
    MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0
    RETURN count(c) AS chunks, sum(size(split(c.sentences, '[')) - 2) AS sentences
}
CALL () {
    MATCH ()-[m:MENTIONS {namespace: $namespace}]->() WHERE m.chunk_id > 0 AND m.sentence >= 0
    RETURN sum(m.count) AS mentions
}
RETURN
    COUNT { (d:ClewDocument {namespace: $namespace}) WHERE d.id IS NOT NULL } AS documents,
    COUNT { (n:ClewSection {namespace: $namespace}) WHERE n.id > 0 } AS sections,
    chunks,
    COUNT { (e:ClewEntity {namespace: $namespace}) WHERE e.id > 0 } AS entities,
    COUNT { (a:ClewAlias {namespace: $namespace}) WHERE a.id > 0 } AS aliases,
    sentences, mentions, s.embedder, s.dimension, s.generation
"""
_TYPES = """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id > 0
RETURN r.relation_type AS type, count(*) AS number,
    sum(CASE WHEN r.retracted_at IS NOT NULL OR r.valid_until <= $now THEN 1 ELSE 0 END)
ORDER BY number DESC, type
"""


def read_statistics(database: Neo4jDatabase) -> dict[str, Any]:
    """Counts, relation types, embedder and generation.

    `relations_ended` are those of all relations that hold no more or were retracted.
    """
    counts = database.rows(_COUNTS)[0]
    documents, sections, chunks, entities, aliases, sentences, mentions = counts[:7]
    embedder, dimension, generation = counts[7:]
    types = database.rows(_TYPES, now=now())
    return {
        "documents": documents,
        "sections": sections,
        "chunks": chunks,
        "entities": entities,
        "aliases": aliases,
        "relations": sum(number for _, number, _ in types),
        "sentences": sentences,
        "mentions": mentions,
        "relations_ended": sum(ended for *_, ended in types),
        "relation_types": {name: number for name, number, _ in types},
        "embedder": {"name": embedder, "dimension": dimension} if embedder else None,
        "generation": generation,
    }
