"""Searching a SQLite file: by words, by metadata, and the embeddings that a matrix is made of.

Words: BM25 in FTS5, over terms that Clew has analysed itself. The tokenizer is `ascii`: it splits
at the spaces between terms and leaves every letter beyond ASCII alone, so that terms of any script
come back as they were given.

Metadata: names and values are bound, never written into the statement. SQL finds the value that a
condition asks about, as JSON text; how two values compare (numbers, times, text, lists) is decided
in `metadata.meets`, which SQL calls.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.documents.metadata import COLUMNS, FIELDS, field_value, meets, wanted
from clew.stores.sqlite.backend import SqliteBackend, damaged_embedding
from clew.stores.store import Store
from clew.types import Condition

if TYPE_CHECKING:
    from clew.types import Ids, Scores, Vectors

# JSON text of one metadata value; NULL where it is missing or null.
_FROM_METADATA = """(
    SELECT CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
        WHEN 'array' THEN value WHEN 'object' THEN value ELSE json_quote(value) END
    FROM json_each({table}.metadata) WHERE key = ? AND type <> 'null')"""

_METADATA_NAMES = """
SELECT name.key FROM documents, json_each(documents.metadata) name
UNION SELECT name.key FROM chunks, json_each(chunks.metadata) name WHERE chunks.metadata <> '{}'
"""


def define_functions(connection: sqlite3.Connection) -> None:
    """Give SQL `meets(value, operator, wanted)` and `field_value(name, columns…)`."""
    connection.create_function("meets", 3, meets, deterministic=True)
    connection.create_function("field_value", 1 + len(COLUMNS), field_value, deterministic=True)


class SqliteSearch(Store):
    """What a store in a SQLite file searches in a way of its own."""

    backend: SqliteBackend

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """See `ports.KeywordIndex`."""
        phrases = " OR ".join(_quoted(term) for term in dict.fromkeys(terms))
        values: list[str | int] = [phrases]
        among = ""
        if allowed is not None:
            # The plus keeps SQLite from running the whole query once for each rowid.
            among = "AND +rowid IN (SELECT value FROM json_each(?))"
            values.append(json.dumps(allowed.tolist()))
        rows: list[tuple[int, float]] = []
        if phrases and limit > 0:
            sql = f"""
                SELECT rowid, -bm25(keywords) AS score FROM keywords
                WHERE keywords MATCH ? {among} ORDER BY score DESC, rowid LIMIT ?"""
            with self.backend.database.read() as connection:
                rows = connection.execute(sql, [*values, limit]).fetchall()
        return (
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float32),
        )

    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """See `ports.PassageStore`."""
        own = _FROM_METADATA.format(table="chunks")
        tests, bound = [], list[str]()
        for condition in where:
            value, names = _document_value(condition.name)
            tests.append(f"meets(coalesce({own}, {value}), ?, ?)")
            bound += [condition.name, *names, *wanted(condition)]
        sql = f"""
            SELECT chunks.id FROM chunks JOIN documents ON documents.id = chunks.document_id
            WHERE {" AND ".join(tests) or "TRUE"} ORDER BY chunks.id"""
        with self.backend.database.read() as connection:
            found = [row[0] for row in connection.execute(sql, bound)]
        self.check_fields(where, found)
        return np.array(found, dtype=np.int64)

    def matching_documents(self, where: Sequence[Condition]) -> list[str]:
        """See `Documents`."""
        tests, bound = [], list[str]()
        for condition in where:
            value, names = _document_value(condition.name)
            tests.append(f"meets({value}, ?, ?)")
            bound += [*names, *wanted(condition)]
        sql = f"SELECT id FROM documents WHERE {' AND '.join(tests) or 'TRUE'}"
        with self.backend.database.read() as connection:
            found = [row[0] for row in connection.execute(sql, bound)]
        self.check_fields(where, found)
        return found

    def metadata_names(self) -> set[str]:
        """See `Documents`."""
        with self.backend.database.read() as connection:
            return {row[0] for row in connection.execute(_METADATA_NAMES)}

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.SnapshotSource`. Raises `StoreCorruptError` for one that is damaged."""
        with self.backend.database.read() as connection:
            sql = "SELECT count(*) FROM embeddings WHERE chunk_id > ?"
            count = connection.execute(sql, (after,)).fetchone()[0]
            dimension = self.embedder()
            ids = np.empty(count, dtype=np.int64)
            vectors = np.empty((count, dimension[1] if dimension else 0), dtype=np.float32)
            rows = connection.execute(
                "SELECT chunk_id, vector, checksum FROM embeddings"
                " WHERE chunk_id > ? ORDER BY chunk_id",
                (after,),
            )
            for position, (chunk_id, vector, checksum) in enumerate(rows):
                if not isinstance(vector, bytes) or zlib.crc32(vector) != checksum:
                    raise damaged_embedding(connection, chunk_id)
                ids[position] = chunk_id
                vectors[position] = np.frombuffer(vector, dtype="<f4")
        return ids, vectors


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _document_value(name: str) -> tuple[str, list[str]]:
    """The value of a name in a row of `documents`, and what is bound in it."""
    metadata = _FROM_METADATA.format(table="documents")
    if name in FIELDS:
        columns = ", ".join(f"documents.{column}" for column in COLUMNS)
        return f"coalesce(field_value(?, {columns}), {metadata})", [name, name]
    return metadata, [name]
