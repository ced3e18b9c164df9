"""Whole tables of a namespace: the rows of `ports.copying` in pages, counted, and deleted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clew.ports.copying import SHAPES, Key, Row, Table
from clew.stores.neo4j.tables import PATTERNS, to_row

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase

_INDEXES: dict[Table, str] = {
    "documents": "ClewDocument(namespace, id)",
    "versions": "ClewVersion(namespace, document_id, version)",
    "earlier": "ClewEarlierText(namespace, document_id, version)",
    "sections": "ClewSection(namespace, id)",
    "chunks": "ClewChunk(namespace, id)",
    "times": "ClewTime(namespace, chunk_id)",
    "entities": "ClewEntity(namespace, id)",
    "aliases": "ClewAlias(namespace, id)",
    "mentions": "MENTIONS(namespace, chunk_id)",
    "relations": "RELATES(namespace, id)",
    "extraction_log": "ClewExtractionLog(namespace, entity_id)",
    "communities": "ClewCommunity(namespace, id)",
    "themes": "ClewTheme(namespace, number)",
    "topics": "ClewTopic(namespace, id)",
    "descriptions": "ClewDescription(namespace, key)",
}
"""Named in the query: where one namespace holds most of what there is, the server would else read
that of all namespaces."""
_PARTITION = "MATCH (p:ClewPartition {namespace: $namespace}) RETURN properties(p)"
_FORGET_PARTITION = "MATCH (p:ClewPartition {namespace: $namespace}) DELETE p"
_NAMED = """
MATCH (n)-[:NAMES {namespace: $namespace}]->(e:ClewEntity {namespace: $namespace})
RETURN n {.*, entity_id: e.id}
"""
_BUILT = "built"
_DELETED_AT_ONCE = 1000


def count_rows(database: Neo4jDatabase, table: Table) -> int:
    """Rows of a table."""
    if table == "partition":
        return len(_read_partition(database))
    # Of what has no number of its own, the same twice counts once.
    counted = f"DISTINCT [{', '.join(_key(table))}]" if table == "extraction_log" else "n"
    query = f"MATCH {PATTERNS[table]} WHERE {_has_key(table)} RETURN count({counted})"
    return int(database.value(query))


def read_rows(database: Neo4jDatabase, table: Table, after: Key | None, limit: int) -> list[Row]:
    """At most `limit` rows with a key above `after`, by key."""
    if table in ("rules", "partition"):
        return _read_few(database, table, after, limit)
    query = page_query(table, after)
    found = database.rows(query, key=list(after or ()), limit=limit)
    rows = [to_row(table, row[0]) for row in found]
    return list({SHAPES[table].key_of(row): row for row in rows}.values())


def page_query(table: Table, after: Key | None) -> str:
    """A query whose order is that of an index, so that no more than the page is read."""
    keys = _key(table)
    above = f"AND {keys[0]} >= $key[0] AND [{', '.join(keys)}] > $key" if after else ""
    index = f"USING INDEX SEEK n:{_INDEXES[table]}"
    matched = f"MATCH {PATTERNS[table]} {index} WHERE {_has_key(table)} {above}"
    order = f"ORDER BY {', '.join(['n.namespace', *keys])}"
    if table == "aliases":
        return f"{matched} WITH n {order} LIMIT $limit {_NAMED} {order}"
    return f"{matched} RETURN properties(n) {order} LIMIT $limit"


def _key(table: Table) -> list[str]:
    return [f"n.{name}" for name in SHAPES[table].key]


def _has_key(table: Table) -> str:
    """What makes the server look into an index: one of several properties has what has them all."""
    return " AND ".join(f"{name} IS NOT NULL" for name in _key(table))


def _read_few(database: Neo4jDatabase, table: Table, after: Key | None, limit: int) -> list[Row]:
    """The same of what there is little of, ordered here.

    The server orders names beyond the first 65,536 letters in one way where it sorts and in another
    one where it reads an index.
    """
    read = _read_partition if table == "partition" else _read_rules
    rows = {SHAPES[table].key_of(row): row for row in read(database)}
    return [rows[key] for key in sorted(rows) if after is None or key > after][:limit]


def _read_rules(database: Neo4jDatabase) -> list[Row]:
    query = f"MATCH {PATTERNS['rules']} WHERE {_has_key('rules')} RETURN properties(n)"
    return [to_row("rules", row[0]) for row in database.rows(query)]


def _read_partition(database: Neo4jDatabase) -> list[Row]:
    values = database.value(_PARTITION) or {}
    names = values.keys() - {"namespace", _BUILT}
    return [{"name": name, "value": values[name]} for name in names]


def clear(database: Neo4jDatabase) -> None:
    """Delete all rows, a bounded number in each transaction."""
    for table in reversed(list(PATTERNS)[:-1]):  # the last one is the partition
        pattern = PATTERNS[table]
        query = (
            f"MATCH {pattern} WHERE {_has_key(table)} WITH n LIMIT {_DELETED_AT_ONCE}"
            f" {'DETACH' if pattern.startswith('(n') else ''} DELETE n RETURN count(*)"
        )
        delete = partial(database.value, query)
        while database.write(delete):
            pass
    database.write(lambda: database.rows(_FORGET_PARTITION))
