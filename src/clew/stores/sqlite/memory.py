"""Entities made by hand, and what was told about them.

An entity made by hand (tier `manual`) needs no text: the names that it was given keep it.
An observation is a document of its own, so that several processes may tell something of one entity
at once without reading what is there: its origin is `memory:` and a key of the entity, which finds
it however the entity is merged or renamed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from clew.stores.errors import named_key, unknown_entities
from clew.stores.naming import Named
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.graph import split_entity
from clew.stores.sqlite.links import next_ids, resolve_names
from clew.stores.sqlite.save import count_change, delete_documents, sweep
from clew.stores.sqlite.written import delete_relations
from clew.types import NewEntity, Observation

_M005 = """
-- A name given by hand stays without a text: that of an entity made by hand by itself, that of
-- another as long as a text has another name of it.
DROP VIEW orphan_aliases;
CREATE VIEW orphan_aliases AS
    SELECT a.id, a.entity_id FROM aliases a
    WHERE NOT EXISTS (SELECT 1 FROM used_aliases u WHERE u.id = a.id)
        AND NOT (
            EXISTS (SELECT 1 FROM link_rules r WHERE r.key = a.key AND r.name <> '')
            AND EXISTS (SELECT 1 FROM used_aliases u WHERE u.entity_id = a.entity_id)
        )
        AND NOT (
            a.method = 'manual'
            AND EXISTS (SELECT 1 FROM entities e WHERE e.id = a.entity_id AND e.tier = 'manual')
        );

CREATE INDEX entities_by_hand ON entities (id) WHERE tier = 'manual';

-- Passages that an assistant has read for entities and relations.
CREATE TABLE readings (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    read_at TEXT NOT NULL
)
"""
_AMONG = "IN (SELECT value FROM json_each(:ids))"
_GUESSED = """
SELECT a.entity_id FROM aliases a
WHERE a.key = ? AND a.method = 'fuzzy'
    AND EXISTS (SELECT 1 FROM aliases b WHERE b.entity_id = a.entity_id AND b.id <> a.id)
"""
_MAKE = """
UPDATE entities SET tier = 'manual', name = :name, key = :key,
    entity_type = CASE WHEN :entity_type = 'name' THEN entity_type ELSE :entity_type END,
    content = CASE WHEN :content = '' THEN content ELSE :content END
WHERE id = :id
"""
_NAME_BY_HAND = """
UPDATE aliases SET name = ?, method = 'manual', score = 1, evidence = 'made by hand' WHERE key = ?
"""
_RELATIONS_OF = f"""
SELECT id FROM entity_relations
WHERE chunk_id IS NULL AND (from_entity_id {_AMONG} OR to_entity_id {_AMONG})
"""
_OBSERVATIONS = f"""
SELECT a.entity_id, d.id,
    (SELECT group_concat(text, '') FROM (
        SELECT s.text FROM sections s WHERE s.document_id = d.id ORDER BY s.ordinal)),
    (SELECT v.indexed_at FROM document_versions v
        WHERE v.document_id = d.id AND v.version = 1) AS told_at
FROM aliases a JOIN documents d ON d.origin = 'memory:' || a.key
WHERE a.entity_id {_AMONG} ORDER BY told_at, d.rowid
"""


def m005_memory(connection: sqlite3.Connection) -> None:
    """Entities made by hand, which no text needs to name; passages that an assistant has read."""
    for statement in _M005.split(";\n"):
        connection.execute(statement)


# --- entities ----------------------------------------------------------------------------


def add_entities(
    connection: sqlite3.Connection, entities: Sequence[NewEntity]
) -> list[tuple[int, bool]]:
    """Make entities by hand; (id, whether it was not made by hand before) of each, in order."""
    keys = [named_key(entity.name) for entity in entities]
    freed = _free_guesses(connection, keys)
    names: dict[str, Named] = {}
    for key, entity in zip(keys, entities, strict=True):
        names.setdefault(key, Named(name=entity.name, entity_type=entity.entity_type))
    ids = resolve_names(connection, names, (), next_ids(connection)).entity_ids
    made = set(read_manual(connection, ids=list(ids.values())))
    results = []
    for key, entity in zip(keys, entities, strict=True):
        entity_id = ids[key]
        results.append((entity_id, entity_id not in made))
        if entity_id not in made:
            made.add(entity_id)
            _make(connection, entity_id, key, entity)
    if any(new for _, new in results):
        count_change(connection, entities_moved=freed)
    return results


def _free_guesses(connection: sqlite3.Connection, keys: Sequence[str]) -> bool:
    """Who makes an entity says that its name is nobody else's: ties by likeness were wrong.

    Whether there were any.
    """
    freed = False
    for key in keys:
        guessed = connection.execute(_GUESSED, (key,)).fetchone()
        if guessed is not None:
            split_entity(connection, guessed[0], [key])
            freed = True
    return freed


def _make(connection: sqlite3.Connection, entity_id: int, key: str, entity: NewEntity) -> None:
    values = {"id": entity_id, "key": key, "name": entity.name, "content": entity.content}
    connection.execute(_MAKE, {**values, "entity_type": entity.entity_type})
    connection.execute(_NAME_BY_HAND, (entity.name, key))


def update_entity(
    connection: sqlite3.Connection,
    entity_id: int,
    entity_type: str | None,
    content: str | None,
) -> None:
    """Give an entity another type, another description or both."""
    changed = connection.execute(
        "UPDATE entities SET entity_type = coalesce(?, entity_type), content = coalesce(?, content)"
        " WHERE id = ?",
        (entity_type, content, int(entity_id)),
    )
    if changed.rowcount == 0:
        raise unknown_entities([entity_id])
    count_change(connection)


def delete_entities(connection: sqlite3.Connection, entity_ids: Sequence[int]) -> int:
    """Take back entities made by hand, with what was written of them; how many they were.

    What texts say of them stays, and so do those that a text names, as any entity does.
    """
    made = read_manual(connection, ids=entity_ids)
    values = {"ids": id_list(made)}
    told = [row[1] for row in connection.execute(_OBSERVATIONS, values)]
    delete_documents(connection, told)
    written = [row[0] for row in connection.execute(_RELATIONS_OF, values)]
    connection.execute(
        f"UPDATE entities SET tier = 'extracted', content = '' WHERE id {_AMONG}", values
    )
    delete_relations(connection, written)
    sweep(connection, made)
    if made:
        count_change(connection)
    return len(made)


def read_manual(
    connection: sqlite3.Connection,
    *,
    ids: Sequence[int] | None = None,
    after: int = 0,
    limit: int = -1,
) -> list[int]:
    """Ids of entities made by hand above `after`, among those given or of all; sorted."""
    among = f"AND id {_AMONG}" if ids is not None else ""
    rows = connection.execute(
        f"SELECT id FROM entities WHERE tier = 'manual' AND id > :after {among}"
        " ORDER BY id LIMIT :limit",
        {"ids": id_list(ids or ()), "after": after, "limit": limit},
    )
    return [row[0] for row in rows]


def read_observations(
    connection: sqlite3.Connection, entity_ids: Sequence[int]
) -> dict[int, list[Observation]]:
    """What was told of each entity, by id, oldest first; none for those without."""
    found: dict[int, list[Observation]] = {}
    rows = connection.execute(_OBSERVATIONS, {"ids": id_list(entity_ids)})
    for entity_id, document_id, text, _ in rows:
        told = Observation(document_id=document_id, text=text)
        found.setdefault(entity_id, []).append(told)
    return found


def orphan_observations(connection: sqlite3.Connection) -> Iterator[str]:
    """Sources of the observations whose entity is none that was made by hand."""
    rows = connection.execute(
        "SELECT d.source FROM documents d WHERE d.origin GLOB 'memory:*' AND NOT EXISTS"
        " (SELECT 1 FROM aliases a JOIN entities e ON e.id = a.entity_id"
        "  WHERE a.key = substr(d.origin, 8) AND e.tier = 'manual')"
    )
    return (row[0] for row in rows)


def keep_observed(connection: sqlite3.Connection) -> None:
    """Take every entity of which something was told for one made by hand."""
    connection.execute(
        "UPDATE entities SET tier = 'manual' WHERE id IN ("
        " SELECT a.entity_id FROM documents d JOIN aliases a ON a.key = substr(d.origin, 8)"
        " WHERE d.origin GLOB 'memory:*')"
    )
