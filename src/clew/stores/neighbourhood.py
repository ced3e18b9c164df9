"""Reading the passages around a question, in one round trip."""

from __future__ import annotations

import json
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import NearbyQuery, NearbyRows
from clew.stores.backend import Found, distinct, pairs
from clew.stores.snapshot import merge_mentions, passage_row
from clew.stores.state import StoreState
from clew.stores.statements import neighbourhood as statements

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Neighbourhoods(StoreState):
    """`ports.NeighbourhoodSource` over a back end."""

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """See `ports.NeighbourhoodSource`."""
        chunks, passages, named, entities, terms = self.backend.gather(
            statements.CHUNK_COUNT,
            statements.PASSAGES,
            statements.NAMED,
            statements.ENTITY_COUNTS,
            statements.TERM_COUNTS,
            ids=distinct(query.chunk_ids),
            keys=list(query.keys),
            entities=distinct(query.entity_ids),
            subjects=distinct(query.subjects),
            most=query.most,
            known=distinct(query.known),
            counted=distinct(query.counted),
            terms=list(query.terms),
        )
        passages.sort(key=itemgetter(0))
        return NearbyRows(
            chunks=chunks[0][0],
            passages=[passage_row(*row[:-1]) for row in passages],
            mentions=_mentions(passages),
            entities=pairs(named),
            entity_counts=np.array(entities, dtype=np.int64).reshape(-1, 4),
            term_counts={term: number for term, number in terms if number},
        )


def _mentions(passages: Found) -> NDArray[np.int64]:
    """(n, 4) as `ports.SnapshotSource.mention_rows` has them; the last column holds them."""
    lists = [row[-1] for row in passages]
    if lists and isinstance(lists[0], str):  # SQLite knows no lists
        lists = json.loads(f"[{','.join(lists)}]")
    chunks = np.repeat([row[0] for row in passages], [len(found) for found in lists])
    rows = np.array(list(chain.from_iterable(lists)), dtype=np.int64).reshape(-1, 3)
    return merge_mentions(np.column_stack([chunks, rows]).astype(np.int64))
