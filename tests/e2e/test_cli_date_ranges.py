from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.render import date_range, moment
from clew.times import read_period


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        (utc(1860, 1, 1), utc(1885, 1, 1), "1860 to 1884"),
        (utc(1860, 1, 1), utc(1861, 1, 1), "1860"),
        (utc(2020, 1, 1), None, "since 2020"),
        (None, utc(2020, 1, 1), "until 2019"),
        (utc(2020, 1, 1), utc(2020, 5, 1), "January 2020 to April 2020"),
        (utc(2024, 2, 1), utc(2024, 3, 1), "February 2024"),
        (utc(2023, 5, 8), utc(2024, 1, 1), "8 May 2023 to 31 December 2023"),
        (utc(2023, 5, 8), utc(2023, 5, 9), "8 May 2023"),
        (utc(2023, 5, 8, 9, 30), None, "since 8 May 2023, 09:30"),
        (utc(2023, 5, 8, 9, 30), utc(2023, 5, 9), "8 May 2023, 09:30 to 8 May 2023"),
        (None, None, ""),
    ],
)
def test_the_longest_units_that_say_it_exactly(
    start: datetime | None, end: datetime | None, shown: str
) -> None:
    assert date_range(start, end) == shown


_DAYS = st.dates(min_value=utc(1000, 1, 1).date(), max_value=utc(2900, 1, 1).date())


@given(_DAYS, st.integers(1, 2000))
def test_what_is_shown_means_the_same_days(day: datetime, length: int) -> None:
    start = utc(day.year, day.month, day.day)
    end = start + timedelta(days=length)

    first, _, last = date_range(start, end).partition(" to ")

    begun, ended = read_period(first), read_period(last or first)
    assert begun is not None
    assert ended is not None
    assert (begun.start, ended.end) == (start, end)


def test_the_last_moment_of_a_day_is_the_day() -> None:
    end = utc(2024, 1, 1)

    assert moment(end - timedelta(microseconds=1)) == "31 December 2023"
    assert moment(end) == "1 January 2024, 00:00"
