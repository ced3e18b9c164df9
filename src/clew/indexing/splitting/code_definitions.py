"""Source code whose syntax is known, cut where its functions and classes begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from clew.indexing.splitting.code_blocks import code_outline, code_units
from clew.indexing.splitting.outline import Outline, Trail
from clew.indexing.splitting.units import CHARACTERS_A_TOKEN, Break, Unit, Weigh, stripped
from clew.indexing.syntax.parts import Definition, Syntax

_TELLING = 16
"""Tokens from which on what stands between two definitions is a chunk of its own."""


@dataclass(slots=True)
class _Part:
    """A definition, or the whole file, with those within it."""

    start: int
    end: int
    parts: list[_Part] = field(default_factory=list)


def source_outline(text: str, syntax: Syntax | None) -> Outline:
    """The qualified name of the definition that each part of the code lies in.

    Where the syntax is not known, by the lines that look like definitions.
    """
    if syntax is None:
        return code_outline(text)
    starts: list[int] = [0]
    trails: list[Trail] = [()]

    def enter(start: int, trail: Trail) -> None:
        if start == starts[-1]:
            trails[-1] = trail
        elif trail != trails[-1]:
            starts.append(start)
            trails.append(trail)

    open_ones: list[Definition] = []

    def close(until: int) -> None:
        while open_ones and open_ones[-1].end <= until:
            end = open_ones.pop().end
            enter(end, open_ones[-1].path if open_ones else ())

    for one in _outer(syntax):
        close(one.start)
        open_ones.append(one)
        enter(one.start, one.path)
    close(max((one.end for one in open_ones), default=0))
    return Outline(tuple(starts), tuple(trails))


def source_units(text: str, syntax: Syntax | None, weigh: Weigh, limit: int) -> list[Unit]:
    """Functions and classes, each whole where it has at most `limit` tokens, else its parts.

    Each begins with `Break.HEADING`, and so does what stands between two of them, unless that is
    too short to say anything. Where the syntax is not known, see `code_units`.
    """
    if syntax is None:
        return code_units(text, weigh, limit)
    return list(_Cutter(text, weigh, limit).units(_tree(syntax, len(text))))


def _outer(syntax: Syntax) -> list[Definition]:
    return [one for one in syntax.definitions if not one.is_local]


def _tree(syntax: Syntax, end: int) -> _Part:
    whole = _Part(0, end)
    open_ones = [whole]
    for one in _outer(syntax):
        while open_ones[-1].end <= one.start:
            open_ones.pop()
        part = _Part(one.start, one.end)
        open_ones[-1].parts.append(part)
        open_ones.append(part)
    return whole


class _Cutter:
    """One file on its way."""

    def __init__(self, text: str, weigh: Weigh, limit: int) -> None:
        self._text = text
        self._weigh = weigh
        self._limit = limit

    def units(self, part: _Part) -> Iterator[Unit]:
        """What stands before, between and after the parts, and the parts."""
        at = part.start
        for inner in part.parts:
            yield from self._between(at, inner.start, at == part.start)
            yield from self._definition(inner)
            at = inner.end
        yield from self._between(at, part.end, at == part.start)

    def _definition(self, part: _Part) -> Iterator[Unit]:
        start, end = stripped(self._text, part.start, part.end)
        if end - start <= self._limit * CHARACTERS_A_TOKEN:
            weight = self._weigh(self._text[start:end])
            if weight <= self._limit:
                yield Unit(start, end, weight, Break.HEADING)
                return
        yield from self.units(part)

    def _between(self, start: int, end: int, opens: bool) -> Iterator[Unit]:
        """Lines and blocks; the first begins a chunk where it opens a definition or says enough."""
        units = _within(code_units(self._text[start:end], self._weigh, self._limit), start)
        if units:
            telling = opens or sum(unit.weight for unit in units) >= _TELLING
            yield replace(units[0], strength=Break.HEADING if telling else Break.GLUE)
            yield from units[1:]


def _within(units: Sequence[Unit], start: int) -> list[Unit]:
    """Units of a part as those of the whole, none as strong as the border of a definition."""
    return [
        Unit(u.start + start, u.end + start, u.weight, min(u.strength, Break.MEMBER)) for u in units
    ]
