"""Relations written by hand: they have no chunk, and their extractor is `manual`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from clew.errors import NotFoundError
from clew.stores.sqlite_documents import id_list, now, to_text
from clew.stores.sqlite_relations import read_relations_by_id
from clew.stores.sqlite_save import count_change, sweep
from clew.stores.sqlite_validity import heads_around, settle
from clew.types import NewRelation, Relation

_AMONG = "IN (SELECT value FROM json_each(:ids))"
# What is not said of a relation is no reason for a second one: no beginning meets any.
_SAME = """
SELECT id FROM entity_relations
WHERE from_entity_id = :source AND to_entity_id = :target AND relation_type = :relation_type
    AND chunk_id IS NULL AND retracted_at IS NULL
    AND (:valid_from IS NULL OR valid_from IS NULL OR valid_from = :valid_from)
ORDER BY valid_from IS :valid_from DESC, id DESC LIMIT 1
"""
_UPDATE = """
UPDATE relations SET weight = :weight, is_causal = :is_causal,
    context = coalesce(:context, context), valid_from = coalesce(:valid_from, valid_from),
    valid_until = coalesce(:valid_until, stated_until),
    stated_until = coalesce(:valid_until, stated_until)
WHERE id = :id
"""
_INSERT = """
INSERT INTO relations (from_alias_id, to_alias_id, relation_type, weight, is_causal, confidence,
    context, valid_from, valid_until, stated_until, recorded_at, extractor)
SELECT h.id, t.id, :relation_type, :weight, :is_causal, 1, coalesce(:context, '{}'),
    :valid_from, :valid_until, :valid_until, :moment, 'manual'
FROM aliases h JOIN entities he ON he.id = h.entity_id AND he.key = h.key,
    aliases t JOIN entities te ON te.id = t.entity_id AND te.key = t.key
WHERE he.id = :source AND te.id = :target
"""
_ENDS = f"""
SELECT id, from_entity_id, to_entity_id FROM entity_relations
WHERE chunk_id IS NULL AND id {_AMONG}
"""


def add_relations(
    connection: sqlite3.Connection, relations: Sequence[NewRelation]
) -> list[tuple[Relation, bool]]:
    """Write relations by hand; each as it is then, and whether it is new."""
    written = [_add_relation(connection, relation) for relation in relations]
    settle(connection, {relation.source_id for relation in relations})
    if relations:
        count_change(connection)
    found = read_relations_by_id(connection, [relation_id for relation_id, _ in written])
    return [(relation, new) for relation, (_, new) in zip(found, written, strict=True)]


def _add_relation(connection: sqlite3.Connection, relation: NewRelation) -> tuple[int, bool]:
    values = {
        "source": int(relation.source_id),
        "target": int(relation.target_id),
        "relation_type": relation.relation_type,
        "weight": relation.weight,
        "is_causal": relation.is_causal,
        "context": None if relation.context is None else json.dumps(dict(relation.context)),
        "valid_from": to_text(relation.valid_from),
        "valid_until": to_text(relation.valid_until),
        "moment": now(),
    }
    row = connection.execute(_SAME, values).fetchone()
    if row is not None:
        connection.execute(_UPDATE, {**values, "id": row[0]})
        return int(row[0]), False
    cursor = connection.execute(_INSERT, values)
    if cursor.rowcount == 0:
        raise unknown_entities(_missing(connection, [relation.source_id, relation.target_id]))
    assert cursor.lastrowid is not None  # an INSERT always sets it
    return cursor.lastrowid, True


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


def _missing(connection: sqlite3.Connection, entity_ids: Sequence[int]) -> list[int]:
    rows = connection.execute(
        f"SELECT id FROM entities WHERE id {_AMONG}", {"ids": id_list(entity_ids)}
    )
    known = {row[0] for row in rows}
    return [i for i in entity_ids if i not in known]


def unknown_entities(entity_ids: Sequence[int]) -> NotFoundError:
    """The error that says which entities there are not."""
    shown = ", ".join(str(i) for i in dict.fromkeys(entity_ids))
    return NotFoundError(
        f"no entity with the id {shown}; look its id up by its name (`clew entity show NAME`)"
    )
