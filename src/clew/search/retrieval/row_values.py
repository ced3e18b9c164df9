"""Values and rankings of a few rows of a snapshot: what they cost does not grow with the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import distinct, find_sorted
from clew.search.retrieval.channels import RRF_K

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Ints

PRIOR_DEPTH = 50
"""Best passages of each ranking that the prior counts."""
RANKED = 200
"""Passages of a ranking, at most."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """A value of some rows; 0 of all others."""

    rows: Ints
    """(n,) sorted, each once."""
    values: Floats
    """(n,) float32."""

    @classmethod
    def total(cls, parts: Iterable[RowValues]) -> RowValues:
        """The sums."""
        parts = list(parts)
        rows = distinct(np.concatenate([part.rows for part in parts]))
        values = np.zeros(len(rows), np.float32)
        for part in parts:
            values[np.searchsorted(rows, part.rows)] += part.values
        return cls(rows, values)

    @classmethod
    def highest(cls, rows: Ints, values: Floats) -> RowValues:
        """Of rows in any order, the highest value of each, and at least 0."""
        once = distinct(rows)
        most = np.zeros(len(once), np.float32)
        np.maximum.at(most, np.searchsorted(once, rows), values.astype(np.float32))
        return cls(once, most)

    def __getitem__(self, rows: Ints) -> Floats:
        """(n,) the values of rows in any order."""
        places, known = find_sorted(self.rows, rows)
        found = np.zeros(len(rows), np.float32)
        found[known] = self.values[places[known]]
        return found

    def best(self, limit: int = RANKED) -> Ranked:
        """The rows with the highest values, of those above 0; ties go to the smaller row."""
        found = best(self.values, limit)
        return Ranked(self.rows[found.rows], found.scores)

    def among(self, allowed: NDArray[np.bool_] | None) -> RowValues:
        """Without the rows that are not allowed (C,)."""
        if allowed is None:
            return self
        kept = allowed[self.rows]
        return RowValues(self.rows[kept], self.values[kept])


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages by one signal, best first, each once."""

    rows: Ints
    scores: Floats

    def reciprocal(self) -> RowValues:
        """1 / (1 + rank), rank from 1."""
        return self._spread(1 / (2 + np.arange(len(self.rows))))

    def fused(self) -> RowValues:
        """1 / (60 + rank): what reciprocal rank fusion sums."""
        return self._spread(1 / (RRF_K + 1 + np.arange(len(self.rows))))

    def prior(self) -> RowValues:
        """Scores of the best passages between 0 and 1; the last of a long list has 0."""
        scores = self.scores[:PRIOR_DEPTH]
        if not len(scores):
            return self._spread(scores)
        full = len(self.rows) >= PRIOR_DEPTH
        low = float(scores[-1]) if full else min(float(scores[-1]), 0.0)
        reach = float(scores[0]) - low
        return self._spread((scores - low) / reach if reach > 0 else np.ones(len(scores)))

    def _spread(self, values: NDArray[np.floating]) -> RowValues:
        rows = self.rows[: len(values)]
        order = np.argsort(rows)
        return RowValues(rows[order], values[order].astype(np.float32))


def best(scores: Floats, limit: int = RANKED) -> Ranked:
    """The best passages of those with a score above 0; ties go to the smaller row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        floor = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= floor]
    rows = rows[np.argsort(-scores[rows], kind="stable")][:limit]
    return Ranked(rows, scores[rows])
