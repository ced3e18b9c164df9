"""Relations in Neo4j: retracting them, reading them as they are or as they stood once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from clew.stores.neo4j.batches import at_most, send_rows
from clew.stores.neo4j.numbers import count_change, read_numbers
from clew.stores.neo4j.times import known_until
from clew.stores.neo4j.validity import ends_known_at, settle
from clew.stores.relations import RelationRow, holding, to_relation
from clew.stores.validity import FOREVER
from clew.stores.values import now, to_text
from clew.types import Relation

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_ROW = """
r.id, h.id, t.id, r.from_alias_id, r.to_alias_id, r.relation_type, r.weight, r.is_causal,
r.confidence, r.context, r.valid_from, r.valid_until, r.stated_until, r.recorded_at,
r.retracted_at, r.chunk_id, r.sentence, r.extractor
"""
# `known`: only what was recorded by then and not yet retracted. `held`: only what held then, as
# far as the text says; null for whenever.
_WHEN = """
WHERE r.recorded_at <= $known AND coalesce(r.retracted_at, '~') > $known
    AND ($held IS NULL
        OR coalesce(r.valid_from, '') <= $held AND coalesce(r.stated_until, '~') > $held)
"""
_OF_ENTITIES = """
UNWIND $ids AS id
MATCH (:ClewEntity {namespace: $namespace, id: id})-[r:RELATES {namespace: $namespace}]-()
WITH DISTINCT r
"""
_RELATIONS = f"""
{_OF_ENTITIES} {_WHEN}
WITH r ORDER BY r.weight DESC, r.id LIMIT $limit
WITH r, startNode(r) AS h, endNode(r) AS t
RETURN {_ROW} ORDER BY r.weight DESC, r.id
"""
_CHUNK_RELATIONS = f"""
UNWIND range(0, size($ids) - 1) AS place
MATCH (h)-[r:RELATES {{namespace: $namespace, chunk_id: $ids[place]}}]->(t)
{_WHEN}
RETURN {_ROW} ORDER BY place, r.id
"""
_RELATIONS_BY_ID = f"""
UNWIND range(0, size($ids) - 1) AS place
MATCH (h)-[r:RELATES {{namespace: $namespace, id: $ids[place]}}]->(t)
{_WHEN}
RETURN {_ROW} ORDER BY place
"""
_UNSTATED = f"""
{_OF_ENTITIES} WHERE r.chunk_id IS NULL AND r.retracted_at IS NULL
WITH r, startNode(r) AS h, endNode(r) AS t
RETURN {_ROW} ORDER BY r.id
"""
_STATED_BY_CHUNKS = f"""
UNWIND $ids AS id
MATCH (h)-[r:RELATES {{namespace: $namespace, chunk_id: id}}]->(t)
RETURN {_ROW} ORDER BY r.id
"""
_UPDATE = """
UNWIND $rows AS row
MATCH ()-[r:RELATES {namespace: $namespace, id: row.id}]->()
SET r.weight = row.weight, r.is_causal = row.is_causal, r.confidence = row.confidence,
    r.context = row.context, r.valid_from = row.valid_from, r.valid_until = row.valid_until,
    r.stated_until = row.stated_until, r.sentence = row.sentence, r.extractor = row.extractor
"""
_RETRACT = """
UNWIND $ids AS id
MATCH (h)-[r:RELATES {namespace: $namespace, id: id}]->() WHERE r.retracted_at IS NULL
SET r.retracted_at = $moment, r.valid_until = r.stated_until
RETURN h.id
"""
_COUNTS = """
MATCH ()-[r:RELATES {namespace: $namespace}]->() WHERE r.id IS NOT NULL AND r.retracted_at IS NULL
WITH r.relation_type AS relation_type, count(*) AS relations,
    sum(CASE WHEN r.is_causal THEN 1 ELSE 0 END) AS causal
RETURN relation_type, relations, causal ORDER BY relations DESC, relation_type
"""


# --- writing -----------------------------------------------------------------------------


def update_rows(database: Neo4jDatabase, rows: Iterable[RelationRow]) -> None:
    """Write what is said of relations now; their ends and types stay."""
    send_rows(database, _UPDATE, [row._asdict() for row in rows])


def retract_relations(database: Neo4jDatabase, relation_ids: Sequence[int]) -> int:
    """Say that relations were wrong from now on; the number that were not retracted before."""
    ids = list(dict.fromkeys(map(int, relation_ids)))
    heads = [row[0] for row in database.rows(_RETRACT, ids=ids, moment=now())]
    if heads:
        settle(database, set(heads), read_numbers(database).functional)
        count_change(database)
    return len(heads)


# --- reading -----------------------------------------------------------------------------


def read_relations(
    database: Neo4jDatabase, entity_ids: Sequence[int], limit: int, as_of: datetime | None
) -> list[Relation]:
    """Relations that start or end at one of the entities; heaviest first, then by id."""
    return _read(database, _RELATIONS, entity_ids, limit, as_of)


def read_chunk_relations(
    database: Neo4jDatabase, chunk_ids: Sequence[int], as_of: datetime | None
) -> list[Relation]:
    """Relations that the chunks state, in the order of the ids given, then by id."""
    return _read(database, _CHUNK_RELATIONS, chunk_ids, -1, as_of)


def read_relations_by_id(database: Neo4jDatabase, relation_ids: Sequence[int]) -> list[Relation]:
    """Relations in the order of the ids given; unknown and retracted ones are left out."""
    return _read(database, _RELATIONS_BY_ID, relation_ids, -1, None)


def read_unstated_rows(database: Neo4jDatabase, entity_ids: Iterable[int]) -> list[RelationRow]:
    """What is written of the entities and not retracted; by id."""
    return _rows(database, _UNSTATED, entity_ids)


def read_stated_rows(database: Neo4jDatabase, chunk_ids: Iterable[int]) -> list[RelationRow]:
    """What the chunks state, retracted relations among it; by id."""
    return _rows(database, _STATED_BY_CHUNKS, chunk_ids)


def read_relation_counts(database: Neo4jDatabase) -> list[tuple[str, int, int]]:
    """(type, relations, causal ones among them) of what is not retracted; most first."""
    return [(kind, count, causal) for kind, count, causal in database.rows(_COUNTS)]


def _read(
    database: Neo4jDatabase, query: str, ids: Sequence[int], limit: int, as_of: datetime | None
) -> list[Relation]:
    if len(ids) == 0:
        return []
    most = at_most(limit)
    if as_of is None:
        rows = _rows(database, query, ids, held=None, known=FOREVER, limit=most)
        return [to_relation(row) for row in rows]
    known = known_until(database, as_of) or FOREVER
    held = to_text(as_of) or FOREVER
    rows = _rows(database, query, ids, held=held, known=known, limit=at_most(-1))
    functional = read_numbers(database).functional if rows else ()
    derived = ends_known_at(database, {row.from_entity_id for row in rows}, functional, known)
    return [to_relation(row) for row in islice(holding(rows, held, derived), most)]


def _rows(
    database: Neo4jDatabase, query: str, ids: Iterable[int], **values: object
) -> list[RelationRow]:
    return [RelationRow(*row) for row in database.rows(query, ids=[int(i) for i in ids], **values)]
