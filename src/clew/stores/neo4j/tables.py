"""The rows of `ports.copying` as nodes and relationships: how they come, change and go.

A row becomes the properties that `neo4j.schema` names. It is tied to what it names by id, which is
there already or comes in the same call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.ports.upkeep import SHAPES, Key, Table
from clew.ports.upkeep import Row as CopyingRow
from clew.ports.upkeep import Row as WholeRow
from clew.stores.state import COUNTER
from clew.stores.statements.documents import LONG

if TYPE_CHECKING:
    from clew.stores.backend import Row, Rows
    from clew.stores.neo4j.connection import Neo4jDatabase


AT_ONCE = 400
"""Rows of a query: some megabytes, where they hold long vectors."""
PATTERNS: Mapping[Table, str] = {
    "documents": "(n:ClewDocument {namespace: $namespace})",
    "versions": "(n:ClewVersion {namespace: $namespace})",
    "earlier": "(n:ClewEarlierText {namespace: $namespace})",
    "sections": "(n:ClewSection {namespace: $namespace})",
    "chunks": "(n:ClewChunk {namespace: $namespace})",
    "times": "(n:ClewTime {namespace: $namespace})",
    "entities": "(n:ClewEntity {namespace: $namespace})",
    "aliases": "(n:ClewAlias {namespace: $namespace})",
    "rules": "(n:ClewRule {namespace: $namespace})",
    "mentions": "()-[n:MENTIONS {namespace: $namespace}]->()",
    "relations": "()-[n:RELATES {namespace: $namespace}]->()",
    "extraction_log": "(n:ClewExtractionLog {namespace: $namespace})",
    "communities": "(n:ClewCommunity {namespace: $namespace})",
    "themes": "(n:ClewTheme {namespace: $namespace})",
    "topics": "(n:ClewTopic {namespace: $namespace})",
    "descriptions": "(n:ClewDescription {namespace: $namespace})",
    "partition": "(n:ClewPartition {namespace: $namespace})",
}
"""What holds the rows of each table, as `n`; those of `partition` are properties of one node.

In this order each finds what it is tied to."""
COUNTERS: Mapping[Table, str] = {
    "sections": "next_section",
    "chunks": "next_chunk",
    "entities": "next_entity",
    "aliases": "next_alias",
    "relations": "next_relation",
}
"""Where the namespace keeps the next id of each table; see `statements.copy.RESERVE_IDS`."""
# What is tied to something else; a row of another table is a node by itself.
_TIED: Mapping[Table, str] = {
    "sections": """
MATCH (d:ClewDocument {namespace: $namespace, id: row.document_id})
CREATE (n:ClewSection {namespace: $namespace})-[:PART_OF {namespace: $namespace}]->(d)
SET n += row
""",
    "chunks": """
MATCH (d:ClewDocument {namespace: $namespace, id: row.document_id})
MATCH (s:ClewSection {namespace: $namespace, id: row.section_id})
CREATE (n:ClewChunk:$($label) {namespace: $namespace})-[:PART_OF {namespace: $namespace}]->(d),
    (n)-[:IN_SECTION {namespace: $namespace}]->(s)
SET n += row
""",
    "times": f"""
MATCH (c:ClewChunk {{namespace: $namespace, id: row.chunk_id}})
CREATE (c)-[:AT {{namespace: $namespace}}]->(n:ClewTime {{namespace: $namespace}})
SET n += row, n.long = CASE WHEN row.start < row.end - {LONG} THEN true END
""",
    "entities": """
CREATE (n:ClewEntity {namespace: $namespace, content: '', tier: 'extracted'}) SET n += row
""",
    "aliases": """
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (:ClewAlias {
    namespace: $namespace, id: row.id, key: row.key, name: row.name, method: row.method,
    score: row.score, evidence: row.evidence, block: row.block, term: row.term
})-[:NAMES {namespace: $namespace}]->(e)
""",
    "mentions": """
MATCH (c:ClewChunk {namespace: $namespace, id: row.chunk_id})
MATCH (e:ClewEntity {namespace: $namespace, id: row.entity_id})
CREATE (c)-[:MENTIONS {
    namespace: $namespace, chunk_id: row.chunk_id, sentence: row.sentence, alias_id: row.alias_id,
    start: row.start, end: row.end, count: row.count
}]->(e)
""",
    "relations": """
MATCH (h:ClewEntity {namespace: $namespace, id: row.from_entity_id})
MATCH (t:ClewEntity {namespace: $namespace, id: row.to_entity_id})
CREATE (h)-[:RELATES {
    namespace: $namespace, id: row.id, from_alias_id: row.from_alias_id,
    to_alias_id: row.to_alias_id, relation_type: row.relation_type, weight: row.weight,
    is_causal: row.is_causal, confidence: row.confidence, context: row.context,
    valid_from: row.valid_from, valid_until: row.valid_until, stated_until: row.stated_until,
    recorded_at: row.recorded_at, retracted_at: row.retracted_at, chunk_id: row.chunk_id,
    sentence: row.sentence, extractor: row.extractor
}]->(t)
""",
    "partition": "MERGE (n:ClewPartition {namespace: $namespace}) SET n[row.name] = row.value",
}
INSERT = (
    # Weights first: the relations that come have theirs.
    f"CALL () {{UNWIND $changed.weights AS row MATCH {PATTERNS['relations']} WHERE n.id = row.id"
    " SET n.weight = row.weight}\n"
    + "".join(
        f"CALL () {{UNWIND $rows.{table} AS row"
        f" {_TIED.get(table) or f'CREATE {pattern} SET n += row'}}}\n"
        for table, pattern in PATTERNS.items()
    )
    + f"""{COUNTER}
SET s += $next_ids, s.generation = s.generation + $changes
"""
)
"""One query for all tables, though most calls bring rows of some, and all of them within one map:
the server plans a query again for lists of other lengths."""
REPLACE_PASSAGES = """
UNWIND $rows AS row
MATCH (c:ClewChunk {namespace: $namespace, id: row.id})
CALL (c, row) {
    MATCH (c)-[m:MENTIONS {namespace: $namespace}]->() SET m.chunk_id = row.new_id
}
CALL (row) {
    MATCH ()-[r:RELATES {namespace: $namespace, chunk_id: row.id}]->() SET r.chunk_id = row.new_id
}
CALL (c, row) {
    MATCH (c)-[:AT {namespace: $namespace}]->(t:ClewTime) SET t.chunk_id = row.new_id
}
SET c.id = row.new_id, c.context = row.context, c.terms = row.terms, c.vector = row.vector
WITH max(row.new_id) AS last, count(*) AS changed
MATCH (s:ClewStore {namespace: $namespace}) SET s.next_chunk = last + 1
RETURN changed
"""
_DELETE_DOCUMENTS = """
UNWIND $keys AS key
MATCH (d:ClewDocument {namespace: $namespace, id: key})
CALL (d) {
    MATCH (c:ClewChunk {namespace: $namespace, document_id: d.id})
    MATCH ()-[r:RELATES {namespace: $namespace, chunk_id: c.id}]->()
    DELETE r
}
CALL (d) {
    MATCH (c:ClewChunk {namespace: $namespace, document_id: d.id})
    OPTIONAL MATCH (c)-[:AT {namespace: $namespace}]->(t:ClewTime)
    DETACH DELETE t, c
}
CALL (d) {
    MATCH (n:ClewSection {namespace: $namespace, document_id: d.id})
    DETACH DELETE n
}
CALL (d) {
    MATCH (n:ClewDescription {namespace: $namespace})
    WHERE n.key IS NOT NULL AND n.documents CONTAINS d.id
    DELETE n
}
DETACH DELETE d
"""
_DELETE_ENTITIES = """
UNWIND $keys AS key
CALL (key) {
    MATCH (l:ClewExtractionLog {namespace: $namespace, entity_id: key})
    DELETE l
}
MATCH (n:ClewEntity {namespace: $namespace, id: key})
DETACH DELETE n
"""
_DELETE_PARTITION = """
UNWIND $keys AS key MATCH (p:ClewPartition {namespace: $namespace}) SET p[key] = null
"""
_DELETE: Mapping[Table, str] = {
    "documents": _DELETE_DOCUMENTS,
    "entities": _DELETE_ENTITIES,
    "partition": _DELETE_PARTITION,
}
_BYTES: Mapping[str, str] = {"vector": "<f4", "members": "<i8"}
_LISTS = ("entities", "entity_ids", "sources")
_FLOATS = ("weight", "confidence", "score")


# --- queries -----------------------------------------------------------------------------


def insertions(rows: Rows) -> Iterator[dict[str, Any]]:
    """Parameters `rows` and `next_ids` of `INSERT`, a bounded number of rows at a time."""
    part: dict[Table, list[dict[str, Any]]] = {}
    free, first = AT_ONCE, True
    next_ids = {
        name: max(row["id"] for row in rows[table]) + 1
        for table, name in COUNTERS.items()
        if rows.get(table)
    }
    for table in PATTERNS:
        left = rows.get(table, ())
        while left:
            part[table], left = [to_properties(table, row) for row in left[:free]], left[free:]
            free -= len(part[table])
            if not free:
                yield _parameters(part, next_ids)
                part, free, first = {}, AT_ONCE, False
    if part or first:  # without rows there is still something to count
        yield _parameters(part, next_ids)


def _parameters(
    part: Mapping[Table, list[dict[str, Any]]], next_ids: Mapping[str, int]
) -> dict[str, Any]:
    nothing: dict[Table, list[dict[str, Any]]] = {table: [] for table in PATTERNS}
    return {"rows": {**nothing, **part}, "next_ids": next_ids}


@cache
def update_query(table: Table) -> str:
    """Writes what each row of `$rows` holds, found by its key."""
    found = " AND ".join(f"n.{name} = row.{name}" for name in SHAPES[table].key)
    return f"UNWIND $rows AS row MATCH {PATTERNS[table]} WHERE {found} SET n += row"


@cache
def delete_query(table: Table) -> str:
    """Deletes what has one of `$keys`."""
    if table in _DELETE:
        return _DELETE[table]
    first, *others = (f"n.{name}" for name in SHAPES[table].key)
    tests = [f"{first} = key", *(f"{name} IS NOT NULL" for name in others)]
    detach = "DETACH" if PATTERNS[table].startswith("(n") else ""
    return (
        f"UNWIND $keys AS key MATCH {PATTERNS[table]} WHERE {' AND '.join(tests)} {detach} DELETE n"
    )


# --- properties and rows -----------------------------------------------------------------


def to_properties(table: Table, row: Row) -> dict[str, Any]:
    """A row, or a part of one, as properties."""
    values = dict(row)
    for name, kind in _BYTES.items():
        if isinstance(values.get(name), bytes):
            values[name] = np.frombuffer(values[name], dtype=kind).tolist()
    if table == "communities" and "embedding" in values:
        shown = values["embedding"] is not None  # what has no report has none of its parts
        values.update({name: json.loads(values[name]) if shown else None for name in _LISTS})
        values.update({name: values[name] if shown else None for name in ("title", "summary")})
    elif table == "topics":
        values["chunks"] = json.loads(values["chunks"])
    elif "is_causal" in values:
        values["is_causal"] = bool(values["is_causal"])
    return values


def to_row(table: Table, properties: Mapping[str, Any]) -> WholeRow:
    """Properties as a whole row."""
    values = dict(properties)
    for name, kind in _BYTES.items():
        if values.get(name) is not None:
            values[name] = np.array(values[name], dtype=kind).tobytes()
    if table == "communities":
        values.update({name: values.get(name, "") for name in ("title", "summary")})
        values.update({name: _to_json(values.get(name)) for name in _LISTS})
    elif table == "topics":
        values["chunks"] = json.dumps(values["chunks"], separators=(",", ":"))
    elif table == "relations":
        values["is_causal"] = int(values["is_causal"])
    values.update({name: float(values[name]) for name in _FLOATS if name in values})
    return {name: values.get(name) for name in SHAPES[table].columns}


def _to_json(values: Iterable[Any] | None) -> str:
    return json.dumps(list(values or ()), ensure_ascii=False)


# Whole tables of a namespace: the rows of `ports.copying` in pages, counted, and deleted.


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


def read_rows(
    database: Neo4jDatabase, table: Table, after: Key | None, limit: int
) -> list[CopyingRow]:
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


def _read_few(
    database: Neo4jDatabase, table: Table, after: Key | None, limit: int
) -> list[CopyingRow]:
    """The same of what there is little of, ordered here.

    The server orders names beyond the first 65,536 letters in one way where it sorts and in another
    one where it reads an index.
    """
    read = _read_partition if table == "partition" else _read_rules
    rows = {SHAPES[table].key_of(row): row for row in read(database)}
    return [rows[key] for key in sorted(rows) if after is None or key > after][:limit]


def _read_rules(database: Neo4jDatabase) -> list[CopyingRow]:
    query = f"MATCH {PATTERNS['rules']} WHERE {_has_key('rules')} RETURN properties(n)"
    return [to_row("rules", row[0]) for row in database.rows(query)]


def _read_partition(database: Neo4jDatabase) -> list[CopyingRow]:
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
