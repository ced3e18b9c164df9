"""What assistants read in Neo4j: passages that none has read yet, and what one found in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clew.stores.errors import passages_gone
from clew.stores.neo4j.batches import at_most, send_rows
from clew.stores.neo4j.naming import resolve_names
from clew.stores.neo4j.numbers import count_change, read_numbers
from clew.stores.neo4j.relations import read_stated_rows, update_rows
from clew.stores.neo4j.rows import insert_rows
from clew.stores.neo4j.sweep import sweep
from clew.stores.neo4j.validity import heads_around, settle
from clew.stores.readings import (
    MentionRow,
    descriptions_found,
    ends_found,
    mentions_found,
    names_found,
    relations_found,
)
from clew.stores.relation_plans import plan_readings
from clew.stores.values import now
from clew.types import AliasEvidence, ChunkExtraction, NewEntity

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

# Ordered as the index is, so that it ends where there are enough.
_UNREAD = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > $after AND c.read_at IS NULL
RETURN c.id ORDER BY c.namespace, c.id LIMIT $limit
"""
_COUNT_UNREAD = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id IS NOT NULL AND c.read_at IS NULL
RETURN count(*)
"""
_COUNT_LIVING = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) RETURN count(*)
"""
_TIE = """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.chunk_id})
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
MERGE (c)-[m:MENTIONS {namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence,
    alias_id: row.alias_id}]->(e)
ON CREATE SET m.start = row.start, m.end = row.end, m.count = 0
WITH m, row WHERE row.count > m.count
SET m.count = row.count
RETURN count(*)
"""
_DESCRIBE = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row[0]}) WHERE e.content = ''
SET e.content = row[1]
"""
_READ = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) SET c.read_at = $moment
"""


def read_unread(database: Neo4jDatabase, after: int, limit: int) -> list[int]:
    """Ids above `after` of the chunks that no assistant has read, in order; at most `limit`."""
    return [row[0] for row in database.rows(_UNREAD, after=after, limit=at_most(limit))]


def count_unread(database: Neo4jDatabase) -> int:
    """Chunks that no assistant has read."""
    return int(database.value(_COUNT_UNREAD))


def record_readings(
    database: Neo4jDatabase,
    readings: Mapping[int, ChunkExtraction],
    described: Sequence[NewEntity],
    links: Sequence[AliasEvidence],
) -> int:
    """Write what was found in chunks, by chunk id, and mark them as read; the new relations."""
    ids, moment = [int(i) for i in readings], now()
    living = int(database.value(_COUNT_LIVING, ids=ids))
    if living < len(ids):
        raise passages_gone(len(ids) - living)
    resolved = resolve_names(database, names_found(readings, described), links)
    tied = _tie(database, mentions_found(readings, resolved))
    numbers = read_numbers(database)
    held = read_stated_rows(database, ids)
    names, found = ends_found(resolved), relations_found(readings)
    plan = plan_readings(found, names, held, numbers.relation, moment)
    insert_rows(database, {"relations": [row._asdict() for row in plan.new]})
    update_rows(database, plan.changed)
    send_rows(database, _DESCRIBE, descriptions_found(described, resolved))
    database.rows(_READ, ids=ids, moment=moment)
    # A name that was known when it was checked may have gone with its last text since.
    sweep(database, resolved.moved.union(resolved.entity_ids.values()))
    heads = {row.from_entity_id for row in (*plan.new, *plan.changed)}
    moved = heads_around(database, resolved.moved, numbers.functional)
    settle(database, heads | moved, numbers.functional)
    # Mentions of old chunks: what was derived from them has to be made anew.
    count_change(database, entities_moved=bool(tied or resolved.moved))
    return len(plan.new)


def _tie(database: Neo4jDatabase, mentions: Sequence[MentionRow]) -> int:
    """Write the mentions that there are not yet, or not as many; the number that changed."""
    return sum(row[0] for row in send_rows(database, _TIE, mentions))
