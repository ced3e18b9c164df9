"""Reading the passages around a question, in one round trip."""

from __future__ import annotations

import json
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import NearbyQuery, NearbyRows
from clew.stores.backend import Found, distinct
from clew.stores.snapshot import merge_mentions, passage_row
from clew.stores.state import StoreState
from clew.stores.statements import snapshot as statements
from clew.stores.statements.names import KEYS

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ONE_IN = 100
"""Chunks are counted again when so many of the store's are new, as a share."""


class Neighbourhoods(StoreState):
    """`ports.NeighbourhoodSource` over a back end."""

    _chunks = (0, 0)
    """The last chunk's id when they were counted, and their number."""

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """See `ports.NeighbourhoodSource`."""
        statement = [] if self._count_holds() else [statements.CHUNK_COUNT]
        passages, named, entities, terms, *counted = self.backend.gather(
            statements.NEARBY_PASSAGES,
            KEYS,
            statements.ENTITY_COUNTS,
            statements.TERM_COUNTS,
            *statement,
            ids=distinct(query.chunk_ids),
            keys=list(query.keys),
            entities=distinct(query.entity_ids),
            subjects=distinct(query.subjects),
            most=query.most,
            known=distinct(query.known),
            counted=distinct(query.counted),
            terms=list(query.terms),
        )
        for ((chunks,),) in counted:
            self._chunks = self.last_chunk(), chunks
        passages.sort(key=itemgetter(0))
        return NearbyRows(
            chunks=self._chunks[1],
            passages=[passage_row(*row[:-1]) for row in passages],
            mentions=_mentions(passages),
            entities={key: entity_id for key, _, entity_id in named},
            entity_counts=np.array(entities, dtype=np.int64).reshape(-1, 4),
            term_counts={term: number for term, number in terms if number},
        )

    def _count_holds(self) -> bool:
        """Whether too few chunks are new for counting them all again, which costs their number."""
        at, chunks = self._chunks
        return chunks > 0 and abs(self.last_chunk() - at) * _ONE_IN <= chunks


def _mentions(passages: Found) -> NDArray[np.int64]:
    """(n, 4) as `ports.SnapshotSource.mention_rows` has them; the last column holds them."""
    lists = [row[-1] for row in passages]
    if lists and isinstance(lists[0], str):  # SQLite knows no lists
        lists = json.loads(f"[{','.join(lists)}]")
    chunks = np.repeat([row[0] for row in passages], [len(found) for found in lists])
    rows = np.array(list(chain.from_iterable(lists)), dtype=np.int64).reshape(-1, 3)
    return merge_mentions(np.column_stack([chunks, rows]).astype(np.int64))
