"""What a calendar says of when its series happen costs nobody more than a bounded time."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.plugins.personal.recurrence import Rule, Series, check_rule
from clew.request_end import RequestEndedError, request

ZONE = ZoneInfo("UTC")
PATIENCE = 5.0
"""Seconds; a bounded search takes one or two on a busy machine, an endless one ten and more."""


def some(values: range, most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True).map(
        lambda found: ",".join(map(str, found))
    )


PARTS = {
    "INTERVAL": st.sampled_from([1, 2, 3, 7, 100, 1000]).map(str),
    "COUNT": st.sampled_from([1, 3, 50, 100_000, 10**9]).map(str),
    "BYMONTH": some(range(1, 13)),
    "BYMONTHDAY": some(range(-31, 32)).filter(lambda days: "0" not in days.split(",")),
    "BYDAY": st.lists(st.sampled_from("MO TU WE TH FR SA SU".split()), min_size=1, max_size=3).map(
        ",".join
    ),
    "BYWEEKNO": some(range(1, 54)),
    "BYYEARDAY": some(range(1, 367)),
    "BYHOUR": some(range(24), 24),
    "BYMINUTE": some(range(60), 60),
    "BYSECOND": some(range(60), 60),
}
RULES = st.builds(
    lambda often, parts: ";".join([f"FREQ={often}", *(f"{n}={v}" for n, v in parts.items())]),
    st.sampled_from("SECONDLY MINUTELY HOURLY DAILY WEEKLY MONTHLY YEARLY".split()),
    st.fixed_dictionaries({}, optional=PARTS),
)
STARTS = st.datetimes(datetime(1, 1, 2), datetime(2040, 1, 1)).map(
    lambda m: m.replace(microsecond=0)
)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@settings(max_examples=25, deadline=None)
@given(RULES, STARTS, st.sampled_from([timedelta(7), timedelta(366), timedelta(366 * 3000)]))
@example("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31", datetime(2024, 1, 1), timedelta(7))
@example("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", datetime(2024, 1, 1), timedelta(7))
@example("FREQ=MONTHLY;BYMONTHDAY=31", datetime(1, 1, 31), timedelta(7))
@example("FREQ=HOURLY;INTERVAL=8", datetime(1900, 1, 1, 8), timedelta(7))
@example("FREQ=DAILY;COUNT=1000000000", datetime(1, 1, 2), timedelta(7))
@example("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;COUNT=3000", datetime(1, 1, 2), timedelta(7))
def test_no_rule_takes_long(rule: str, start: datetime, window: timedelta) -> None:
    began = time.monotonic()
    try:
        check_rule(rule, start, None)
    except ValueError:
        pass  # is named as what cannot be followed, and not kept
    else:
        series = Series(start=start, duration=timedelta(), zone=ZONE, rules=(Rule(rule),))
        with suppress(InputError):  # says to ask for a shorter range
            list(series.between(NOW, NOW + window))
    assert time.monotonic() - began < PATIENCE


@settings(max_examples=25, deadline=None)
@given(
    RULES.filter(lambda rule: not re.search("COUNT=1000|SECONDLY|MINUTELY", rule)),
    STARTS.map(lambda moment: moment.replace(year=2015 + moment.year % 10, day=1)),
)
@example("FREQ=MONTHLY;INTERVAL=7", datetime(2015, 1, 31))
@example("FREQ=YEARLY;INTERVAL=3", datetime(2016, 2, 29))
def test_what_is_counted_happens_as_the_rule_says(rule: str, start: datetime) -> None:
    try:
        check_rule(rule, start, None)
    except ValueError:
        return
    series = Series(start=start, duration=timedelta(), zone=ZONE, rules=(Rule(rule),))
    until = NOW + timedelta(days=800)
    found = [begun.replace(tzinfo=None) for begun, _ in series.between(NOW, until)]
    low, high = NOW.replace(tzinfo=None), until.replace(tzinfo=None)
    so_far = takewhile(lambda moment: moment < high, rrulestr(rule, dtstart=start))
    expected = [moment for moment in so_far if moment >= low]

    assert found == expected[: len(found)]
    assert len(found) >= min(len(expected) - 1, 9_000)


def test_expanding_ends_when_nobody_waits_any_more() -> None:
    rule = Rule("FREQ=DAILY")
    series = Series(start=datetime(2024, 1, 1), duration=timedelta(), zone=ZONE, rules=(rule,))
    with request() as end:
        assert len(list(series.between(NOW, NOW + timedelta(days=5000)))) == 5000
        end()
        with pytest.raises(RequestEndedError):
            list(series.between(NOW, NOW + timedelta(days=5000)))
