"""Documents of which nothing but the vectors is new: all that hangs on their passages stays.

What assistants found in a passage, what was retracted and how often it was used cannot be made
again from its text. The passages get new ids all the same: whatever was derived from the former
vectors goes by ids.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from clew.stores.documents.row_builder import PreparedDocument, Row
from clew.stores.documents.versions import extractor_of
from clew.stores.sqlite.tables import list_references
from clew.stores.statements.state import COUNT_CHANGE, NEXT_IDS, NextIds
from clew.stores.values import now


def differs_in_vectors_alone(connection: sqlite3.Connection, prepared: PreparedDocument) -> bool:
    """Whether the store holds this document with the same passages, read by the same extractor."""
    document = prepared.entry.document.id
    (pipeline_fingerprint,) = connection.execute(
        "SELECT recipe FROM documents WHERE id = ?", (document,)
    ).fetchone()
    return (
        extractor_of(pipeline_fingerprint) == extractor_of(prepared.entry.pipeline_fingerprint)
        and _holds(
            connection,
            "documents",
            [{**prepared.document, "recipe": pipeline_fingerprint}],
            document,
        )
        and _holds(connection, "sections", prepared.sections, document)
        and _holds(connection, "chunks", prepared.chunks, document)
    )


def _holds(
    connection: sqlite3.Connection, table: str, rows: Sequence[Row], document_id: str
) -> bool:
    """Whether these, and no others, are the document's rows, but for what they do not say."""
    names = list(rows[0]) if rows else ["ordinal"]
    columns = ", ".join(f'"{name}"' for name in names)
    by, order = ("id", "id") if table == "documents" else ("document_id", "ordinal")
    held = connection.execute(
        f"SELECT {columns} FROM {table} WHERE {by} = ? ORDER BY {order}", (document_id,)
    )
    return held.fetchall() == [tuple(row.values()) for row in rows]


def write_vectors(connection: sqlite3.Connection, prepared: PreparedDocument) -> None:
    """Give the document's passages new vectors and new ids; call inside a write transaction."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    document = prepared.entry.document.id
    free = NextIds(*connection.execute(NEXT_IDS.sql).fetchone()).chunks
    rows = connection.execute(
        "SELECT id FROM chunks WHERE document_id = ? ORDER BY ordinal", (document,)
    )
    moves = [(free + number, chunk_id) for number, (chunk_id,) in enumerate(rows)]
    pointing = [r for r in list_references(connection) if r.parent == "chunks"]
    for table, column in [("chunks", "id"), *((r.table, r.column) for r in pointing)]:
        connection.executemany(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", moves)
    connection.executemany("UPDATE keywords SET rowid = ? WHERE rowid = ?", moves)
    connection.executemany(
        "UPDATE embeddings SET vector = ?1, checksum = crc32(?1) WHERE chunk_id = ?2",
        [(row.tobytes(), new) for row, (new, _) in zip(prepared.vectors, moves, strict=True)],
    )
    connection.execute(
        "UPDATE sqlite_sequence SET seq = ? WHERE name = 'chunks'", (free + len(moves) - 1,)
    )
    connection.execute(
        "UPDATE documents SET recipe = ?, indexed_at = ? WHERE id = ?",
        (prepared.entry.pipeline_fingerprint, now(), document),
    )
    connection.execute(COUNT_CHANGE.sql, {"changes": 1, "moves": 0})
