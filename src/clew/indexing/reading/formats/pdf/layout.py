"""Lines of a page of PDF as paragraphs, without what repeats at the edge of the pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

_EDGE = 2
"""Lines at the top and at the bottom of a page that may be a running head or foot."""
_LEAST_PAGES = 3
"""Pages from which on what repeats is a running head."""
_REPEATED_SHARE = 0.5
"""Of the pages, on which a line repeats, more than this."""
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:page |seite |p\. ?)?[-–—]? ?(?:\d{1,4}|[ivxlc]{1,7}) ?[-–—]?"
    r"(?: ?(?:/|of|von|de) ?\d{1,4})?",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"[-*•‣◦▪–]\s|\(?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[a-z])[.)]\s|\d{1,3}(?:\.\d{1,3}){1,3}\s|\|"
)
_HYPHENS = "-\u2010"
_FULL = 0.85
"""Of the usual length of a line: one that the next word would have made longer was full."""
_FEW_WORDS = 5
"""Words of a line, at most, where lines are broken for no reason that a reader sees."""


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without lines that repeat at their edges, numbers apart, and page numbers there."""
    lines = [page.split("\n") for page in pages]
    edges = [{_alike(line) for line in _edges(page)} for page in lines]
    counts = Counter(line for page in edges for line in page if line)
    held = sum(map(bool, edges))
    enough = max(_LEAST_PAGES, _REPEATED_SHARE * held)
    repeated = {line for line, count in counts.items() if count >= enough}
    numbered = sum(any(_PAGE_NUMBER.fullmatch(line) for line in _edges(page)) for page in lines)
    return [_trimmed(page, repeated, numbered >= enough) for page in lines]


def _edges(lines: Sequence[str]) -> Iterator[str]:
    """The first and the last visible lines of a page, stripped."""
    visible = [line.strip() for line in lines if line.strip()]
    yield from visible[:_EDGE]
    yield from visible[max(_EDGE, len(visible) - _EDGE) :]


def _alike(line: str) -> str:
    """What the lines of several pages have in common: all but the number of the page."""
    return _DIGITS.sub("#", " ".join(line.split())).casefold()


def _trimmed(lines: list[str], repeated: set[str], numbered: bool) -> str:
    def runs(line: str) -> bool:
        text = line.strip()
        return _alike(text) in repeated or (numbered and _PAGE_NUMBER.fullmatch(text) is not None)

    for side in (1, -1):
        kept = lines[::side]
        visible = [i for i, line in enumerate(kept) if line.strip()][:_EDGE]
        dropped = list(takewhile(lambda i: runs(kept[i]), visible))  # noqa: B023 - runs at once
        lines = kept[dropped[-1] + 1 if dropped else 0 :][::side]
    return "\n".join(lines).strip()


def joined_lines(page: str) -> str:
    """A page whose lines are broken by width alone as paragraphs, words cut by a hyphen whole.

    A line ends a paragraph where the next word would have had room in it, before an empty line,
    and before an item of a list; never before a small letter.
    """
    lines = [line.strip() for line in page.split("\n")]
    width = _full_width([line for line in lines if line])
    parts: list[str] = []
    before = ""
    for line in lines:
        if before and line and _is_cut(before, line):
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        elif line:
            parts.append(_gap(before, line, width) + line if parts else line)
        before = line
    return "".join(parts)


def _full_width(lines: Sequence[str]) -> float:
    """The length that full lines have; 0 where most lines are broken in the middle of things."""
    lengths = sorted(map(len, lines))
    small = sum(line[0].islower() for line in lines)
    words = sorted(len(line.split()) for line in lines)
    if not lines or (2 * small > len(lines) and words[len(words) // 2] <= _FEW_WORDS):
        return 0.0
    return _FULL * lengths[len(lengths) * 9 // 10]


def _gap(before: str, after: str, width: float) -> str:
    """What stands between two lines: a blank, a line break, or an empty line."""
    if not before:
        return "\n\n"
    if before[-1] in _HYPHENS and after[0].isdigit():
        return ""
    if _ITEM.match(after):
        return "\n"
    if after[0].islower() or len(before) + 1 + len(after.split(None, 1)[0]) > width:
        return " "
    return "\n\n"


def _is_cut(line: str, after: str) -> bool:
    """Whether a word is cut between two lines."""
    return line[-1] in _HYPHENS and line[-2:-1].isalpha() and after[0].isalpha()
