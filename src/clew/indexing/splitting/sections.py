"""Which units make a section: those under one heading, small next of kin put together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.indexing.splitting.outline import Outline, Trail, common_trail
from clew.indexing.splitting.pack import CharRange, pack
from clew.indexing.splitting.units import Unit
from clew.types import Section


@dataclass(slots=True)
class _Group:
    """Units that will be one section, or several where they are too many."""

    start: int
    end: int
    weight: int
    common: Trail
    """The headings that all of them lie under."""
    last: Trail

    def is_kin(self, trail: Trail) -> bool:
        """Whether a part under `trail` is a child or a sibling, under the same top heading."""
        if self.last and trail[:1] != self.last[:1]:
            return False
        return trail[: len(self.common)] == self.common or trail[:-1] == self.common[:-1]


def section_spans(
    units: Sequence[Unit], outline: Outline | None, limit: int, tiny: int
) -> list[CharRange]:
    """Spans of units that cover them all, each of at most `limit` tokens.

    A heading begins a new section, unless the one before has fewer than `tiny` tokens and is its
    parent or its sibling. No section reaches across a heading of the topmost level. Without an
    outline, sections are filled up to the limit.
    """
    groups = _groups(units, outline, limit, tiny) if outline else [(0, len(units))]
    return [
        (start + a, start + b) for start, end in groups for a, b in pack(units[start:end], limit)
    ]


def _groups(units: Sequence[Unit], outline: Outline, limit: int, tiny: int) -> list[CharRange]:
    groups: list[_Group] = []
    for start, end, trail in _parts(units, outline):
        weight = sum(unit.weight for unit in units[start:end])
        current = groups[-1] if groups else None
        if (
            current
            and current.weight < tiny
            and current.weight + weight <= limit
            and current.is_kin(trail)
        ):
            current.end, current.last = end, trail
            current.weight += weight
            current.common = common_trail([current.common, trail])
        else:
            groups.append(_Group(start, end, weight, trail, trail))
    return [(group.start, group.end) for group in groups]


def _parts(units: Sequence[Unit], outline: Outline) -> list[tuple[int, int, Trail]]:
    """The units under each heading: first, one after the last, trail."""
    firsts = [bisect_left(units, start, key=lambda unit: unit.start) for start in outline.starts]
    return [
        (a, b, trail)
        for (a, b), trail in zip(pairwise([*firsts, len(units)]), outline.trails, strict=True)
        if a < b
    ]


def make_sections(text: str, starts: Sequence[int], outline: Outline) -> tuple[Section, ...]:
    """Sections that begin at `starts`, stretched over all of the text."""
    if not text:
        return ()
    borders = [0, *starts[1:], len(text)]
    return tuple(
        Section(
            ordinal=i,
            start=start,
            end=end,
            headings=outline.trail(starts[i] if starts else 0, end),
        )
        for i, (start, end) in enumerate(pairwise(borders))
    )
