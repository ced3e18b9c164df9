"""Names and LaTeX as bibliographies write them."""

from __future__ import annotations

import logging
import re
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

from clew.text import one_line

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

_COMMENT = re.compile(r"(?<!\\)%")
_COMMAND_FIRST = re.compile(r"(\band\s)(?=\s{0,99}\\)", re.IGNORECASE)
_LONGEST_LATEX = 20_000
"""Characters of a field whose LaTeX is decoded; a longer one stays as it is written."""
_COMMANDS = re.compile(r"[\\$~`]|''|--")
"""What tells that there is more than braces to decode."""
_NO_BRACES = str.maketrans("", "", "{}")
_MACROS = {"url": "%s", "TeX": "TeX", "LaTeX": "LaTeX", "textless": "<", "textgreater": ">"}
_FAULTS = (RecursionError, AttributeError, LookupError, TypeError, ValueError)
"""What pylatexenc raises for commands without their arguments, and for what is nested deeply."""
_MOST_VALUES = 2_000
_OTHERS = frozenset(("others", "et al.", "et al"))


def plain(latex: str) -> str:
    """LaTeX as plain text on one line: accents, quotes and mathematics in Unicode."""
    if not _COMMANDS.search(latex):
        return one_line(unescape(latex.translate(_NO_BRACES)))
    if len(latex) > _LONGEST_LATEX:
        return one_line(latex)
    # A percent sign begins a comment in LaTeX; in a bibliography it is one that nobody escaped.
    try:
        found: str = _decoder().latex_to_text(_COMMENT.sub(r"\\%", latex))
    except _FAULTS:  # it stays as it is written
        return one_line(latex.translate(_NO_BRACES))
    return one_line(unescape(found.replace("\u00a0", " ")))


@cache
def _decoder() -> LatexNodes2Text:
    import pylatexenc.latex2text as latex

    # It warns of every command that lacks an argument; who wants that sets a level of their own.
    logger = logging.getLogger("pylatexenc")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
    known = latex.get_default_latex_context_db()
    macros = [latex.MacroTextSpec(name, simplify_repl=text) for name, text in _MACROS.items()]
    known.add_context_category("bibliographies", prepend=True, macros=macros)
    return latex.LatexNodes2Text(latex_context=known, math_mode="text")


def people(latex: str) -> tuple[str, ...]:
    """The names of a field of names, first names first.

    They are taken apart before their LaTeX is decoded: braces and commands keep words together.
    """
    from bibtexparser.middlewares.names import split_multiple_persons_names

    # bibtexparser 2.1 loses the backslash of a name that begins with one, other than the first.
    found = map(_person, split_multiple_persons_names(_COMMAND_FIRST.sub(r"\1{}", latex)))
    return tuple(name for name in found if name and name.casefold() not in _OTHERS)


def _person(name: str) -> str:
    from bibtexparser.middlewares.names import parse_single_name_into_parts

    parts = parse_single_name_into_parts(name, strict=False)
    return plain(" ".join([*parts.first, *parts.von, *parts.last, *parts.jr]))


def turned(name: str) -> str:
    """`Last, First` as `First Last`; any other name as it is."""
    last, comma, first = name.partition(",")
    return one_line(f"{first} {last}" if comma and first.strip() else name)


def split_values(text: str) -> tuple[str, ...]:
    """The values of a field of several, with semicolons between them, or else commas."""
    parts = text.split(";") if ";" in text else text.split(",")
    return tuple(dict.fromkeys(one for part in parts if (one := one_line(part))))[:_MOST_VALUES]
