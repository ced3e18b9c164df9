from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from clew.errors import InputError
from clew.search.options import read_end, read_last, read_start

NOW = datetime(2024, 3, 13, 9, 30, tzinfo=timezone(timedelta(hours=2)))  # a Wednesday


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        ("2019", _utc(2019, 1, 1), _utc(2020, 1, 1)),
        ("2020-02", _utc(2020, 2, 1), _utc(2020, 3, 1)),
        ("2020-02-29", _utc(2020, 2, 29), _utc(2020, 3, 1)),
        (date(2019, 12, 31), _utc(2019, 12, 31), _utc(2020, 1, 1)),
        ("7 May 2023", _utc(2023, 5, 7), _utc(2023, 5, 8)),
        ("the 1990s", _utc(1990, 1, 1), _utc(2000, 1, 1)),
    ],
)
def test_a_time_that_is_named_has_two_ends(
    given: str | date, start: datetime, end: datetime
) -> None:
    assert read_start("since", given, NOW) == start
    assert read_end("until", given, NOW) == end
    assert read_last("as_of", given, NOW) == end - timedelta(microseconds=1)


def test_words_are_meant_in_the_zone_of_now() -> None:
    assert read_start("since", "last week", NOW) == _utc(2024, 3, 3, 22)
    assert read_end("until", "yesterday", NOW) == _utc(2024, 3, 12, 22)


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        (datetime(2019, 5, 8, 12, tzinfo=timezone(timedelta(hours=2))), _utc(2019, 5, 8, 10)),
        (datetime(2019, 5, 8, 12), _utc(2019, 5, 8, 12)),
        ("2019-05-08T12:00:00+02:00", _utc(2019, 5, 8, 10)),
    ],
)
def test_a_moment_is_itself(given: datetime | str, moment: datetime) -> None:
    assert read_start("since", given, NOW) == moment
    assert read_end("until", given, NOW) == moment
    assert read_last("as_of", given, NOW) == moment


def test_nothing_given_is_nothing() -> None:
    assert read_start("since", None, NOW) is None
    assert read_last("as_of", None, NOW) is None


@pytest.mark.parametrize("given", ["soon", "", "2019-13-40", "in 2019 or so", "99999"])
def test_what_names_no_time_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"since .* is no time; expected a date such as 2019"):
        read_start("since", given, NOW)


def test_days_far_away_are_days() -> None:
    assert read_start("since", "9999-12-31", NOW) == _utc(9999, 12, 31)
    assert read_end("until", "9998-12-31", NOW) == _utc(9999, 1, 1)
    last = datetime.max.replace(tzinfo=UTC)
    assert read_end("until", "9999-12-31", NOW) == read_end("until", date.max, NOW) == last
    assert read_last("as_of", "0001-01-01", NOW) == _utc(1, 1, 2) - timedelta(microseconds=1)
