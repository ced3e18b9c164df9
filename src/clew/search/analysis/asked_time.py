"""The time that a question means in this store: by its newest date, and by its dated events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.analysis.event_dates import dated_event, names_event
from clew.search.analysis.period import AskedTime, read_time

if TYPE_CHECKING:
    from clew.search.session import QuerySession


def read_asked_time(session: QuerySession) -> AskedTime:
    """What the question says about time, for the session to keep.

    A month without a year is the latest of the store, not of today: an old archive has none of
    this year. Where no date is named, an event may stand for one: "after the merger".
    """
    asked = read_time(session.question, session.options.now)
    if asked.yearless and session.newest is not None:
        asked = read_time(session.question, session.options.now, session.newest)
    if asked.period is None and names_event(session.question) and session.newest is not None:
        asked = _by_event(session, asked)
    session.found_time = asked
    return asked


def _by_event(session: QuerySession, asked: AskedTime) -> AskedTime:
    event = dated_event(session)
    if event is None:
        return asked
    session.note(f"“{event.name}” was taken to be of {event.day}")
    period = replace(event.period, text=event.phrase)
    return replace(asked, period=period, phrase=event.phrase, explicit=True, newest=False)
