"""Headings of Markdown with the lines below each, and the heading that each stands under."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading, and what stands below it."""

    found: re.Match[str]
    line: int
    """From 1."""
    level: int
    above: int | None
    """Place in the outline of the nearest heading before that is of a higher level."""
    lines: list[tuple[int, str]] = field(default_factory=list)
    """Up to the next heading, each with its number."""


def outline(text: str, heading: re.Pattern[str]) -> list[Heading]:
    """The headings that match, whose level is the length of the group `marks`, in order."""
    found: list[Heading] = []
    open_: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = heading.fullmatch(line.rstrip())
        if match:
            level = len(match["marks"])
            while open_ and found[open_[-1]].level >= level:
                open_.pop()
            above = open_[-1] if open_ else None
            open_.append(len(found))
            found.append(Heading(found=match, line=number, level=level, above=above))
        elif found:
            found[-1].lines.append((number, line))
    return found
