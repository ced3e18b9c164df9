"""Switching a store to documents that were made again: all at once, and nothing is lost.

Others read and write the store while documents are made again, by hand and by indexing. So the
store stays the truth, and what is staged is only how each of its documents is to be split, read
and embedded. When all are ready:

1. A copy of the store is made beside it, and the documents are saved there, one by one, by what
   saves any document: links, entities and relations by hand, retractions and versions stay.
2. In one transaction the content of the copy takes the place of the store's, provided that the
   store is still at the generation that was copied. Where it is not, all begins with a new copy;
   only documents that changed have to be made once more, the others are still ready.

Chunks in the copy have ids that the store has not given before, nor has it given them since: giving
one changes its generation. What was derived from its former content is thus never taken for the
new one's. What changes without a new generation stays the store's own: how often passages were
used, communities and topics, jobs and the audit log.

A store that is written to without a pause would never stand still for long enough. It is switched
directly in the end: the same documents are saved in one transaction of its own, for which other
writers wait some times longer.

Of a document of which nothing but the vectors is new, all that hangs on its passages stays: what
assistants found in a passage, what was retracted and how often it was used cannot be made again
from its text. The passages get new ids all the same: whatever was derived from the former vectors
goes by ids.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from clew.stores.backend import now
from clew.stores.documents.passages import extractor_of
from clew.stores.documents.row_builder import PreparedDocument, Row, names_of, prepare
from clew.stores.documents.save import write_document
from clew.stores.sqlite.backend import read_state
from clew.stores.sqlite.backup import KEPT, attached, copy_database, replace_content
from clew.stores.sqlite.connection import Database
from clew.stores.sqlite.reindex.staging import Staging, Target
from clew.stores.sqlite.store import SqliteStore
from clew.stores.sqlite.tables import id_list, renumber_chunks
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, NextIds, remember_embedder
from clew.types import IndexedDocument


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
    document = prepared.entry.document.id
    free = NextIds(*connection.execute(NEXT_IDS.sql).fetchone()).chunks
    rows = connection.execute(
        "SELECT id FROM chunks WHERE document_id = ? ORDER BY ordinal", (document,)
    )
    moves = [(free + number, chunk_id) for number, (chunk_id,) in enumerate(rows)]
    if moves:
        renumber_chunks(connection, moves)
    connection.executemany(
        "UPDATE embeddings SET vector = ?1, checksum = crc32(?1) WHERE chunk_id = ?2",
        [(row.tobytes(), new) for row, (new, _) in zip(prepared.vectors, moves, strict=True)],
    )
    connection.execute(
        "UPDATE documents SET recipe = ?, indexed_at = ? WHERE id = ?",
        (prepared.entry.pipeline_fingerprint, now(), document),
    )
    connection.execute(COUNT_CHANGE.sql, {"changes": 1, "moves": 0})


Linker: TypeAlias = Callable[[IndexedDocument], IndexedDocument]
"""Adds what a store knows: terms in a document, and which of its names it has by another name."""
Say: TypeAlias = Callable[[int, int], None]
"""Told documents done, and of how many."""

_OWN = (*KEPT, "usage", "communities", "themes", "topics", "topic_chunks", "partition_state")
_OUTDATED = """
SELECT id, indexed_at FROM documents
WHERE (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))
    AND (:every OR recipe <> :recipe)
ORDER BY source
"""
_USES = """
SELECT c.document_id AS document, c.start, c."end", u.uses, u.last_used
FROM usage u JOIN chunks c ON c.id = u.chunk_id
"""
# To the same passage, else to the one that the middle of its text lies in now.
_USE = """
INSERT INTO usage SELECT id, :uses, :last_used FROM (
    SELECT id FROM chunks WHERE document_id = :document AND start <= (:start + :end) / 2
    ORDER BY start = :start AND "end" = :end DESC, start DESC LIMIT 1)
WHERE true ON CONFLICT (chunk_id) DO UPDATE SET
    uses = uses + excluded.uses, last_used = max(last_used, excluded.last_used)
"""


def read_outdated(
    database: Database, target: Target, ids: Sequence[str] | None = None
) -> dict[str, str]:
    """When each document was written that is not made as the target says; by id, by source.

    Of the documents given, or of all.
    """
    with database.read() as connection:
        return _outdated(connection, target, ids)


def is_switched(database: Database, target: Target) -> bool:
    """Whether the store holds nothing that is made otherwise."""
    with database.read() as connection:
        same = read_state(connection).vectors in (None, (target.embedder, target.dimension))
        return same and not _outdated(connection, target)


def switch(
    store: SqliteStore,
    staging: Staging,
    linker: Callable[[SqliteStore], Linker],
    say: Say,
    *,
    directly: bool = False,
) -> int | None:
    """Put everything that is staged in its place, all at once, see this module; documents switched.

    None, and nothing changed, where a document is not ready or was changed meanwhile or, unless
    `directly`, where anything else was.
    """
    if directly:
        return _save_staged(store, staging, linker(store), say)
    with staging.scratch() as folder:
        copy = folder / "clew.db"
        with store.database.read() as connection:
            generation = read_state(connection).generation
            copy_database(connection, copy)
        with closing(SqliteStore(folder)) as copied:
            saved = _save_staged(copied, staging, linker(copied), say)
        return saved if saved is not None and _take(store, copy, generation) else None


def _take(store: SqliteStore, copy: Path, generation: int) -> bool:
    """Put the copy's content in the place of the store's, if that is still what was copied."""
    with attached(store, copy) as connection:
        if read_state(connection).generation != generation:
            return False
        with _uses_kept(connection):
            replace_content(connection, kept=_OWN)
    return True


def _save_staged(store: SqliteStore, staging: Staging, links: Linker, say: Say) -> int | None:
    """Save all that is outdated, in one transaction; None, and nothing, where any is not ready."""
    backend, target = store.backend, staging.target

    def work() -> int | None:
        with store.database.read() as connection, _uses_kept(connection):
            outdated = _outdated(connection, target)
            if staging.missing(outdated):
                return None
            remember_embedder(backend, (target.embedder, target.dimension))
            for done, document_id in enumerate(outdated):
                say(done, len(outdated))
                prepared = prepare(staging.get(document_id), target.dimension)
                if differs_in_vectors_alone(connection, prepared):
                    write_vectors(connection, prepared)
                else:
                    _save(store, prepared, target, links)
        backend.execute(COUNT_CHANGE, changes=1, moves=1)
        return len(outdated)

    return backend.write(work)


def _save(store: SqliteStore, prepared: PreparedDocument, target: Target, links: Linker) -> None:
    linked = links(prepared.entry)
    embedder = (target.embedder, target.dimension)
    named = replace(prepared, entry=linked, names=names_of(linked))
    write_document(store.backend, named, embedder, keep=store.keep_versions)


def _outdated(
    connection: sqlite3.Connection, target: Target, ids: Sequence[str] | None = None
) -> dict[str, str]:
    every = read_state(connection).vectors != (target.embedder, target.dimension)
    among = None if ids is None else id_list(ids)
    values = {"ids": among, "every": every, "recipe": target.pipeline_fingerprint}
    return dict(connection.execute(_OUTDATED, values))


@contextmanager
def _uses_kept(connection: sqlite3.Connection) -> Iterator[None]:
    """Passages that take the place of others are as useful as these were."""
    rows = connection.execute(_USES)
    names = [column[0] for column in rows.description]
    uses = [dict(zip(names, row, strict=True)) for row in rows]
    yield
    connection.execute("DELETE FROM usage")
    connection.executemany(_USE, uses)
