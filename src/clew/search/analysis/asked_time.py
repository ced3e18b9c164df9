"""The time that a question means in this store: by its newest date, and by its dated events."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.search.analysis.period import AskedTime, read_time
from clew.text import entity_key, terms
from clew.times import find_periods, name_of
from clew.types import Period

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from clew.graph.snapshot import Ints
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


# Events that a question counts time from: "before the recall", "after the merger of X and Y".
#
# Where the question names no date, the texts may: a sentence that speaks of the event says when
# it
# was, or the text was written on the day of which it tells.


MENTIONS = 20
"""Sentences about an event in which its date is looked for."""
_BOUNDS = {"before": "before", "prior to": "before", "until": "before"}
_EVENT = re.compile(
    r"\b(?P<bound>before|prior to|until|after|following|since)\s+"
    r"(?P<name>(?:(?:the|his|her|its|their|our|my)\s+\w|(?-i:[A-Z]))[^,;:?!.\n]{2,80})",
    re.IGNORECASE,
)


class DatedEvent(NamedTuple):
    """An event of the question, and the period before or after it."""

    name: str
    phrase: str
    """With its preposition."""
    date: Period
    """Of the event."""
    period: Period
    """Before it or after it."""

    @property
    def day(self) -> str:
        """Its date in words."""
        start = self.date.start
        assert start is not None
        return name_of(self.date) or f"{start:%Y-%m-%d}"


def named_event(question: str) -> str:
    """What a question may count time from; empty: nothing."""
    found = _EVENT.search(question)
    return found["name"].strip() if found else ""


def dated_event(session: QuerySession) -> DatedEvent | None:
    """The event that the question counts time from; None where there is none, or none is dated.

    A thing with relations stated by hand is none: who worked where "before Kornblume" is said by
    their periods, not by a day on which it was spoken of.
    """
    found = _EVENT.search(session.question)
    if found is None:
        return None
    store = session.resources.store
    things = list(store.resolve([entity_key(found["name"])]).values())
    if things and store.unstated_relations(things):
        return None
    rows = _sentences_about(session, terms(found["name"]))
    date = _date(session, rows, set(terms(found["name"]))) if len(rows) else None
    if date is None:
        return None
    before = found["bound"].lower() in _BOUNDS
    period = Period(start=None, end=date.start) if before else Period(start=date.end, end=None)
    return DatedEvent(found["name"].strip(), found.group().strip(), date, period)


def _sentences_about(session: QuerySession, words: Sequence[str]) -> Ints:
    """Rows of sentences with all words of the event, else with as many of the first as there are.

    At least two, where it has two: one word ("the great …") says too little.
    """
    snapshot = session.snapshot
    for count in range(len(words), min(len(words), 2) - 1, -1):
        rows = snapshot.term_rows(words[:count])
        if count and len(rows) == len(set(words[:count])):
            shared: Ints = reduce(np.intersect1d, (snapshot.postings.row(row) for row in rows))
            # The first row of a chunk is its context, which is no sentence.
            within = shared[shared > snapshot.sentence_starts[snapshot.sentence_chunk[shared]]]
            within = within[session.allows(snapshot.chunk_ids[snapshot.sentence_chunk[within]])]
            if len(within):
                return within[:MENTIONS]
    return np.zeros(0, np.int64)


def _date(session: QuerySession, rows: Ints, event: set[str]) -> Period | None:
    """The date that most of the sentences state, else that of the text about the event.

    That is one whose passage begins with little more than the event's name, as a heading or the
    title of an appointment does; else the earliest that speaks of it.
    """
    snapshot, store = session.snapshot, session.resources.store
    chunks = snapshot.sentence_chunk[rows]
    ids = snapshot.chunk_ids[chunks].tolist()
    ordinals = (rows - snapshot.sentence_starts[chunks] - 1).tolist()
    sentences, published = store.sentences(ids), store.published_at(ids)
    stated: Counter[tuple[datetime, datetime]] = Counter()
    named = []
    for id_, ordinal in zip(ids, ordinals, strict=True):
        sentence = sentences[id_][ordinal]
        stated.update(_stated(sentence, published.get(id_, session.options.now)))
        if ordinal == 0 and id_ in published and _names(sentence, event):
            named.append(published[id_])
    if stated:
        # Of those stated equally often, the most exact and then the earliest.
        start, end = min(stated, key=lambda p: (-stated[p], p[1] - p[0], p[0]))
        return Period(start=start, end=end)
    first = min(named or published.values(), default=None)
    return None if first is None else Period(start=first, end=first)


def _names(sentence: str, event: set[str]) -> bool:
    """Whether at least half of a sentence's words are those of the event."""
    words = set(terms(sentence))
    return 2 * len(words & event) >= len(words)


def _stated(sentence: str, said: datetime) -> Iterator[tuple[datetime, datetime]]:
    for found in find_periods(sentence, said):
        if found.period.start and found.period.end:
            yield found.period.start, found.period.end
