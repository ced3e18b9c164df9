"""A store's database in a namespace of Neo4j: transactions, statements, and its rows as a graph.

A row becomes the properties that `neo4j.connection` names. It is tied to what it names by id, which
is there already or comes in the same call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew.plugins.neo4j.connection import (
    IdsUsedUpError,
    Neo4jDatabase,
    chunk_label,
    define_entity_vectors,
    define_vectors,
    entity_label,
)
from clew.stores.backend import SHAPES, Found, Key, Place, Row, Rows, Statement, Table, WholeRow
from clew.stores.state import COUNTER
from clew.stores.statements.documents import LONG
from clew.types import Vectors

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
    next_ids = {
        name: max(row["id"] for row in rows[table]) + 1
        for table, name in COUNTERS.items()
        if rows.get(table)
    }
    every = [(table, row) for table in PATTERNS for row in rows.get(table, ())]
    # Without rows there is still something to count.
    for first in range(0, max(len(every), 1), AT_ONCE):
        part: dict[Table, list[dict[str, Any]]] = {table: [] for table in PATTERNS}
        for table, row in every[first : first + AT_ONCE]:
            part[table].append(to_properties(table, row))
        yield {"rows": part, "next_ids": next_ids}


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
        lists = {name: list(values.get(name) or ()) for name in _LISTS}
        values |= {name: json.dumps(held, ensure_ascii=False) for name, held in lists.items()}
    elif table == "topics":
        values["chunks"] = json.dumps(values["chunks"], separators=(",", ":"))
    elif table == "relations":
        values["is_causal"] = int(values["is_causal"])
    values.update({name: float(values[name]) for name in _FLOATS if name in values})
    return {name: values.get(name) for name in SHAPES[table].columns}


# Whole tables of a namespace: their rows in pages, counted, and deleted.


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


T = TypeVar("T")

_MOST = 1000
"""Rows that a query changes or deletes."""


class Neo4jBackend:
    """A namespace of a Neo4j database; see `stores.backend.Backend`."""

    def __init__(self, database: Neo4jDatabase, folder: Path) -> None:
        """The database is closed with it; `folder` is on this machine."""
        self.database = database
        self.folder = folder
        self.worker_ids: Mapping[str, int] = {}
        """Up to where a worker's ids go, by the name of its counter; see `neo4j.store`."""

    @property
    def place(self) -> Place:
        """See `Backend`."""
        return Place(self.database.address, self.database.namespace)

    # --- transactions

    @property
    def read_only(self) -> bool:
        """See `Backend`."""
        return False

    def writable(self) -> Neo4jBackend:
        """See `Backend`."""
        return self

    def write(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """See `Backend`; called again where the server failed for a reason that passes."""
        return self.database.write(work)

    def batch(self) -> AbstractContextManager[None]:
        """See `Backend`."""
        return self.database.batch()

    def grouping(self) -> AbstractContextManager[None]:
        """See `Backend`: the server syncs as it is set to."""
        return nullcontext()

    def reading(self) -> AbstractContextManager[None]:
        """See `Backend`; writers of the namespace wait meanwhile."""
        return self.database.reading()

    def consistent(self) -> AbstractContextManager[None]:
        """See `Backend`: here it would keep writers waiting."""
        return nullcontext()

    # --- statements

    def rows(self, statement: Statement, **parameters: object) -> Found:
        """See `Backend`."""
        return [row[0] for row in self.database.rows(statement.cypher, **parameters)]

    def gather(self, *statements: Statement, **parameters: object) -> list[Found]:
        """See `Backend`; all rows come in one, since a row of the driver's costs many values."""
        return self.database.rows(_gathered(statements), **parameters)[0]

    def columns(
        self, statement: Statement, types: Sequence[str], **parameters: object
    ) -> list[NDArray[Any]]:
        """See `Backend`."""
        (found,) = self.database.rows(statement.cypher, **parameters)
        return [np.array(column, dtype=type_) for column, type_ in zip(found, types, strict=True)]

    def execute(self, *statements: Statement, **parameters: object) -> None:
        """See `Backend`."""
        self.database.rows(_in_turn(statements), **parameters)

    def execute_many(self, statement: Statement, rows: Sequence[Row]) -> int:
        """See `Backend`."""
        return self._send(statement.cypher, rows)

    def _send(self, query: str, rows: Sequence[Row]) -> int:
        changed = 0
        for first in range(0, len(rows), _MOST):
            found = self.database.rows(query, rows=rows[first : first + _MOST])
            changed += sum(row[0] for row in found)
        return changed

    # --- tables

    def insert(self, rows: Rows, *, changes: int = 0, weights: Sequence[Row] = ()) -> None:
        """See `Backend`."""
        if not (changes or weights or any(rows.values())):
            return
        with_first = {"changes": changes, "changed": {"weights": list(weights)}}
        label = chunk_label(self.database.namespace).strip("`")
        if self.database.worker:  # in one order, whoever inserts
            rows = {**rows, "aliases": sorted(rows.get("aliases", ()), key=itemgetter("key"))}
        for part in insertions(rows):
            if self.database.worker:
                self._check_ids(part["next_ids"])
            self.database.rows(INSERT, **part, **with_first, label=label)
            with_first = {"changes": 0, "changed": {"weights": []}}

    def _check_ids(self, next_ids: Mapping[str, int]) -> None:
        for name, free in next_ids.items():
            if free > self.worker_ids[name]:
                raise IdsUsedUpError(f"{name} is {free}, beyond {self.worker_ids[name]}")

    def update(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        changed = [to_properties(table, row) for row in rows]
        found = " AND ".join(f"n.{name} = row.{name}" for name in SHAPES[table].key)
        self._send(
            f"UNWIND $rows AS row MATCH {PATTERNS[table]} WHERE {found} SET n += row", changed
        )

    def replace_passages(self, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        self._send(REPLACE_PASSAGES, [to_properties("chunks", row) for row in rows])

    def delete(self, table: Table, keys: Sequence[int] | Sequence[str]) -> None:
        """See `Backend`."""
        if keys:
            first, *others = _key(table)
            tests = [f"{first} = key", *(f"{name} IS NOT NULL" for name in others)]
            detach = "DETACH" if PATTERNS[table].startswith("(n") else ""
            query = (
                f"UNWIND $keys AS key MATCH {PATTERNS[table]} WHERE {' AND '.join(tests)}"
                f" {detach} DELETE n"
            )
            self.database.rows(_DELETE.get(table, query), keys=list(keys))

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """See `Backend`."""
        if table in ("rules", "partition"):
            return self._read_few(table, after, limit)
        found = self.database.rows(page_query(table, after), key=list(after or ()), limit=limit)
        rows = [to_row(table, row[0]) for row in found]
        return list({SHAPES[table].key_of(row): row for row in rows}.values())

    def _read_few(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """The same of what there is little of, ordered here.

        The server orders names beyond the first 65,536 letters in one way where it sorts and in
        another one where it reads an index.
        """
        if table == "partition":
            rows = self._partition()
        else:
            query = f"MATCH {PATTERNS[table]} WHERE {_has_key(table)} RETURN properties(n)"
            rows = [to_row(table, row[0]) for row in self.database.rows(query)]
        by_key = {SHAPES[table].key_of(row): row for row in rows}
        return [by_key[key] for key in sorted(by_key) if after is None or key > after][:limit]

    def _partition(self) -> list[WholeRow]:
        values = self.database.value(_PARTITION) or {}
        names = values.keys() - {"namespace", "built"}
        return [{"name": name, "value": values[name]} for name in names]

    def count_rows(self, table: Table) -> int:
        """See `Backend`."""
        if table == "partition":
            return len(self._partition())
        # Of what has no number of its own, the same twice counts once.
        counted = f"DISTINCT [{', '.join(_key(table))}]" if table == "extraction_log" else "n"
        query = f"MATCH {PATTERNS[table]} WHERE {_has_key(table)} RETURN count({counted})"
        return int(self.database.value(query))

    def clear(self) -> None:
        """See `Backend`; a bounded number of rows in each transaction."""
        for table in reversed(list(PATTERNS)[:-1]):  # the last one is the partition
            pattern = PATTERNS[table]
            query = (
                f"MATCH {pattern} WHERE {_has_key(table)} WITH n LIMIT {_MOST}"
                f" {'DETACH' if pattern.startswith('(n') else ''} DELETE n RETURN count(*)"
            )
            delete = partial(self.database.value, query)
            while self.database.write(delete):
                pass
        self.database.write(lambda: self.database.rows(_FORGET_PARTITION))

    def define_vectors(self, dimension: int) -> None:
        """See `Backend`: the namespace's vector index."""
        define_vectors(self.database, dimension)

    def close(self) -> None:
        """See `Backend`."""
        self.database.close()


@cache
def _gathered(statements: tuple[Statement, ...]) -> str:
    calls = (
        f"CALL () {{\nCALL () {{{statement.cypher}}}\nRETURN collect(row) AS rows{i}\n}}\n"
        for i, statement in enumerate(statements)
    )
    return f"{''.join(calls)}RETURN {', '.join(f'rows{i}' for i in range(len(statements)))}"


@cache
def _in_turn(statements: tuple[Statement, ...]) -> str:
    if len(statements) == 1:
        return statements[0].cypher
    return "".join(f"CALL () {{{statement.cypher}}}\n" for statement in statements)


# Declared types in the server's own terms, for people's own Cypher and for Bloom.
#
# Entities of a declared type bear its label beside `ClewEntity`, and have its fields as properties:
# times as the server's `ZONED DATETIME`, days as its `DATE`. What relations state is a relationship
# of their type, one for each fact, beside `RELATES`, where the type is a plain word. Every entity
# has a vector, in an index: that of the passage that describes it, else that of its name. All of it
# is derived: what Clew asks never reads it, and it is brought up to date after every run that
# changes what is stored.


_LABEL = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_TYPE = "[a-z][a-z0-9_]{0,63}"
"""Relation types that are relationships of their own; Clew's own are in capitals."""
_OWN = frozenset(
    {"namespace", "id", "name", "key", "entity_type", "content", "tier", "vector", "vector_of"}
)
"""Properties of an entity that no field replaces."""

_LABELS = """
UNWIND $labels AS kind
CALL (kind) {
    MATCH (e:ClewEntity {namespace: $namespace, entity_type: kind[0]})
    WHERE NOT kind[1] IN labels(e)
    SET e:$(kind[1])
}
CALL (kind) {
    MATCH (e:ClewEntity:$(kind[1]) {namespace: $namespace}) WHERE e.entity_type <> kind[0]
    REMOVE e:$(kind[1])
}
"""
_PROPERTIES = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, key: row[0], entity_type: row[1]})
SET e += row[3]
WITH e, row
MATCH (c:ClewChunk {namespace: $namespace, document_id: row[2], ordinal: 0})
WHERE c.vector IS NOT NULL AND NOT coalesce(e.vector_of, '') = 'passage ' + c.id
SET e:$($label), e.vector = c.vector, e.vector_of = 'passage ' + c.id
"""
_WITHOUT_VECTOR = """
MATCH (e:ClewEntity {namespace: $namespace}) WHERE e.id > $after
WITH e, e.name + CASE e.content WHEN '' THEN '' ELSE ': ' + e.content END AS text
WHERE e.vector IS NULL OR NOT e.vector_of STARTS WITH 'passage ' AND e.vector_of <> 'name ' + text
RETURN e.id, text ORDER BY e.id LIMIT $limit
"""
_VECTORS = """
UNWIND $rows AS row
MATCH (e:ClewEntity {namespace: $namespace, id: row[0]})
SET e:$($label), e.vector_of = 'name ' + row[1], e.vector = row[2]
"""
_GONE = """
MATCH (h:ClewEntity {namespace: $namespace})-[x {namespace: $namespace}]->(t:ClewEntity)
WHERE type(x) =~ $type AND NOT EXISTS {
    MATCH (h)-[r:RELATES {namespace: $namespace, relation_type: type(x)}]->(t)
    WHERE r.retracted_at IS NULL }
DELETE x
"""
_STATED = """
MATCH (h:ClewEntity {namespace: $namespace})-[r:RELATES {namespace: $namespace}]->(t)
WHERE r.retracted_at IS NULL AND r.relation_type =~ $type
WITH r.relation_type AS type, h, t, max(r.weight) AS weight, min(r.valid_from) AS valid_from,
    CASE WHEN count(r.valid_until) = count(r) THEN max(r.valid_until) END AS valid_until
MERGE (h)-[x:$(type) {namespace: $namespace}]->(t)
SET x.weight = weight, x.valid_from = datetime(valid_from), x.valid_until = datetime(valid_until)
"""


def publish(
    database: Neo4jDatabase,
    labels: Mapping[str, str],
    properties: Sequence[tuple[str, str, str, Mapping[str, Any]]],
    embed: Callable[[Sequence[str]], Vectors] | None,
    dimension: int,
) -> None:
    """Show the graph in the server's own terms; names that are no plain words are left out."""
    label = entity_label(database.namespace)
    named = [[kind, label] for kind, label in labels.items() if _LABEL.fullmatch(label)]
    rows = [
        [*found, {name: value for name, value in values.items() if name not in _OWN}]
        for *found, values in properties
    ]

    def work() -> None:
        database.rows(_LABELS, labels=named)
        for first in range(0, len(rows), _MOST):
            database.rows(_PROPERTIES, rows=rows[first : first + _MOST], label=label)
        database.rows(_GONE, type=_TYPE)
        database.rows(_STATED, type=_TYPE)

    database.write(work)
    if embed is not None and dimension:
        define_entity_vectors(database, dimension)
        after = 0
        while found := database.rows(_WITHOUT_VECTOR, after=after, limit=_MOST):
            vectors = embed([text for _, text in found]).tolist()  # no lock is held meanwhile
            made = [[*row, vector] for row, vector in zip(found, vectors, strict=True)]
            database.write(partial(database.rows, _VECTORS, rows=made, label=label))
            after = found[-1][0]
