"""Names of times, and the periods that questions name."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.search.options import read_end, read_last, read_start
from clew.search.question import AskedTime, read_time
from clew.times import (
    date_of,
    day_order,
    find_periods,
    find_relative,
    name_of,
    read_period,
    to_date,
    to_time,
)
from clew.times.names import MONTHS
from clew.times.ranges import find_yearless
from clew.types import DatePrecision, PartialDate, Period, partial_date

# --- times


DAYS = st.dates(date(1000, 1, 1), date(2999, 12, 31))
MOMENTS = st.datetimes(datetime(1001, 1, 1), datetime(2900, 1, 1), timezones=st.just(UTC))


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def days_of(period: Period | None) -> tuple[date, date] | None:
    if period is None or period.start is None or period.end is None:
        return None
    return period.start.date(), period.end.date()


def said(text: str, now: datetime) -> tuple[date, date] | None:
    """The only period of a text."""
    (found,) = find_periods(text, now)
    return days_of(found.period)


# --- names of dates ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("1990", day(1990), day(1991)),
        ("1990s", day(1990), day(2000)),
        ("the 1990s", day(1990), day(2000)),
        ("2000s", day(2000), day(2010)),
        ("the 1800s", day(1800), day(1900)),
        ("19th century", day(1800), day(1900)),
        ("the 21st century", day(2000), day(2100)),
        ("May 2023", day(2023, 5), day(2023, 6)),
        ("December 2023", day(2023, 12), day(2024)),
        ("Sept. 2023", day(2023, 9), day(2023, 10)),
        ("7 May 2023", day(2023, 5, 7), day(2023, 5, 8)),
        ("May 7, 2023", day(2023, 5, 7), day(2023, 5, 8)),
        ("3rd of March, 1999", day(1999, 3, 3), day(1999, 3, 4)),
        ("31 December 1999", day(1999, 12, 31), day(2000)),
        ("29 February 2024", day(2024, 2, 29), day(2024, 3)),
        ("2023-05-07", day(2023, 5, 7), day(2023, 5, 8)),
        ("2008年8月8日", day(2008, 8, 8), day(2008, 8, 9)),
        ("2008年8月", day(2008, 8), day(2008, 9)),
        ("2008년 8월 8일", day(2008, 8, 8), day(2008, 8, 9)),
        ("3. März 2023", day(2023, 3, 3), day(2023, 3, 4)),
        ("1er août 1999", day(1999, 8), day(1999, 8, 2)),
        ("3 de marzo de 2023", day(2023, 3, 3), day(2023, 3, 4)),
        ("maggio 2021", day(2021, 5), day(2021, 6)),
        ("8 января 2020", day(2020, 1, 8), day(2020, 1, 9)),
        ("Q3 2021", day(2021, 7), day(2021, 10)),
        ("2021 Q4", day(2021, 10), day(2022)),
        ("the first quarter of 2021", day(2021), day(2021, 4)),
        ("summer of 2023", day(2023, 6), day(2023, 9)),
        ("winter 2023", day(2023, 12), day(2024, 3)),
        ("week of 1 May 2023", day(2023, 5, 1), day(2023, 5, 8)),
        ("weekend of 6 May 2023", day(2023, 5, 6), day(2023, 5, 8)),
    ],
)
def test_period_of_a_name(name: str, start: datetime, end: datetime) -> None:
    assert read_period(name) == Period(start=start, end=end, text=name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "5", "99", "12345", "Ada", "May", "Apollo 11", "30 February 2023"),
        *("29 February 2023", "2023-13-01", "2023-02-30", "Q5 2021", "0th century"),
        *("week of 31 June 2023", "May 2023 x", "Mars 2020", "31. Februar 2020", "3. Haus 2020"),
    ],
)
def test_names_that_are_no_dates(name: str) -> None:
    assert read_period(name) is None


@given(DAYS)
def test_day_is_read_back_from_every_form(one: date) -> None:
    month = MONTHS[one.month - 1]
    forms = [
        f"{one.day} {month} {one.year}",
        f"{one.day} {month[:3]} {one.year}",
        f"{month} {one.day}, {one.year}",
        one.isoformat(),
        f"{one.year}年{one.month}月{one.day}日",
    ]
    assert {days_of(read_period(form)) for form in forms} == {(one, one + timedelta(days=1))}


@given(st.integers(1000, 2999))
def test_months_and_quarters_tile_the_year(year: int) -> None:
    firsts = [date(year, month, 1) for month in range(1, 13)] + [date(year + 1, 1, 1)]
    assert [days_of(read_period(f"{month} {year}")) for month in MONTHS] == list(pairwise(firsts))
    quarters = [days_of(read_period(f"Q{number} {year}")) for number in (1, 2, 3, 4)]
    assert quarters == list(pairwise(firsts[::3]))
    assert days_of(read_period(str(year))) == (firsts[0], firsts[-1])


PHRASES = [
    *("yesterday", "today", "tomorrow", "last week", "next weekend", "this month", "last quarter"),
    *("this year", "last Friday", "next May", "last summer", "two weeks ago", "3 months ago"),
]


@given(MOMENTS, st.sampled_from(PHRASES))
def test_name_means_the_period_that_it_names(now: datetime, phrase: str) -> None:
    (found,) = find_relative(phrase, now)
    name = name_of(found.period)
    assert name is not None
    assert days_of(read_period(name)) == days_of(found.period)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (None, day(2020)),
        (day(2020), None),
        (day(2020), day(2020, 1, 5)),
        (day(2020), day(2022)),
        (day(2020, 1, 2), day(2020, 2, 2)),
        (day(2020) + timedelta(hours=1), day(2020, 1, 2) + timedelta(hours=1)),
        (day(999), day(1000)),
    ],
)
def test_period_without_a_name(start: datetime | None, end: datetime | None) -> None:
    assert name_of(Period(start=start, end=end)) is None


# --- words that go by the day ------------------------------------------------------------

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "first", "after"),
    [
        ("yesterday", date(2023, 5, 7), date(2023, 5, 8)),
        ("the day before yesterday", date(2023, 5, 6), date(2023, 5, 7)),
        ("last night", date(2023, 5, 7), date(2023, 5, 8)),
        ("this morning", date(2023, 5, 8), date(2023, 5, 9)),
        ("the day after tomorrow", date(2023, 5, 10), date(2023, 5, 11)),
        ("last week", date(2023, 5, 1), date(2023, 5, 8)),
        ("this week", date(2023, 5, 8), date(2023, 5, 15)),
        ("next week", date(2023, 5, 15), date(2023, 5, 22)),
        ("last weekend", date(2023, 5, 6), date(2023, 5, 8)),
        ("this past weekend", date(2023, 5, 6), date(2023, 5, 8)),
        ("two weekends ago", date(2023, 4, 29), date(2023, 5, 1)),
        ("this weekend", date(2023, 5, 13), date(2023, 5, 15)),
        ("last month", date(2023, 4, 1), date(2023, 5, 1)),
        ("next month", date(2023, 6, 1), date(2023, 7, 1)),
        ("last quarter", date(2023, 1, 1), date(2023, 4, 1)),
        ("last year", date(2022, 1, 1), date(2023, 1, 1)),
        ("last Friday", date(2023, 5, 5), date(2023, 5, 6)),
        ("last fri", date(2023, 5, 5), date(2023, 5, 6)),
        ("last Monday", date(2023, 5, 1), date(2023, 5, 2)),
        ("this Friday", date(2023, 5, 12), date(2023, 5, 13)),
        ("this Monday", date(2023, 5, 8), date(2023, 5, 9)),
        ("next Tuesday", date(2023, 5, 9), date(2023, 5, 10)),
        ("next Monday", date(2023, 5, 15), date(2023, 5, 16)),
        ("three days ago", date(2023, 5, 5), date(2023, 5, 6)),
        ("2 weeks ago", date(2023, 4, 24), date(2023, 5, 1)),
        ("a couple of weeks ago", date(2023, 4, 24), date(2023, 5, 1)),
        ("a month ago", date(2023, 4, 1), date(2023, 5, 1)),
        ("ten years ago", date(2013, 1, 1), date(2014, 1, 1)),
        ("last May", date(2022, 5, 1), date(2022, 6, 1)),
        ("this May", date(2023, 5, 1), date(2023, 6, 1)),
        ("next May", date(2024, 5, 1), date(2024, 6, 1)),
        ("last April", date(2023, 4, 1), date(2023, 5, 1)),
        ("this summer", date(2023, 6, 1), date(2023, 9, 1)),
        ("last winter", date(2022, 12, 1), date(2023, 3, 1)),
        ("the past week", date(2023, 5, 2), date(2023, 5, 9)),
        ("the past three months", date(2023, 2, 9), date(2023, 5, 9)),
        ("the last two years", date(2021, 5, 9), date(2023, 5, 9)),
        ("in 3 days", date(2023, 5, 11), date(2023, 5, 12)),
        ("in 2 weeks", date(2023, 5, 22), date(2023, 5, 29)),
        ("in two\nweeks", date(2023, 5, 22), date(2023, 5, 29)),
        *((word, date(2023, 2, 8), date(2023, 5, 9)) for word in ("recently", "recent", "lately")),
    ],
)
def test_relative_to_a_monday(phrase: str, first: date, after: date) -> None:
    assert said(phrase, MONDAY) == (first, after)
    assert said(f"{phrase[0].upper()}{phrase[1:]}, it rained.", MONDAY) == (first, after)


@pytest.mark.parametrize(
    ("phrase", "now", "first", "after"),
    [
        ("yesterday", day(2024, 3, 1), date(2024, 2, 29), date(2024, 3, 1)),
        ("yesterday", day(2023, 3, 1), date(2023, 2, 28), date(2023, 3, 1)),
        ("yesterday", day(2024, 1, 1), date(2023, 12, 31), date(2024, 1, 1)),
        ("last month", day(2024, 3, 31), date(2024, 2, 1), date(2024, 3, 1)),
        ("last month", day(2024, 1, 31), date(2023, 12, 1), date(2024, 1, 1)),
        ("the past month", day(2023, 3, 30), date(2023, 2, 28), date(2023, 3, 31)),
        ("last year", day(2024, 2, 29), date(2023, 1, 1), date(2024, 1, 1)),
        ("last week", day(2024, 1, 3), date(2023, 12, 25), date(2024, 1, 1)),
        # A Sunday still belongs to the week before it, a weekend to that of its Saturday.
        ("this week", day(2023, 5, 14), date(2023, 5, 8), date(2023, 5, 15)),
        ("last weekend", day(2023, 5, 14), date(2023, 5, 6), date(2023, 5, 8)),
        ("this quarter", day(2023, 12, 31), date(2023, 10, 1), date(2024, 1, 1)),
        ("this winter", day(2024, 1, 15), date(2023, 12, 1), date(2024, 3, 1)),
        ("last winter", day(2024, 1, 15), date(2022, 12, 1), date(2023, 3, 1)),
    ],
)
def test_calendar_is_true(phrase: str, now: datetime, first: date, after: date) -> None:
    assert said(phrase, now) == (first, after)


@given(MOMENTS, st.sampled_from(["Friday", "May", "summer", "winter"]))
def test_last_is_over_and_next_has_not_begun(now: datetime, name: str) -> None:
    last, after = said(f"last {name}", now), said(f"next {name}", now)
    assert last is not None
    assert after is not None
    assert last[1] <= now.date() < after[0]


@pytest.mark.parametrize(
    ("zone", "now", "start", "hours"),
    [
        ("America/New_York", (5, 8, 23), (5, 7, 4), 24),
        ("Asia/Tokyo", (5, 8, 23), (5, 7, 15), 24),
        ("UTC", (5, 8, 23), (5, 7), 24),
        # The day of a clock change has its own length.
        ("America/New_York", (3, 13, 16), (3, 12, 5), 23),
    ],
)
def test_days_begin_where_today_is_meant(
    zone: str, now: tuple[int, ...], start: tuple[int, ...], hours: int
) -> None:
    there = datetime(2023, *now, tzinfo=UTC).astimezone(ZoneInfo(zone))  # type: ignore[misc,arg-type]
    (found,) = find_periods("yesterday", there)
    begun = datetime(2023, *start, tzinfo=UTC)  # type: ignore[misc,arg-type]
    assert (found.period.start, found.period.end) == (begun, begun + timedelta(hours=hours))


@pytest.mark.parametrize(
    "text",
    [
        "this may be, and the last march was long",
        "the last week of his life, the next year of school",
        "for the first time in two years",
        "once in a month",
        "this one is last, next to us",
        "3 days later",
        "9999 years ago",
        "1500 people for $1999",
        "invoice INV-1987 and batch B-1001",
        "",
    ],
)
def test_words_that_name_no_time(text: str) -> None:
    assert find_periods(text, MONDAY) == []


@pytest.mark.parametrize("phrase", ["999 years ago", "yesterday", "the past 900 years"])
def test_nothing_before_the_first_year(phrase: str) -> None:
    assert find_periods(phrase, datetime(1, 1, 1, tzinfo=UTC)) == []


def test_longest_words_win_and_none_overlap() -> None:
    text = "From 7 May 2023 on, last May 2022 and the third quarter of 2021, or 2019."
    found = find_periods(text, MONDAY)
    assert [text[f.start : f.end] for f in found] == [
        "7 May 2023",
        "May 2022",
        "the third quarter of 2021",
        "2019",
    ]
    assert not any(f.relative for f in found)


@given(st.text(alphabet="last nextwk 2019MayQ3ago,-.", max_size=60), MOMENTS)
def test_ranges_are_in_order_and_apart(text: str, now: datetime) -> None:
    found = find_periods(text, now)
    assert all(one.end <= other.start for one, other in pairwise(found))
    for one in found:
        assert one.period.start is not None
        assert one.period.end is not None
        assert one.period.start < one.period.end


# --- dates without a year ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "today", "latest", "following"),
    [
        ("May", date(2023, 5, 1), date(2023, 5, 1), date(2023, 5, 1)),
        ("May", date(2023, 4, 30), date(2022, 5, 1), date(2023, 5, 1)),
        ("7 May", date(2023, 5, 6), date(2022, 5, 7), date(2023, 5, 7)),
        ("May 7th", date(2023, 5, 7), date(2023, 5, 7), date(2023, 5, 7)),
        ("29 February", date(2023, 5, 7), date(2020, 2, 29), date(2024, 2, 29)),
        ("29 February", date(1903, 5, 7), date(1896, 2, 29), date(1904, 2, 29)),
        ("31 June", date(2023, 1, 1), None, None),
    ],
)
def test_a_date_without_a_year_is_the_latest_or_the_next(
    text: str, today: date, latest: date | None, following: date | None
) -> None:
    (found,) = find_yearless(text)
    for period, first in ((found.latest(today), latest), (found.following(today), following)):
        days = days_of(period)
        assert (days[0] if days else None) == first


# --- when a text was written -------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "2023-05-08T13:56:00+00:00",
        "2023-05-08T15:56:00+02:00",
        "2023-05-08 13:56",
        "8 May 2023 1:56 pm",
        1683554160,
        1683554160000,
        "1683554160",
    ],
)
def test_written_forms(value: object) -> None:
    assert date_of({"created_at": value}) == PartialDate(MONDAY, "time")


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 5, "5", 99, 3.5, "13:56", "Friday", "May", "", "soon", "2021-02-31"),
        *("x" * 200, [], ["2021"], {}, float("nan")),
    ],
)
def test_values_that_are_no_date(value: object) -> None:
    assert date_of({"date": value}) is None
    monday = PartialDate(MONDAY, "time")
    assert date_of({"date": value}, monday) == monday


def test_first_readable_name_wins() -> None:
    metadata = {"published": "2020-01-01", "date": "unknown", "Sent At": "2021-01-01"}
    assert date_of(metadata, PartialDate(MONDAY, "time")) == PartialDate(day(2021), "day")
    assert date_of({**metadata, "created_at": "2022"}) == PartialDate(day(2022), "year")


def test_a_documents_own_date_is_in_utc() -> None:
    there = datetime(2023, 5, 8, 1, tzinfo=ZoneInfo("Asia/Tokyo"))
    found = partial_date(there)
    assert found == PartialDate(there, "time")
    assert found.start.tzinfo is UTC
    assert partial_date(datetime(2023, 5, 8)) == PartialDate(day(2023, 5, 8), "day")


@pytest.mark.parametrize(
    ("value", "iso", "precision"),
    [
        ("2019", "2019", "year"),
        (2019, "2019", "year"),
        ("2019-03", "2019-03", "month"),
        ("March 2019", "2019-03", "month"),
        ("2019-03-02", "2019-03-02", "day"),
        ("20190302", "2019-03-02", "day"),
        ("2-Mar-2019", "2019-03-02", "day"),
        (
            "$Date: 2019-03-02 10:00:00 +0000 (Sat, 02 Mar 2019) $",
            "2019-03-02T10:00:00+00:00",
            "time",
        ),
        ("$LastChangedDate: 2019-03-02 $", "2019-03-02", "day"),
        ("02 Mar 2019", "2019-03-02", "day"),
        ("Sat, 2 March 2019", "2019-03-02", "day"),
        ("25/04/2019", "2019-04-25", "day"),
        ("04/25/2019", "2019-04-25", "day"),
        ("05/05/2019", "2019-05-05", "day"),
        ("03.04.2019", "2019-04-03", "day"),
        ("2019-03-02T23:30:00-08:00", "2019-03-03T07:30:00+00:00", "time"),
        ("2019-03-02 10:00:00 +02:00", "2019-03-02T08:00:00+00:00", "time"),
        ("2019-03-02 10:00:00 +0200", "2019-03-02T08:00:00+00:00", "time"),
        ("2019-03-02T00:00:00Z", "2019-03-02T00:00:00+00:00", "time"),
        ("1551484800.000200", "2019-03-02T00:00:00.000200+00:00", "time"),
        ("5 May 2021", "2021-05-05", "day"),
        ("May 2021", "2021-05", "month"),
        ("Mon, 3 Jan 2022 10:00:00 -0500", "2022-01-03T15:00:00+00:00", "time"),
        ("Mon, 3 Jan 2022 10:00:00 XYZ", "2022-01-03T10:00:00+00:00", "time"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00", "time"),
        (1_700_000_000_000, "2023-11-14T22:13:20+00:00", "time"),
        ("0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00+00:00", "time"),
    ],
)
def test_a_date_keeps_the_precision_in_which_it_is_stated(
    value: object, iso: str, precision: DatePrecision
) -> None:
    found = to_date(value)
    assert found is not None
    assert (found.iso, found.precision) == (iso, precision)


@pytest.mark.parametrize("value", ["03/04/2019", "3-4-2019", "01-02-03", "03/04/19", "Mar 2"])
def test_what_may_be_two_dates_is_none(value: str) -> None:
    assert to_date(value) is None


def test_a_document_may_say_how_its_numeric_dates_are_read() -> None:
    assert to_date("03/04/2019", day_first=True) == PartialDate(day(2019, 4, 3), "day")
    assert to_date("03/04/2019", day_first=False) == PartialDate(day(2019, 3, 4), "day")


@pytest.mark.parametrize(
    ("text", "day_first"),
    [
        ("due 25/04/2019, sent 03/04/2019", True),
        ("due 04/25/2019", False),
        ("due 04/25/2019 or 25/04/2019", None),
        ("sent 03/04/2019, version 25.4.2019", None),
    ],
)
def test_one_date_that_can_be_read_in_one_way_alone_tells_the_order(
    text: str, day_first: bool | None
) -> None:
    assert day_order(text) is day_first


OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9000, 1, 1), timezones=OFFSETS))
def test_iso_times_come_back(time: datetime) -> None:
    assert to_time(time.isoformat()) == time


@given(st.one_of(st.text(), st.floats(), st.integers(), st.lists(st.integers())))
def test_any_value_is_read_without_an_error(value: object) -> None:
    assert getattr(to_time(value), "tzinfo", UTC) is UTC


@given(DAYS, st.sampled_from(["year", "month", "day"]))
def test_a_partial_date_is_the_period_of_its_unit(date: date, precision: DatePrecision) -> None:
    start = datetime(
        date.year,
        date.month if precision != "year" else 1,
        date.day if precision == "day" else 1,
        tzinfo=UTC,
    )
    found = PartialDate(start, precision)
    assert to_date(found.iso) == found
    named = read_period(found.iso if precision != "month" else f"{date:%B} {date.year}")
    assert named is not None
    assert (found.period.start, found.period.end) == (named.start, named.end)


# --- period


NOW = datetime(2023, 8, 16, 10, tzinfo=UTC)


def asked(question: str) -> AskedTime:
    return read_time(question, NOW)


def days(found: AskedTime) -> tuple[date | None, date | None]:
    assert found.period is not None
    start, end = found.period.start, found.period.end
    return start.date() if start else None, end.date() if end else None


@pytest.mark.parametrize(
    ("question", "phrase", "first", "after"),
    [
        ("What happened in 2019?", "in 2019", date(2019, 1, 1), date(2020, 1, 1)),
        (
            "What happened between 2017 and 2022?",
            "between 2017 and 2022",
            date(2017, 1, 1),
            date(2023, 1, 1),
        ),
        ("From 2017 to 2022, who led?", "From 2017 to 2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("Papers of 2017-2022", "2017-2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("Papers 2017–2022", "2017–2022", date(2017, 1, 1), date(2023, 1, 1)),
        ("What changed since 2019?", "since 2019", date(2019, 1, 1), None),
        ("What changed from 2015 onwards?", "from 2015 onwards", date(2015, 1, 1), None),
        ("Who led until 2019?", "until 2019", None, date(2020, 1, 1)),
        ("Who led till 2019?", "till 2019", None, date(2020, 1, 1)),
        ("What was known up to 2019?", "up to 2019", None, date(2020, 1, 1)),
        ("Which had Ada read by June 2019?", "by June 2019", None, date(2019, 7, 1)),
        ("Where was he before 2019?", "before 2019", None, date(2019, 1, 1)),
        ("Where was he prior to May 2019?", "prior to May 2019", None, date(2019, 5, 1)),
        ("Where was he after 2019?", "after 2019", date(2020, 1, 1), None),
        ("Wars in the 2020s", "in the 2020s", date(2020, 1, 1), date(2030, 1, 1)),
        ("Art in the early 1990s", "in the early 1990s", date(1990, 1, 1), date(2000, 1, 1)),
        ("Art in the 19th century", "in the 19th century", date(1800, 1, 1), date(1900, 1, 1)),
        ("Sales in Q3 2021", "in Q3 2021", date(2021, 7, 1), date(2021, 10, 1)),
        ("What did Ada do in May?", "in May", date(2023, 5, 1), date(2023, 6, 1)),
        ("what did ada do in may?", "in may", date(2023, 5, 1), date(2023, 6, 1)),
        ("What did Ada do in August?", "in August", date(2023, 8, 1), date(2023, 9, 1)),
        ("What did Ada do in December?", "in December", date(2022, 12, 1), date(2023, 1, 1)),
        ("Where was Ada on 7 May?", "on 7 May", date(2023, 5, 7), date(2023, 5, 8)),
        ("Where was Ada on May 7, 2021?", "on May 7, 2021", date(2021, 5, 7), date(2021, 5, 8)),
        ("Where was she since January?", "since January", date(2023, 1, 1), None),
        (
            "What happened between May and July 2021?",
            "between May and July 2021",
            date(2021, 5, 1),
            date(2021, 8, 1),
        ),
        (
            "What happened between November 2021 and March?",
            "between November 2021 and March",
            date(2021, 11, 1),
            date(2022, 4, 1),
        ),
        ("From May to July?", "From May to July", date(2023, 5, 1), date(2023, 8, 1)),
        ("From October to May?", "From October to May", date(2022, 10, 1), date(2023, 6, 1)),
        ("What did I do last week?", "last week", date(2023, 8, 7), date(2023, 8, 14)),
        ("What is due this month?", "this month", date(2023, 8, 1), date(2023, 9, 1)),
        ("What did I eat yesterday?", "yesterday", date(2023, 8, 15), date(2023, 8, 16)),
        ("What changed since yesterday?", "since yesterday", date(2023, 8, 15), None),
        ("Where was he before last summer?", "before last summer", None, date(2022, 6, 1)),
        (
            "What did she read in the past three months?",
            "in the past three months",
            date(2023, 5, 17),
            date(2023, 8, 17),
        ),
        ("What are recent plans?", "recent", date(2023, 5, 19), date(2023, 8, 17)),
        (
            "What came after 2017 but before 2020?",
            "after 2017 but before 2020",
            date(2018, 1, 1),
            date(2020, 1, 1),
        ),
        (
            "Was it warmer in 2019 than in 2021?",
            "in 2019 than in 2021",
            date(2019, 1, 1),
            date(2022, 1, 1),
        ),
    ],
)
def test_period_that_a_question_restricts_to(
    question: str, phrase: str, first: date | None, after: date | None
) -> None:
    found = asked(question)
    assert days(found) == (first, after)
    assert found.phrase == phrase
    assert found.period is not None
    assert found.period.text == phrase
    assert found.explicit


@pytest.mark.parametrize(
    ("question", "year"),
    [
        ("What caused the 2008 financial crisis?", 2008),
        ("Who led during the 2008 financial crisis?", 2008),
        ("Who directed his 1994 film?", 1994),
        ("Which film won the Oscar 1994?", 1994),
        ("Who won the war of 1812?", 1812),
        ("Who was Ada Lee (1815)?", 1815),
        ("Was Ada (1990) older than Bob (1991)?", 1990),
        ("Was there no 1998 report?", 1998),
    ],
)
def test_year_that_may_be_part_of_a_name(question: str, year: int) -> None:
    found = asked(question)
    assert days(found) == (date(year, 1, 1), date(year + 1, 1, 1))
    assert not found.explicit


@pytest.mark.parametrize(
    "question",
    [
        "Who flew Apollo 11?",
        'Who directed "2001: A Space Odyssey" in "May"?',
        "Who directed 2001: A Space Odyssey?",
        "Who wrote '1984'?",
        "Who wrote “1984”?",
        "Who wrote *1984* and _Summer 1914_?",
        "Which of the 50 people came?",
        "Which town has 1500 inhabitants?",
        "Kontonummer 1903",
        "What was paid by invoice no. 1845?",
        "What does trunk@1565 change?",
        "Which bug 1993 was that?",
        "Is port 2049 open?",
        "See RFC 1945, line 1820.",
        "Rechnung Nr. 1845",
        "facture numéro 1845",
        "order number: 1903",
        "Who has the id 1999?",
        "What may Ada do?",
        "Who took a photo by June?",
        "Who marched?",
        "Where was he on 31 June?",
        "What is the latest news?",
        "Which opened more recently, A or B?",
        "What is her most recent book?",
        'Who said "When did the history of the latest war begin"?',
        "",
    ],
)
def test_question_without_a_period(question: str) -> None:
    found = asked(question)
    assert (found.period, found.phrase, found.explicit) == (None, "", False)


NOW_WORDS = (
    "now|right now|by now|just now|as of now|currently|presently|nowadays|these days|at present"
    "|still|at the moment|for the moment|at this moment|at the present time|at this point"
    "|at this time|to this day|as of today|as of this week"
)


@pytest.mark.parametrize(
    ("question", "newest"),
    [
        *(
            (frame.format(form.format(words)), newest)
            for words in NOW_WORDS.split("|")
            for form in ("where {} does Ada live", "{}, who leads", "who is ill {}")
            # With a period beside them they say nothing of their own; those of a title are none.
            for frame, newest in (("{}?", True), ("{} in 2019?", False), ('Who wrote "{}"?', False))
        ),
        ("Who was ill at the moment of the crash?", False),
        ("Who came today?", False),
        ("As of 2019, who led?", False),
    ],
)
def test_words_for_now_ask_for_what_is_so_now(question: str, newest: bool) -> None:
    found = asked(question)
    assert found.newest is newest
    assert found.period is None or not newest


@pytest.mark.parametrize(
    ("question", "evolution"),
    [
        ("How did Python evolve?", True),
        ("How has her job changed since 2019?", True),
        ("How did the idea of a computer develop?", True),
        ("What is the history of Rome?", True),
        ("What did she think of it over time?", True),
        ("Give me a timeline of the project.", True),
        ("How did prices change over the years?", True),
        ("What did Ada eat when she was in Rome?", False),
        ("Who painted the picture?", False),
        ("What does he change?", False),
        ("How do I change my password?", False),
        ("how does one change the active window", False),
        ('Who said "When did the history of the latest war begin"?', False),
    ],
)
def test_questions_of_how_things_came_to_be(question: str, evolution: bool) -> None:
    assert asked(question).evolution is evolution


def test_today_is_that_of_the_asker() -> None:
    there = datetime(2023, 8, 16, 2, tzinfo=UTC).astimezone(ZoneInfo("America/New_York"))
    found = read_time("What did I do yesterday?", there)
    assert found.period is not None
    assert found.period.start == datetime(2023, 8, 14, 4, tzinfo=UTC)


WORDS = st.sampled_from(
    "in since until before after from to between and the 2019 2021 May last week 7 June '1984' or -"
    " recently yesterday 31 on by 1990s".split()
)


@given(st.lists(WORDS, max_size=12), st.datetimes(datetime(1500, 1, 1), timezones=st.just(UTC)))
def test_any_question_is_read(words: list[str], now: datetime) -> None:
    question = " ".join(words)
    found = read_time(question, now)
    assert found.phrase in question
    assert found.period is not None or not (found.phrase or found.explicit)


# --- moments


MOMENTS_NOW = datetime(2024, 3, 13, 9, 30, tzinfo=timezone(timedelta(hours=2)))  # a Wednesday


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


LAST = datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        ("2019", _utc(2019, 1, 1), _utc(2020, 1, 1)),
        ("2020-02", _utc(2020, 2, 1), _utc(2020, 3, 1)),
        ("2020-02-29", _utc(2020, 2, 29), _utc(2020, 3, 1)),
        (date(2019, 12, 31), _utc(2019, 12, 31), _utc(2020, 1, 1)),
        ("7 May 2023", _utc(2023, 5, 7), _utc(2023, 5, 8)),
        ("the 1990s", _utc(1990, 1, 1), _utc(2000, 1, 1)),
        # Words are meant in the zone of now, days far away are days.
        ("last week", _utc(2024, 3, 3, 22), _utc(2024, 3, 10, 22)),
        ("yesterday", _utc(2024, 3, 11, 22), _utc(2024, 3, 12, 22)),
        ("9998-12-31", _utc(9998, 12, 31), _utc(9999, 1, 1)),
        ("0001-01-01", _utc(1, 1, 1), _utc(1, 1, 2)),
        ("9999-12-31", _utc(9999, 12, 31), LAST),
        (date.max, _utc(9999, 12, 31), LAST),
        # A moment is itself.
        (
            datetime(2019, 5, 8, 12, tzinfo=timezone(timedelta(hours=2))),
            *[_utc(2019, 5, 8, 10)] * 2,
        ),
        (datetime(2019, 5, 8, 12), *[_utc(2019, 5, 8, 12)] * 2),
        ("2019-05-08T12:00:00+02:00", *[_utc(2019, 5, 8, 10)] * 2),
        (None, None, None),
    ],
)
def test_a_time_that_is_given_has_two_ends(
    given: str | date | None, start: datetime | None, end: datetime | None
) -> None:
    assert read_start("since", given, MOMENTS_NOW) == start
    assert read_end("until", given, MOMENTS_NOW) == end
    last = end - timedelta(microseconds=1) if end and start != end else end
    assert read_last("as_of", given, MOMENTS_NOW) == last


@pytest.mark.parametrize("given", ["soon", "", "2019-13-40", "in 2019 or so", "99999"])
def test_what_names_no_time_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"since .* is no time; expected a date such as 2019"):
        read_start("since", given, MOMENTS_NOW)
