"""Moments as callers give them: dates, times, and words such as `2019` or `last week`."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias

from dateutil.relativedelta import relativedelta

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Period

Moment: TypeAlias = datetime | date | str
"""A `datetime` (without a zone: UTC), a day, or a text that names a time."""

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_INSTANT = timedelta(microseconds=1)


def read_start(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The first moment of what was given; raises `InputError` for what names no time."""
    if given is None:
        return None
    return _exactly(given) or _side(name, given, _period(name, given, now).start)


def read_end(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The first moment after what was given; raises `InputError` for what names no time."""
    if given is None:
        return None
    return _exactly(given) or _side(name, given, _period(name, given, now).end)


def read_last(name: str, given: Moment | None, now: datetime) -> datetime | None:
    """The last moment of what was given; raises `InputError` for what names no time."""
    end = read_end(name, given, now)
    return end if end is None or _exactly(given) else end - _INSTANT


def _exactly(given: Moment | None) -> datetime | None:
    """The moment itself, where one and not a day was given."""
    if isinstance(given, str) and len(given) > len("2019-01-01") and "T" in given:
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            return None
    if not isinstance(given, datetime):
        return None
    return given.replace(tzinfo=given.tzinfo or UTC).astimezone(UTC)


def _period(name: str, given: Moment, now: datetime) -> Period:
    from clew.times import find_periods, read_period
    from clew.types import Period

    if isinstance(given, date):
        start = datetime.combine(given, time(), UTC)
        return Period(start=start, end=start + timedelta(days=1))
    month = _MONTH.fullmatch(given)
    read = read_period(f"{given}-01" if month else given)
    if month and read is not None and read.start is not None:
        return replace(read, end=read.start + relativedelta(months=1))
    if read is not None:
        return read
    found = find_periods(given, now)
    if len(found) == 1 and (found[0].start, found[0].end) == (0, len(given)):
        return found[0].period
    raise InputError(
        f"{name} {given!r} is no time; expected a date such as 2019, 2019-05 or 2019-05-08, a time"
        " such as 2019-05-08T12:00, or words such as 'last week'"
    )


def _side(name: str, given: Moment, moment: datetime | None) -> datetime:
    if moment is None:
        raise InputError(f"{name} {given!r} has no such side; expected a date such as 2019-05-08")
    return moment
