"""When chunks were said and the times that they speak of; how often chunks were used.

Times are whole seconds of UTC since 1970, periods half-open; what a fraction of a second touches
counts whole. An open side is the least or the greatest integer that SQLite knows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.stores.sqlite_documents import id_list, to_text, to_time
from clew.stores.sqlite_snapshot import read_chunk_ids
from clew.times import read_period, written_at
from clew.types import Period

if TYPE_CHECKING:
    from clew.types import Ids

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_OPEN_START, _OPEN_END = -(2**63), 2**63 - 1
_INSERT = "INSERT INTO chunk_times VALUES (?, ?, ?, ?, ?)"
_DATES = """
SELECT m.chunk_id, m.sentence, m.start, m."end", a.name, m.count
FROM mentions m JOIN aliases a ON a.id = m.alias_id JOIN entities e ON e.id = a.entity_id
WHERE e.entity_type = 'date' AND m.sentence >= 0
"""
_LONG = 366 * 24 * 60 * 60
# What overlaps a period starts before its end; all that started over a year before its start can
# be left out but for the few long ones (decades, open sides), which have an index of their own.
_WITHIN = f"""
SELECT chunk_id FROM chunk_times WHERE start >= :earliest AND start < :end AND "end" > :start
UNION ALL SELECT chunk_id FROM chunk_times
    WHERE "end" - start > {_LONG} AND start < :earliest AND start < :end AND "end" > :start
"""
# What came to the store later is told by its version, since the same text may be indexed anew.
_LATER_THAN = """
SELECT chunk_id FROM chunk_times WHERE said = 1 AND start > ?1
UNION SELECT c.id FROM document_versions v JOIN chunks c ON c.document_id = v.document_id
    WHERE v.replaced_at IS NULL AND v.indexed_at > ?2
"""

TimeRow = tuple[int, int, int, str]
"""(said, start, end, text)"""


class DateMention(NamedTuple):
    """A date as a sentence of a chunk names it."""

    sentence: int
    start: int
    end: int
    name: str
    times: int
    """Occurrences within the sentence."""


# --- making rows -------------------------------------------------------------------------


def time_rows(said: datetime | None, dates: Sequence[DateMention]) -> list[TimeRow]:
    """The times of one chunk: when it was said, if that is known, and those that it speaks of."""
    rows: dict[tuple[int, int, int], TimeRow] = {}
    if said is not None:
        second = _seconds(said)
        rows[1, second, second + 1] = (1, second, second + 1, said.date().isoformat())
    for name in _names_apart(dates):
        bounds = _named_bounds(name)
        if bounds is not None:
            rows.setdefault((0, *bounds), (0, *bounds, name))
    return list(rows.values())


@lru_cache(maxsize=65_536)
def _named_bounds(name: str) -> tuple[int, int] | None:
    period = read_period(name)
    return None if period is None else _bounds(period)


def _names_apart(dates: Sequence[DateMention]) -> Iterator[str]:
    """Names of the dates, without those said as a part of another alone: the year of a day."""
    for date in dates:
        wholes = [other for other in dates if _is_part(date, other)]
        nested = any(w.start <= date.start and date.end <= w.end for w in wholes)
        if not (nested and date.times <= sum(w.times for w in wholes)):
            yield date.name


def _is_part(date: DateMention, of: DateMention) -> bool:
    return date.sentence == of.sentence and date.name != of.name and date.name in of.name


def write_times(
    connection: sqlite3.Connection, chunk_ids: Iterable[int], times: Iterable[Sequence[TimeRow]]
) -> None:
    """Write the times of new chunks."""
    connection.executemany(
        _INSERT,
        [(chunk_id, *row) for chunk_id, rows in zip(chunk_ids, times, strict=True) for row in rows],
    )


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
        connection.executemany(_INSERT, [(chunk_id, *row) for row in times])


# --- reading -----------------------------------------------------------------------------


def read_chunks_within(connection: sqlite3.Connection, period: Period) -> Ids:
    """Ids (sorted) of the chunks of which any time overlaps the period."""
    start, end = _bounds(period)
    earliest = max(start - _LONG, _OPEN_START)
    rows = connection.execute(_WITHIN, {"start": start, "end": end, "earliest": earliest})
    return np.unique(_ids(rows))


def read_chunks_as_of(connection: sqlite3.Connection, moment: datetime) -> Ids:
    """Ids (sorted) of the chunks that there were at that moment."""
    known = known_until(connection, moment)
    later = _ids(connection.execute(_LATER_THAN, (_seconds(moment), known)))
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
        period = Period(start=_moment(start), end=_moment(end), text=text)
        found.setdefault(chunk_id, []).append(period)
    return {chunk_id: tuple(periods) for chunk_id, periods in found.items()}


def read_said_at(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, datetime]:
    """When each chunk was said, by chunk id."""
    rows = connection.execute(
        "SELECT chunk_id, start FROM chunk_times"
        " WHERE said = 1 AND chunk_id IN (SELECT value FROM json_each(?))",
        (id_list(chunk_ids),),
    )
    return {chunk_id: _EPOCH + second * _SECOND for chunk_id, second in rows}


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
    return None if first is None or first > _aware(moment) else to_text(moment)


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


# --- seconds -----------------------------------------------------------------------------


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _seconds(moment: datetime) -> int:
    return (_aware(moment) - _EPOCH) // _SECOND


def _bounds(period: Period) -> tuple[int, int]:
    """The whole seconds that the period touches."""
    start = _OPEN_START if period.start is None else _seconds(period.start)
    end = _OPEN_END if period.end is None else -((_EPOCH - _aware(period.end)) // _SECOND)
    return start, end


def _moment(second: int) -> datetime | None:
    return None if second in (_OPEN_START, _OPEN_END) else _EPOCH + second * _SECOND


def _ids(rows: Iterable[tuple[int]]) -> Ids:
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64)
