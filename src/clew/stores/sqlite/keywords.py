"""BM25 in SQLite's FTS5, over terms that Clew has analysed itself.

The tokenizer is `ascii`: it splits at the spaces between terms and leaves every letter beyond
ASCII alone, so that terms of any script come back as they were given.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.sqlite.documents import id_list

if TYPE_CHECKING:
    from clew.types import Ids, Scores


def search(
    connection: sqlite3.Connection, terms: Sequence[str], limit: int, allowed: Ids | None
) -> tuple[Ids, Scores]:
    """Chunks that hold at least one term, best first, with BM25 above 0."""
    phrases = " OR ".join(_quoted(term) for term in dict.fromkeys(terms))
    values: list[str | int] = [phrases]
    among = ""
    if allowed is not None:
        # The plus keeps SQLite from running the whole query once for each rowid.
        among = "AND +rowid IN (SELECT value FROM json_each(?))"
        values.append(id_list(allowed))
    rows: list[tuple[int, float]] = []
    if phrases and limit > 0:
        sql = f"""
            SELECT rowid, -bm25(keywords) AS score FROM keywords WHERE keywords MATCH ? {among}
            ORDER BY score DESC, rowid LIMIT ?"""
        rows = connection.execute(sql, [*values, limit]).fetchall()
    return (
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.float32),
    )


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
