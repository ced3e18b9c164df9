"""Dates and periods as texts and questions word them; calendar-true, in UTC.

`names` reads and writes the names of periods, `phrases` resolves words such as "last Friday",
`ranges` finds both in a text and joins them to ranges, `written` reads the date of a text itself.
"""

from __future__ import annotations

from clew.times.document_dates import (
    date_of,
    day_order,
    find_date,
    is_of_something_else,
    opening_date,
    path_date,
    title_date,
    to_date,
    to_time,
)
from clew.times.names import DAY, MONTH, FoundPeriod, find_relative, name_of, read_period
from clew.times.ranges import find_days, find_periods, find_yearless
from clew.types import in_utc

__all__ = [
    "DAY",
    "MONTH",
    "FoundPeriod",
    "date_of",
    "day_order",
    "find_date",
    "find_days",
    "find_periods",
    "find_relative",
    "find_yearless",
    "in_utc",
    "is_of_something_else",
    "name_of",
    "opening_date",
    "path_date",
    "read_period",
    "title_date",
    "to_date",
    "to_time",
]
