"""What a question says about time: the period that it asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import Literal

from clew.times.ranges import FoundRange, find_dates, find_ranges, hull
from clew.types import Period

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
    text = question
    for pattern in (_QUOTED, _TITLE):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    found = [_read_mention(text, one) for one in find_ranges(text, now, newest)]
    mentions = [one for one in found if one is not None]
    # The periods of a comparison, in the question's order, where two stand apart.
    compared: tuple[Period, ...] = ()
    if mentions and _COMPARING.search(text):
        compared = tuple(find_dates(text, now, newest))
        if len(compared) < 2 or any(a.overlaps(b) for a, b in combinations(compared, 2)):
            compared = ()
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
    period = found.period
    bounded = {
        "within": period,
        "since": Period(start=period.start, end=None),
        "until": Period(start=None, end=period.end),
        "before": Period(start=None, end=period.start),
        "after": Period(start=period.end, end=None),
    }
    return _Mention(
        before.start(),
        onwards.end() if onwards else end,
        bounded[bound],
        explicit=True,
        yearless=not found.has_year,
    )


def _together(mentions: Sequence[_Mention]) -> _Mention | None:
    """What several dates leave together ("after 2017 but before 2020"), else all that they span."""
    if not mentions:
        return None
    period = mentions[0].period
    for one in mentions[1:]:
        if period.overlaps(one.period):
            starts = [time for time in (period.start, one.period.start) if time]
            ends = [time for time in (period.end, one.period.end) if time]
            period = Period(start=max(starts, default=None), end=min(ends, default=None))
        else:
            period = hull(period, one.period)
    return replace(mentions[0], end=mentions[-1].end, period=period)
