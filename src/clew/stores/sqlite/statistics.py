"""Counts of what a store holds."""

from __future__ import annotations

import sqlite3
from typing import Any

from clew.stores.values import now

_ENDED = """
SELECT (SELECT count(*) FROM relations WHERE retracted_at IS NOT NULL)
    + (SELECT count(*) FROM relations WHERE valid_until <= ? AND retracted_at IS NULL)
"""
_BY_TYPE = """
SELECT relation_type, count(*) AS n, sum(is_causal) FROM relations WHERE retracted_at IS NULL
GROUP BY 1 ORDER BY n DESC, 1
"""
_TABLES = ("documents", "sections", "chunks", "entities", "aliases", "relations")


def read_embedder(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Name and dimension of the embedder, once one is known."""
    meta = dict(
        connection.execute("SELECT name, value FROM meta WHERE name IN ('embedder', 'dimension')")
    )
    return (str(meta["embedder"]), int(meta["dimension"])) if len(meta) == 2 else None


def read_relation_counts(connection: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """(type, relations, causal ones among them) of what is not retracted; most first."""
    return list(connection.execute(_BY_TYPE))


def read_statistics(connection: sqlite3.Connection) -> dict[str, Any]:
    """Counts by table, relation types, embedder and generation.

    `relations_ended` are those of all relations that hold no more or were retracted.
    """

    def number(sql: str, *values: str) -> int:
        return int(connection.execute(sql, values).fetchone()[0])

    embedder = read_embedder(connection)
    types = "SELECT relation_type, count(*) AS n FROM relations GROUP BY 1 ORDER BY n DESC, 1"
    return {
        **{table: number(f"SELECT count(*) FROM {table}") for table in _TABLES},
        "sentences": number("SELECT coalesce(sum(json_array_length(sentences)), 0) FROM chunks"),
        "mentions": number("SELECT coalesce(sum(count), 0) FROM mentions WHERE sentence >= 0"),
        "relations_ended": number(_ENDED, now()),
        "relation_types": dict(connection.execute(types)),
        "embedder": {"name": embedder[0], "dimension": embedder[1]} if embedder else None,
        "generation": number("SELECT value FROM meta WHERE name = 'generation'"),
    }
