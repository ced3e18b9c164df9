"""Source code, cut where functions, classes and blocks begin, by blank lines and indentation."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from clew.indexing.splitting.outline import (
    CHARACTERS_A_TOKEN,
    Break,
    Cut,
    Outline,
    Trail,
    Unit,
    Weigh,
    divide,
    stripped,
)
from clew.plugins.code.parse import Definition, Syntax, syntax_of
from clew.types import Document

_DEFINITION = re.compile(
    r"""(?:(?:export|default|declare|pub(?:\([^)]*\))?|public|private|protected|internal|abstract
          |final|static|sealed|partial|open|override|inline|async|unsafe|extern|data|local)\s+)*
    (?:def|class|function\*?|func|fun|fn|struct|enum|interface|trait|impl|module|namespace|object
      |protocol|extension|record|sub|proc|macro_rules!|type)[ \t]+[\w<*&("'$]
    |(?:async\s+)?function\*?\s*\(|impl<""",
    re.VERBOSE,
)
_LEAD_IN = re.compile(r"@\w|#\[|//|/\*|\*|#(?!include|define|if|endif|else|pragma)|--\s|\"\"\"")
_CLOSER = re.compile(
    r"[)\]}]|(?:end|fi|done|esac|else|elif|elsif|except|finally|catch|ensure|rescue)\b"
)
_TAB_WIDTH = 4
_SIGNATURE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    """Without blank edges."""
    indent: int
    text: str
    after_blank: bool

    @property
    def defines(self) -> bool:
        return _DEFINITION.match(self.text) is not None

    @property
    def closes(self) -> bool:
        return _CLOSER.match(self.text) is not None


def cut(document: Document, weigh: Weigh, limit: int) -> Cut:
    """Functions and classes, each a passage of its own, as far as the grammar sees them.

    Where there is none, lines that look like definitions begin passages.
    """
    text = document.text
    syntax = None if document.pieces else syntax_of(document)
    if syntax is None:
        return Cut(code_outline(text), code_units(text, weigh, limit))
    found, units = source_outline(syntax), _Cutter(text, syntax, weigh, limit).units(0, len(text))
    return Cut(found, units, always=Break.HEADING if len(found.starts) > 1 else None)


def code_units(text: str, weigh: Weigh, limit: int) -> Iterator[Unit]:
    """Definitions, each whole where it has at most `limit` tokens; else its parts, else lines."""
    found: list[Unit] = []
    for block in _blocks(text):
        first, last = block[0], block[-1]
        units = list(divide(text, first.start, last.end, weigh, limit, _border(block)))
        if len(units) > 1:
            units = [
                unit
                for line in block
                for unit in divide(text, line.start, line.end, weigh, limit, Break.LINE)
            ]
            units[0] = replace(units[0], strength=_border(block))
        found.extend(units)
    yield from _kept_whole(found, limit, (Break.HEADING, Break.MEMBER))


def _kept_whole(units: Sequence[Unit], limit: int, levels: Sequence[Break]) -> Iterator[Unit]:
    """What lies between two borders of a level, as one unit where it fits, outer levels first."""
    if not levels:
        yield from units
        return
    firsts = [i for i, unit in enumerate(units) if i == 0 or unit.strength >= levels[0]]
    for a, b in pairwise([*firsts, len(units)]):
        weight = sum(unit.weight for unit in units[a:b])
        # A border may shift a token or so.
        if weight + (b - a) - 1 <= limit:
            yield replace(units[a], end=units[b - 1].end, weight=weight)
        else:
            yield from _kept_whole(units[a:b], limit, levels[1:])


def code_outline(text: str) -> Outline:
    """The definitions that enclose each part of the code, by their first line."""
    starts: list[int] = [0]
    trails: list[Trail] = [()]
    open_definitions: list[tuple[int, str]] = []
    for block in _blocks(text):
        head = next((line for line in block if line.defines), None)
        indent = (head or block[0]).indent
        if head is None and block[0].closes:
            continue
        open_definitions = [entry for entry in open_definitions if entry[0] < indent]
        if head is not None:
            open_definitions.append((indent, head.text[:_SIGNATURE_CHARACTERS].rstrip(" \t{:(,=")))
        trail = tuple(signature for _, signature in open_definitions)
        if trail != trails[-1]:
            starts.append(block[0].start)
            trails.append(trail)
    return Outline(tuple(starts), tuple(trails))


def _blocks(text: str) -> Iterator[list[_Line]]:
    """Runs of lines; one begins after a blank line, and at a definition with what leads it in."""
    block: list[_Line] = []
    for line in _lines(text):
        lead = 0 if line.after_blank else len(block)
        if line.defines and not line.after_blank:
            # Decorators or comments of the definition to come are its own.
            decorated = block and block[0].text.startswith("@")
            if not decorated or any(one.defines for one in block):
                above = takewhile(lambda one: _LEAD_IN.match(one.text), reversed(block))
                lead = sum(1 for _ in above)
        if lead < len(block):
            yield block[: len(block) - lead]
            block = block[len(block) - lead :]
        block.append(line)
    if block:
        yield block


def _lines(text: str) -> Iterator[_Line]:
    after_blank = True
    start = 0
    for raw in text.split("\n"):
        stripped = raw.strip()
        if stripped:
            left = start + len(raw) - len(raw.lstrip())
            indent = len(raw[: left - start].expandtabs(_TAB_WIDTH))
            yield _Line(left, left + len(stripped), indent, stripped, after_blank)
        after_blank = not stripped
        start += len(raw) + 1


def _border(block: list[_Line]) -> Break:
    """How good a place to split the start of a block is: the less nested, the better."""
    first = block[0]
    if first.closes:
        return Break.GLUE
    if first.indent == 0:
        return Break.HEADING
    return Break.MEMBER if any(line.defines for line in block) else Break.PARAGRAPH


# Source code whose syntax is known, cut where its functions and classes begin and end.


_TELLING = 16
"""Tokens from which on what stands between two definitions is a chunk of its own."""


def source_outline(syntax: Syntax) -> Outline:
    """The qualified name of the definition that each part of the code lies in."""
    borders: dict[int, Trail] = {0: ()}
    open_ones: list[Definition] = []
    for one in (*_outer(syntax), None):
        while open_ones and (one is None or open_ones[-1].end <= one.start):
            end = open_ones.pop().end
            borders[end] = open_ones[-1].path if open_ones else ()
        if one:
            borders[one.start] = one.path
            open_ones.append(one)
    return Outline(tuple(borders), tuple(borders.values()))


def _outer(syntax: Syntax) -> list[Definition]:
    return [one for one in syntax.definitions if not one.is_local]


class _Cutter:
    """One file on its way: functions and classes, each whole where it fits, else its parts.

    Each begins with `Break.HEADING`, and so does what stands between two of them, unless that is
    too short to say anything.
    """

    def __init__(self, text: str, syntax: Syntax, weigh: Weigh, limit: int) -> None:
        self._text = text
        self._weigh = weigh
        self._limit = limit
        self._left = deque(_outer(syntax))

    def units(self, start: int, end: int) -> Iterator[Unit]:
        """What stands before, between and after the definitions of a range, and these."""
        at = start
        while self._left and self._left[0].start < end:
            one = self._left.popleft()
            yield from self._between(at, one.start, at == start)
            yield from self._definition(one)
            at = one.end
        yield from self._between(at, end, at == start)

    def _definition(self, one: Definition) -> Iterator[Unit]:
        start, end = stripped(self._text, one.start, one.end)
        is_short = end - start <= self._limit * CHARACTERS_A_TOKEN
        if is_short and (weight := self._weigh(self._text[start:end])) <= self._limit:
            yield Unit(start, end, weight, Break.HEADING)
            while self._left and self._left[0].start < one.end:
                self._left.popleft()
        else:
            yield from self.units(one.start, one.end)

    def _between(self, start: int, end: int, opens: bool) -> Iterator[Unit]:
        """Lines and blocks; the first begins a chunk where it opens a definition or says enough."""
        # None is as strong as the border of a definition.
        units = [
            Unit(u.start + start, u.end + start, u.weight, min(u.strength, Break.MEMBER))
            for u in code_units(self._text[start:end], self._weigh, self._limit)
        ]
        if units:
            telling = opens or sum(unit.weight for unit in units) >= _TELLING
            yield replace(units[0], strength=Break.HEADING if telling else Break.GLUE)
            yield from units[1:]
