"""What a question says about time: the period that it asks for, by its words and in a store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from clew.times.ranges import FoundRange, find_dates, find_ranges, hull
from clew.types import Period

if TYPE_CHECKING:
    from clew.search.session import QuerySession

Bound = Literal["within", "since", "until", "before", "after"]


@dataclass(frozen=True, slots=True)
class AskedTime:
    """What a question says about time."""

    period: Period | None
    """The period that it names; `text` is its phrase. None where it names none."""
    phrase: str
    """The words that name the period, with their preposition; empty where there is none."""
    evolution: bool
    """Whether it asks how something came to be: "how did X evolve", "history of X"."""
    explicit: bool
    """Whether it wants answers from the period alone: by a preposition ("in 2019"), a relative
    phrase ("last week"), a range or a full date. A bare year may be part of a name ("the 2008
    financial crisis")."""
    compared: tuple[Period, ...] = ()
    """The periods that it compares, two or more: "2020 versus 2024"."""
    newest: bool = False
    """Whether it asks for what holds now: "latest", "currently", "still"; and names no period."""
    yearless: bool = False
    """Whether the period is a month or a day whose year it leaves out."""


_NEWEST = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|nowadays|these days|at present"
    r"|right now|now|still)\b",
    re.IGNORECASE,
)
_COMPARING = re.compile(
    r"\b(?:compar(?:e[ds]?|ing|ison)|versus|vs|differ(?:s|ed|ent|ence|ences)?|contrast(?:ed)?"
    r"|as opposed to|rather than|than (?:in|on|during|back in))\b",
    re.IGNORECASE,
)
_EVOLUTION = re.compile(
    # "How do I change my password?" asks for no history.
    r"\bhow (?:did|has|have|had)\b.{0,120}?\b(?:evolv|chang|develop|progress|grow|shift)"
    r"|\b(?:evolution|history|timeline|chronology|development) of\b|\bover (?:the (?:years|decades"
    r"|centuries|months|weeks|course of)|time)\b|\b(?:timeline|chronological(?:ly)?)\b"
    r"|\bthrough(?:out)? (?:the (?:years|decades|centuries|ages)|time|history)\b",
    re.IGNORECASE | re.DOTALL,
)
# Nothing between quotation marks, or set as a title, names a time.
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|(?<!\w)['‘][^'‘’]+['’](?!\w)"
    r"|(?<![\w*])\*{1,3}[^*\n]+\*{1,3}(?![\w*])|(?<!\w)_{1,2}[^_\n]+_{1,2}(?!\w)"
)
_TITLE = re.compile(r"\b[12]\d{3}: (?=[A-Z])")
"""A year that opens a title: "2001: A Space Odyssey"."""

_BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(("since", "starting in", "starting from", "beginning in"), "since"),
    **dict.fromkeys(("until", "till", "up to", "up until", "through", "by"), "until"),
    **dict.fromkeys(("before", "prior to", "earlier than"), "before"),
    **dict.fromkeys(("after", "later than"), "after"),
    **dict.fromkeys(("in", "on", "at", "during", "within", "throughout"), "within"),
    **dict.fromkeys(("between", "from", "as of"), "within"),
}
_PREPOSITION = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(_BOUNDS, key=len, reverse=True))})"
    r"(?: (?:the )?(?:early|late|mid|years?|(?:month|beginning|start|middle|end) of))?"
    r"(?P<article> (?:the|an?|his|her|its|their|this|that))?[ -]$",
    re.IGNORECASE,
)
_LONGEST_PREPOSITION = 50
"""Characters before a date in which its preposition stands."""
_ONWARDS = re.compile(r" (?:on|onwards?)\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")
_NO_MONTH_AFTER = frozenset(("by", "from", "at", "as of"))
"""Prepositions that stand before persons and places as often as before months: "by June"."""


def read_time(question: str, now: datetime, newest: datetime | None = None) -> AskedTime:
    """What the question says about time, as asked at `now`, an aware time in the asker's zone.

    "Before 2019" and "after 2019" leave the year out; "since", "until", "from … to …" and
    "between … and …" take it in. A month or day without a year is the latest that has begun at
    `newest`, the newest date of what is asked, or else now.
    """
    text = _unquoted(question)
    mentions = [
        s
        for found in find_ranges(text, now, newest)
        if (s := _read_mention(text, found)) is not None
    ]
    compared = _compared(text, now, newest) if len(mentions) else ()
    asked = _together([one for one in mentions if one.explicit or compared] or mentions[:1])
    phrase = question[asked.start : asked.end] if asked else ""
    return AskedTime(
        period=replace(asked.period, text=phrase) if asked else None,
        phrase=phrase,
        evolution=bool(_EVOLUTION.search(text)),
        explicit=asked is not None and (asked.explicit or bool(compared)),
        compared=compared,
        newest=asked is None and bool(_NEWEST.search(text)),
        yearless=any(one.yearless for one in mentions),
    )


def _compared(text: str, now: datetime, newest: datetime | None) -> tuple[Period, ...]:
    """The periods of a comparison, in the question's order; none where there are not two apart."""
    if not _COMPARING.search(text):
        return ()
    periods = find_dates(text, now, newest)
    apart = len(periods) > 1 and not any(a.overlaps(b) for a, b in combinations(periods, 2))
    return tuple(periods) if apart else ()


def _unquoted(question: str) -> str:
    """The question with blanks where something is quoted or a year opens a title."""
    for pattern in (_QUOTED, _TITLE):
        question = pattern.sub(lambda match: " " * len(match.group()), question)
    return question


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    period: Period
    explicit: bool
    yearless: bool = False


def _read_mention(text: str, found: FoundRange) -> _Mention | None:
    """What the words before dates make of them; None where they turn out to be no dates."""
    start, end = found.start, found.end
    before = _PREPOSITION.search(text, max(0, start - _LONGEST_PREPOSITION), start)
    word = before["word"].lower() if before else ""
    if not found.has_year and (not before or (found.dates == 1 and word in _NO_MONTH_AFTER)):
        return None
    if before is None or (before["article"] and _YEAR.fullmatch(text, start, end)):
        # "Ada Lee (1815–1852)": years in brackets describe a name.
        in_brackets = text.startswith("(", start - 1) if start else False
        return _Mention(start, end, found.period, found.is_sure and not in_brackets)
    onwards = _ONWARDS.match(text, end) if word == "from" else None
    bound = "since" if onwards else _BOUNDS[word]
    return _Mention(
        before.start(),
        onwards.end() if onwards else end,
        _bounded(found.period, bound),
        explicit=True,
        yearless=not found.has_year,
    )


def _bounded(period: Period, bound: Bound) -> Period:
    match bound:
        case "since":
            return Period(start=period.start, end=None)
        case "until":
            return Period(start=None, end=period.end)
        case "before":
            return Period(start=None, end=period.start)
        case "after":
            return Period(start=period.end, end=None)
        case "within":
            return period


def _together(mentions: Sequence[_Mention]) -> _Mention | None:
    """What several dates leave together ("after 2017 but before 2020"), else all that they span."""
    if not mentions:
        return None
    period = mentions[0].period
    for one in mentions[1:]:
        join = _intersection if period.overlaps(one.period) else hull
        period = join(period, one.period)
    return replace(mentions[0], end=mentions[-1].end, period=period)


def _intersection(one: Period, other: Period) -> Period:
    return Period(
        start=max((time for time in (one.start, other.start) if time), default=None),
        end=min((time for time in (one.end, other.end) if time), default=None),
    )


# --- in a store ----------------------------------------------------------------------------------


_YEARS_BACK = 20
"""Years in which a month without a year is looked for, at most."""


def read_asked_time(session: QuerySession) -> AskedTime:
    """What the question says about time, for the session to keep.

    A month without a year is the latest of which the store has texts, not that of today: an old
    archive has none of this year, and one late text has not moved the others.
    """
    asked = read_time(session.question, session.options.now)
    if asked.yearless and session.newest is not None:
        asked = _of_the_archive(session)
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
