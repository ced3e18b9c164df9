"""Relations written by hand: they have no chunk, and their extractor is `manual`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from clew.stores.errors import unknown_entities
from clew.stores.relation_plans import plan_written
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.links import next_ids
from clew.stores.sqlite.relations import (
    insert_rows,
    read_relations_by_id,
    read_unstated_rows,
    update_rows,
)
from clew.stores.sqlite.save import count_change, sweep
from clew.stores.sqlite.validity import heads_around, settle
from clew.stores.values import now
from clew.types import NewRelation, Relation

_AMONG = "IN (SELECT value FROM json_each(:ids))"
_SHOWN_ALIASES = f"""
SELECT e.id, a.id FROM entities e JOIN aliases a ON a.entity_id = e.id AND a.key = e.key
WHERE e.id {_AMONG}
"""
_ENDS = f"""
SELECT id, from_entity_id, to_entity_id FROM entity_relations
WHERE chunk_id IS NULL AND id {_AMONG}
"""


def add_relations(
    connection: sqlite3.Connection, relations: Sequence[NewRelation]
) -> list[tuple[Relation, bool]]:
    """Write relations by hand; each as it is then, and whether it is new."""
    ends = {int(end) for r in relations for end in (r.source_id, r.target_id)}
    plan, written = plan_written(
        relations,
        _shown_aliases(connection, ends),
        read_unstated_rows(connection, ends),
        next_ids(connection)["relations"],
        now(),
    )
    insert_rows(connection, plan.new)
    update_rows(connection, plan.changed)
    settle(connection, {relation.source_id for relation in relations})
    if relations:
        count_change(connection)
    found = read_relations_by_id(connection, [relation_id for relation_id, _ in written])
    return [(relation, new) for relation, (_, new) in zip(found, written, strict=True)]


def _shown_aliases(connection: sqlite3.Connection, entity_ids: Iterable[int]) -> dict[int, int]:
    """The alias that each entity is shown under; raises `NotFoundError` for an unknown entity."""
    wanted = sorted(entity_ids)
    found = dict(connection.execute(_SHOWN_ALIASES, {"ids": id_list(wanted)}))
    if missing := [i for i in wanted if i not in found]:
        raise unknown_entities(missing)
    return found


def delete_relations(connection: sqlite3.Connection, relation_ids: Sequence[int]) -> int:
    """Delete relations that were written by hand, and whom only they held; their number."""
    rows = connection.execute(_ENDS, {"ids": id_list(relation_ids)}).fetchall()
    ids = id_list(row[0] for row in rows)
    ends = {end for row in rows for end in row[1:]}
    heads = heads_around(connection, ends)
    connection.execute("DELETE FROM relations WHERE id IN (SELECT value FROM json_each(?))", (ids,))
    sweep(connection, ends)
    settle(connection, heads)
    if rows:
        count_change(connection)
    return len(rows)
