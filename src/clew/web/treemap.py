"""Rectangles whose areas are as their weights, nearly square (Bruls, Huizing and van Wijk 2000)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Where something lies."""

    x: float
    y: float
    width: float
    height: float


def squarified(weights: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """A rectangle for each weight (above 0, the largest first); together they fill the whole."""
    if not weights:
        return []
    scale = width * height / sum(weights)
    areas = [weight * scale for weight in weights]
    found: list[Rectangle] = []
    x = y = 0.0
    while len(found) < len(areas):
        side = min(width, height)
        count = _row(areas, len(found), side)
        row = areas[len(found) : len(found) + count]
        depth = sum(row) / side if side else 0.0
        along = 0.0
        for area in row:
            length = area / depth if depth else 0.0
            if width >= height:
                found.append(Rectangle(x, y + along, depth, length))
            else:
                found.append(Rectangle(x + along, y, length, depth))
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
    return found


def _row(areas: Sequence[float], start: int, side: float) -> int:
    """How many areas lie in the next row: as long as its worst shape gets no worse."""
    count, total, worst = 0, 0.0, float("inf")
    for area in areas[start:]:
        sum_now = total + area
        # The first is the largest of the row, this one the smallest.
        shape = max(
            side**2 * areas[start] / sum_now**2,
            sum_now**2 / (side**2 * area) if side else 1.0,
        )
        if count and shape > worst:
            break
        count, total, worst = count + 1, sum_now, shape
    return count
