"""The names of periods: what "7 May 2023" means, and what a period is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache

from dateutil.relativedelta import relativedelta

from clew.languages import read_word_lists
from clew.types import Period

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
MONTH = "|".join((*MONTHS, "Sept", *(name[:3] for name in MONTHS if name != "May")))
"""Alternatives of a pattern: the months and their short forms, without a full stop."""
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which a season starts: northern and meteorological."""
DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"

Days = tuple[date, date]
"""The first day and the day after the last one."""

_YEAR = r"(?P<year>[12]\d{3})"
_ORDINALS = ("first", "second", "third", "fourth")
_NUMBER = re.compile(r"\d+")
_LONGEST = 40
"""Characters of a date on either side of its year, at most."""


def month_number(name: str) -> int:
    """1 to 12, from the name of a month or its short form."""
    return [month[:3].casefold() for month in MONTHS].index(name[:3].casefold()) + 1


def months_from(year: int, month: int, count: int) -> Days:
    """`count` months, at most twelve, from the first of a month on."""
    years, last = divmod(month - 1 + count, 12)
    return date(year, month, 1), date(year + years, last + 1, 1)


def one_day(day: date) -> Days:
    """A single day."""
    return day, day + timedelta(days=1)


# --- reading -----------------------------------------------------------------------------


def _year(match: re.Match[str]) -> Days:
    """A year; "1990s" is ten of them, "1800s" a hundred ("2000s" mostly means the decade)."""
    year = int(match["year"])
    many = 100 if year % 100 == 0 and year < 2000 else 10
    years = many if match["plural"] else 1
    return date(year, 1, 1), date(year + years, 1, 1)


def _month(match: re.Match[str]) -> Days:
    year, month = int(match["year"]), month_number(match["month"])
    if match["day"] is None:
        return months_from(year, month, 1)
    return one_day(date(year, month, _number(match["day"])))


def _foreign_month(match: re.Match[str]) -> Days:
    """A month or a day of one, in a language other than English; a month's name is needed."""
    month = _foreign_months().get(match["month"].casefold())
    if month is None:
        raise ValueError
    year, day = int(match["year"]), match["day"]
    return one_day(date(year, month, int(day))) if day else months_from(year, month, 1)


@cache
def _foreign_months() -> dict[str, int]:
    return {
        name.casefold(): number
        for names in read_word_lists("clew.times", "months.toml").values()
        for number, name in enumerate(names.split(), start=1)
    }


def _digits(match: re.Match[str]) -> Days:
    year, month, day = int(match["year"]), match["month"], match["day"]
    if day is not None:
        return one_day(date(year, int(month), int(day)))
    return months_from(year, 1, 12) if month is None else months_from(year, int(month), 1)


def _numeric(match: re.Match[str]) -> Days:
    """A day in numbers, its year last."""
    one, other, year = int(match["one"]), int(match["other"]), int(match["year"])
    order = day_comes_first(one, other, match["mark"])
    if order is None:  # nobody knows which is the month
        raise ValueError
    return one_day(date(year, other, one) if order else date(year, one, other))


def day_comes_first(one: int, other: int, mark: str) -> bool | None:
    """Whether the first of two numbers is the day; None where both orders are possible.

    Whoever puts full stops between the numbers puts the day first.
    """
    if mark == ".":
        return True
    return None if (one > 12) == (other > 12) and one != other else one >= other


def _quarter(match: re.Match[str]) -> Days:
    number = match["number"].casefold()
    quarter = _ORDINALS.index(number) if number in _ORDINALS else _number(number) - 1
    return months_from(int(match["year"]), 3 * quarter + 1, 3)


def _century(match: re.Match[str]) -> Days:
    """The 19th century, as mostly meant: 1800 up to and with 1899."""
    first = 100 * (int(match["number"]) - 1)
    return date(max(first, 1), 1, 1), date(first + 100, 1, 1)


def _week(match: re.Match[str]) -> Days:
    period = read_period(match["first"])
    if period is None or period.start is None:
        raise ValueError
    first = period.start.date()
    return first, first + timedelta(days=2 if match["end"] else 7)


def _number(text: str) -> int:
    return int("".join(filter(str.isdecimal, text)))


def _form(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


_MONTH = rf"(?P<month>{MONTH})\.?"
_DAY = rf"(?P<day>{DAY})"


@cache
def _forms() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Days]], ...]:
    """Every form and how to read it; compiled where the first date is read, for it takes time."""
    return (
        (_form(rf"(?:the (?=\d{{4}}s))?{_YEAR}(?P<plural>s)?"), _year),
        (_form(rf"(?:{_DAY}(?: of)? )?{_MONTH},? ?{_YEAR}"), _month),
        (_form(rf"{_MONTH} {_DAY},? {_YEAR}"), _month),
        (_form(rf"{_DAY}-{_MONTH}-{_YEAR}"), _month),
        (_form(rf"{_MONTH}-{_DAY}-{_YEAR}"), _month),
        # As programs print it: "Sun Nov  7 13:58:10 2004".
        (_form(rf"{_MONTH} +{_DAY} \d\d:\d\d(?::\d\d)?(?: [A-Z]{{2,5}})? {_YEAR}"), _month),
        (
            # "2019.3.1" is a version. A time may follow: "2023-05-07T10:00".
            re.compile(
                rf"(?<![\w/.-]){_YEAR}(?P<mark>[-.]|/(?=\d\d?/))(?P<month>\d\d|(?<=/)\d)"
                r"(?P=mark)(?P<day>\d\d|(?<=/)\d)(?!\d|[/.-]\d)(?=[T_]\d\d|\b(?!_))"
            ),
            _digits,
        ),
        (
            # Not the end of a version ("1.4.5.2009") or of a path ("a/1/2/2009").
            re.compile(
                r"(?<![\w./-])(?P<one>\d\d?)(?P<mark>[./-]) ?(?P<other>\d\d?)(?P=mark) ?"
                rf"{_YEAR}(?!\w|[./-]\d)"
            ),
            _numeric,
        ),
        (
            # Written without spaces between words: what stands beside it may be a letter.
            re.compile(
                rf"(?<!\d){_YEAR} ?[年년]"
                r"(?: ?(?P<month>\d{1,2}) ?[月월](?: ?(?P<day>\d{1,2}) ?[日일])?)?"
            ),
            _digits,
        ),
        (
            _form(rf"(?:the )?(?P<season>{'|'.join(SEASONS)})(?: of)? {_YEAR}"),
            lambda m: months_from(int(m["year"]), SEASONS[m["season"].casefold()], 3),
        ),
        (_form(rf"Q(?P<number>[1-4]),?(?: of)? ?{_YEAR}"), _quarter),
        (_form(rf"{_YEAR}[ -]?Q(?P<number>[1-4])"), _quarter),
        (
            _form(
                rf"(?:the )?(?P<number>{'|'.join(_ORDINALS)}|1st|2nd|3rd|4th) quarter"
                rf"(?: of)? {_YEAR}"
            ),
            _quarter,
        ),
        (_form(r"(?:the )?(?P<number>\d{1,2})(?:st|nd|rd|th)[ -]century"), _century),
        (
            _form(
                rf"(?:the )?week(?P<end>end)? of (?:the )?(?P<first>{DAY}(?: of)? (?:{MONTH})\.?,?"
                rf" [12]\d{{3}}|(?:{MONTH})\.? {DAY},? [12]\d{{3}}|[12]\d{{3}}-\d\d-\d\d)"
            ),
            _week,
        ),
        (
            # Any word may stand where a month does: reading it tells. "Mars 2020" is a rover.
            _form(
                r"(?:(?P<day>0?[1-9]|[12]\d|3[01])(?:\.|º|er)? (?:de |di )?|(?!mars))"
                rf"(?P<month>[^\W\d_]{{3,12}})(?: de| del)?,? {_YEAR}"
            ),
            _foreign_month,
        ),
    )


def read_period(name: str) -> Period | None:
    """The period that a date's name means, in UTC, `text` being the name; None for what is none.

    "1990", "the 1990s", "May 2023", "7 May 2023", "May 7, 2023", "2023-05-07", "2008年8月8日",
    "Q3 2021", "summer 2021", "19th century", "week of 1 May 2023", "weekend of 6 May 2023".
    Years are those of four digits, to 2999. A winter starts in December of the year it is named by.
    """
    for pattern, read in _forms():
        match = pattern.fullmatch(name)
        if match:
            return _period(match, read)
    return None


def find_names(text: str) -> Iterator[tuple[int, int, Period]]:
    """Every (start, end, period) at which a form of `read_period` stands; they may overlap."""
    if not _NUMBER.search(text):
        return
    for pattern, read in _forms():
        for match in pattern.finditer(text):
            period = _period(match, read)
            if period is not None:
                yield match.start(), match.end(), period


def name_around(
    text: str, left: int, right: int, start: int, end: int
) -> tuple[int, int, Period] | None:
    """The longest date of `text[start:end]` of which `text[left:right]` is the year and a part."""
    first, last = max(start, left - _LONGEST), min(end, right + _LONGEST)
    found = None
    for pattern, read in _forms():
        for match in pattern.finditer(text, first, last):
            if match.start() <= left and right <= match.end() and match.span() != (left, right):
                period = _period(match, read)
                if period and (found is None or len(match.group()) > found[1] - found[0]):
                    found = (*match.span(), period)
    return found


def _period(match: re.Match[str], read: Callable[[re.Match[str]], Days]) -> Period | None:
    try:
        first, after = read(match)
    except ValueError:  # no such day: 30 February
        return None
    return date_period(first, after, match.group())


def date_period(first: date, after: date, text: str = "") -> Period:
    """The period from the start of one day to the start of another, in UTC."""
    return Period(start=_midnight(first), end=_midnight(after), text=text)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


# --- naming ------------------------------------------------------------------------------


def name_of(period: Period) -> str | None:
    """What a whole day, week, weekend, month, season, quarter or year is called; else None.

    "7 May 2023", "week of 1 May 2023", "weekend of 6 May 2023", "May 2023", "summer 2023",
    "Q1 2023", "2023": a name that `read_period` reads back as the same period.
    """
    start = period.start
    if start is None or period.end is None or not 1000 <= start.year <= 2999:
        return None
    year, month = start.year, MONTHS[start.month - 1]
    day = f"{start.day} {month} {year}"
    weeks = {1: f"week of {day}", 6: f"weekend of {day}"}
    seasons = (f"{season} {year}" for season, first in SEASONS.items() if first == start.month)
    names = [day, f"{month} {year}", f"Q{(start.month + 2) // 3} {year}", str(year), *seasons]
    for name in [*names, weeks.get(start.isoweekday(), day)]:
        if (found := read_period(name)) and (found.start, found.end) == (start, period.end):
            return name
    return None


# Words that mean a time by the day on which they are said: "yesterday", "last Friday".


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
    # A quick look that spares most texts the rest.
    small = text[start:end].lower()
    if not any(word in small for word in _SAY_DAY) and not (
        any(word in small for word in _POINT) and any(word in small for word in _SAY_UNIT)
    ):
        return
    matches = _relative().finditer(text[:end], start)
    yield from filter(None, (_found(match, now, _days) for match in matches))


def find_recent(text: str, now: datetime) -> Iterator[FoundPeriod]:
    """Where a text says "recently": `RECENT_DAYS` days up to today."""
    for match in _RECENT.finditer(text):
        if found := _found(match, now, lambda _, today: _rolling("day", RECENT_DAYS, today)):
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
        # Last, this or next of a unit, a weekday, a month or a season.
        step = {"this": 0, "next": 1}.get(match["which"].casefold(), -1)
        if match["unit"]:
            return calendar_unit(match["unit"].casefold(), step, today)
        named = match["named"].casefold()
        if named[:3] in _WEEKDAYS and named not in SEASONS:
            day = _first_day("week", today) + timedelta(days=_WEEKDAYS.index(named[:3]))
            every = [one_day(day + timedelta(weeks=week)) for week in range(-2, 3)]
        else:
            month, count = (SEASONS[named], 3) if named in SEASONS else (month_number(named), 1)
            every = [months_from(today.year + year, month, count) for year in range(-2, 3)]
        if step < 0:
            return max(days for days in every if days[1] <= today)
        if step > 0:
            return min(days for days in every if days[0] > today)
        return next((days for days in every if days[0] <= today < days[1]), every[len(every) // 2])
    if match["ago"]:
        return calendar_unit(match["back"].casefold(), -_many(match["ago"]), today)
    if match["hence"]:
        return calendar_unit(match["on"].casefold(), _many(match["hence"]), today)
    many = _many(match["many"]) if match["many"] else 1
    return _rolling((match["units"] or match["rolled"]).casefold(), many, today)


def calendar_unit(unit: str, count: int, today: date) -> Days:
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
    if unit in ("day", "week"):
        return day - timedelta(days=day.weekday() if unit == "week" else 0)
    months = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}
    return date(day.year, months[unit], 1)


def _delta(unit: str, count: int) -> relativedelta:
    # Imported where it is needed: most questions name no such time, and it takes ten milliseconds.
    from dateutil.relativedelta import relativedelta

    months = {"month": count, "quarter": 3 * count, "year": 12 * count}
    days = {"day": count, "week": 7 * count}
    return relativedelta(months=months.get(unit, 0), days=days.get(unit, 0))


def _many(words: str) -> int:
    return int(words) if words.isdecimal() else _NUMBERS[" ".join(words.casefold().split())]
