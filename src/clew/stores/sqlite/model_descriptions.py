"""The table of what a language model says of what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.stores.communities.rows import former_reports

if TYPE_CHECKING:
    import sqlite3

# What a language model says, by `kind:identity`; lists are JSON.
_M020 = """
CREATE TABLE descriptions (
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    sources TEXT NOT NULL,
    documents TEXT NOT NULL,
    basis TEXT NOT NULL,
    reason TEXT NOT NULL
) WITHOUT ROWID
"""


def m020_model_descriptions(connection: sqlite3.Connection) -> None:
    """What language models say of what is stored; reports are the texts' own again.

    The model's replies are kept: writing its reports again asks nothing.
    """
    connection.execute(_M020)
    found = connection.execute("SELECT value FROM partition_state WHERE name = 'summaries'")
    for (summaries,) in found.fetchall():
        connection.executemany(
            "UPDATE communities SET title = :title, summary = :summary WHERE id = :id",
            former_reports(summaries),
        )
    connection.execute("DELETE FROM partition_state WHERE name = 'summaries'")
