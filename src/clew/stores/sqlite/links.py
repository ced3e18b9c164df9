"""Names in SQLite: what the store knows of those that are to be written, and writing them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from clew.stores.naming import (
    KnownAlias,
    KnownNames,
    Named,
    NamePlan,
    ResolvedNames,
    groups_asked,
    keys_asked,
    plan_names,
)
from clew.stores.sqlite.documents import id_list
from clew.types import AliasEvidence

_KNOWN = """
SELECT a.key, a.id, a.entity_id, a.method, e.entity_type,
    (SELECT count(*) FROM aliases b WHERE b.entity_id = a.entity_id)
FROM aliases a JOIN entities e ON e.id = a.entity_id
WHERE a.key IN (SELECT value FROM json_each(?))
"""
# A group of names ruled by hand is the key that its rules point at, and may outlive its entity.
_GROUPS = """
SELECT g.value, (
    SELECT entity_id FROM aliases
    WHERE key = g.value OR key IN (SELECT key FROM link_rules WHERE target = g.value)
    ORDER BY id LIMIT 1), (SELECT name FROM link_rules WHERE key = g.value)
FROM json_each(?) AS g
"""
_RULES = """
SELECT key, target FROM link_rules
WHERE key IN (SELECT value FROM json_each(?1)) OR target IN (SELECT value FROM json_each(?1))
"""
_MOVE = "UPDATE aliases SET entity_id = ?, method = ?, score = ?, evidence = ? WHERE id = ?"


def next_ids(connection: sqlite3.Connection) -> dict[str, int]:
    """First free id by table; ids are never used again."""
    rows = connection.execute("SELECT name, seq + 1 FROM sqlite_sequence")
    tables = ("sections", "chunks", "entities", "aliases", "relations")
    return {**dict.fromkeys(tables, 1), **dict(rows)}


def resolve_names(
    connection: sqlite3.Connection,
    names: Mapping[str, Named],
    links: Sequence[AliasEvidence],
    free: Mapping[str, int],
) -> ResolvedNames:
    """Give every key an alias, making entities and aliases as needed; call when writing."""
    known = _read_known(connection, names, links)
    plan = plan_names(names, links, known, next_entity=free["entities"], next_alias=free["aliases"])
    _write_plan(connection, plan)
    return plan.resolved


def _read_known(
    connection: sqlite3.Connection, names: Mapping[str, Named], links: Sequence[AliasEvidence]
) -> KnownNames:
    keys = id_list(keys_asked(names, links))
    aliases = {
        key: KnownAlias(id=i, entity_id=e, method=method, entity_type=entity_type, aliases=count)
        for key, i, e, method, entity_type, count in connection.execute(_KNOWN, (keys,))
    }
    # Most stores have no rules, and asking for these keys' costs more than asking for any.
    if connection.execute("SELECT 1 FROM link_rules LIMIT 1").fetchone() is None:
        return KnownNames(aliases=aliases)
    rules = dict(connection.execute(_RULES, (keys,)))
    groups = connection.execute(_GROUPS, (id_list(groups_asked(names, rules)),)).fetchall()
    return KnownNames(
        aliases=aliases,
        rules=rules,
        groups={group: entity_id for group, entity_id, _ in groups if entity_id is not None},
        given={group: name for group, _, name in groups if name},
    )


def _write_plan(connection: sqlite3.Connection, plan: NamePlan) -> None:
    connection.executemany(
        "INSERT INTO entities (id, name, key, entity_type) VALUES (?, ?, ?, ?)",
        [(e.id, e.name, e.key, e.entity_type) for e in plan.entities],
    )
    connection.executemany(
        "INSERT INTO aliases VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(a.id, a.key, a.name, a.entity_id, a.method, a.score, a.evidence) for a in plan.aliases],
    )
    connection.executemany(
        _MOVE, [(m.entity_id, m.method, m.score, m.evidence, m.id) for m in plan.moves]
    )
    connection.executemany(
        "UPDATE entities SET entity_type = ? WHERE id = ?",
        [(entity_type, entity_id) for entity_id, entity_type in plan.types.items()],
    )
