"""The headings of a text and where each one's part begins: Markdown, Setext, reStructuredText."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.times import find_date, is_of_something_else, to_date
from clew.types import Document, PartialDate

Trail = tuple[str, ...]

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*[|+][^\n]*(?:\n[ \t]*[|+][^\n]*)+", re.MULTILINE)
_ATX = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\s][^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(
    r"""(?:\A|(?<=\n\n)|(?<=\n[ \t]\n)|(?P<over>^(?P<rule>[=\-~^"'`*+#<>_:.])(?P=rule){2,})\n)
    [ ]{0,3}(?P<title>[^\s|#][^\n]*)\n
    (?P<under>[=\-~^"'`*+#<>_:.])(?P=under){2,}[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^)]{0,300}+\)|\[[^\[\]]*+\])")
_ANCHOR = re.compile(r"(?<!\s)\s*+\{[#.][^{}]*+\}$")
_LONGEST_TITLE = 300
_RESTRUCTURED = frozenset({"text/x-rst", "text/prs.fallenstein.rst"})
_MARKDOWN_UNDERLINES = "=-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading; `level` 1 is outermost."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Outline:
    """From `starts[i]` on, `trails[i]` holds; starts ascend, the first is 0."""

    starts: tuple[int, ...]
    trails: tuple[Trail, ...]

    def trail(self, start: int, end: int) -> Trail:
        """The headings that all of `[start, end)` lies under."""
        return common_trail(self.trails_within(start, end))

    def trails_within(self, start: int, end: int) -> list[Trail]:
        """The trails that hold within `[start, end)`, in order."""
        first = bisect_right(self.starts, start) - 1
        return list(self.trails[first : max(bisect_left(self.starts, end), first + 1)])


def common_trail(trails: Sequence[Trail]) -> Trail:
    """The headings that all of the trails (at least one) begin with."""
    first, last = min(trails), max(trails)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first if length is None else first[:length]


def fences(text: str) -> list[tuple[int, int]]:
    """Ranges of fenced code blocks, fences included; an open fence runs to the end."""
    found: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if opening is None:
            # Tildes do so after a blank line only: elsewhere they underline a heading.
            start, end = line.span()
            ticks = line["mark"][0] == "`"
            opening = (
                line
                if (end < len(text) and (ticks or start == 0 or text.endswith("\n\n", 0, start)))
                else None
            )
        elif line["mark"].startswith(opening["mark"]) and not line["rest"].strip("`~ \t"):
            found.append((opening.start(), line.end()))
            opening = None
    if opening is not None:
        found.append((opening.start(), len(text)))
    return found


def tables(text: str) -> list[tuple[int, int]]:
    """Ranges of tables drawn with bars: two or more lines in a row that begin with `|` or `+`."""
    if "\n|" not in text and "\n+" not in text and "\n " not in text:
        return []
    return [match.span() for match in _TABLE.finditer(text)]


def headings(text: str, media_type: str) -> list[Heading]:
    """Headings in order; lines of fenced code are none.

    Setext underlines count in any text (`=` above `-`). In reStructuredText every adornment
    does, and levels follow the order in which adornments first appear.
    """
    atx = [] if media_type in _RESTRUCTURED else _atx(text)
    found = atx + _underlined(text, media_type)
    if not found:
        return []
    fenced = [] if media_type in _RESTRUCTURED else fences(text)
    starts = [start for start, _ in fenced]
    outside = [
        one
        for one in found
        if not (before := bisect_right(starts, one.start)) or one.start >= fenced[before - 1][1]
    ]
    return sorted(outside, key=lambda heading: heading.start)


def outline(found: Iterable[Heading]) -> Outline:
    """The trails that headings, given in order, make."""
    starts: list[int] = [0]
    trails: list[Trail] = [()]
    above: list[Heading] = []
    for heading in found:
        above = [h for h in above if h.level < heading.level] + [heading]
        trail = tuple(h.title for h in above)
        if heading.start == 0:
            trails[0] = trail
        else:
            starts.append(heading.start)
            trails.append(trail)
    return Outline(tuple(starts), tuple(trails))


def _atx(text: str) -> list[Heading]:
    if "#" not in text:
        return []
    return [
        Heading(
            start=match.start(),
            end=match.end(),
            level=len(match["marks"]),
            title=_plain(_unclosed(match["title"].rstrip())),
        )
        for match in _ATX.finditer(text)
    ]


def _underlined(text: str, media_type: str) -> list[Heading]:
    restructured = media_type in _RESTRUCTURED
    if not restructured and "\n===" not in text and "\n---" not in text:
        return []
    found = []
    order: list[tuple[str, bool]] = []
    for match in _UNDERLINED.finditer(text):
        style = (match["under"], bool(match["over"]) and restructured)
        if not restructured and style[0] not in _MARKDOWN_UNDERLINES:
            continue
        if style not in order:
            order.append(style)
        level = order.index(style) + 1 if restructured else 1 + _MARKDOWN_UNDERLINES.index(style[0])
        title = _plain(match["title"].rstrip())
        found.append(Heading(start=match.start(), end=match.end(), level=level, title=title))
    return found


def _unclosed(title: str) -> str:
    """A Markdown heading without the marks that may close it; the `#` of a word stays."""
    open_title = title.rstrip("#")
    return open_title.rstrip() if open_title[-1:] in {"", " ", "\t"} else title


def _plain(title: str) -> str:
    """The words of a heading without links, anchors and emphasis."""
    words = _LINK.sub(r"\1", title[:_LONGEST_TITLE])
    return _ANCHOR.sub("", words).replace("**", "").replace("`", "").strip(" *_")


# Parts of a text that have dates of their own: entries of change logs, journals and minutes.


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
    start = 0
    sections = []
    for match in _TRAILER.finditer(text) if " -- " in text else ():
        sections.append(DatedSection(start, find_date(match["date"])))
        start = match.end()
    for found in (sections, _by_headings(document), _by_lines(document)):
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
