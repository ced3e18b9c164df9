"""Reading the passages around a question, in one round trip."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import NearbyQuery, NearbyRows
from clew.stores.backend import Found, distinct
from clew.stores.snapshot import merge_mentions, passage_row
from clew.stores.state import State, StoreState
from clew.stores.statements import snapshot as statements
from clew.stores.statements.names import KEYS

if TYPE_CHECKING:
    from numpy.typing import NDArray


COMMON = 20
"""Chunks from which what is counted is remembered: counting costs as much as there are."""
_MOST = 20_000
"""Entities and terms that are remembered, at most."""
_SECONDS, _ONE_IN = 60.0, 100
"""How old what is remembered may be where the store changes, and how much of it may be new."""


@dataclass
class _Figures:
    """What was counted in a store that has hardly changed since."""

    state: State
    chunks: int = 0
    counted_at: float = field(default_factory=time.monotonic)
    entities: dict[int, Sequence[int]] = field(default_factory=dict)
    """Rows of `ENTITY_COUNTS` by id, of common entities."""
    terms: dict[str, int] = field(default_factory=dict)
    """Chunks by term, of common terms."""

    def hold(self, state: State) -> bool:
        """Whether they are good enough for a store in this state."""
        if state.generation == self.state.generation:
            return True
        new = abs(state.last_chunk - self.state.last_chunk)
        recent = time.monotonic() - self.counted_at < _SECONDS
        same = state.mentions_version == self.state.mentions_version
        return same and recent and new * _ONE_IN <= self.chunks

    def remember(self, entities: Found, terms: Found) -> None:
        """Keep what is common, as long as there is room."""
        if len(self.entities) < _MOST:
            self.entities.update((row[0], row) for row in entities if row[1] >= COMMON)
        if len(self.terms) < _MOST:
            self.terms.update((row[0], row[1]) for row in terms if row[1] >= COMMON)


class Neighbourhoods(StoreState):
    """`ports.NeighbourhoodSource` over a back end."""

    _figures: _Figures | None = None

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """See `ports.NeighbourhoodSource`."""
        state, figures = self.state(), self._figures
        if figures is None or not figures.hold(state):
            figures = _Figures(state)
        counted, terms = distinct(query.counted), list(dict.fromkeys(query.terms))
        common = [figures.entities[id_] for id_ in counted if id_ in figures.entities]
        said = {term: figures.terms[term] for term in terms if term in figures.terms}
        passages, named, entities, held, *chunks = self.backend.gather(
            statements.NEARBY_PASSAGES,
            KEYS,
            statements.ENTITY_COUNTS,
            statements.TERM_COUNTS,
            *([] if figures is self._figures else [statements.CHUNK_COUNT]),
            ids=distinct(query.chunk_ids),
            keys=list(query.keys),
            entities=distinct(query.entity_ids),
            subjects=distinct(query.subjects),
            most=query.most,
            known=distinct(query.known),
            counted=[id_ for id_ in counted if id_ not in figures.entities],
            terms=[term for term in terms if term not in said],
        )
        for ((figures.chunks,),) in chunks:
            self._figures = figures
        figures.remember(entities, held)
        passages.sort(key=itemgetter(0))
        return NearbyRows(
            chunks=figures.chunks,
            passages=[passage_row(*row[:-1]) for row in passages],
            mentions=_mentions(passages),
            entities={key: entity_id for key, _, entity_id in named},
            entity_counts=np.array([*entities, *common], dtype=np.int64).reshape(-1, 4),
            term_counts={**{term: number for term, number in held if number}, **said},
        )


def _mentions(passages: Found) -> NDArray[np.int64]:
    """(n, 4) as `ports.SnapshotSource.mention_rows` has them; the last column holds them."""
    lists = [row[-1] for row in passages]
    if lists and isinstance(lists[0], str):  # SQLite knows no lists
        lists = json.loads(f"[{','.join(lists)}]")
    chunks = np.repeat([row[0] for row in passages], [len(found) for found in lists])
    numbers = chain.from_iterable(chain.from_iterable(lists))
    rows = np.fromiter(numbers, dtype=np.int64).reshape(-1, 3)
    return merge_mentions(np.column_stack([chunks, rows]).astype(np.int64))
