"""Writing and deleting documents: one transaction each, and nothing left without a source."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from clew.stores.sqlite_documents import id_list, now
from clew.stores.sqlite_lineage import Version, forget_versions, next_version, write_version
from clew.stores.sqlite_links import ResolvedNames, next_ids, resolve_names
from clew.stores.sqlite_prepare import PreparedDocument
from clew.stores.sqlite_relations import History, read_history, write_relations
from clew.stores.sqlite_times import write_times
from clew.stores.sqlite_validity import heads_around, heads_of_documents, settle
from clew.text import entity_key
from clew.types import IndexedDocument, Mention

ABOUT = -1
"""The sentence number of "the chunk's document is about the entity"."""

_INSERT_DOCUMENT = """
INSERT INTO documents (id, source, origin, title, sha256, media_type, created_at, updated_at,
    characters, recipe, metadata, indexed_at, version, derived_from)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
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
    _write_mentions(connection, entry, chunk_ids, resolved)
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
    document_id, moment = prepared.entry.document.id, now()
    chunk_ids = range(free["chunks"], free["chunks"] + len(prepared.chunks))
    sections = prepared.entry.split.sections
    section_ids = {s.ordinal: free["sections"] + i for i, s in enumerate(sections)}
    connection.execute(
        _INSERT_DOCUMENT, (*prepared.document_row, moment, version.number, version.derived_from)
    )
    write_version(connection, prepared.entry.document, version, moment)
    connection.executemany(
        "INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(free["sections"] + i, document_id, *row) for i, row in enumerate(prepared.sections)],
    )
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (chunk_id, document_id, section_ids[chunk.section], *row)
            for chunk_id, chunk, row in zip(
                chunk_ids, prepared.entry.split.chunks, prepared.chunks, strict=True
            )
        ],
    )
    connection.executemany(
        "INSERT INTO embeddings VALUES (?, ?)", zip(chunk_ids, prepared.vectors, strict=True)
    )
    connection.executemany(
        "INSERT INTO keywords (rowid, terms) VALUES (?, ?)",
        zip(chunk_ids, prepared.terms, strict=True),
    )
    write_times(connection, chunk_ids, prepared.times)
    return chunk_ids


def _write_mentions(
    connection: sqlite3.Connection,
    entry: IndexedDocument,
    chunk_ids: Sequence[int],
    resolved: ResolvedNames,
) -> None:
    rows: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for chunk_id, chunk in zip(chunk_ids, entry.extraction.chunks, strict=False):
        for mention in chunk.mentions:
            alias_id = resolved.alias_ids.get(entity_key(mention.name))
            if alias_id is not None:
                place = (chunk_id, mention.sentence, alias_id)
                rows[place] = _joined(rows.get(place), mention)
    for name, _ in entry.extraction.about:
        alias_id = resolved.alias_ids.get(entity_key(name))
        if alias_id is not None:
            rows.update({(chunk_id, ABOUT, alias_id): (0, 0, 1) for chunk_id in chunk_ids})
    connection.executemany(
        "INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?)",
        [(*place, *values) for place, values in rows.items()],
    )


def _joined(before: tuple[int, int, int] | None, mention: Mention) -> tuple[int, int, int]:
    """Names with one key in one sentence are one row: the first range, all counts."""
    if before is None:
        return mention.start, mention.end, mention.count
    first = min((before[0], before[1]), (mention.start, mention.end))
    return *first, before[2] + mention.count
