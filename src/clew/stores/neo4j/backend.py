"""`stores.backend.Backend` on a namespace of a Neo4j database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.ports.copying import Key, Place, Table
from clew.ports.copying import Row as WholeRow
from clew.stores.backend import Found, Row, Rows, Statement
from clew.stores.neo4j import pages, tables
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.neo4j.errors import IdsUsedUpError
from clew.stores.neo4j.schema import chunk_label, define_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
