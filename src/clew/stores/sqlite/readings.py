"""What assistants read: the passages that none has read yet, and what one found in a passage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from clew.stores.errors import passages_gone
from clew.stores.readings import (
    MentionRow,
    descriptions_found,
    ends_found,
    mentions_found,
    names_found,
    relations_found,
)
from clew.stores.relation_plans import plan_readings
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.links import next_ids, resolve_names
from clew.stores.sqlite.relations import insert_rows, read_stated_rows, update_rows
from clew.stores.sqlite.save import count_change, sweep
from clew.stores.sqlite.validity import heads_around, settle
from clew.stores.values import now
from clew.types import AliasEvidence, ChunkExtraction, NewEntity

_UNREAD = """
SELECT c.id FROM chunks c
WHERE c.id > ? AND NOT EXISTS (SELECT 1 FROM readings r WHERE r.chunk_id = c.id)
ORDER BY c.id LIMIT ?
"""
_COUNT_UNREAD = "SELECT (SELECT count(*) FROM chunks) - (SELECT count(*) FROM readings)"
_COUNT_LIVING = "SELECT count(*) FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
_INSERT_MENTION = """
INSERT INTO mentions VALUES (:chunk_id, :sentence, :alias_id, :start, :end, :count)
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
    living = connection.execute(_COUNT_LIVING, (id_list(readings),)).fetchone()[0]
    if living < len(readings):
        raise passages_gone(len(readings) - living)
    free, moment = next_ids(connection), now()
    resolved = resolve_names(connection, names_found(readings, described), links, free)
    tied = _write_mentions(connection, mentions_found(readings, resolved))
    held = read_stated_rows(connection, readings)
    names, found = ends_found(resolved), relations_found(readings)
    plan = plan_readings(found, names, held, free["relations"], moment)
    insert_rows(connection, plan.new)
    update_rows(connection, plan.changed)
    _describe(connection, descriptions_found(described, resolved))
    connection.executemany(
        "INSERT OR REPLACE INTO readings VALUES (?, ?)", [(chunk, moment) for chunk in readings]
    )
    # A name that was known when it was checked may have gone with its last text since.
    sweep(connection, resolved.moved.union(resolved.entity_ids.values()))
    heads = {row.from_entity_id for row in (*plan.new, *plan.changed)}
    settle(connection, heads | heads_around(connection, resolved.moved))
    # Mentions of old chunks: what was derived from them has to be made anew.
    count_change(connection, entities_moved=bool(tied or resolved.moved))
    return len(plan.new)


def _write_mentions(connection: sqlite3.Connection, mentions: Iterable[MentionRow]) -> int:
    """Write the mentions that there are not yet, or not as many; the rows that changed."""
    return connection.executemany(_INSERT_MENTION, mentions).rowcount


def _describe(connection: sqlite3.Connection, described: Iterable[tuple[int, str]]) -> None:
    """Give entities without a description the one found."""
    connection.executemany(
        "UPDATE entities SET content = ?2 WHERE id = ?1 AND content = ''", described
    )
