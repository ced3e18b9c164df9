"""Years, decades and dates, as English, ISO and East Asian texts write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.spans import NameSpan
from clew.times.names import DAY, MONTH
from clew.times.ranges import FIRST_FUTURE, NO_YEAR_AFTER, NO_YEAR_BEFORE, YEAR, is_counted

_BEFORE = re.compile(rf"(?<!\w)(?:(?:{DAY}(?: of)? )?(?:{MONTH})\.?,? ?|(?:{MONTH})\.? {DAY},? )$")
_AFTER = re.compile(
    r"s(?!\w)|-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?: ?[年년](?: ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?)?)"
)
_LONGEST_BEFORE = 20
"""Characters of "30th of September, "."""


def find_dates(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Dates of `text[start:end]` as written, each full date followed by its year as its own name.

    "7 May 2023", "May 7, 2023", "2023-05-07", "May 2023", "the 1990s", "2008年8月8日", "1990".
    """
    # A year first (a cheap scan), then what stands around it: most text holds no digits at all.
    for match in YEAR.finditer(text, start, end):
        yield from _around(text, match.start(), match.end(), start, end)


def _around(text: str, left: int, right: int, start: int, end: int) -> Iterator[NameSpan]:
    if text[left:right] >= FIRST_FUTURE:
        return
    if NO_YEAR_BEFORE.search(text, max(start, left - 2), left):
        return
    before = _BEFORE.search(text, max(start, left - _LONGEST_BEFORE), left)
    after = _AFTER.match(text, right, end)
    alone = after is None and before is None
    if alone and (NO_YEAR_AFTER.match(text, right, end) or is_counted(text, left, right)):
        return
    first = before.start() if before else left
    last = after.end() if after else right
    yield NameSpan(first, last, text[first:last], "date")
    is_decade = after is not None and after.group() == "s"
    if (first, last) != (left, right) and not is_decade:
        yield NameSpan(left, right, text[left:right], "date", nested=True)
