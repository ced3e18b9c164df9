"""Plain text that was set for a printer: pages with running heads, words cut at line ends."""

from __future__ import annotations

import re
from textwrap import dedent

from clew.indexing.reading.formats.pdf.layout import without_running_lines

_LEAST_PAGES = 3
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
        text = _continued(without_running_lines(pages))
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
    return _unjustified(text) if cuts >= _SET_BY_PROGRAM else text


def _unjustified(text: str) -> str:
    """No margin, and one blank between words that were set apart; wider gaps are of tables."""
    lines = dedent(text).split("\n")
    return "\n".join(line if _WIDE.search(line) else _GAP.sub(" ", line) for line in lines)


def _continued(pages: list[str]) -> str:
    """The pages in one; a sentence that goes on has no empty line in it."""
    text = ""
    for page in filter(None, pages):
        gap = "\n" if page[0].islower() else "\n\n"
        text = f"{text}{gap}{page}" if text else page
    return text
