"""Parts of a text that have dates of their own: entries of change logs, journals and minutes."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from clew.indexing.splitting.outline import headings
from clew.times import find_date, is_of_something_else, to_date
from clew.types import Document, PartialDate

_ENTRY = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n[ \t]\n))\S[^\n]{5,120}(?=\n|\Z)")
"""A line behind a blank one that nothing indents; lines of a log follow each other."""
_HAS_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_AT_START = re.compile(
    r"[\[(]?[12]\d{3}[-/.]\d\d[-/.]\d\d|\w{3},? \w{3} +\d{1,2} \d\d:"
    r"|\d{1,2}\.? \w{3,9} [12]\d{3}"
)
_AT_END = re.compile(r"[(\[][^()\[\]]{6,40}[)\]]:?$|[-–—] ?[12]\d{3}-\d\d-\d\d$")
_LABELLED = re.compile(
    r"\s{1,4}[*_]{0,2}(?:\w{1,12} )?[Dd]ated?[*_]{0,2} ?:[*_]{0,2} ?(?P<date>[^\n*_]{6,40})"
)
"""What may stand below a heading: "*Release date: 2022-12-06*"."""
_TRAILER = re.compile(r"^ -- [^\n]{1,200}>,? {1,2}(?P<date>[^\n]{10,60})$", re.MULTILINE)
"""The end of an entry of Debian's change logs, which dates what stands above it."""
_FEWEST = 2
"""Dated parts of a text, at least: one alone may date all of it."""


class DatedSection(NamedTuple):
    """A part of a text that is of a day or a month, up to the next one."""

    start: int
    date: PartialDate | None
    """None for what stands between dated parts and is under none of them."""


def dated_sections(document: Document) -> list[DatedSection]:
    """The parts of a text that are dated apart, in order; none where its parts have no dates.

    Headings that name one day or month date what stands below them, up to the next heading of
    their level; in plain text lines that begin or end with a date do so.
    """
    text = document.text
    if document.pieces or not _HAS_YEAR.search(text):
        return []
    for found in (_by_trailers(text), _by_headings(document), _by_lines(document)):
        if len({section.date for section in found if section.date}) >= _FEWEST:
            return found
    return []


def _by_headings(document: Document) -> list[DatedSection]:
    sections: list[DatedSection] = []
    level = None
    for heading in headings(document.text, document.media_type):
        date = None if is_of_something_else(heading.title) else find_date(heading.title)
        if below := None if date else _LABELLED.match(document.text, heading.end):
            date = None if is_of_something_else(below.group()) else find_date(below["date"])
        if date and (level is None or heading.level <= level):
            level = heading.level
        if date and heading.level == level:
            sections.append(DatedSection(heading.start, date))
        elif level is not None and heading.level <= level:
            sections.append(DatedSection(heading.start, None))
    return sections


def _by_lines(document: Document) -> list[DatedSection]:
    if document.media_type != "text/plain":
        return []
    lines = (match for match in _ENTRY.finditer(document.text) if _HAS_YEAR.search(match.group()))
    return [
        DatedSection(line.start(), date)
        for line in lines
        if (_AT_START.match(line.group()) or _AT_END.search(line.group()))
        and not is_of_something_else(line.group())
        and (date := find_date(line.group()))
    ]


def _by_trailers(text: str) -> list[DatedSection]:
    start = 0
    sections = []
    for match in _TRAILER.finditer(text) if " -- " in text else ():
        sections.append(DatedSection(start, find_date(match["date"])))
        start = match.end()
    return sections


def date_within(sections: list[DatedSection], start: int, end: int) -> PartialDate | None:
    """The date of `[start, end)`: the day, else the month, else the year of all that it reaches.

    What stands above the first entry belongs to it, where one passage holds both.
    """
    first = max(0, bisect_right(sections, start, key=lambda section: section.start) - 1)
    last = bisect_right(sections, end - 1, key=lambda section: section.start)
    dates = [section.date for section in sections[first:last]]
    if end <= sections[0].start or None in dates:
        return None
    for length in map(len, ("2024-03-05", "2024-03", "2024")):
        shared = {date.iso[:length] for date in dates if date}
        if len(shared) == 1 and len(min(shared)) == length:
            return to_date(shared.pop())
    return None
