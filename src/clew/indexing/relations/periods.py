"""When a relation held, from the dates beside it: "since 2019", "from 2017 to 2022"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from clew.indexing.ner.spans import NameSpan
from clew.times import read_period
from clew.types import Period

_CUE = re.compile(
    r"(?<!\w)(?P<word>since|from|between|until|till|up to|before|after|in|on|during|at)(?: the)?"
    r"(?: (?:early|late|mid|year|(?:start|beginning|middle|end) of))?[ -]$",
    re.IGNORECASE,
)
_LONGEST_CUE = 30
"""Characters of "from the beginning of "."""
_TO = re.compile(r" ?[-–—] ?| (?:to|and|until|till|through) (?:the )?")
_SHORT_TO = re.compile(r" ?[–—] ?(?P<year>\d\d)(?![\d\w])")
"""The end of "2009–10"; a hyphen would make a month of it."""
_AFTER_TAIL = re.compile(
    r"[\s,(]*|(?: (?!(?:and|or|but|when|while|where|who|which|that|because|before|after)\b)"
    r"[\w'’&-]+){1,6} "
)
"""What may stand between a relation's second name and its time: some words, no new clause."""
_ON_TO_TAIL = re.compile(r"[\w\s'’-]{0,60}")
"""What may stand between a time and a relation's second name: no other clause, no bracket."""
_OPENS = re.compile(r"(?:^|[\n.!?:;,(>*#—–\"“)\]-]\s{0,9}|\b(?:and|but|so|that|then)\s)$")
_BEFORE_HEAD = re.compile(r",? (?:the )?")


class Validity(NamedTuple):
    """When a relation held; a side that is not said is None."""

    valid_from: datetime | None
    valid_until: datetime | None


def read_validity(
    text: str, dates: Sequence[NameSpan], head_start: int, tail: NameSpan, limit: int
) -> Validity | None:
    """When the relation held whose names begin at `head_start` and with `tail`; None if unsaid.

    `dates` are the sentence's, in order, under names that `read_period` reads. The time stands
    after the second name and before `limit`, among the words between the two ("was founded in 1994
    by"), or right before the first one, where it opens the clause. "In 2019" is a beginning; "until
    2020" holds to the end of that year, "before 2020" to its start.
    """
    after = [date for date in dates if tail.start <= date.start < limit]
    if after and (found := _read(text, after[:2])):
        start, validity = found
        if after[0].start == tail.start or _AFTER_TAIL.fullmatch(text, tail.end, start):
            return validity
    between = [date for date in dates if head_start <= date.start and date.end <= tail.start]
    if between and _ON_TO_TAIL.fullmatch(text, between[-1].end, tail.start):
        found = _read(text, between[-2:] if _is_range(text, between) else between[-1:])
        return found and found[1]
    before = [date for date in dates if date.end <= head_start]
    if before and _BEFORE_HEAD.fullmatch(text, before[-1].end, head_start):
        found = _read(text, before[-2:] if _is_range(text, before) else before[-1:])
        # "Founded in 1994, Kestrel makes pumps": the date is that of another verb.
        return (
            found[1]
            if found and _OPENS.search(text, max(0, found[0] - _LONGEST_CUE), found[0])
            else None
        )
    return None


def _is_range(text: str, dates: Sequence[NameSpan]) -> bool:
    """Whether the last two of the dates are one range."""
    to = _TO.fullmatch(text, dates[-2].end, dates[-1].start) if len(dates) > 1 else None
    return to is not None


def _read(text: str, dates: Sequence[NameSpan]) -> tuple[int, Validity] | None:
    """Where the words for the time begin, and what the first date says, or it and the second."""
    first = dates[0]
    cue = _CUE.search(text, max(0, first.start - _LONGEST_CUE), first.start)
    start = cue.start() if cue else first.start
    period = read_period(first.name)
    if period is None:
        return None
    if (last_day := _end_of_range(text, dates, cue)) is not None:
        last = read_period(last_day)
        return (start, Validity(period.start, last.end)) if last else None
    if cue is not None:
        return start, _bounded(cue["word"].lower(), period)
    is_relative = text[first.start : first.end] != first.name
    return (start, Validity(period.start, None)) if is_relative else None


def _end_of_range(text: str, dates: Sequence[NameSpan], cue: re.Match[str] | None) -> str | None:
    """The last date of "1985 to 1990" and "between 1985 and 1990", not of "in 1985 and 1990"."""
    first = dates[0]
    to = _TO.fullmatch(text, first.end, dates[1].start) if len(dates) > 1 else None
    if to and ("and" not in to.group() or (cue and cue["word"].lower() == "between")):
        return dates[1].name
    short = _SHORT_TO.match(text, first.end) if first.name.isdigit() else None
    return f"{first.name[:2]}{short['year']}" if short and short["year"] > first.name[2:] else None


def _bounded(word: str, period: Period) -> Validity:
    match word:
        case "until" | "till" | "up to":
            return Validity(None, period.end)
        case "before":
            return Validity(None, period.start)
        case "after":
            return Validity(period.end, None)
        case _:
            return Validity(period.start, None)
