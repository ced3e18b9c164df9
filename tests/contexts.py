"""Reads an assembled context back, as docs/asking.md says that it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = re.compile(r"(\A|\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029])>(?: )?")
_NUMBER = re.compile(r"\[(\d+)\] (.*)")


@dataclass(frozen=True)
class Part:
    """A part of a context."""

    group: str
    number: int | None
    heading: str
    text: str


def parts_of(context: str) -> list[Part]:
    """The parts of a context, in order."""
    parts, group = [], ""
    for piece in context.split("\n\n") if context else []:
        heading, _, text = piece.partition("\n")
        if not text:
            group = heading.removeprefix("## ")
            continue
        numbered = _NUMBER.fullmatch(heading)
        number, heading = (int(numbered[1]), numbered[2]) if numbered else (None, heading)
        parts.append(Part(group, number, heading, unquoted(text)))
    return parts


def unquoted(text: str) -> str:
    """The text without the marks of quotation."""
    return _MARK.sub(r"\1", text)
