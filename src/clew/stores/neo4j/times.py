"""When chunks were said, the times that they speak of, and how often they were used, in Neo4j."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.neo4j.connection import Neo4jDatabase
from clew.stores.times import bounds, earliest_short, moment_of, period_of, seconds
from clew.stores.values import to_text, to_time
from clew.times import in_utc
from clew.types import Period

if TYPE_CHECKING:
    from clew.types import Ids

# What overlaps a period starts before its end; all that started over a year before its start can
# be left out but for the few long ones (decades, open sides), which have an index of their own.
_WITHIN = """
CALL () {
    UNWIND [0, 1] AS said
    MATCH (t:ClewTime {namespace: $namespace, said: said})
    USING INDEX t:ClewTime(namespace, said, start)
    WHERE t.start >= $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
    UNION ALL
    MATCH (t:ClewTime {namespace: $namespace, long: true})
    USING INDEX t:ClewTime(namespace, long, start)
    WHERE t.start < $earliest AND t.start < $end AND t.end > $start
    RETURN t.chunk_id AS id
}
RETURN collect(DISTINCT id)
"""
_CHUNKS = """
MATCH (c:ClewChunk {namespace: $namespace}) WHERE c.id > 0 RETURN collect(c.id)
"""
_SAID_LATER = """
MATCH (t:ClewTime {namespace: $namespace, said: 1})
USING INDEX t:ClewTime(namespace, said, start)
WHERE t.start > $second
RETURN collect(t.chunk_id)
"""
# What came to the store later is told by its version, since the same text may be indexed anew.
_CAME_LATER = """
MATCH (v:ClewVersion {namespace: $namespace})
WHERE v.indexed_at > $known AND v.replaced_at IS NULL
MATCH (c:ClewChunk {namespace: $namespace, document_id: v.document_id})
RETURN collect(c.id)
"""
_TIMES = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
    -[:AT {namespace: $namespace}]->(t:ClewTime {namespace: $namespace})
RETURN id, t.start, t.end, t.text ORDER BY id, t.said DESC, t.start, t.end
"""
_SAID_AT = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
    -[:AT {namespace: $namespace}]->(t:ClewTime {namespace: $namespace, said: 1})
RETURN id, t.start
"""
_IS_DATED = """
MATCH (t:ClewTime {namespace: $namespace, said: 1}) WHERE t.start IS NOT NULL RETURN true LIMIT 1
"""
_FIRST_RECORDED = """
MATCH (v:ClewVersion {namespace: $namespace}) WHERE v.indexed_at IS NOT NULL
RETURN v.indexed_at ORDER BY v.namespace, v.indexed_at LIMIT 1
"""
_RECORD_USE = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id})
SET c.uses = coalesce(c.uses, 0) + 1,
    c.last_used = CASE WHEN c.last_used > $moment THEN c.last_used ELSE $moment END
"""
_USAGE = """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, id: id}) WHERE c.uses IS NOT NULL
RETURN id, c.uses, c.last_used
"""


class Neo4jTimes:
    """`ports.TimeIndex` and `ports.UsageLog` on a database."""

    _database: Neo4jDatabase

    def chunks_within(self, period: Period) -> Ids:
        """See `ports.TimeIndex`."""
        start, end = bounds(period)
        earliest = earliest_short(start)
        found = self._database.value(_WITHIN, start=start, end=end, earliest=earliest)
        return np.sort(_ids(found))

    def chunks_as_of(self, moment: datetime) -> Ids:
        """See `ports.TimeIndex`."""
        database = self._database
        later = database.value(_SAID_LATER, second=seconds(moment))
        known = known_until(database, moment)
        if known is not None:
            later += database.value(_CAME_LATER, known=known)
        return np.setdiff1d(_ids(database.value(_CHUNKS)), _ids(later))

    def chunk_times(self, chunk_ids: Sequence[int]) -> dict[int, tuple[Period, ...]]:
        """See `ports.TimeIndex`; what a chunk speaks of comes in order of time."""
        found: dict[int, list[Period]] = {}
        for chunk_id, *period in self._database.rows(_TIMES, ids=distinct(chunk_ids)):
            found.setdefault(chunk_id, []).append(period_of(*period))
        return {chunk_id: tuple(periods) for chunk_id, periods in found.items()}

    def is_dated(self) -> bool:
        """See `ports.TimeIndex`."""
        return bool(self._database.value(_IS_DATED))

    def said_at(self, chunk_ids: Sequence[int]) -> dict[int, datetime]:
        """See `ports.TimeIndex`; to the second."""
        rows = self._database.rows(_SAID_AT, ids=distinct(chunk_ids))
        return {chunk_id: moment for chunk_id, second in rows if (moment := moment_of(second))}

    def first_recorded(self) -> datetime | None:
        """See `ports.TimeIndex`."""
        return to_time(self._database.value(_FIRST_RECORDED))

    def record_use(self, chunk_ids: Sequence[int], moment: datetime) -> None:
        """See `ports.UsageLog`."""
        used = {"ids": distinct(chunk_ids), "moment": to_text(moment)}
        self._database.write(lambda: self._database.rows(_RECORD_USE, **used))

    def usage(self, chunk_ids: Sequence[int]) -> dict[int, tuple[int, datetime]]:
        """See `ports.UsageLog`."""
        rows = self._database.rows(_USAGE, ids=distinct(chunk_ids))
        return {chunk_id: (uses, datetime.fromisoformat(last)) for chunk_id, uses, last in rows}


def known_until(database: Neo4jDatabase, moment: datetime) -> str | None:
    """The moment, as it is stored, where it limits what the store knew; None in a younger one."""
    first = to_time(database.value(_FIRST_RECORDED))
    return None if first is None or first > in_utc(moment) else to_text(moment)


def distinct(ids: Iterable[int]) -> list[int]:
    """Ids as Python's own integers, each once, for a parameter that is unwound."""
    return list(dict.fromkeys(int(i) for i in ids))


def _ids(found: Sequence[int]) -> Ids:
    return np.array(found, dtype=np.int64)
