"""Entities and aliases: reading, and mending by hand.

What is done by hand is remembered in `link_rules`: each rule says that a key belongs to the group
named by its target key. Targets are always their own target, so that rules never chain.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from clew.stores.entities import EntityRow, to_entity
from clew.stores.prepare import ABOUT
from clew.stores.refusals import (
    half_without_source,
    merged_with_itself,
    missing_keys,
    name_of_another,
    unknown_entities,
    unusable_name,
)
from clew.stores.sqlite_documents import id_list
from clew.stores.sqlite_save import show_living_names
from clew.stores.sqlite_validity import heads_around, settle
from clew.text import entity_key
from clew.types import Alias, Entity

_ALIAS = "SELECT id, key, name, entity_id, method, score, evidence FROM aliases"
_ENTITY = f"""
SELECT e.id, e.name, e.key, e.entity_type, e.content, e.tier,
    (SELECT coalesce(sum(count), 0) FROM entity_mentions m
        WHERE m.entity_id = e.id AND m.sentence > {ABOUT}),
    (SELECT count(DISTINCT c.document_id) FROM entity_mentions m JOIN chunks c ON c.id = m.chunk_id
        WHERE m.entity_id = e.id)
FROM entities e WHERE e.id IN (SELECT value FROM json_each(?))
"""
_MOST_MENTIONED = f"""
SELECT coalesce(max(mentions), 0) FROM (
    SELECT sum(mentions) AS mentions FROM (
        SELECT alias_id, sum(count) AS mentions FROM mentions WHERE sentence > {ABOUT}
        GROUP BY alias_id) AS m JOIN aliases a ON a.id = m.alias_id GROUP BY a.entity_id)
"""
_FIND = """
SELECT entity_id FROM (
    SELECT entity_id, length(key) AS length,
        CASE WHEN key = ?1 THEN 0 WHEN substr(key, 1, length(?1)) = ?1 THEN 1 ELSE 2 END AS step
    FROM aliases WHERE instr(key, ?1) > 0)
GROUP BY entity_id ORDER BY min(step), min(length), entity_id LIMIT ?2
"""
_TAKE_OVER = """
UPDATE entities SET
    tier = CASE WHEN s.tier = 'manual' THEN s.tier ELSE entities.tier END,
    content = CASE WHEN entities.content = '' THEN s.content ELSE entities.content END
FROM (SELECT tier, content FROM entities WHERE id = :source) AS s WHERE entities.id = :target
"""
# What no text names is no source of an entity, unless a person made that.
_NAMED = """
SELECT 1 FROM aliases a WHERE a.key IN (SELECT value FROM json_each(?)) AND (
    a.id IN (SELECT id FROM used_aliases)
    OR EXISTS (SELECT 1 FROM entities e WHERE e.id = a.entity_id AND e.tier = 'manual'))
LIMIT 1
"""


# --- reading -----------------------------------------------------------------------------


def read_most_mentioned(connection: sqlite3.Connection) -> int:
    """Mentions of the most mentioned entity; reads all mentions."""
    return int(connection.execute(_MOST_MENTIONED).fetchone()[0])


def read_entities(
    connection: sqlite3.Connection, entity_ids: Sequence[int], most_mentioned: int
) -> list[Entity]:
    """Entities in the order of the ids; unknown ids are left out."""
    found = {
        row[0]: to_entity(EntityRow(*row), most_mentioned)
        for row in connection.execute(_ENTITY, (id_list(entity_ids),))
    }
    return [found[i] for i in map(int, entity_ids) if i in found]


def find_entity_ids(connection: sqlite3.Connection, name: str, limit: int) -> list[int]:
    """Exact key or alias first, then keys that begin with it, then keys that hold it."""
    key = entity_key(name)
    if not key:
        return []
    return [row[0] for row in connection.execute(_FIND, (key, limit))]


def resolve_keys(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, int]:
    """Entity id by key, for those keys that are an alias."""
    sql = "SELECT key, entity_id FROM aliases WHERE key IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, (json.dumps(list(keys)),)))


def read_aliases(connection: sqlite3.Connection, entity_id: int | None, after: int) -> list[Alias]:
    """Aliases of one entity, or of all, with an id above `after`; ordered by id."""
    one = "AND entity_id = ?" if entity_id is not None else ""
    values = (after,) if entity_id is None else (after, int(entity_id))
    rows = connection.execute(f"{_ALIAS} WHERE id > ? {one} ORDER BY id", values)
    return [
        Alias(id=i, key=key, name=name, entity_id=e, method=method, score=score, evidence=evidence)
        for i, key, name, e, method, score, evidence in rows
    ]


def read_entity_names(connection: sqlite3.Connection, entity_ids: Sequence[int]) -> dict[int, str]:
    """Name by id, of the entities that exist."""
    sql = "SELECT id, name FROM entities WHERE id IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, (id_list(entity_ids),)))


def read_entity_chunks(connection: sqlite3.Connection, entity_id: int) -> list[int]:
    """Sorted ids of the chunks that mention the entity or are about it."""
    sql = "SELECT DISTINCT chunk_id FROM entity_mentions WHERE entity_id = ? ORDER BY chunk_id"
    return [row[0] for row in connection.execute(sql, (int(entity_id),))]


def read_link_rules(connection: sqlite3.Connection) -> dict[str, str]:
    """Target key by key, for what was merged, split or renamed by hand."""
    return dict(connection.execute("SELECT key, target FROM link_rules ORDER BY key"))


# --- mending by hand ---------------------------------------------------------------------


def merge_entities(
    connection: sqlite3.Connection, source_id: int, target_id: int, evidence: str
) -> None:
    """Make every alias of the source an alias of the target, and remember it."""
    if source_id == target_id:
        raise merged_with_itself(source_id)
    keys = _keys_of(connection, source_id)
    _keys_of(connection, target_id)
    target = connection.execute("SELECT key FROM entities WHERE id = ?", (target_id,)).fetchone()[0]
    connection.execute(
        "UPDATE aliases SET entity_id = ?, method = 'manual', score = 1, evidence = ?"
        " WHERE entity_id = ?",
        (target_id, evidence, source_id),
    )
    connection.execute(_TAKE_OVER, {"source": source_id, "target": target_id})
    connection.execute("DELETE FROM entities WHERE id = ?", (source_id,))
    _remember(connection, keys, _group(connection, target))
    settle(connection, heads_around(connection, [target_id]))


def split_entity(connection: sqlite3.Connection, entity_id: int, keys: Sequence[str]) -> int:
    """Take aliases out into an entity of their own, and remember it; its id."""
    wanted, held = list(dict.fromkeys(keys)), _keys_of(connection, entity_id)
    missing = [key for key in wanted if key not in held]
    if missing or not wanted:
        raise missing_keys(entity_id, missing, held)
    left = [key for key in held if key not in wanted]
    for part in (wanted, left):
        _check_used(connection, part, held)
    new_id = _insert_part(connection, entity_id, wanted[0])
    connection.execute(
        "UPDATE aliases SET entity_id = ?, method = 'manual', score = 1,"
        " evidence = 'split by hand' WHERE key IN (SELECT value FROM json_each(?))",
        (new_id, json.dumps(wanted)),
    )
    show_living_names(connection, id_list([entity_id]))
    _remember_parts(connection, left, wanted)
    settle(connection, heads_around(connection, [entity_id, new_id]))
    return new_id


def rename_entity(connection: sqlite3.Connection, entity_id: int, name: str) -> None:
    """Show an entity under another name, which becomes one of its aliases, and remember it."""
    keys, key = _keys_of(connection, entity_id), entity_key(name)
    if not key:
        raise unusable_name(name)
    other = resolve_keys(connection, [key]).get(key, entity_id)
    if other != entity_id:
        raise name_of_another(name, other)
    if key not in keys:
        connection.execute(
            "INSERT INTO aliases (key, name, entity_id, method, score, evidence)"
            " VALUES (?, ?, ?, 'manual', 1, 'renamed by hand')",
            (key, name, entity_id),
        )
    connection.execute("UPDATE entities SET name = ?, key = ? WHERE id = ?", (name, key, entity_id))
    _remember(connection, keys, key)
    connection.execute("UPDATE link_rules SET name = ? WHERE key = ?", (name, key))


def _keys_of(connection: sqlite3.Connection, entity_id: int) -> list[str]:
    rows = connection.execute(
        "SELECT key FROM aliases WHERE entity_id = ? ORDER BY id", (int(entity_id),)
    )
    keys = [row[0] for row in rows]
    if not keys:
        raise unknown_entities([entity_id])
    return keys


def _check_used(connection: sqlite3.Connection, part: Sequence[str], held: Sequence[str]) -> None:
    """Refuse a half that no text names: it would be an entity without a source."""
    if connection.execute(_NAMED, (json.dumps(list(part)),)).fetchone() is None:
        raise half_without_source(part, held)


def _group(connection: sqlite3.Connection, key: str) -> str:
    row = connection.execute("SELECT target FROM link_rules WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else key


def _remember(connection: sqlite3.Connection, keys: Sequence[str], target: str) -> None:
    """Rule that the keys, and all that was ruled to belong to them, belong to the target."""
    connection.execute(
        "UPDATE link_rules SET target = ? WHERE target IN (SELECT value FROM json_each(?))",
        (target, json.dumps(list(keys))),
    )
    connection.executemany(
        "INSERT INTO link_rules (key, target) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET target = excluded.target",
        [(key, target) for key in [*keys, target]],
    )


def _remember_parts(
    connection: sqlite3.Connection, left: Sequence[str], parted: Sequence[str]
) -> None:
    """Rule two halves apart; names ruled into the whole earlier stay with what is left."""
    group = _group(connection, left[0])
    _remember(connection, [*parted, left[0]], left[0] if group in parted else group)
    connection.executemany(
        "UPDATE link_rules SET target = ? WHERE key = ?", [(parted[0], key) for key in parted]
    )


def _insert_part(connection: sqlite3.Connection, entity_id: int, key: str) -> int:
    """An entity named like the alias of that key, of the type of the entity it came from."""
    cursor = connection.execute(
        "INSERT INTO entities (name, key, entity_type, tier)"
        " SELECT a.name, a.key, e.entity_type, e.tier"
        " FROM aliases a JOIN entities e ON e.id = ?1 WHERE a.key = ?2",
        (int(entity_id), key),
    )
    assert cursor.lastrowid is not None  # an INSERT always sets it
    return cursor.lastrowid
