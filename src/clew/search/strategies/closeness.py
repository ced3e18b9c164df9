"""How near passages are to the time that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.types import Period

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.search.session import QuerySession
    from clew.types import Ids

HALF_LIFE_DAYS = 365.0
"""Distance from the period asked for (or from today) at which time counts half."""


def closeness(session: QuerySession, ids: Ids) -> NDArray[np.float64]:
    """(n,) 0 to 1: 1 within the period asked for, else ½ for each half-life from it; 0 undated.

    Without a period, from the newest date of the store: what is new in an old archive is not new
    today.
    """
    newest = session.newest or session.options.now
    period = session.options.period or session.named_period or Period(start=newest, end=None)
    times = session.resources.store.chunk_times(ids.tolist())
    nearest = [min((_days(period, t) for t in times.get(i, ())), default=np.inf) for i in ids]
    return np.asarray(0.5 ** (np.array(nearest, dtype=np.float64) / HALF_LIFE_DAYS))


def _days(one: Period, other: Period) -> float:
    """Days between two periods; 0 where they overlap."""
    if one.overlaps(other):
        return 0.0
    gaps = [
        (later - earlier).total_seconds()
        for earlier, later in ((one.end, other.start), (other.end, one.start))
        if earlier is not None and later is not None and later >= earlier
    ]
    return min(gaps, default=0.0) / 86_400
