"""Relations written by hand in Neo4j: they have no chunk, and their extractor is `manual`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from clew.stores.errors import unknown_entities
from clew.stores.neo4j.numbers import count_change, read_numbers
from clew.stores.neo4j.relations import read_relations_by_id, read_unstated_rows, update_rows
from clew.stores.neo4j.rows import insert_rows
from clew.stores.neo4j.sweep import sweep
from clew.stores.neo4j.validity import heads_around, settle
from clew.stores.relation_plans import plan_written
from clew.stores.values import now
from clew.types import NewRelation, Relation

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_SHOWN_ALIASES = """
UNWIND $ids AS id
MATCH (e:ClewEntity {namespace: $namespace, id: id})<-[:NAMES {namespace: $namespace}]-(a)
WHERE a.key = e.key
RETURN e.id, a.id
"""
_ENDS = """
UNWIND $ids AS id
MATCH (h)-[r:RELATES {namespace: $namespace, id: id}]->(t) WHERE r.chunk_id IS NULL
RETURN r.id, h.id, t.id
"""
_DELETE = """
UNWIND $ids AS id
MATCH ()-[r:RELATES {namespace: $namespace, id: id}]->() DELETE r
"""


def add_relations(
    database: Neo4jDatabase, relations: Sequence[NewRelation]
) -> list[tuple[Relation, bool]]:
    """Write relations by hand; each as it is then, and whether it is new."""
    if not relations:
        return []
    ends = {int(end) for r in relations for end in (r.source_id, r.target_id)}
    aliases, numbers = _shown_aliases(database, ends), read_numbers(database)
    held = read_unstated_rows(database, ends)
    plan, written = plan_written(relations, aliases, held, numbers.relation, now())
    new = [row._asdict() for row in plan.new]
    insert_rows(database, {"relations": new})
    update_rows(database, plan.changed)
    settle(database, {int(r.source_id) for r in relations}, numbers.functional)
    count_change(database)
    found = read_relations_by_id(database, [relation_id for relation_id, _ in written])
    return [(relation, is_new) for relation, (_, is_new) in zip(found, written, strict=True)]


def _shown_aliases(database: Neo4jDatabase, entity_ids: Collection[int]) -> dict[int, int]:
    """The alias that each entity is shown under; raises `NotFoundError` for an unknown entity."""
    wanted = sorted(entity_ids)
    found = {row[0]: row[1] for row in database.rows(_SHOWN_ALIASES, ids=wanted)}
    if missing := [i for i in wanted if i not in found]:
        raise unknown_entities(missing)
    return found


def delete_relations(database: Neo4jDatabase, relation_ids: Sequence[int]) -> int:
    """Delete relations that were written by hand, and whom only they held; their number."""
    rows = database.rows(_ENDS, ids=list(dict.fromkeys(map(int, relation_ids))))
    if rows:
        ends = {end for row in rows for end in row[1:]}
        functional = read_numbers(database).functional
        heads = heads_around(database, ends, functional)
        database.rows(_DELETE, ids=[row[0] for row in rows])
        sweep(database, ends)
        settle(database, heads, functional)
        count_change(database)
    return len(rows)
