"""Writing and deleting documents: one transaction each, and nothing left without a source."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from clew.stores.lineage import Version
from clew.stores.relations import History
from clew.stores.row_builder import PreparedDocument, mention_rows, number_rows
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.lineage import forget_versions, next_version, write_version
from clew.stores.sqlite.links import next_ids, resolve_names
from clew.stores.sqlite.relations import read_history, write_relations
from clew.stores.sqlite.times import write_times
from clew.stores.sqlite.validity import heads_around, heads_of_documents, settle
from clew.stores.values import now

_INSERT_DOCUMENT = """
INSERT INTO documents (id, source, origin, title, sha256, media_type, created_at, updated_at,
    indexed_at, characters, recipe, metadata, version, derived_from)
VALUES (:id, :source, :origin, :title, :sha256, :media_type, :created_at, :updated_at,
    :indexed_at, :characters, :recipe, :metadata, :version, :derived_from)
"""
_INSERT_SECTION = """
INSERT INTO sections VALUES (:id, :document_id, :ordinal, :start, :end, :headings, :text)
"""
_INSERT_CHUNK = """
INSERT INTO chunks VALUES (:id, :document_id, :section_id, :ordinal, :start, :end, :page, :key,
    :metadata, :sentences, :context, :text)
"""
_INSERT_MENTION = """
INSERT INTO mentions VALUES (:chunk_id, :sentence, :alias_id, :start, :end, :count)
"""
_CHUNKS_OF = "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?1))"
_ENTITIES_OF = f"""
SELECT entity_id FROM entity_mentions WHERE chunk_id IN ({_CHUNKS_OF})
UNION SELECT from_entity_id FROM entity_relations WHERE chunk_id IN ({_CHUNKS_OF})
UNION SELECT to_entity_id FROM entity_relations WHERE chunk_id IN ({_CHUNKS_OF})
"""


class _Former(NamedTuple):
    """What a document's former self leaves behind."""

    touched: Set[int]
    """Its entities."""
    heads: Set[int]
    """Those of which it stated functional relations."""
    history: History


_NOTHING = _Former(frozenset(), frozenset(), {})


def write_document(connection: sqlite3.Connection, prepared: PreparedDocument) -> None:
    """Write a document in place of its former self; call inside a write transaction."""
    entry, document_id = prepared.entry, prepared.entry.document.id
    version = next_version(connection, entry.document)
    former = _NOTHING if version.is_first else _forget_former(connection, document_id)
    free = next_ids(connection)
    chunk_ids = _write_text(connection, prepared, free, version)
    resolved = resolve_names(connection, prepared.names, entry.links, free)
    connection.executemany(_INSERT_MENTION, mention_rows(entry, chunk_ids, resolved))
    heads = write_relations(
        connection, entry, chunk_ids, resolved, free["relations"], former.history
    )
    sweep(connection, former.touched | resolved.moved)
    settle(connection, former.heads | heads | heads_around(connection, resolved.moved))
    count_change(connection, entities_moved=bool(resolved.moved))


def _forget_former(connection: sqlite3.Connection, document_id: str) -> _Former:
    history = read_history(connection, document_id)
    heads = heads_of_documents(connection, [document_id])
    return _Former(forget_documents(connection, [document_id]), heads, history)


def forget_documents(connection: sqlite3.Connection, document_ids: Sequence[str]) -> set[int]:
    """Delete documents with all that hangs on them; the entities to `sweep` afterwards."""
    ids = id_list(document_ids)
    if _count_documents(connection, ids) == 0:
        return set()
    touched = {row[0] for row in connection.execute(_ENTITIES_OF, (ids,))}
    connection.execute(f"DELETE FROM keywords WHERE rowid IN ({_CHUNKS_OF})", (ids,))
    connection.execute("DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", (ids,))
    return touched


def delete_documents(connection: sqlite3.Connection, document_ids: Sequence[str]) -> int:
    """Delete documents and all that only they held; the number that existed."""
    known = _count_documents(connection, id_list(document_ids))
    if known:
        heads = heads_of_documents(connection, document_ids)
        forget_versions(connection, document_ids)
        sweep(connection, forget_documents(connection, document_ids))
        settle(connection, heads)
        count_change(connection)
    return known


def _count_documents(connection: sqlite3.Connection, ids: str) -> int:
    sql = "SELECT count(*) FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return int(connection.execute(sql, (ids,)).fetchone()[0])


def sweep(connection: sqlite3.Connection, entity_ids: Iterable[int]) -> None:
    """Delete names without a source, then entities without a name, among the entities given."""
    ids = id_list(entity_ids)
    if ids == "[]":
        return
    among = "IN (SELECT value FROM json_each(?))"
    connection.execute(
        f"DELETE FROM aliases WHERE id IN (SELECT id FROM orphan_aliases WHERE entity_id {among})",
        (ids,),
    )
    connection.execute(
        f"""DELETE FROM entities WHERE id {among}
            AND NOT EXISTS (SELECT 1 FROM aliases a WHERE a.entity_id = entities.id)""",
        (ids,),
    )
    show_living_names(connection, ids)


def show_living_names(connection: sqlite3.Connection, ids: str) -> None:
    """Entities (ids as JSON) whose shown name is no longer theirs take their oldest one."""
    connection.execute(
        """UPDATE entities SET (name, key) = (
                SELECT a.name, a.key FROM aliases a WHERE a.entity_id = entities.id
                ORDER BY a.id LIMIT 1)
            WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
                SELECT 1 FROM aliases a
                WHERE a.entity_id = entities.id AND a.key = entities.key)""",
        (ids,),
    )


def count_change(connection: sqlite3.Connection, *, entities_moved: bool = False) -> None:
    """Count the commit under way, and the move of entities of old chunks."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    if entities_moved:
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")


def _write_text(
    connection: sqlite3.Connection,
    prepared: PreparedDocument,
    free: Mapping[str, int],
    version: Version,
) -> range:
    """Write document, sections, chunks, vectors, terms and times; the chunks' ids."""
    moment = now()
    rows = number_rows(
        prepared, version, moment, first_section=free["sections"], first_chunk=free["chunks"]
    )
    connection.execute(_INSERT_DOCUMENT, rows.document)
    write_version(connection, prepared.entry.document, version, moment)
    connection.executemany(_INSERT_SECTION, rows.sections)
    connection.executemany(_INSERT_CHUNK, rows.chunks)
    vectors = (row.tobytes() for row in prepared.vectors)
    connection.executemany(
        "INSERT INTO embeddings VALUES (?, ?)", zip(rows.chunk_ids, vectors, strict=True)
    )
    connection.executemany(
        "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
        zip(rows.chunk_ids, prepared.terms, strict=True),
    )
    write_times(connection, rows.times)
    return rows.chunk_ids
