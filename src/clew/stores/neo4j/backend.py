"""`stores.backend.Backend` on a namespace of a Neo4j database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.ports.upkeep import Key, Place, Table
from clew.ports.upkeep import Row as WholeRow
from clew.stores.backend import Found, Row, Rows, Statement
from clew.stores.neo4j import tables
from clew.stores.neo4j import tables as pages
from clew.stores.neo4j.connection import IdsUsedUpError, Neo4jDatabase
from clew.stores.neo4j.schema import (
    chunk_label,
    define_entity_vectors,
    define_vectors,
    entity_label,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Vectors


T = TypeVar("T")

_MOST = 1000
"""Rows of `execute_many` that a query takes."""


class Neo4jBackend:
    """A namespace of a Neo4j database; see `stores.backend.Backend`."""

    def __init__(self, database: Neo4jDatabase, folder: Path) -> None:
        """The database is closed with it; `folder` is on this machine."""
        self.database = database
        self.folder = folder
        self.worker_ids: Mapping[str, int] = {}
        """Up to where a worker's ids go, by the name of its counter; see `neo4j.workers`."""

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
        for part in tables.insertions(rows):
            if self.database.worker:
                self._check_ids(part["next_ids"])
            self.database.rows(tables.INSERT, **part, **with_first, label=label)
            with_first = {"changes": 0, "changed": {"weights": []}}

    def _check_ids(self, next_ids: Mapping[str, int]) -> None:
        for name, free in next_ids.items():
            if free > self.worker_ids[name]:
                raise IdsUsedUpError(f"{name} is {free}, beyond {self.worker_ids[name]}")

    def update(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        changed = [tables.to_properties(table, row) for row in rows]
        self._send(tables.update_query(table), changed)

    def replace_passages(self, rows: Sequence[Row]) -> None:
        """See `Backend`."""
        self._send(tables.REPLACE_PASSAGES, [tables.to_properties("chunks", row) for row in rows])

    def delete(self, table: Table, keys: Sequence[int] | Sequence[str]) -> None:
        """See `Backend`."""
        if keys:
            self.database.rows(tables.delete_query(table), keys=list(keys))

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """See `Backend`."""
        return pages.read_rows(self.database, table, after, limit)

    def count_rows(self, table: Table) -> int:
        """See `Backend`."""
        return pages.count_rows(self.database, table)

    def clear(self) -> None:
        """See `Backend`; a bounded number of rows in each transaction."""
        pages.clear(self.database)

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
# Entities of a declared type bear its label beside `ClewEntity`, and have its fields as
# properties:
# times as the server's `ZONED DATETIME`, days as its `DATE`. What relations state is a
# relationship
# of their type, one for each fact, beside `RELATES`, where the type is a plain word. Every entity
# has
# a vector, in an index: that of the passage that describes it, else that of its name. All of it
# is
# derived: what Clew asks never reads it, and it is brought up to date after every run that
# changes
# what is stored.


_LABEL = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")
_TYPE = "[a-z][a-z0-9_]{0,63}"
"""Relation types that are relationships of their own; Clew's own are in capitals."""
_OWN = frozenset(
    {"namespace", "id", "name", "key", "entity_type", "content", "tier", "vector", "vector_of"}
)
"""Properties of an entity that no field replaces."""
_AT_ONCE = 1000

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
    """See `ports.StoreUpkeep.publish`; names that are no plain words are left out."""
    label = entity_label(database.namespace)
    named = [[kind, label] for kind, label in labels.items() if _LABEL.fullmatch(label)]
    rows = [
        [*found, {name: value for name, value in values.items() if name not in _OWN}]
        for *found, values in properties
    ]

    def work() -> None:
        database.rows(_LABELS, labels=named)
        for first in range(0, len(rows), _AT_ONCE):
            database.rows(_PROPERTIES, rows=rows[first : first + _AT_ONCE], label=label)
        database.rows(_GONE, type=_TYPE)
        database.rows(_STATED, type=_TYPE)

    database.write(work)
    if embed is not None and dimension:
        define_entity_vectors(database, dimension)
        for found in _embedded(database, embed):
            database.write(partial(database.rows, _VECTORS, rows=found, label=label))


def _embedded(
    database: Neo4jDatabase, embed: Callable[[Sequence[str]], Vectors]
) -> Iterator[list[list[Any]]]:
    """Entities that lack a vector, with what it is of and the vector; no lock is held meanwhile."""
    after = 0
    while found := database.rows(_WITHOUT_VECTOR, after=after, limit=_AT_ONCE):
        vectors = embed([text for _, text in found]).tolist()
        yield [[*row, vector] for row, vector in zip(found, vectors, strict=True)]
        after = found[-1][0]
