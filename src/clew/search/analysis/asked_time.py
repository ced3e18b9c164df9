"""The time that a question means in this store: by its newest date, and by its dated events."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from clew.search.analysis.event_dates import dated_event, named_event
from clew.search.analysis.period import AskedTime, read_time

if TYPE_CHECKING:
    from clew.search.session import QuerySession

_YEARS_BACK = 20
"""Years in which a month without a year is looked for, at most."""


def read_asked_time(session: QuerySession) -> AskedTime:
    """What the question says about time, for the session to keep.

    A month without a year is the latest of which the store has texts, not that of today: an old
    archive has none of this year, and one late text has not moved the others. Where no date is
    named, an event may stand for one: "after the merger".
    """
    asked = read_time(session.question, session.options.now)
    if asked.yearless and session.newest is not None:
        asked = _of_the_archive(session)
    if asked.period is None and named_event(session.question) and session.newest is not None:
        asked = _by_event(session, asked)
    session.found_time = asked
    return asked


def _of_the_archive(session: QuerySession) -> AskedTime:
    """The reading by the latest year in which something was said then, else by the latest."""
    store, newest = session.resources.store, session.newest
    latest = None
    for _ in range(_YEARS_BACK):
        asked = read_time(session.question, session.options.now, newest)
        latest = latest or asked
        start, end = (asked.period.start, asked.period.end) if asked.period else (None, None)
        if asked.period is None or start is None or end is None:  # "since March"
            break
        ids = store.chunks_within(asked.period)
        ids = ids[session.allows(ids)]
        if any(start <= said < end for said in store.published_at(ids.tolist()).values()):
            return asked
        newest = start - timedelta(days=1)
    assert latest is not None
    return latest


def _by_event(session: QuerySession, asked: AskedTime) -> AskedTime:
    event = dated_event(session)
    if event is None:
        return asked
    session.note(f"“{event.name}” was taken to be of {event.day}")
    period = replace(event.period, text=event.phrase)
    return replace(asked, period=period, phrase=event.phrase, explicit=True, newest=False)
