"""Relations: writing and retracting them, reading them as they are or as they stood once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice

from clew.stores.lineage import extractor_of
from clew.stores.naming import ResolvedNames
from clew.stores.relations import (
    History,
    RelationRow,
    count_by_entity,
    document_rows,
    heads_of,
    holding,
    to_relation,
)
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.times import known_until
from clew.stores.sqlite.validity import ends_known_at, read_functional, settle
from clew.stores.validity import FOREVER
from clew.stores.values import now, to_text
from clew.types import IndexedDocument, Relation

_INSERT = """
INSERT INTO relations (id, from_alias_id, to_alias_id, relation_type, weight, is_causal, confidence,
    context, valid_from, valid_until, stated_until, recorded_at, retracted_at, chunk_id, sentence,
    extractor)
VALUES (:id, :from_alias_id, :to_alias_id, :relation_type, :weight, :is_causal, :confidence,
    :context, :valid_from, :valid_until, :stated_until, :recorded_at, :retracted_at, :chunk_id,
    :sentence, :extractor)
"""
_UPDATE = """
UPDATE relations SET weight = :weight, is_causal = :is_causal, confidence = :confidence,
    context = :context, valid_from = :valid_from, valid_until = :valid_until,
    stated_until = :stated_until, sentence = :sentence, extractor = :extractor
WHERE id = :id
"""
_HISTORY = """
SELECT h.key, r.relation_type, t.key, min(r.recorded_at),
    CASE WHEN count(r.retracted_at) = count(*) THEN max(r.retracted_at) END
FROM relations r
JOIN aliases h ON h.id = r.from_alias_id
JOIN aliases t ON t.id = r.to_alias_id
WHERE r.chunk_id IN (SELECT id FROM chunks WHERE document_id = ?)
GROUP BY 1, 2, 3
"""

_ROWS = """
SELECT r.id, h.entity_id, t.entity_id, r.from_alias_id, r.to_alias_id, r.relation_type, r.weight,
    r.is_causal, r.confidence, r.context, r.valid_from, r.valid_until, r.stated_until,
    r.recorded_at, r.retracted_at, r.chunk_id, r.sentence, r.extractor
FROM relations r
JOIN aliases h ON h.id = r.from_alias_id
JOIN aliases t ON t.id = r.to_alias_id
"""
_AMONG = "IN (SELECT value FROM json_each(:ids))"
# `known`: only what was recorded by then and not yet retracted. `held`: only what held then, as
# far as the text says; NULL for whenever.
_WHEN = """
r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known
AND (:held IS NULL OR
    coalesce(r.valid_from, '') <= :held AND coalesce(r.stated_until, '~') > :held)
"""
_OF_ENTITIES = f"""
SELECT r.id FROM relations r JOIN aliases a ON a.id = r.from_alias_id WHERE a.entity_id {_AMONG}
UNION SELECT r.id FROM relations r JOIN aliases a ON a.id = r.to_alias_id WHERE a.entity_id {_AMONG}
"""
_RELATIONS = f"""
{_ROWS} WHERE r.id IN ({_OF_ENTITIES}) AND {_WHEN} ORDER BY r.weight DESC, r.id LIMIT :limit
"""
_CHUNK_RELATIONS = f"""
{_ROWS} JOIN json_each(:ids) AS wanted ON wanted.value = r.chunk_id
WHERE {_WHEN} ORDER BY wanted.key, r.id LIMIT :limit
"""
_RELATIONS_BY_ID = f"""
{_ROWS} JOIN json_each(:ids) AS wanted ON wanted.value = r.id
WHERE {_WHEN} ORDER BY wanted.key LIMIT :limit
"""
_UNSTATED = f"""
{_ROWS} WHERE r.id IN ({_OF_ENTITIES}) AND r.chunk_id IS NULL AND r.retracted_at IS NULL
ORDER BY r.id
"""
_STATED_BY_CHUNKS = f"{_ROWS} WHERE r.chunk_id {_AMONG} ORDER BY r.id"
_RETRACT = """
UPDATE relations SET retracted_at = ?, valid_until = stated_until
WHERE retracted_at IS NULL AND id IN (SELECT value FROM json_each(?))
"""
_HEADS = """
SELECT DISTINCT a.entity_id FROM relations r JOIN aliases a ON a.id = r.from_alias_id
WHERE r.id IN (SELECT value FROM json_each(?))
"""


# --- writing -----------------------------------------------------------------------------


def read_history(connection: sqlite3.Connection, document_id: str) -> History:
    """What a document states now: a later version that still does states nothing new."""
    rows = connection.execute(_HISTORY, (document_id,))
    return {(head, kind, tail): when for head, kind, tail, *when in rows}


def write_relations(
    connection: sqlite3.Connection,
    entry: IndexedDocument,
    chunk_ids: Sequence[int],
    resolved: ResolvedNames,
    first_id: int,
    history: History,
) -> set[int]:
    """Write what a document states; the entities of which it states functional relations.

    What it stated before was known since then.
    """
    moment = now()
    rows = document_rows(
        entry,
        chunk_ids,
        resolved,
        first_id=first_id,
        history=history,
        moment=moment,
        extractor=extractor_of(entry.recipe),
    )
    insert_rows(connection, rows)
    log_reading(connection, count_by_entity(rows), moment)
    return heads_of(rows, read_functional(connection)) if rows else set()


def insert_rows(connection: sqlite3.Connection, rows: Iterable[RelationRow]) -> None:
    """Write new relations."""
    connection.executemany(_INSERT, [row._asdict() for row in rows])


def update_rows(connection: sqlite3.Connection, rows: Iterable[RelationRow]) -> None:
    """Write what is said of relations now; their ends and types stay."""
    connection.executemany(_UPDATE, [row._asdict() for row in rows])


def log_reading(connection: sqlite3.Connection, found: Mapping[int, int], moment: str) -> None:
    """Remember that entities were read for relations, and how many were found of each."""
    connection.executemany(
        "INSERT INTO relationship_extraction_log SELECT id, ?, ? FROM entities WHERE id = ?",
        [(count, moment, entity_id) for entity_id, count in found.items()],
    )


def retract_relations(connection: sqlite3.Connection, relation_ids: Sequence[int]) -> int:
    """Say that relations were wrong from now on; the number that were not retracted before."""
    ids = id_list(relation_ids)
    count = connection.execute(_RETRACT, (now(), ids)).rowcount
    settle(connection, {row[0] for row in connection.execute(_HEADS, (ids,))})
    return count


# --- reading -----------------------------------------------------------------------------


def read_relations(
    connection: sqlite3.Connection, entity_ids: Sequence[int], limit: int, as_of: datetime | None
) -> list[Relation]:
    """Relations that start or end at one of the entities; heaviest first, then by id."""
    return _read(connection, _RELATIONS, entity_ids, limit, as_of)


def read_chunk_relations(
    connection: sqlite3.Connection, chunk_ids: Sequence[int], as_of: datetime | None
) -> list[Relation]:
    """Relations that the chunks state, in the order of the ids given, then by id."""
    return _read(connection, _CHUNK_RELATIONS, chunk_ids, -1, as_of)


def read_relations_by_id(
    connection: sqlite3.Connection, relation_ids: Sequence[int]
) -> list[Relation]:
    """Relations in the order of the ids given; unknown and retracted ones are left out."""
    return _read(connection, _RELATIONS_BY_ID, relation_ids, -1, None)


def read_unstated_relations(
    connection: sqlite3.Connection, entity_ids: Sequence[int]
) -> list[Relation]:
    """Relations of the entities that no text states, those not retracted; by id."""
    return [to_relation(row) for row in read_unstated_rows(connection, entity_ids)]


def read_unstated_rows(
    connection: sqlite3.Connection, entity_ids: Iterable[int]
) -> list[RelationRow]:
    """What is written of the entities and not retracted; by id."""
    return _rows(connection, _UNSTATED, {"ids": id_list(entity_ids)})


def read_stated_rows(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> list[RelationRow]:
    """What the chunks state, retracted relations among it; by id."""
    return _rows(connection, _STATED_BY_CHUNKS, {"ids": id_list(chunk_ids)})


def _read(
    connection: sqlite3.Connection,
    sql: str,
    ids: Sequence[int],
    limit: int,
    as_of: datetime | None,
) -> list[Relation]:
    values = {"ids": id_list(ids), "limit": limit, "held": None, "known": FOREVER}
    if as_of is None:
        return [to_relation(row) for row in _rows(connection, sql, values)]
    known = known_until(connection, as_of) or FOREVER
    held = to_text(as_of) or FOREVER
    rows = _rows(connection, sql, {**values, "limit": -1, "held": held, "known": known})
    derived = ends_known_at(connection, {row.from_entity_id for row in rows}, known)
    found = (to_relation(row) for row in holding(rows, held, derived))
    return list(found if limit < 0 else islice(found, limit))


def _rows(
    connection: sqlite3.Connection, sql: str, values: Mapping[str, object]
) -> list[RelationRow]:
    return [RelationRow(*row) for row in connection.execute(sql, values)]
