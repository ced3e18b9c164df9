"""How many rows a query takes and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.stores.neo4j.connection import Neo4jDatabase, Row

_MOST = 1000


def at_most(limit: int) -> int:
    """A number of rows for `LIMIT`, which knows no -1 for all."""
    return limit if limit >= 0 else 2**31 - 1


def send_rows(
    database: Neo4jDatabase, query: str, rows: Sequence[object], **values: object
) -> list[Row]:
    """What a query that begins with `UNWIND $rows` returns for the rows; none for no rows."""
    found: list[Row] = []
    for first in range(0, len(rows), _MOST):
        found += database.rows(query, rows=rows[first : first + _MOST], **values)
    return found
