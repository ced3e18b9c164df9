"""When chunks were said and the times that they speak of; how often chunks were used."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.row_builder import Row
from clew.stores.sqlite.documents import id_list
from clew.stores.sqlite.snapshot import read_chunk_ids
from clew.stores.times import (
    LONG,
    DateMention,
    bounds,
    earliest_short,
    moment_of,
    period_of,
    seconds,
    time_rows,
)
from clew.stores.values import to_text, to_time
from clew.times import in_utc, written_at
from clew.types import Period

if TYPE_CHECKING:
    from clew.types import Ids

_INSERT = "INSERT INTO chunk_times VALUES (:chunk_id, :said, :start, :end, :text)"
_DATES = """
SELECT m.chunk_id, m.sentence, m.start, m."end", a.name, m.count
FROM mentions m JOIN aliases a ON a.id = m.alias_id JOIN entities e ON e.id = a.entity_id
WHERE e.entity_type = 'date' AND m.sentence >= 0
"""
# What overlaps a period starts before its end; all that started over a year before its start can
# be left out but for the few long ones (decades, open sides), which have an index of their own.
_WITHIN = f"""
SELECT chunk_id FROM chunk_times WHERE start >= :earliest AND start < :end AND "end" > :start
UNION ALL SELECT chunk_id FROM chunk_times
    WHERE "end" - start > {LONG} AND start < :earliest AND start < :end AND "end" > :start
"""
# What came to the store later is told by its version, since the same text may be indexed anew.
_LATER_THAN = """
SELECT chunk_id FROM chunk_times WHERE said = 1 AND start > ?1
UNION SELECT c.id FROM document_versions v JOIN chunks c ON c.document_id = v.document_id
    WHERE v.replaced_at IS NULL AND v.indexed_at > ?2
"""

# --- writing -----------------------------------------------------------------------------


def write_times(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Write the times of new chunks: `TimeRow` by name, and `chunk_id`."""
    connection.executemany(_INSERT, rows)


def write_all_times(connection: sqlite3.Connection) -> None:
    """Make the times of every chunk from what else the store holds."""
    dates: dict[int, list[DateMention]] = {}
    for chunk_id, *mention in connection.execute(_DATES):
        dates.setdefault(chunk_id, []).append(DateMention(*mention))
    rows = connection.execute(
        "SELECT c.id, c.metadata, d.metadata, d.created_at"
        " FROM chunks c JOIN documents d ON d.id = c.document_id"
    )
    for chunk_id, own, of_document, created_at in rows:
        whole = written_at(json.loads(of_document), to_time(created_at))
        said = written_at(json.loads(own), whole)
        times = time_rows(said, dates.get(chunk_id, ()))
        write_times(connection, ({"chunk_id": chunk_id, **row._asdict()} for row in times))


# --- reading -----------------------------------------------------------------------------


def read_chunks_within(connection: sqlite3.Connection, period: Period) -> Ids:
    """Ids (sorted) of the chunks of which any time overlaps the period."""
    start, end = bounds(period)
    values = {"start": start, "end": end, "earliest": earliest_short(start)}
    rows = connection.execute(_WITHIN, values)
    return np.unique(_ids(rows))


def read_chunks_as_of(connection: sqlite3.Connection, moment: datetime) -> Ids:
    """Ids (sorted) of the chunks that there were at that moment."""
    known = known_until(connection, moment)
    later = _ids(connection.execute(_LATER_THAN, (seconds(moment), known)))
    return np.setdiff1d(read_chunk_ids(connection), later, assume_unique=True)


def read_times(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[Period, ...]]:
    """When each chunk was said, then what it speaks of in order of time, by chunk id."""
    rows = connection.execute(
        'SELECT chunk_id, start, "end", text FROM chunk_times'
        " WHERE chunk_id IN (SELECT value FROM json_each(?))"
        ' ORDER BY chunk_id, said DESC, start, "end"',
        (id_list(chunk_ids),),
    )
    found: dict[int, list[Period]] = {}
    for chunk_id, start, end, text in rows:
        found.setdefault(chunk_id, []).append(period_of(start, end, text))
    return {chunk_id: tuple(periods) for chunk_id, periods in found.items()}


def read_said_at(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, datetime]:
    """When each chunk was said, by chunk id."""
    rows = connection.execute(
        "SELECT chunk_id, start FROM chunk_times"
        " WHERE said = 1 AND chunk_id IN (SELECT value FROM json_each(?))",
        (id_list(chunk_ids),),
    )
    return {chunk_id: moment for chunk_id, second in rows if (moment := moment_of(second))}


def read_is_dated(connection: sqlite3.Connection) -> bool:
    """Whether any chunk has a date of its own or its document's."""
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM chunk_times WHERE said = 1)").fetchone()
    return bool(row[0])


def read_first_recorded(connection: sqlite3.Connection) -> datetime | None:
    """When the store learned the oldest thing that it holds; None for an empty one."""
    return to_time(
        connection.execute("SELECT min(indexed_at) FROM document_versions").fetchone()[0]
    )


def known_until(connection: sqlite3.Connection, moment: datetime) -> str | None:
    """The moment, as it is stored, where it limits what the store knew; None in a younger one."""
    first = read_first_recorded(connection)
    return None if first is None or first > in_utc(moment) else to_text(moment)


# --- usage -------------------------------------------------------------------------------


def record_use(connection: sqlite3.Connection, chunk_ids: Sequence[int], moment: datetime) -> None:
    """Count one use of each chunk; unknown ids are left out."""
    connection.execute(
        "INSERT INTO usage SELECT id, 1, ?2 FROM chunks"
        " WHERE id IN (SELECT value FROM json_each(?1))"
        " ON CONFLICT (chunk_id) DO UPDATE SET"
        " uses = uses + 1, last_used = max(last_used, excluded.last_used)",
        (id_list(chunk_ids), to_text(moment)),
    )


def read_usage(
    connection: sqlite3.Connection, chunk_ids: Sequence[int]
) -> dict[int, tuple[int, datetime]]:
    """(uses, last use) by chunk id."""
    rows = connection.execute(
        "SELECT chunk_id, uses, last_used FROM usage"
        " WHERE chunk_id IN (SELECT value FROM json_each(?))",
        (id_list(chunk_ids),),
    )
    return {chunk_id: (uses, datetime.fromisoformat(last)) for chunk_id, uses, last in rows}


def _ids(rows: Iterable[tuple[int]]) -> Ids:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64)
