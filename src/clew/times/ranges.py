"""Dates in a text: periods, months and days without a year ("May", "7 May"), and ranges of them.

"Between May and July 2023" is one range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache, reduce
from itertools import chain, pairwise
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from clew.errors import InputError
from clew.languages import read_word_lists
from clew.times.names import (
    DAY,
    MONTH,
    MONTHS,
    Days,
    FoundPeriod,
    calendar_unit,
    find_names,
    find_recent,
    find_relative,
    month_number,
    months_from,
    one_day,
    read_period,
)
from clew.types import Period

# Whether four digits are a year: one decision, with its reason.
#
# A number is a year only where form or place says so. What is measured, paid, counted or numbered
# is none ("1900 kroner", "1987 pens", "port 2049"), and neither is what a label gives to something
# else ("Citations: 1900"). The words that decide stand in `years.toml`, by language.


YEAR = re.compile(r"(?<![A-Za-z\d])[12]\d{3}(?!\d)")
"""Four digits that may be a year."""

Reason = Literal[
    "word",  # "since 1990", "in 1990"
    "field",  # "Year: 1990", "born 1990"
    "brackets",  # "the chapel (1990)"
    "range",  # "1990–1995", "1990 and 1995"
    "adjective",  # "a 1990 survey"
    "subject",  # "1990 was"
    "date",  # "03/04/1990": nobody knows which is the month
    "source",  # "Oslo University, 1990."
    "amount",  # what stands beside it makes a quantity or a part of a longer number of it
    "label",  # "Citations: 1990", "port 1990"
    "alone",  # nothing speaks for or against it
]
_YEARS = frozenset(("word", "field", "brackets", "range", "adjective", "subject", "date", "source"))


class Verdict(NamedTuple):
    """What four digits of a text are."""

    start: int
    end: int
    reason: Reason

    @property
    def is_year(self) -> bool:
        """Whether form or place says that it is one."""
        return self.reason in _YEARS


_LONGEST_BEFORE = 60
"""Characters before the digits that are read; as many behind them."""
_LONGEST_WORD = 24
"""Characters of a word that introduces a year, and of what may stand between them."""
_FIRST_USUAL, _FIRST_FUTURE = "1500", "2100"
"""From the first on a year needs no word for it, from the second on numbers are rarely years."""
_MOST_APART = 200
"""Years of a range that nothing but its form shows."""
_LEFT = re.compile(r"(?:[\w$€£¥₹#@/\\+^%&<>`~.]|[\d][,:]|[^\W\d]['’]|\w-|\\[nt])$")
"""What stands right before a number that is a part of something longer, or a price."""
_RIGHT = re.compile(
    r" ?[%°‰]|(?![a-z][)\],;])[\w`^@\\]|['’]?[*+=<>]|[.,:]\d|/(?!\d\d(?:\d\d)?(?![\d/])|\s)"
    r"|-(?!\d{2}(?:\d\d)?(?![\d-]))\w|[\"'’]\w"
)
_DATE = re.compile(r"(?<![\w./-])\d\d?([/-])\d\d?\1$")
_IN_A_YEAR = re.compile(r" (?:in|im|en|i|nel|em) [12]\d{3}(?!\d)")
"""What stands behind an amount: "from 1500 in 2017 to 1900 in 2018"."""
_OPEN_RIGHT = re.compile(r"-(?:present|today|now|heute|auj)\b|[-–](?=[\s,;)\]]|$)")
_QUOTE = r"[\"'“”‘’„«*_]{0,3}"


_NO_LANGUAGES = ("units", "small")
"""Tables of `years.toml` that are of no language alone."""


def _plural(endings: str) -> re.Pattern[str]:
    """What several things are called that are counted."""
    small = "|".join(read_word_lists("clew.times", "years.toml")["small"]["words"].split())
    return re.compile(rf"[ -](?!(?:{small})\b)[^\W\d_A-Z]{{2,24}}(?<!s)(?:{endings})\b")


_GOES_ON = re.compile(r" \w+ (?!(?:of|in|on|at|for|with|from|to|by|and|or)\b)[a-z]")
_NOUN_DE = re.compile(r" [A-ZÄÖÜ][a-zäöüß]{2,30}\b")
_CLAUSE = re.compile(r"(?:^|[\n.!?;:(—–>|\]] ?|, |(?:and|but|that|und|et|y|og) )[#*>\s\"']{0,9}$")
_DETERMINER = re.compile(
    rf"(?<!\w)(?P<word>an?|no|any|which|what|every|the|this|that|its|his|her|their|our) {_QUOTE}$",
    re.IGNORECASE,
)
_ADJECTIVE = re.compile(r"[ -][A-Za-z][a-z]{2,24}\b")
_TITLED = re.compile(r"(?:(?<![^\s*_\"“(])[^\W\d_a-zà-ÿ][^\s(]{0,40}|[\d\"”’*_])\s{0,9}$")
_SOURCE = re.compile(r"(?:[A-Z][\w'’-]{1,40}|others|al)[.,]{1,2} $")
_SOURCE_END = re.compile(r"\.?[\"')\]]?\s*(?:$|\n)|\.\s+[A-Z]")
_COPYRIGHT = re.compile(r"(?:©|\([cC]\)|copyright(?:text)?)[^\n]{0,50}$", re.I)
_LABEL = re.compile(
    r"(?P<label>[^\W\d_][\w .'’/&-]{0,40}?)[\"'*_)]{0,3} ?"
    r"(?:[:=#№]|[Nn](?:[°ºr]\.?|os?\.))[ *_]{0,3}[{\"'“*_]?$"
)
_BRACKET = re.compile(r"[(\[](?:[^()\[\]\n\d\"']{0,20}[,;] ?)?$")
_BRACKET_END = re.compile(r"[a-z]?[)\]]|[,;–—-]")
_FOR = re.compile(r"(?:[Tt]he|[Oo]ur|[Tt]heir|[Ii]ts)(?: [a-z][\w'’-]*){1,3} for $")
_SEASON = re.compile(r"[-–/](\d\d)(?![\d-])")
"""The second year of "1990-91" and "2019/20"."""
_LISTED = re.compile(r"(?:,? (?:and|or|und|et|y|og) |, )[12]\d{3}(?!\d)")
_BEFORE_RANGE = re.compile(r"(?:^|[\n,;:(>.]|[A-Z][\w.'’-]{0,40}) ?$")
_SIGN = re.compile(r"(?:^|[\s,;(])[*†✝] ?$")
_OF_DEFINITE = 3
"""Words at most between an article and the "of" before its year."""


class _Words(NamedTuple):
    """The patterns that the word lists make."""

    sure: re.Pattern[str]
    behind: re.Pattern[str]
    shared: re.Pattern[str]
    dated: re.Pattern[str]
    join: re.Pattern[str]
    of: re.Pattern[str]
    range: re.Pattern[str]
    verb: re.Pattern[str]
    told: re.Pattern[str]
    """What goes on with a pronoun: "1998 he moved", "1998 zog er"."""
    unit: re.Pattern[str]
    fields: frozenset[str]
    plural: re.Pattern[str]
    plurals: dict[str, re.Pattern[str]]
    """By word of `shared`: what counts things after it, in its languages."""


@cache
def _words() -> _Words:
    """Compiled where the first number is read, for it takes time."""
    tables = read_word_lists("clew.times", "years.toml")
    units = tables["units"]
    lists = {language: one for language, one in tables.items() if language not in _NO_LANGUAGES}

    def every(name: str) -> str:
        words = dict.fromkeys(
            chain.from_iterable(one.get(name, "").split() for one in lists.values())
        )
        longest = sorted(words, key=len, reverse=True)
        return "|".join(re.escape(word).replace("\\-", "[ -]") for word in longest)

    plurals: dict[str, re.Pattern[str]] = {}
    for language, one in lists.items():
        endings = "|".join(one.get("plural", "s").split())
        counted = _NOUN_DE if language == "de" else _plural(endings)
        for word in one.get("shared", "").split():
            plurals.setdefault(word.replace("-", " "), counted)
    measured = sorted({w for text in units.values() for w in text.split()}, key=len, reverse=True)
    amounts = "|".join(map(re.escape, measured))
    return _Words(
        sure=re.compile(
            rf"(?<!\w)(?:{every('sure')})\.?(?: the| of| at least| about| around)?[ -]{_QUOTE}$",
            re.I,
        ),
        behind=re.compile(rf" (?:{every('behind')})(?!\w)", re.I),
        shared=re.compile(rf"(?<!\w)(?P<word>{every('shared')})(?: the)? {_QUOTE}$", re.I),
        dated=re.compile(rf"(?<!\w)(?:{every('dated')})\.?:? {_QUOTE}$", re.I),
        join=re.compile(rf",? ?(?:[-–—/,&]|(?<=[ ])(?:{every('joins')}))(?: the)? ?{_QUOTE}", re.I),
        of=re.compile(
            rf"(?<!\w)(?:{every('definite')})[ '’](?:[^\W\d_][\w'’-]* ){{1,{_OF_DEFINITE}}}"
            rf"(?:{every('of')}) {_QUOTE}$"
            rf"|(?<!\w)(?:end|beginning|start|middle|as|census|edition|class|year) of {_QUOTE}$",
            re.I,
        ),
        range=re.compile(rf"(?<!\w)(?:{every('of')}) $", re.I),
        verb=re.compile(rf" (?:{every('verbs')})\b"),
        told=re.compile(rf" (?:(?!and|or|of)[a-zäöüß]{{2,20}} )?(?:{every('pronouns')})\b"),
        unit=re.compile(rf"[ -]?(?:{amounts})(?!\w)"),
        fields=frozenset(every("fields").split("|")),
        plural=_plural("s"),
        plurals=plurals,
    )


def years(text: str, start: int = 0, end: int | None = None) -> Iterator[Verdict]:
    """A verdict on each four digits of `text[start:end]` that may be a year, in order."""
    previous: Verdict | None = None
    for match in YEAR.finditer(text, start, len(text) if end is None else end):
        previous = Verdict(
            *match.span(), _reason(text, match.start(), match.end(), start, previous)
        )
        yield previous


def _reason(text: str, left: int, right: int, start: int, previous: Verdict | None) -> Reason:
    before = text[max(start, left - _LONGEST_BEFORE) : left]
    after = text[right : right + _LONGEST_BEFORE]
    words = _words()
    joined = False
    if previous is not None and previous.is_year:
        join = words.join.fullmatch(text, previous.end, left)
        # "In 1990, 1500 came" is no list, "in 1990, 1995 and 2000" is one.
        is_list = previous.reason != "word" or _LISTED.match(after) is not None
        joined = join is not None and (is_list or join.group().strip() != ",")
    if (amount := _part(text[left:right], "" if joined else before, after, words)) is not None:
        return amount
    if joined:
        return "range"
    near = before[-_LONGEST_WORD:]
    if words.sure.search(near) or words.behind.match(after) or _SIGN.search(near):
        return "word"
    if (label := _LABEL.search(before)) and not _COPYRIGHT.search(before):
        named = re.split(r"[\s_-]", label["label"].casefold())[-1]
        return "field" if named in words.fields else "label"
    if shared := words.shared.search(before, max(0, len(before) - _LONGEST_WORD)):
        return _after_shared(text[left:right], shared, before, after, words)
    if words.dated.search(near) and not words.plural.match(after):
        return "field"
    if words.of.search(before) or (
        (budget := _FOR.search(before)) and _CLAUSE.search(before[: budget.start()])
    ):
        return "amount" if words.plural.match(after) or _NOUN_DE.match(after) else "word"
    return _by_place(text[left:right], before, after, words)


def _part(digits: str, before: str, after: str, words: _Words) -> Reason | None:
    """What the number is by what touches it or measures it; None where nothing says so."""
    if _DATE.search(before):
        return "date"
    if digits >= _FIRST_FUTURE or _LEFT.search(before):
        return "amount"
    if _OPEN_RIGHT.match(after):
        return None
    if _RIGHT.match(after) or words.unit.match(after) or _IN_A_YEAR.match(after):
        return "amount"
    # "1500 to 2000 m", "1000-2000 samples": the amount is said of both.
    other = None if after.startswith(",") else words.join.match(after)
    number = re.compile(r"\d{2,9}").match(after, other.end()) if other else None
    if number and words.unit.match(after, number.end()):
        return "amount"
    if number and words.plural.match(after, number.end()):
        # "Between 1830 and 1835 clocks were cheap", but "1800 to 1900 clocks".
        opens = re.search(r"(?:^|[.!?\n] )(?:Between|From) $", before)
        if not opens or (digits.endswith("00") and number.group().endswith("00")):
            return "amount"
    return None


def _after_shared(
    digits: str, shared: re.Match[str], before: str, after: str, words: _Words
) -> Reason:
    """After a word that stands before years and amounts: a counted noun tells."""
    word = shared["word"].casefold()
    if word in words.plurals and words.plurals[word].match(after):
        # "In 2019 prices rose" is a sentence about a year, "in 2019 boxes" is none.
        opens = shared["word"][0].isupper() and _CLAUSE.search(before[: shared.start()])
        is_round = digits.endswith("00") and word not in ("in", "en")
        if not opens or is_round or not _GOES_ON.match(after):
            return "amount"
    if word == "by" and re.search(r"(?:ed|ing|up|down|rose|fell|grew) $", before[: shared.start()]):
        return "amount"
    return "word"


def _by_place(digits: str, before: str, after: str, words: _Words) -> Reason:
    """What the place of a number says that no word introduces."""
    if digits < _FIRST_USUAL:
        return "alone"
    if _COPYRIGHT.search(before):
        return "field"
    if _is_range(digits, before, after, words):
        return "range"
    bracket = _BRACKET.search(before)
    if bracket and _BRACKET_END.match(after) and _TITLED.search(before[: bracket.start()]):
        return "brackets"
    if determiner := _DETERMINER.search(before):
        noun = _ADJECTIVE.match(after)
        is_one = determiner["word"].casefold() in ("a", "an")
        return "adjective" if noun and (is_one or digits >= "1800") else "alone"
    if _CLAUSE.search(before) and (words.verb.match(after) or words.told.match(after)):
        return "subject"
    if _SOURCE.search(before) and _SOURCE_END.match(after):
        return "source"
    return "label" if re.search(r"(?:[A-Z]{2,6}|[#№]) ?$", before) else "alone"


def _is_range(digits: str, before: str, after: str, words: _Words) -> bool:
    """Whether "1990–1995" is one of years: by itself or behind a name, and not "pages 1990–1995".

    With a word between them ("de 1990 à 1995") a preposition opens it.
    """
    season = _SEASON.match(after)
    if season and int(season[1]) == (int(digits) + 1) % 100:
        return True
    join = words.join.match(after)
    other = YEAR.match(after, join.end()) if join else None
    if not join or not other or _RIGHT.match(after, other.end()):
        return False
    if not 0 < int(other.group()) - int(digits) <= _MOST_APART:
        return False
    if join.group().strip() in ("-", "–", "—", ","):
        is_listed = join.group()[0] != "," or after.startswith(",", other.end())
        if is_listed and _BEFORE_RANGE.search(before):
            return True
    return words.range.search(before) is not None


_YEARLESS = re.compile(
    rf"(?<!\w)(?:(?P<before>{DAY})(?: of)? )?(?P<month>{MONTH})\b\.?(?: (?P<after>{DAY})(?!\w))?",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:[a-z,] [A-Z]\w*|,| up to| versus| vs\.?) $")
_NO_DAY = re.compile(
    r"(?:\d\w{0,3} (?:of )?)?(?:may|march)\b"
    r"|\d\w{0,3}(?: of)? [A-Za-z]{3,9}\.? ['’]?\d\d(?![\d:]|\.\d| ?[ap]\.?m\b)"
)
"""What a text means as other words ("12 may enter") or with a year of two digits ("7 May 98")."""
_LONGEST_JOINT = 40
_MOST_YEARS_APART = 8
"""Years from one 29 February to the next, at most."""
_JOINED = re.compile(
    r"(?P<to> ?[-–—] ?| to | until | till | through )(?:the )?|,? (?:and|or) (?:the )?",
    re.IGNORECASE,
)
_YEARS_ALONE = re.compile(r"(?:the )?(?:\d{4}s?|\d+\w\w[ -]century)", re.IGNORECASE)


def find_periods(text: str, now: datetime) -> list[FoundPeriod]:
    """Every period that the text names, in order; the longest words win, and none overlap.

    Dates in all forms that `read_period` knows, in UTC; and words that mean a time by `now`, an
    aware time in the zone in which days begin ("yesterday", "last May", "three weeks ago", "the
    past two months", "in 3 days", "recently"), their periods in UTC, too.
    """
    found = [*find_relative(text, now), *find_recent(text, now)]
    no_years = {
        year.start
        for year in years(text)
        # A question means a year where a text would not: "the Oscar 1994", "pumps, 2020".
        if not year.is_year
        and not (
            year.reason == "alone" and _ASKED.search(text, max(0, year.start - 40), year.start)
        )
    }
    found += [
        FoundPeriod(start, end, period, relative=False)
        for start, end, period in find_names(text)
        if not (YEAR.fullmatch(text, start, end) and start in no_years)
    ]
    found.sort(key=lambda f: (f.start - f.end, f.relative, f.start))
    kept: list[FoundPeriod] = []
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda f: f.start)


@dataclass(frozen=True, slots=True)
class YearlessDate:
    """A month, or a day of one, whose year the text leaves out."""

    start: int
    """Character range of its words."""
    end: int
    month: int
    day: int | None

    def latest(self, today: date) -> Period | None:
        """The latest that begins no later than `today`."""
        return next((one for first, one in self._around(today)[::-1] if first <= today), None)

    def following(self, day: date) -> Period | None:
        """The earliest that begins on `day` or later."""
        return next((one for first, one in self._around(day) if first >= day), None)

    def nearest(self, day: date) -> Period | None:
        """The one that begins nearest to a day, before or after it."""
        around = self._around(day)
        return min(around, key=lambda one: abs(one[0] - day))[1] if around else None

    def _around(self, day: date) -> list[tuple[date, Period]]:
        """First days and periods of the years around a day, in order; none has a 30 February."""
        years = range(day.year - _MOST_YEARS_APART, day.year + _MOST_YEARS_APART + 1)
        name = f"{self.day or ''} {MONTHS[self.month - 1]}".strip()
        found = [read_period(f"{name} {year}") for year in years]
        return [(one.start.date(), one) for one in found if one and one.start]


def find_yearless(text: str, start: int = 0, end: int | None = None) -> Iterator[YearlessDate]:
    """Words that may be a month or a day of one; "may" and "march" are, too, and small letters."""
    for match in _YEARLESS.finditer(text[:end], start):
        day = match["before"] or match["after"]
        yield YearlessDate(
            start=match.start(),
            end=match.end(),
            month=month_number(match["month"]),
            day=int(day.rstrip("stndrhSTNDRH")) if day else None,
        )


def find_days(text: str, start: int, end: int, written: datetime) -> Iterator[FoundPeriod]:
    """Days of `text[start:end]` without a year: nearest to the one before, the first to `written`.

    None where all years that the text names up to there are past: it tells of these.
    """
    days = [one for one in find_yearless(text, start, end) if one.day]
    told = find_periods(text[:end], written) if days else []
    years = [one.period.start.year for one in told if one.period.start]
    near = written.date()
    for one in days if max(years, default=near.year) >= near.year else ():
        period = one.nearest(near) if _is_apart(one, told) else None
        if period and period.start and not _NO_DAY.match(text, one.start):
            near = period.start.date()
            yield FoundPeriod(one.start, one.end, period, relative=True)


_Date = FoundPeriod | YearlessDate


@dataclass(frozen=True, slots=True)
class FoundRange:
    """A date, or dates with "to", "and" or "or" between them."""

    start: int
    """Character range of its words."""
    end: int
    period: Period
    """From the start of the first to the end of the last."""
    dates: int
    """How many dates it is made of."""
    has_year: bool
    """False for "May" or "7 May": by their words alone they might be something else."""
    is_sure: bool
    """Whether it means a time and no name: more than years, decades or centuries alone."""


def find_ranges(text: str, now: datetime, newest: datetime | None = None) -> Iterator[FoundRange]:
    """Every date and range of dates, in order, none overlapping; `now` as for `find_periods`.

    A month or day without a year takes it from the dates that it is joined to; alone it is the
    latest that has begun at `newest`, or else now.
    """
    for group in _groups(text, now):
        periods = list(_periods(group, (newest or now).date()))
        if periods:
            joins = (_JOINED.fullmatch(text, a.end, b.start) for a, b in pairwise(group))
            are_years = all(_YEARS_ALONE.fullmatch(text, one.start, one.end) for one in group)
            yield FoundRange(
                start=group[0].start,
                end=group[-1].end,
                period=reduce(hull, periods),
                dates=len(group),
                has_year=any(isinstance(one, FoundPeriod) for one in group),
                is_sure=not are_years or any(join and join["to"] for join in joins),
            )


def find_dates(text: str, now: datetime, newest: datetime | None = None) -> list[Period]:
    """Every single date as `find_ranges` reads it, those joined to a range by themselves."""
    groups = _groups(text, now)
    return [one for group in groups for one in _periods(group, (newest or now).date())]


def hull(one: Period, other: Period) -> Period:
    """The shortest period that holds both."""
    starts = (one.start, other.start)
    ends = (one.end, other.end)
    return Period(
        start=None if None in starts else min(time for time in starts if time),
        end=None if None in ends else max(time for time in ends if time),
    )


def _groups(text: str, now: datetime) -> list[list[_Date]]:
    found = find_periods(text, now)
    groups: list[list[_Date]] = []
    dates: list[_Date] = [*found, *(one for one in find_yearless(text) if _is_apart(one, found))]
    for one in sorted(dates, key=lambda one: one.start):
        if groups and _JOINED.fullmatch(text, groups[-1][-1].end, one.start):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _is_apart(one: YearlessDate, dates: Sequence[FoundPeriod]) -> bool:
    return not any(one.start < date.end and date.start < one.end for date in dates)


def _periods(group: Sequence[_Date], today: date) -> Iterator[Period]:
    # The date by which the others find their year: the first that has one, else the last.
    dated = next((one for one in group if isinstance(one, FoundPeriod)), None)
    last = group[-1]
    year = dated.period if dated else last.latest(today) if isinstance(last, YearlessDate) else None
    for one in group:
        if isinstance(one, FoundPeriod):
            yield one.period
        elif year is not None and year.start is not None:
            near = one.latest if one.start <= (dated or last).start else one.following
            if placed := near(year.start.date()):
                yield placed


# Ranges of time as assistants name them, by the calendar and in the user's zone.


UNITS = ("week", "month", "year")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_STEPS = {"this": 0, "last": -1, "next": 1}
KNOWN = (*_DAYS, *(f"{which} {unit}" for unit in UNITS for which in _STEPS))
_ISO_DATE = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_DATES = re.compile(
    rf"({_ISO_DATE})(?:(?:\s*(?:\.\.|/|,|–)\s*|\s+(?:to|until|and)\s+)({_ISO_DATE}))?"
)

_AROUND = timedelta(days=7)


class Range(NamedTuple):
    """From the first moment to the first one after it, in the user's zone."""

    start: datetime
    end: datetime


def read_range(text: str, now: datetime, also: Sequence[str] = ()) -> Range:
    """What a range means at a moment. Raises `InputError` that lists the known ones.

    `also` are further ones that the caller knows.

    A week begins on Monday. Of two dates both are included; a month or a year is all its days.
    """
    key = " ".join(text.casefold().replace("_", " ").split())
    today = now.date()
    if key in _DAYS:
        return _days(*one_day(today + timedelta(days=_DAYS[key])), now)
    if key in KNOWN:
        which, unit = key.split()
        return _days(*calendar_unit(unit, _STEPS[which], today), now)
    if found := _DATES.fullmatch(key):
        try:
            first, last = _stated(found[1]), _stated(found[2] or found[1])
            # Who asks may look some days around, and the calendar has ends.
            if first[0] - _AROUND < last[1] - _AROUND < last[1] + _AROUND:
                return _days(first[0], last[1], now)
        except (ValueError, OverflowError):
            pass
    raise InputError(
        f"the range {text[:80]!r} is not known; expected {', '.join((*also, *KNOWN))}, or one or"
        " two dates such as 2024, 2024-03, 2024-03-01 or 2024-03-01..2024-03-31"
    )


def _stated(text: str) -> Days:
    """The days of a year, a month or a day. Raises `ValueError` for what is none."""
    if len(text) > 7:
        return one_day(date.fromisoformat(text))
    first = date.fromisoformat(f"{text}-01-01"[:10])
    return months_from(first.year, first.month, 1 if len(text) == 7 else 12)


def _days(first: date, after: date, now: datetime) -> Range:
    return Range(*(datetime(d.year, d.month, d.day, tzinfo=now.tzinfo) for d in (first, after)))


def shown(found: Range, now: datetime) -> dict[str, str]:
    """A range as results say it."""
    zone = now.tzinfo
    return {
        "from": found.start.isoformat(),
        "until": found.end.isoformat(),
        "zone": zone.key if isinstance(zone, ZoneInfo) else str(zone),
    }


def ago(moment: datetime, now: datetime) -> str:
    """How long ago something was, or how far ahead it is: "3 days ago", "in 2 hours"."""
    seconds = abs((now - moment).total_seconds())
    for unit, length in (("year", 31_557_600), ("month", 2_629_800), ("week", 604_800),
                         ("day", 86_400), ("hour", 3_600), ("minute", 60)):  # fmt: skip
        count = int(seconds // length)
        if count:
            words = f"{count} {unit}{'s' if count > 1 else ''}"
            return f"{words} ago" if moment < now else f"in {words}"
    return "now"
