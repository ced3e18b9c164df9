"""Relations: writing and retracting them, reading them as they are or as they stood once."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from clew.stores.sqlite_documents import id_list, now, to_text, to_time
from clew.stores.sqlite_lineage import extractor_of
from clew.stores.sqlite_links import ResolvedNames
from clew.stores.sqlite_times import known_until
from clew.stores.sqlite_validity import FOREVER, ends_known_at, read_functional, settle
from clew.text import entity_key
from clew.types import ExtractedRelation, IndexedDocument, Relation

Row = dict[str, Any]
Statement = tuple[str, str, str]
"""(key of the head, relation type, key of the tail)"""
History = Mapping[Statement, tuple[str, str | None]]
"""(recorded_at, retracted_at) of what a document stated before."""

_TEXT_RELATION_WEIGHT = 0.5
_INSERT = """
INSERT INTO relations (id, from_alias_id, to_alias_id, relation_type, weight, is_causal, confidence,
    valid_from, valid_until, stated_until, recorded_at, retracted_at, chunk_id, sentence, extractor)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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

# `known`: only what was recorded by then and not yet retracted. `held`: only what held then, as
# far as the text says; NULL for whenever.
_WHEN = """
r.recorded_at <= :known AND coalesce(r.retracted_at, '~') > :known
AND (:held IS NULL OR
    coalesce(r.valid_from, '') <= :held AND coalesce(r.stated_until, '~') > :held)
"""
_RELATIONS = f"""
SELECT * FROM entity_relations r WHERE id IN (
    SELECT r.id FROM relations r JOIN aliases a ON a.id = r.from_alias_id
    WHERE a.entity_id IN (SELECT value FROM json_each(:ids))
    UNION SELECT r.id FROM relations r JOIN aliases a ON a.id = r.to_alias_id
    WHERE a.entity_id IN (SELECT value FROM json_each(:ids)))
AND {_WHEN} ORDER BY weight DESC, id LIMIT :limit
"""
_CHUNK_RELATIONS = f"""
SELECT r.* FROM json_each(:ids) AS wanted JOIN entity_relations r ON r.chunk_id = wanted.value
WHERE {_WHEN} ORDER BY wanted.key, r.id LIMIT :limit
"""
_RELATIONS_BY_ID = f"""
SELECT r.* FROM json_each(:ids) AS wanted JOIN entity_relations r ON r.id = wanted.value
WHERE {_WHEN} ORDER BY wanted.key LIMIT :limit
"""
_UNSTATED = """
SELECT * FROM entity_relations r
WHERE r.chunk_id IS NULL AND r.retracted_at IS NULL
    AND (r.from_entity_id IN (SELECT value FROM json_each(:ids))
        OR r.to_entity_id IN (SELECT value FROM json_each(:ids)))
ORDER BY r.id
"""
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
    moment, extractor = now(), extractor_of(entry.recipe)
    rows: list[tuple[object, ...]] = []
    found: Counter[int] = Counter()
    heads: dict[str, set[int]] = {}
    for chunk_id, relation in _stated(entry, chunk_ids):
        head, tail = entity_key(relation.head), entity_key(relation.tail)
        if not head or not tail:
            continue
        found.update({resolved.entity_ids[head], resolved.entity_ids[tail]})
        heads.setdefault(relation.relation_type, set()).add(resolved.entity_ids[head])
        aliases = (resolved.alias_ids[head], resolved.alias_ids[tail])
        recorded = history.get((head, relation.relation_type, tail), (moment, None))
        place = (chunk_id, relation.sentence, extractor)
        rows.append((first_id + len(rows), *aliases, *_values(relation), *recorded, *place))
    connection.executemany(_INSERT, rows)
    connection.executemany(
        "INSERT INTO relationship_extraction_log VALUES (?, ?, ?)",
        [(entity_id, count, moment) for entity_id, count in found.items()],
    )
    functional = read_functional(connection) if heads else ()
    return set().union(*(heads[kind] for kind in functional if kind in heads))


def _stated(
    entry: IndexedDocument, chunk_ids: Sequence[int]
) -> Iterator[tuple[int, ExtractedRelation]]:
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for relation in chunk.relations:
            yield chunk_id, relation


def _values(relation: ExtractedRelation) -> tuple[object, ...]:
    until = to_text(relation.valid_until)
    return (
        relation.relation_type,
        _TEXT_RELATION_WEIGHT,
        relation.is_causal,
        relation.confidence,
        to_text(relation.valid_from),
        until,
        until,
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
    values = {"ids": id_list(entity_ids)}
    return [_relation(row) for row in _rows(connection, _UNSTATED, values)]


def _read(
    connection: sqlite3.Connection,
    sql: str,
    ids: Sequence[int],
    limit: int,
    as_of: datetime | None,
) -> list[Relation]:
    values = {"ids": id_list(ids), "limit": limit, "held": None, "known": FOREVER}
    if as_of is None:
        return [_relation(row) for row in _rows(connection, sql, values)]
    known = known_until(connection, as_of) or FOREVER
    held = to_text(as_of)
    stated = _rows(connection, sql, {**values, "limit": -1, "held": held, "known": known})
    found = (_relation(row) for row in _holding(connection, stated, held or FOREVER, known))
    return list(found if limit < 0 else islice(found, limit))


def _rows(connection: sqlite3.Connection, sql: str, values: Row) -> list[Row]:
    rows = connection.execute(sql, values)
    names = [column[0] for column in rows.description]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _holding(
    connection: sqlite3.Connection, rows: Sequence[Row], held: str, known: str
) -> Iterator[Row]:
    """Those that no other fact had ended by then, with the end that was known."""
    derived = ends_known_at(connection, {row["from_entity_id"] for row in rows}, known)
    for row in rows:
        until = derived.get(row["id"], row["stated_until"])
        if until is None or until > held:
            yield {**row, "valid_until": until}


def _relation(row: Row) -> Relation:
    del row["stated_until"]
    times = ("valid_from", "valid_until", "retracted_at")
    return Relation(
        **{
            **row,
            **{name: to_time(row[name]) for name in times},
            "recorded_at": datetime.fromisoformat(row["recorded_at"]),
            "is_causal": bool(row["is_causal"]),
            "context": json.loads(row["context"]),
        }
    )
