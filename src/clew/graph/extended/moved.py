"""Chunks of which the mentions changed: entities were merged, split or pruned, or found later."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot_columns import Columns

if TYPE_CHECKING:
    from clew.graph.snapshot import Ints


@dataclass(frozen=True, slots=True)
class Moved:
    """Chunks of a base whose mentions are others by now."""

    rows: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """(m,) sorted, none of a chunk that is gone."""
    mentions: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    """(n, 4) all that they have, as `Columns.mentions`."""

    def columns(self, base: Columns) -> Columns:
        """These chunks, without their terms."""
        counts = base.sentence_counts[self.rows].astype(np.int64)
        return Columns(
            chunk_ids=base.chunk_ids[self.rows],
            documents=base.documents[self.rows],
            sentence_counts=counts,
            term_counts=np.zeros(int(counts.sum()), dtype=np.int64),
            term_hashes=np.zeros(0, dtype=np.uint64),
            mentions=self.mentions,
        )


def with_mentions(columns: Columns, chunk_ids: Ints, mentions: Ints) -> Columns:
    """The same with other mentions of some chunks, those in order of chunk id."""
    if not len(chunk_ids):
        return columns
    others = columns.mentions[~np.isin(columns.mentions[:, 0], chunk_ids)]
    both = np.concatenate([others, mentions])
    return replace(columns, mentions=both[np.argsort(both[:, 0], kind="stable")])


def without_terms(columns: Columns) -> Columns:
    """The same chunks as if their texts were empty."""
    none = np.zeros(0, dtype=np.uint64)
    return replace(columns, term_counts=np.zeros_like(columns.term_counts), term_hashes=none)
