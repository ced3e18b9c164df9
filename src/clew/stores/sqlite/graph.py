"""Entities and aliases: reading, and mending by hand, which `link_rules` remember."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from clew.stores.entities import EntityRow, to_entity
from clew.stores.entity_merge import HeldAlias, HeldEntity, joined_rules, part_names, parted_rules
from clew.stores.errors import (
    merged_with_itself,
    name_of_another,
    unknown_entities,
    unusable_name,
)
from clew.stores.row_builder import ABOUT
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.save import show_living_names
from clew.stores.sqlite.validity import heads_around, settle
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
_HELD = """
SELECT e.id, e.key, e.entity_type, e.tier, a.id, a.key, a.name,
    EXISTS (SELECT 1 FROM used_aliases u WHERE u.id = a.id)
FROM aliases a JOIN entities e ON e.id = a.entity_id WHERE e.id = ? ORDER BY a.id
"""
_RULES = """
SELECT key, target FROM link_rules
WHERE key IN (SELECT value FROM json_each(?1)) OR target IN (SELECT value FROM json_each(?1))
"""
_RULE = """
INSERT INTO link_rules (key, target) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET target = excluded.target
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
    source, target = _read_held(connection, source_id), _read_held(connection, target_id)
    connection.execute(
        "UPDATE aliases SET entity_id = ?, method = 'manual', score = 1, evidence = ?"
        " WHERE entity_id = ?",
        (target.id, evidence, source.id),
    )
    connection.execute(_TAKE_OVER, {"source": source.id, "target": target.id})
    connection.execute("DELETE FROM entities WHERE id = ?", (source.id,))
    rules = _read_rules(connection, [*source.keys, target.key])
    _write_rules(connection, joined_rules(rules, source.keys, rules.get(target.key, target.key)))
    settle(connection, heads_around(connection, [target.id]))


def split_entity(connection: sqlite3.Connection, entity_id: int, keys: Sequence[str]) -> int:
    """Take aliases out into an entity of their own, and remember it; its id."""
    held = _read_held(connection, entity_id)
    parted, left = part_names(held, keys)
    new_id = _insert_part(connection, held, parted[0])
    connection.execute(
        "UPDATE aliases SET entity_id = ?, method = 'manual', score = 1,"
        " evidence = 'split by hand' WHERE id IN (SELECT value FROM json_each(?))",
        (new_id, id_list(alias.id for alias in parted)),
    )
    show_living_names(connection, id_list([held.id]))
    rules = _read_rules(connection, held.keys)
    keys_parted, keys_left = [a.key for a in parted], [a.key for a in left]
    _write_rules(connection, parted_rules(rules, keys_parted, keys_left))
    settle(connection, heads_around(connection, [held.id, new_id]))
    return new_id


def rename_entity(connection: sqlite3.Connection, entity_id: int, name: str) -> None:
    """Show an entity under another name, which becomes one of its aliases, and remember it."""
    held, key = _read_held(connection, entity_id), entity_key(name)
    if not key:
        raise unusable_name(name)
    other = resolve_keys(connection, [key]).get(key, held.id)
    if other != held.id:
        raise name_of_another(name, other)
    if key not in held.keys:
        connection.execute(
            "INSERT INTO aliases (key, name, entity_id, method, score, evidence)"
            " VALUES (?, ?, ?, 'manual', 1, 'renamed by hand')",
            (key, name, held.id),
        )
    connection.execute("UPDATE entities SET name = ?, key = ? WHERE id = ?", (name, key, held.id))
    rules = _read_rules(connection, held.keys)
    _write_rules(connection, joined_rules(rules, held.keys, key))
    connection.execute("UPDATE link_rules SET name = ? WHERE key = ?", (name, key))


def _read_held(connection: sqlite3.Connection, entity_id: int) -> HeldEntity:
    rows = connection.execute(_HELD, (int(entity_id),)).fetchall()
    if not rows:
        raise unknown_entities([entity_id])
    aliases = [HeldAlias(i, key, name, bool(used)) for *_, i, key, name, used in rows]
    held_id, key, entity_type, tier, *_ = rows[0]
    return HeldEntity(held_id, key, entity_type, tier, aliases)


def _read_rules(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, str]:
    """Targets by key, of the rules that lead from or to some keys."""
    return dict(connection.execute(_RULES, (id_list(keys),)))


def _write_rules(connection: sqlite3.Connection, rules: Mapping[str, str]) -> None:
    connection.executemany(_RULE, rules.items())


def _insert_part(connection: sqlite3.Connection, held: HeldEntity, alias: HeldAlias) -> int:
    """An entity named like the alias, of the type of the entity it came from."""
    cursor = connection.execute(
        "INSERT INTO entities (name, key, entity_type, tier) VALUES (?, ?, ?, ?)",
        (alias.name, alias.key, held.entity_type, held.tier),
    )
    assert cursor.lastrowid is not None  # an INSERT always sets it
    return cursor.lastrowid
