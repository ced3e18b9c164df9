"""What differs between two texts, line by line, and word by word within these."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from clew.request_end import go_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["same", "gone", "new", "left_out"]
MOST_LINES, MOST_WORDS = 2000, 400
"""Lines of a text, and words of a line, that are compared: it takes their square."""
AROUND = 2
"""Lines that stay the same that are shown beside each change."""
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line."""

    kind: Kind
    text: str
    """Of what is left out: how many lines."""


def difference(before: str, after: str) -> Iterator[list[Piece]]:
    """The lines of both texts, each in pieces; long stretches that are the same are left out.

    What comes after `MOST_LINES` is not compared.
    """
    old, new = before.splitlines()[:MOST_LINES], after.splitlines()[:MOST_LINES]
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for number, (kind, a, b, c, d) in enumerate(steps):
        if kind == "equal":
            first = 0 if number == 0 else AROUND
            last = 0 if number == len(steps) - 1 else AROUND
            yield from _unchanged(new[c:d], first, last)
        elif b - a == d - c:
            yield from (_words(*pair) for pair in zip(old[a:b], new[c:d], strict=True))
        else:
            yield from ([Piece("gone", line)] for line in old[a:b])
            yield from ([Piece("new", line)] for line in new[c:d])


def _unchanged(lines: Sequence[str], first: int, last: int) -> Iterator[list[Piece]]:
    """The first and the last of lines that are the same, and how many lie between."""
    hidden = len(lines) - first - last
    if hidden <= 1:
        first, last, hidden = len(lines), 0, 0
    yield from ([Piece("same", line)] for line in lines[:first])
    if hidden:
        yield [Piece("left_out", str(hidden))]
    yield from ([Piece("same", line)] for line in lines[len(lines) - last :])


def _words(before: str, after: str) -> list[Piece]:
    """A line that changed; one of very many words as a whole."""
    go_on()
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [Piece("gone", before), Piece("new", after)]
    pieces: list[Piece] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(new[c:d])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(old[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(new[c:d])))
    return pieces
