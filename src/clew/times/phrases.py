"""Words that mean a time by the day on which they are said: "yesterday", "last Friday"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from clew.times.names import MONTH, MONTHS, SEASONS, Days, month_number, months_from, one_day
from clew.types import Period

if TYPE_CHECKING:
    from dateutil.relativedelta import relativedelta

RECENT_DAYS = 90
"""How far back "recently" reaches, today among them."""

_DAYS_OFF = {
    "day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
}
_NUMBERS = {
    **dict.fromkeys(("a", "an", "one"), 1),
    **dict.fromkeys(("two", "a couple of"), 2),
    **{"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    **{"ten": 10, "eleven": 11, "twelve": 12},
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# "sat" and "sun" are ordinary words, the other short forms are not.
_WEEKDAY = (
    "mon(?:day)?|tue(?:s(?:day)?)?|wed(?:s|nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|saturday|sunday"
)
_MANY = rf"(?:\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b".replace(" ", r"\s+"), re.IGNORECASE)


# Of these every phrase has a word of the first list, or one of each of the other two.
_SAY_DAY = ("yesterday", "today", "tonight", "tomorrow", "ago", "night")
_POINT = ("last", "past", "next", "this", "in ", "in\n")
_SAY_UNIT = (
    *("day", "week", "month", "quarter", "year", "morning", "afternoon", "evening"),
    *SEASONS,
    *("mon", "tue", "wed", "thu", "fri"),
    *(name[:3].lower() for name in MONTHS),
)
# "More recently" compares, "the most recent" is the last of all, however long ago.
_RECENT = _words(r"(?<!more\s)(?<!most\s)(?:recent|recently|lately|of late)")


@cache
def _relative() -> re.Pattern[str]:
    """Every phrase; compiled where the first text may hold one, for it takes milliseconds."""
    return _words(
        rf"(?:the )?(?P<day>{'|'.join(_DAYS_OFF)})"
        # "the past week" is seven days up to today, "this past weekend" the latest one.
        r"|(?P<which>last|this|next|(?:this )?past(?! (?:week|month|quarter|year)\b))"
        r" (?:(?P<unit>weekend|week|month|quarter|year)"
        # A month only with its capital: "this may be", "the last march".
        rf"|(?P<named>{_WEEKDAY}|{'|'.join(SEASONS)}|(?-i:{MONTH})))(?! of\b)"
        rf"|(?:(?:(?:the|this|these) )?past|the last) (?:(?P<many>{_MANY}) (?P<units>day|week|month"
        r"|quarter|year)s?|(?P<rolled>week|month|quarter|year))(?! of\b)"
        rf"|(?P<ago>{_MANY}) (?P<back>day|weekend|week|month|quarter|year)s? ago"
        # "for the first time in two years", "once in a month" say how often, not when.
        rf"|(?<!time\s)(?<!once\s)(?<!twice\s)in (?P<hence>{_MANY}) (?P<on>day|week|month|year)s?"
        r"(?! of\b)"
    )


@dataclass(frozen=True, slots=True)
class FoundPeriod:
    """A period that a text names."""

    start: int
    """Character range of its words."""
    end: int
    period: Period
    relative: bool
    """Whether its words mean a period only by the day on which they are said."""


def find_relative(
    text: str, now: datetime, start: int = 0, end: int | None = None
) -> Iterator[FoundPeriod]:
    """Days, weeks, months, … that `text[start:end]` names by `now`, in order.

    `now` is aware; its zone is the one in which days begin. A week starts on Monday. "Last week" is
    the one before this, "the past week" seven days up to today; "last Friday" is the latest before
    today, "next Friday" the first after it; "two weeks ago" is a week, "two days ago" a day.
    """
    end = len(text) if end is None else end
    if not _may_say(text[start:end].lower()):
        return
    for match in _relative().finditer(text, start, end):
        found = _found(match, now, _days)
        if found is not None:
            yield found


def _may_say(text: str) -> bool:
    """Whether a text in small letters might name a time: a quick look that spares most the rest."""
    if any(word in text for word in _SAY_DAY):
        return True
    return any(word in text for word in _POINT) and any(word in text for word in _SAY_UNIT)


def find_recent(text: str, now: datetime) -> Iterator[FoundPeriod]:
    """Where a text says "recently": `RECENT_DAYS` days up to today."""
    for match in _RECENT.finditer(text):
        found = _found(match, now, lambda _, today: _rolling("day", RECENT_DAYS, today))
        if found is not None:
            yield found


def _found(
    match: re.Match[str], now: datetime, read: Callable[[re.Match[str], date], Days]
) -> FoundPeriod | None:
    try:
        start, end = (
            datetime(day.year, day.month, day.day, tzinfo=now.tzinfo).astimezone(UTC)
            for day in read(match, now.date())
        )
    except (ValueError, OverflowError):  # before the first year of the calendar, or after its last
        return None
    return FoundPeriod(
        start=match.start(),
        end=match.end(),
        period=Period(start=start, end=end, text=match.group()),
        relative=True,
    )


def _days(match: re.Match[str], today: date) -> Days:
    """The days that a match of `_relative` means."""
    if match["day"]:
        words = " ".join(match["day"].casefold().split())
        return one_day(today + timedelta(days=_DAYS_OFF[words]))
    if match["which"]:
        return _chosen(match, today)
    if match["ago"]:
        return _calendar(match["back"].casefold(), -_many(match["ago"]), today)
    if match["hence"]:
        return _calendar(match["on"].casefold(), _many(match["hence"]), today)
    many = _many(match["many"]) if match["many"] else 1
    return _rolling((match["units"] or match["rolled"]).casefold(), many, today)


def _chosen(match: re.Match[str], today: date) -> Days:
    """Last, this or next of a unit, a weekday, a month or a season."""
    which = match["which"].casefold()
    step = {"this": 0, "next": 1}.get(which, -1)
    if match["unit"]:
        return _calendar(match["unit"].casefold(), step, today)
    every = _occurrences(match["named"].casefold(), today)
    if step < 0:
        return max(days for days in every if days[1] <= today)
    if step > 0:
        return min(days for days in every if days[0] > today)
    return next((days for days in every if days[0] <= today < days[1]), every[len(every) // 2])


def _occurrences(named: str, today: date) -> list[Days]:
    """A weekday of the weeks around this one, or a month or season of the years around this."""
    if named[:3] in _WEEKDAYS and named not in SEASONS:
        day = _first_day("week", today) + timedelta(days=_WEEKDAYS.index(named[:3]))
        return [one_day(day + timedelta(weeks=week)) for week in range(-2, 3)]
    month, count = (SEASONS[named], 3) if named in SEASONS else (month_number(named), 1)
    return [months_from(today.year + year, month, count) for year in range(-2, 3)]


def _calendar(unit: str, count: int, today: date) -> Days:
    """The whole unit of the calendar that lies `count` such units after today's."""
    if unit == "weekend":
        saturday = _first_day("week", today) + timedelta(weeks=count, days=5)
        return saturday, saturday + timedelta(days=2)
    first = _first_day(unit, today)
    return first + _delta(unit, count), first + _delta(unit, count + 1)


def _rolling(unit: str, count: int, today: date) -> Days:
    """`count` units up to the end of today."""
    after = today + timedelta(days=1)
    return after - _delta(unit, count), after


def _first_day(unit: str, day: date) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "day":
        return day
    months = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}
    return date(day.year, months[unit], 1)


def _delta(unit: str, count: int) -> relativedelta:
    # Imported where it is needed: most questions name no such time, and it takes ten milliseconds.
    from dateutil.relativedelta import relativedelta

    match unit:
        case "day":
            return relativedelta(days=count)
        case "week":
            return relativedelta(weeks=count)
        case "year":
            return relativedelta(years=count)
        case _:
            return relativedelta(months=count * (3 if unit == "quarter" else 1))


def _many(words: str) -> int:
    return int(words) if words.isdecimal() else _NUMBERS[" ".join(words.casefold().split())]
