"""The headings of a text and where each one's part begins: Markdown, Setext, reStructuredText."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
        last = max(bisect_left(self.starts, end), first + 1)
        return list(self.trails[first:last])


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
            opening = line if _opens_fence(text, line) else None
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
    found = [heading for heading in found if not _within(heading.start, fenced)]
    return sorted(found, key=lambda heading: heading.start)


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


def _opens_fence(text: str, line: re.Match[str]) -> bool:
    """Tildes do so after a blank line only: elsewhere they underline a heading."""
    start, end = line.span()
    ticks = line["mark"][0] == "`"
    return end < len(text) and (ticks or start == 0 or text.endswith("\n\n", 0, start))


def _within(offset: int, ranges: list[tuple[int, int]]) -> bool:
    index = bisect_right(ranges, offset, key=lambda span: span[0]) - 1
    return index >= 0 and offset < ranges[index][1]
