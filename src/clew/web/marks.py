"""Texts with parts of them marked: the answering sentence, the names that a text mentions."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WRAPPED = 50
"""Characters of a line that was broken for its width alone, at least."""


_HEADING = re.compile(r"#{1,6} +(?=\S)")


def headings(text: str) -> list[tuple[int, int, int]]:
    """Where the marks of each heading of Markdown begin, where its words do, and where they end.

    A line that text follows at once may be a comment of code, and is none.
    """
    found, start = [], 0
    for line, after in pairwise([*text.split("\n"), ""]):
        marks = _HEADING.match(line)
        if marks and not after.strip():
            found.append((start, start + marks.end(), start + len(line)))
        start += len(line) + 1
    return found


def plain(text: str) -> str:
    """The text as it flows, without the marks of its headings."""
    return "".join(piece.text for piece in segments(text))


def flowing(text: str) -> str:
    """The text with blanks for the breaks within its paragraphs; every offset stays."""
    lines = text.split("\n")
    ends = [
        " " if len(line) >= WRAPPED and after[:1].isalnum() else "\n"
        for line, after in pairwise(lines)
    ]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, and what it is."""

    text: str
    answer: bool = False
    """Whether it belongs to the answering sentence."""
    entity: int | None = None
    """Id of the entity that it names."""
    heading: bool = False
    """Whether it belongs to a heading."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A range of a text that names an entity."""

    start: int
    end: int
    entity: int


def segments(
    text: str, names: Iterable[Mark] = (), answer: tuple[int, int] = (0, 0)
) -> list[Segment]:
    """The text in pieces, cut where a mark begins or ends; of marks that overlap the first counts.

    All offsets are of `text`; what lies outside is left out, and so are the marks of headings.
    """
    titles = headings(text)
    text = flowing(text)
    kept: list[Mark] = []
    for mark in sorted(names, key=lambda m: (m.start, -m.end)):
        if 0 <= mark.start < mark.end <= len(text) and (not kept or kept[-1].end <= mark.start):
            kept.append(mark)
    first, last = max(0, answer[0]), min(len(text), answer[1])
    cuts = {0, len(text), *(edge for m in kept for edge in (m.start, m.end))}
    cuts |= {edge for title in titles for edge in title}
    if first < last:
        cuts |= {first, last}
    pieces, marks, ahead = [], deque(kept), deque(titles)
    for start, end in pairwise(sorted(cuts)):
        while marks and marks[0].end <= start:
            marks.popleft()
        entity = marks[0].entity if marks and marks[0].start <= start else None
        while ahead and ahead[0][2] <= start:
            ahead.popleft()
        begin, words, _ = ahead[0] if ahead else (len(text), len(text), 0)
        if not begin <= start < words:
            pieces.append(Segment(text[start:end], first <= start < last, entity, start >= words))
    return pieces


def find_names(text: str, names: Mapping[str, int]) -> list[Mark]:
    """Where names stand in a text as whole words, longest first; case counts.

    Args:
        text: To be looked through.
        names: Ids of entities by name.
    """
    found: list[Mark] = []
    taken = bytearray(len(text))
    for name in sorted(filter(None, names), key=len, reverse=True):
        start = text.find(name)
        while start >= 0:
            end = start + len(name)
            if not any(taken[start:end]) and _is_whole(text, start, end):
                found.append(Mark(start, end, names[name]))
                taken[start:end] = b"\x01" * len(name)
            start = text.find(name, end)
    return found


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on at either end."""
    before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    after = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not before and not after
