"""Years, decades and dates, as English, ISO and East Asian texts write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.ingest.spans import Span
from clew.ingest.vocabulary import MONTHS, MONTHS_SHORT

_MONTH = "|".join(name.capitalize() for name in (*MONTHS, *MONTHS_SHORT))
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
# A year first (a cheap scan), then what stands around it: most text holds no digits at all.
_YEAR = re.compile(r"[12]\d{3}(?!\d)")
_BEFORE = re.compile(
    rf"(?<!\w)(?:(?:{_DAY}(?: of)? )?(?:{_MONTH})\.?,? ?|(?:{_MONTH})\.? {_DAY},? )$"
)
_AFTER = re.compile(
    r"s(?!\w)|-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?: ?[年년](?: ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?)?)"
)
_NO_YEAR_BEFORE = re.compile(r"(?:[A-Za-z\d$€£¥#/]|\d[.,:])$")
_NO_YEAR_AFTER = re.compile(
    r"[%°A-Za-z]|[.,]\d"
    r"| ?(?:km|mi|miles?|m|ft|feet|met(?:re|er)s?|kg|[MGk]?W|MHz|hp|acres|ha|hectares|people"
    r"|inhabitants|residents|families|households|students|members|seats|votes|copies|men|soldiers"
    r"|employees|points|runs|times|words|tons|tonnes|dollars|euros)\b"
)
_LONGEST_BEFORE = 20
"""Characters of "30th of September, "."""


def find_dates(text: str, start: int, end: int) -> Iterator[Span]:
    """Dates of `text[start:end]` as written, each full date followed by its year as its own name.

    "7 May 2023", "May 7, 2023", "2023-05-07", "May 2023", "the 1990s", "2008年8月8日", "1990".
    """
    for match in _YEAR.finditer(text, start, end):
        yield from _around(text, match.start(), match.end(), start, end)


def _around(text: str, left: int, right: int, start: int, end: int) -> Iterator[Span]:
    if _NO_YEAR_BEFORE.search(text, max(start, left - 2), left) or text[left:right] >= "2100":
        return
    before = _BEFORE.search(text, max(start, left - _LONGEST_BEFORE), left)
    after = _AFTER.match(text, right, end)
    if after is None and before is None and _NO_YEAR_AFTER.match(text, right, end):
        return
    first = before.start() if before else left
    last = after.end() if after else right
    yield Span(first, last, text[first:last], "date")
    is_decade = after is not None and after.group() == "s"
    if (first, last) != (left, right) and not is_decade:
        yield Span(left, right, text[left:right], "date", nested=True)
