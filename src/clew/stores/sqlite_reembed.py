"""Another embedder for a store: all its vectors are replaced in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.sqlite_documents import id_list
from clew.stores.sqlite_save import count_change

if TYPE_CHECKING:
    from clew.stores.sqlite_connection import Database
    from clew.types import Ids, Vectors


def read_embedding_texts(database: Database, ids: Ids) -> list[str]:
    """What the embedder is to see of each chunk, by id; see `types.Chunk.embedding_text`."""
    sql = (
        "SELECT CASE context WHEN '' THEN text ELSE context || char(10) || text END FROM chunks"
        " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    )
    with database.read() as connection:
        return [row[0] for row in connection.execute(sql, (id_list(ids.tolist()),))]


def replace_embeddings(
    database: Database, embedder: tuple[str, int], ids: Ids, vectors: Sequence[Vectors]
) -> bool:
    """Put these in place of all vectors, and remember whose they are.

    `ids` are sorted, `vectors` theirs in pieces. False, and nothing changed, where the store holds
    other chunks by now.
    """
    with database.write() as connection:
        there = [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]
        if there != ids.tolist():
            return False
        connection.execute("DELETE FROM embeddings")
        rows = (row.tobytes() for piece in vectors for row in np.asarray(piece, dtype="<f4"))
        connection.executemany(
            "INSERT INTO embeddings VALUES (?, ?)", zip(there, rows, strict=True)
        )
        connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            zip(("embedder", "dimension"), embedder, strict=True),
        )
        count_change(connection)
        return True
