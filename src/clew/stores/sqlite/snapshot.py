"""Reading everything at once: what matrices and other derived structures are built from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import PassageRow, RelationRows
from clew.stores.snapshot_rows import merge_mentions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import Ids, Vectors


_RELATIONS = """
SELECT id, from_entity_id, to_entity_id, weight, coalesce(chunk_id, 0), coalesce(sentence, -1)
FROM entity_relations WHERE retracted_at IS NULL ORDER BY id
"""
_RELATION = np.dtype("i8, i8, i8, f4, i8, i8")


def read_number(connection: sqlite3.Connection, name: str) -> int:
    """A number of `meta`: `generation`, `epoch`, `dimension`; 0 where it is not set."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def read_chunk_ids(connection: sqlite3.Connection) -> Ids:
    """Ids of all chunks, sorted."""
    # Without ORDER BY, SQLite reads a small index in place of the table with its texts.
    return np.sort(_integers(connection.execute("SELECT id FROM chunks"), 1)[:, 0])


def read_passages(connection: sqlite3.Connection, after: int, limit: int) -> list[PassageRow]:
    """At most `limit` chunks with an id above `after`, by id."""
    rows = connection.execute(
        "SELECT id, document_id, ordinal, text, context, sentences FROM chunks"
        " WHERE id > ? ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [
        PassageRow(
            chunk_id=chunk_id,
            document_id=document_id,
            ordinal=ordinal,
            text=text,
            context=context,
            sentences=tuple((start, end) for start, end in json.loads(sentences)),
        )
        for chunk_id, document_id, ordinal, text, context, sentences in rows
    ]


def read_mention_rows(connection: sqlite3.Connection, after: int) -> NDArray[np.int64]:
    """(n, 4): chunk, sentence, entity, count; sorted, one row for each of the first three."""
    rows = _integers(
        connection.execute(
            "SELECT chunk_id, sentence, entity_id, count FROM entity_mentions WHERE chunk_id > ?",
            (after,),
        ),
        4,
    )
    return merge_mentions(rows)


def read_relation_rows(connection: sqlite3.Connection) -> RelationRows:
    """All relations that are not retracted, by id."""
    rows = np.fromiter(connection.execute(_RELATIONS), dtype=_RELATION)
    return RelationRows(*(np.ascontiguousarray(rows[name]) for name in _RELATION.names or ()))


def read_entities_of_type(connection: sqlite3.Connection, entity_type: str) -> Ids:
    """Ids of the entities of a type, sorted."""
    sql = "SELECT id FROM entities WHERE entity_type = ? ORDER BY id"
    return _integers(connection.execute(sql, (entity_type,)), 1)[:, 0]


def read_embeddings(connection: sqlite3.Connection, after: int) -> tuple[Ids, Vectors]:
    """Chunks with an id above `after`, by id, and their embeddings."""
    count = connection.execute(
        "SELECT count(*) FROM embeddings WHERE chunk_id > ?", (after,)
    ).fetchone()[0]
    ids = np.empty(count, dtype=np.int64)
    vectors = np.empty((count, read_number(connection, "dimension")), dtype=np.float32)
    rows = connection.execute(
        "SELECT chunk_id, vector FROM embeddings WHERE chunk_id > ? ORDER BY chunk_id", (after,)
    )
    for position, (chunk_id, vector) in enumerate(rows):
        ids[position] = chunk_id
        vectors[position] = np.frombuffer(vector, dtype="<f4")
    return ids, vectors


def _integers(rows: Iterator[tuple[int, ...]], width: int) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64).reshape(-1, width)
