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

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.snapshot import Snapshot, StoreCounts
from clew.graph.snapshot_columns import read_columns, term_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.graph.snapshot import Ints
    from clew.graph.snapshot_columns import Columns
    from clew.ports import NearbyQuery, NeighbourhoodSource

_APART = np.uint64(0x9E3779B97F4A7C15)
"""Any large odd number."""


class Neighbourhood:
    """What was read for a question so far, and the graph of it."""

    def __init__(self, source: NeighbourhoodSource) -> None:
        self._source = source
        self._entities: dict[str, int] = {}
        self._columns = read_columns([], _no_rows())
        self._counted = _no_rows()
        self._terms: dict[int, int] = {}
        self.snapshot = Snapshot(self._columns, generation=0, mentions_version=0)

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Entity id by key, as `ports.GraphStore` has it, of the names that were asked for."""
        return {key: self._entities[key] for key in keys if key in self._entities}

    def read(self, query: NearbyQuery) -> Snapshot:
        """The graph of all that was read so far, what is asked now among it; see `snapshot`."""
        wanted = np.array(query.counted, dtype=np.int64)
        missing = wanted[~np.isin(wanted, self._counted[:, 0])].tolist()
        known = self._columns.chunk_ids.tolist()
        found = self._source.nearby(replace(query, known=known, counted=missing))
        self._entities |= found.entities
        self._terms |= {term_hash(term): number for term, number in found.term_counts.items()}
        new = read_columns(found.passages, found.mentions)
        self._columns = self._columns.append(new).by_chunk_id()
        self._counted = np.concatenate([self._counted, found.entity_counts])
        counts = StoreCounts(found.chunks, self._terms, self._counted)
        columns = _in_runs(self._columns)
        self.snapshot = Snapshot(columns, generation=0, mentions_version=0, counts=counts)
        return self.snapshot


def _in_runs(columns: Columns) -> Columns:
    """The columns with another number for each run of chunks whose ids follow each other.

    Rows that follow each other are neighbours in a snapshot; here, chunks between them may lack.
    """
    apart = (columns.chunk_ids - np.arange(len(columns.chunk_ids))).astype(np.uint64)
    numbers = columns.documents.astype(np.uint64) ^ (apart * _APART)
    return replace(columns, documents=numbers.astype(np.int64))


def _no_rows() -> Ints:
    return np.zeros((0, 4), dtype=np.int64)
