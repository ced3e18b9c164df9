"""When chunks were said and the times that they speak of, as rows.

Times are whole seconds of UTC since 1970, periods half-open; what a fraction of a second touches
counts whole. An open side is the least or the greatest integer of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from clew.stores.backend import Found, Statement, distinct, to_text, to_time
from clew.stores.state import StoreState
from clew.stores.statements import documents as statements
from clew.stores.statements.documents import LONG
from clew.stores.statements.snapshot import CHUNK_IDS
from clew.text import cached
from clew.times import date_of, in_utc, read_period
from clew.types import Ids, Mention, Metadata, PartialDate, Period, partial_date

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_OPEN_START, _OPEN_END = -(2**63), 2**63 - 1


class TimeRow(NamedTuple):
    """A time of a chunk."""

    said: int
    """1: when it was said, 0: what it speaks of."""
    start: int
    end: int
    text: str


def stated_date(metadata: Metadata, created_at: datetime | None) -> PartialDate | None:
    """The date of a document that came without its precision, which its metadata may tell."""
    stated, kept = date_of(metadata), partial_date(created_at)
    return stated if kept is None or (stated and stated.start == kept.start) else kept


# --- making rows -------------------------------------------------------------------------


def time_rows(said: PartialDate | None, dates: Sequence[Mention]) -> list[TimeRow]:
    """The times of one chunk: when it was said, if that is known, and those that it speaks of."""
    rows: dict[tuple[int, int, int], TimeRow] = {}
    if said is not None:
        start = seconds(said.start)
        end = start + 1 if said.precision == "time" else seconds(said.end)
        row = TimeRow(1, start, end, said.iso[: len("2019-03-02")])
        rows[row[:3]] = row
    for date in dates:
        alike = (other for other in dates if other.sentence == date.sentence)
        wholes = [o for o in alike if o.name != date.name and date.name in o.name]
        nested = any(w.start <= date.start and date.end <= w.end for w in wholes)
        if nested and date.count <= sum(w.count for w in wholes):
            continue  # said as a part of another alone: the year of a day
        named = _named_bounds(date.name)
        if named is not None:
            rows.setdefault((0, *named), TimeRow(0, *named, date.name))
    return list(rows.values())


@cached(8)
def _named_bounds(name: str) -> tuple[int, int] | None:
    period = read_period(name)
    return None if period is None else bounds(period)


# --- seconds and moments -----------------------------------------------------------------


def seconds(moment: datetime) -> int:
    """The second that the moment lies in."""
    return (in_utc(moment) - _EPOCH) // _SECOND


def bounds(period: Period) -> tuple[int, int]:
    """The whole seconds that the period touches."""
    start = _OPEN_START if period.start is None else seconds(period.start)
    end = _OPEN_END if period.end is None else -((_EPOCH - in_utc(period.end)) // _SECOND)
    return start, end


def moment_of(second: int) -> datetime | None:
    """The moment at which a second begins; None for an open side."""
    return None if second in (_OPEN_START, _OPEN_END) else _EPOCH + second * _SECOND


# --- in a store --------------------------------------------------------------------------


class ChunkDates(StoreState):
    """Chunks by when they were said and by the times that they speak of; and how often they helped.

    When a chunk was said is its own date or else its document's; the times that it speaks of are
    those of the dates that it mentions. A chunk without either has no time.
    """

    def chunks_within(self, period: Period) -> Ids:
        """Ids (sorted) of the chunks of which any time overlaps the period."""
        start, end = bounds(period)
        # When a period that is not long may have begun at the earliest.
        values = {"start": start, "end": end, "earliest": max(start - LONG, _OPEN_START)}
        return np.unique(self._ids(statements.CHUNKS_WITHIN, **values))

    def chunks_as_of(self, moment: datetime) -> Ids:
        """Ids (sorted) of the chunks that there were at that moment.

        Chunks said later are left out, and so are documents that came to the store later, unless
        the store itself is younger than that. Chunks without a date count as old.
        """
        with self.backend.consistent():
            later = self._ids(statements.SAID_LATER, second=seconds(moment))
            known = known_until(self.backend.rows(statements.FIRST_RECORDED), moment)
            if known is not None:
                came = self._ids(statements.CAME_LATER, known=known)
                later = np.concatenate([later, came])
            return np.setdiff1d(self._ids(CHUNK_IDS, after=0), later)

    def _ids(self, statement: Statement, **parameters: object) -> Ids:
        return self.backend.columns(statement, ("i8",), **parameters)[0]

    def chunk_times(self, chunk_ids: Sequence[int]) -> dict[int, tuple[Period, ...]]:
        """By chunk id: when it was said (where that is known), then what it speaks of, in order.

        What a chunk speaks of comes in order of time.
        """
        return periods_by_chunk(self.backend.rows(statements.CHUNK_DATES, ids=distinct(chunk_ids)))

    def newest_date(self, until: datetime | None = None) -> datetime | None:
        """When the latest chunk that was said by a moment was; to the second, None for none."""
        found = self.backend.rows(
            statements.NEWEST_DATE, second=_OPEN_END if until is None else seconds(until)
        )
        return moment_of(found[0][0]) if found else None

    def published_at(self, chunk_ids: Sequence[int]) -> dict[int, datetime]:
        """When each chunk was said, by chunk id; those without a date are left out.

        To the second.
        """
        rows = self.backend.rows(statements.PUBLISHED_AT, ids=distinct(chunk_ids))
        return {chunk_id: moment for chunk_id, second in rows if (moment := moment_of(second))}

    def first_recorded(self) -> datetime | None:
        """When the store learned the oldest thing that it holds; None for an empty one."""
        found = self.backend.rows(statements.FIRST_RECORDED)
        return to_time(found[0][0]) if found else None

    def record_use(self, chunk_ids: Sequence[int], moment: datetime) -> None:
        """Count one use of each chunk; unknown ids are left out. Changes no generation.

        A question waits for no sync, and a store may be read-only.
        """
        used = {"ids": distinct(chunk_ids), "moment": to_text(moment)}
        if not self.backend.read_only:
            record = partial(self.backend.execute, statements.RECORD_USE, **used)
            self.backend.write(record, durable=False)

    def usage(self, chunk_ids: Sequence[int]) -> dict[int, tuple[int, datetime]]:
        """(uses, last use) by chunk id; chunks never used are left out."""
        rows = self.backend.rows(statements.USAGE, ids=distinct(chunk_ids))
        return {chunk_id: (uses, datetime.fromisoformat(last)) for chunk_id, uses, last in rows}


def known_until(first_recorded: Found, moment: datetime) -> str | None:
    """The moment, as it is stored, where it limits what the store knew; None in a younger one.

    `first_recorded` are the rows of FIRST_RECORDED.
    """
    first = to_time(first_recorded[0][0]) if first_recorded else None
    return None if first is None or first > in_utc(moment) else to_text(moment)


def periods_by_chunk(rows: Found) -> dict[int, tuple[Period, ...]]:
    """The rows of CHUNK_DATES as periods: when each chunk was said, then what it speaks of."""
    found: dict[int, list[Period]] = {}
    for chunk_id, _, start, end, text in sorted(rows, key=lambda r: (r[0], -r[1], r[2], r[3])):
        period = Period(start=moment_of(start), end=moment_of(end), text=text)
        found.setdefault(chunk_id, []).append(period)
    return {chunk_id: tuple(periods) for chunk_id, periods in found.items()}
