"""What a copy writes beside the rows of tables."""

from __future__ import annotations

from clew.stores.backend import Statement

# Entities by the ids of their aliases. Columns: alias id, entity id.
ENTITIES_OF_ALIASES = Statement(
    "SELECT id, entity_id FROM aliases WHERE id IN (SELECT value FROM json_each(:ids))",
    """
UNWIND $ids AS id
MATCH (a:ClewAlias {namespace: $namespace, id: id})
    -[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
RETURN [id, e.id] AS row
""",
)
# Give no id again that was ever given. Rows: table, last (the highest id given, at least 1).
RESERVE_IDS = Statement(
    """
INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq) SELECT
    (SELECT rowid FROM sqlite_sequence WHERE name = :table), :table,
    max(:last, coalesce((SELECT seq FROM sqlite_sequence WHERE name = :table), 0))
""",
    """
UNWIND $rows AS row
WITH row.last + 1 AS free, {
    sections: 'next_section', chunks: 'next_chunk', entities: 'next_entity',
    aliases: 'next_alias', relations: 'next_relation'}[row.table] AS counter
MATCH (s:ClewStore {namespace: $namespace}) WHERE s[counter] < free
SET s[counter] = free
""",
)
FORGET_MARK = Statement(
    "DELETE FROM meta WHERE name = 'copying'",
    "MATCH (s:ClewStore {namespace: $namespace}) REMOVE s.copying",
)
