"""A part of the graph, read from the store for one question: a snapshot of a few hundred passages.

All that walks and ranks takes it for a snapshot of the whole store. What depends on the whole comes
from the store with the passages, as `StoreCounts`:

- the number of chunks, and of those that hold each term of the question (inverse frequencies);
- of each entity that the passages mention, the number of its chunks (its inverse frequency, thus
  the weight of all its edges) and the sum of its edges' weights: what a walk takes out of an entity
  to passages that are not here is lost, as it is to passages that a walk over a snapshot leaves
  aside.

Of a passage all mentions come along, so that the sum of its edges is exact. The mean length of
passages (for BM25) is that of the passages here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Snapshot, StoreCounts
from clew.graph.snapshot_columns import Columns, read_columns, term_hash

if TYPE_CHECKING:
    from clew.graph.snapshot import Ints
    from clew.ports import NearbyQuery, NeighbourhoodSource

_APART = 0x9E3779B97F4A7C15
"""An odd number, so that chunks of a document differ unless their ids follow each other."""


@dataclass
class Neighbourhood:
    """What was read for a question so far."""

    source: NeighbourhoodSource
    entities: dict[str, int] = field(default_factory=dict)
    """Entity id by key, of the names asked for."""
    _columns: Columns = field(default_factory=lambda: read_columns([], _no_rows()))
    _counted: Ints = field(default_factory=lambda: _no_rows())
    _terms: dict[int, int] = field(default_factory=dict)
    _chunks: int = 0

    def resolve(self, keys: object) -> dict[str, int]:  # noqa: ARG002 - all that were asked for
        """Entity id by key, as `ports.GraphStore` has it, of the names that were asked for."""
        return self.entities

    def read(self, query: NearbyQuery) -> Snapshot:
        """The graph of all that was read so far, this query's passages among it."""
        known, counted = self._columns.chunk_ids, self._counted[:, 0]
        wanted = np.asarray(query.counted, dtype=np.int64)
        found = self.source.nearby(
            replace(
                query,
                known=known.tolist(),
                counted=wanted[~np.isin(wanted, counted)].tolist(),
            )
        )
        self._chunks = found.chunks
        self.entities |= found.entities
        self._terms |= {term_hash(term): number for term, number in found.term_counts.items()}
        new = read_columns(found.passages, found.mentions)
        self._columns = self._columns.append(new).by_chunk_id()
        counts = np.concatenate([self._counted, found.entity_counts])
        self._counted = counts[np.unique(counts[:, 0], return_index=True)[1]]
        return Snapshot(
            _in_runs(self._columns),
            generation=0,
            mentions_version=0,
            counts=StoreCounts(self._chunks, self._terms, self._counted),
        )


def _in_runs(columns: Columns) -> Columns:
    """The columns with another number for each run of chunks that follow each other.

    Rows that follow each other are neighbours in a snapshot; here, chunks between them may lack.
    """
    apart = (columns.chunk_ids - np.arange(len(columns.chunk_ids))).astype(np.uint64)
    numbers = columns.documents.astype(np.uint64) ^ (apart * np.uint64(_APART))
    return replace(columns, documents=numbers.astype(np.int64))


def _no_rows() -> Ints:
    return np.zeros((0, 4), dtype=np.int64)
