"""Pages set for a printer, of a PDF or as plain text: without running heads, words whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from textwrap import dedent

# Lines of a page as paragraphs, without what repeats at the edge of the pages.


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
    enough = max(_LEAST_PAGES, _REPEATED_SHARE * sum(map(bool, edges)))
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
    visible = [line for line in lines if line]
    lengths = sorted(map(len, visible))
    small = sum(line[0].islower() for line in visible)
    words = sorted(len(line.split()) for line in visible)
    # The length that full lines have; 0 where most lines are broken in the middle of things.
    is_broken = 2 * small > len(visible) and words[len(words) // 2] <= _FEW_WORDS
    width = 0.0 if is_broken or not visible else _FULL * lengths[len(lengths) * 9 // 10]
    parts: list[str] = []
    before = ""
    for line in lines:
        if (
            before
            and line
            and (before[-1] in _HYPHENS and before[-2:-1].isalpha() and line[0].isalpha())
        ):
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        elif line:
            parts.append(_gap(before, line, width) + line if parts else line)
        before = line
    return "".join(parts)


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


# Plain text that was set for a printer: pages with running heads, words cut at line ends.


_CUT = re.compile(
    r"(?P<first>[^\W\d_]{2,40})[-\u2010]\n(?P<indent>[ \t]{0,60})"
    r"(?P<second>[^\W\d_A-Z]{2,40})(?P<rest>[^\s]{0,40})[ \t]{0,60}(?P<end>\n?)"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_GAP, _WIDE = re.compile(r"(?<=\S)  (?=\S)"), re.compile(r"\S   ")
_SET_BY_PROGRAM = 10
"""Cut words from which on a program has cut them: a writer breaks a line at a compound's hyphen."""


def mended(text: str) -> str:
    """The text without what repeats at the edges of its pages, and with its words whole.

    Pages end with a form feed. A cut word that stands whole elsewhere is joined; in a text with
    many cuts each is but for compounds, which stand with their hyphen elsewhere, and its lines are
    no wider than their words.
    """
    pages = text.split("\f")
    if len(pages) >= _LEAST_PAGES:
        # The pages in one; a sentence that goes on has no empty line in it.
        text = ""
        for page in filter(None, without_running_lines(pages)):
            gap = "\n" if page[0].islower() else "\n\n"
            text = f"{text}{gap}{page}" if text else page
    cuts = len(_CUT.findall(text))
    if not cuts:
        return text
    whole = {word.casefold() for word in _WORD.findall(text)}

    def join(cut: re.Match[str]) -> str:
        first, second = cut["first"], cut["second"]
        is_known = (first + second).casefold() in whole
        is_compound = f"{first}-{second}".casefold() in whole
        if not (is_known or is_compound or cuts >= _SET_BY_PROGRAM):
            return cut.group()
        hyphen = "-" if is_compound and not is_known else ""
        return f"{first}{hyphen}{second}{cut['rest']}\n{'' if cut['end'] else cut['indent']}"

    text = _CUT.sub(join, text)
    if cuts < _SET_BY_PROGRAM:
        return text
    # No margin, and one blank between words that were set apart; wider gaps are of tables.
    return "\n".join(
        line if _WIDE.search(line) else _GAP.sub(" ", line) for line in dedent(text).split("\n")
    )
