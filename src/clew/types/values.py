"""Aliases of arrays, JSON metadata, periods, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """(dim,) float32, unit length."""
    Vectors: TypeAlias = NDArray[np.float32]
    """(n, dim) float32, each row of unit length."""
    Ids: TypeAlias = NDArray[np.int64]
    """(n,) int64 chunk or entity ids."""
    Scores: TypeAlias = NDArray[np.float32]
    """(n,) float32, higher is better."""


Metadata: TypeAlias = Mapping[str, Any]
"""JSON values by name."""

Operator = Literal["=", "!=", ">=", "<=", ">", "<"]

CharRange: TypeAlias = tuple[int, int]
"""Half-open, in code points."""

Fusion = Literal["rrf", "weighted"]

AliasMethod = Literal["exact", "acronym", "fuzzy", "manual"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A stretch of time, half-open `[start, end)`, in UTC; a side that is open is None."""

    start: datetime | None
    end: datetime | None
    text: str = ""
    """As it was worded; empty where it was given as dates."""

    def overlaps(self, other: Period) -> bool:
        """Whether the two share any moment."""
        return _before(self.start, other.end) and _before(other.start, self.end)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A filter on metadata, or on title, source, media_type and times: `year>=2020`."""

    name: str
    operator: Operator
    value: str
