"""Chunks of which the mentions changed: entities were merged, split or pruned, or found later."""

from __future__ import annotations

from dataclasses import dataclass, field
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
