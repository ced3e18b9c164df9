"""What assistants read: the passages that none has read yet, and what one found in a passage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from clew.errors import NotFoundError
from clew.stores.sqlite_documents import id_list, now, to_text
from clew.stores.sqlite_links import Named, ResolvedNames, next_ids, resolve_names
from clew.stores.sqlite_save import count_change, sweep
from clew.stores.sqlite_validity import heads_around, settle
from clew.text import entity_key
from clew.types import AliasEvidence, ChunkExtraction, ExtractedRelation, NewEntity

ASSISTANT = "assistant"
"""Extractor of the relations that an assistant found in a passage."""
_UNREAD = """
SELECT c.id FROM chunks c
WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM readings r WHERE r.chunk_id = c.id)
ORDER BY c.id LIMIT ?
"""
_COUNT_UNREAD = "SELECT (SELECT count(*) FROM chunks) - (SELECT count(*) FROM readings)"
_UNKNOWN_CHUNKS = """
SELECT value FROM json_each(?) WHERE value NOT IN (SELECT id FROM chunks) ORDER BY value
"""
# Whoever found it: a passage states a relation once.
_SAME = """
SELECT id FROM entity_relations
WHERE chunk_id = :chunk AND from_entity_id = :head AND to_entity_id = :tail
    AND relation_type = :relation_type
ORDER BY retracted_at IS NOT NULL, id LIMIT 1
"""
_UPDATE = """
UPDATE relations SET weight = :confidence, confidence = :confidence, is_causal = :is_causal,
    valid_from = coalesce(:valid_from, valid_from),
    valid_until = coalesce(:valid_until, stated_until),
    stated_until = coalesce(:valid_until, stated_until),
    sentence = :sentence, extractor = :extractor
WHERE id = :id AND retracted_at IS NULL
"""
_INSERT = """
INSERT INTO relations (from_alias_id, to_alias_id, relation_type, weight, is_causal, confidence,
    valid_from, valid_until, stated_until, recorded_at, chunk_id, sentence, extractor)
VALUES (:head_alias, :tail_alias, :relation_type, :confidence, :is_causal, :confidence,
    :valid_from, :valid_until, :valid_until, :moment, :chunk, :sentence, :extractor)
"""
_INSERT_MENTION = """
INSERT INTO mentions VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET count = excluded.count WHERE excluded.count > mentions.count
"""


def read_unread(connection: sqlite3.Connection, after: int, limit: int) -> list[int]:
    """Ids above `after` of the chunks that no assistant has read, in order; at most `limit`."""
    return [row[0] for row in connection.execute(_UNREAD, (after, limit))]


def count_unread(connection: sqlite3.Connection) -> int:
    """Chunks that no assistant has read."""
    return int(connection.execute(_COUNT_UNREAD).fetchone()[0])


def record_readings(
    connection: sqlite3.Connection,
    readings: Mapping[int, ChunkExtraction],
    described: Sequence[NewEntity],
    links: Sequence[AliasEvidence],
) -> int:
    """Write what was found in chunks, by chunk id, and mark them as read; the new relations."""
    _check_chunks(connection, readings)
    names = _names(readings, described)
    resolved = resolve_names(connection, names, links, next_ids(connection))
    tied = _write_mentions(connection, readings, resolved)
    new = sum(_write_relations(connection, readings, resolved))
    _describe(connection, described, resolved)
    moment = now()
    connection.executemany(
        "INSERT OR REPLACE INTO readings VALUES (?, ?)", [(chunk, moment) for chunk in readings]
    )
    # A name that was known when it was checked may have gone with its last text since.
    sweep(connection, resolved.moved.union(resolved.entity_ids.values()))
    heads = {resolved.entity_ids[entity_key(r.head)] for _, r in _stated(readings)}
    settle(connection, heads | heads_around(connection, resolved.moved))
    # Mentions of old chunks: what was derived from them has to be made anew.
    count_change(connection, entities_moved=bool(tied or resolved.moved))
    return new


def _check_chunks(connection: sqlite3.Connection, chunk_ids: Mapping[int, object]) -> None:
    gone = [row[0] for row in connection.execute(_UNKNOWN_CHUNKS, (id_list(chunk_ids),))]
    if gone:
        raise NotFoundError(
            f"{len(gone)} of the passages were changed or deleted meanwhile; read them again"
            " (extraction_next)"
        )


def _names(
    readings: Mapping[int, ChunkExtraction], described: Sequence[NewEntity]
) -> dict[str, Named]:
    """Every name that is needed, with its first telling type."""
    given = [(entity.name, entity.entity_type) for entity in described]
    for reading in readings.values():
        given += [(m.name, m.entity_type) for m in reading.mentions]
        given += [(name, "name") for r in reading.relations for name in (r.head, r.tail)]
    found: dict[str, Named] = {}
    for name, entity_type in given:
        key = entity_key(name)
        if key not in found or found[key].entity_type == "name":
            first = found[key].name if key in found else name
            found[key] = Named(name=first, entity_type=entity_type)
    return found


def _write_mentions(
    connection: sqlite3.Connection,
    readings: Mapping[int, ChunkExtraction],
    resolved: ResolvedNames,
) -> int:
    """Write the mentions that there are not yet, or not as many; the rows that changed."""
    rows = [
        (chunk, m.sentence, resolved.alias_ids[entity_key(m.name)], m.start, m.end, m.count)
        for chunk, reading in readings.items()
        for m in reading.mentions
    ]
    return connection.executemany(_INSERT_MENTION, rows).rowcount


def _stated(readings: Mapping[int, ChunkExtraction]) -> Iterator[tuple[int, ExtractedRelation]]:
    for chunk, reading in readings.items():
        for relation in reading.relations:
            yield chunk, relation


def _write_relations(
    connection: sqlite3.Connection,
    readings: Mapping[int, ChunkExtraction],
    resolved: ResolvedNames,
) -> Iterator[bool]:
    """Write the relations; of each, whether the passage did not state it before."""
    moment = now()
    for chunk, relation in _stated(readings):
        head, tail = entity_key(relation.head), entity_key(relation.tail)
        values = {
            "chunk": chunk,
            "head": resolved.entity_ids[head],
            "tail": resolved.entity_ids[tail],
            "head_alias": resolved.alias_ids[head],
            "tail_alias": resolved.alias_ids[tail],
            "relation_type": relation.relation_type,
            "confidence": relation.confidence,
            "is_causal": relation.is_causal,
            "valid_from": to_text(relation.valid_from),
            "valid_until": to_text(relation.valid_until),
            "sentence": relation.sentence,
            "moment": moment,
            "extractor": ASSISTANT,
        }
        same = connection.execute(_SAME, values).fetchone()
        if same is None:
            connection.execute(_INSERT, values)
        else:
            connection.execute(_UPDATE, {**values, "id": same[0]})
        yield same is None


def _describe(
    connection: sqlite3.Connection, described: Sequence[NewEntity], resolved: ResolvedNames
) -> None:
    """Give entities without a description the one found."""
    connection.executemany(
        "UPDATE entities SET content = ? WHERE id = ? AND content = ''",
        [(e.content, resolved.entity_ids[entity_key(e.name)]) for e in described if e.content],
    )
