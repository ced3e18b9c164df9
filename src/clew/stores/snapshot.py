"""Reading everything at once: what matrices and other derived structures are built from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.derived_files import folder_size
from clew.ports import NearbyQuery, NearbyRows, PassageRow, RelationRows
from clew.stores.backend import Found, distinct, now
from clew.stores.state import Changes, State, StoreState
from clew.stores.statements import snapshot as statements
from clew.stores.statements.names import KEYS
from clew.types import Ids

_TEXTS, _ROWS, _TERMS = 1000, 5000, 10_000
"""How many a batch holds."""
_COUNTED = ("documents", "sections", "chunks", "entities", "aliases")


class Snapshots(Changes):
    """What derived structures are built from, but for embeddings, and the store's figures."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reads of this thread inside it see one state of the store, whoever writes meanwhile."""
        with self.backend.reading(), self._with_state(None):
            yield

    def chunk_ids(self) -> Ids:
        """Ids of all chunks, sorted; reads them all."""
        return np.sort(self.backend.columns(statements.CHUNK_IDS, ("i8",))[0])

    def chunk_ids_after(self, after: int) -> Ids:
        """Ids of the chunks above an id, sorted."""
        if after <= 0:
            return self.chunk_ids()
        return np.sort(self.backend.columns(statements.CHUNK_IDS_AFTER, ("i8",), after=after)[0])

    def chunk_count(self) -> int:
        """How many chunks there are."""
        return int(self.backend.rows(statements.CHUNK_COUNT)[0][0])

    def chunk_terms(self, chunk_ids: Ids) -> Iterator[tuple[int, str]]:
        """(id, terms) of those of the chunks that there are."""
        for start in range(0, len(chunk_ids), _TERMS):
            ids = chunk_ids[start : start + _TERMS].tolist()
            yield from (
                (id_, held) for id_, held in self.backend.rows(statements.CHUNK_TERMS, ids=ids)
            )

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """Chunks with an id above `after`, by id.

        Read in batches, so that the caller may write meanwhile.
        """
        while True:
            (rows,) = self.backend.gather(statements.PASSAGES, after=after, limit=_TEXTS)
            yield from (passage_row(*row) for row in sorted(rows, key=itemgetter(0)))
            if len(rows) < _TEXTS:
                return
            after = max(row[0] for row in rows)

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """(n, 4): chunk id, sentence (-1: the chunk is about it), entity id, count; sorted."""
        parts = [np.empty((0, 4), dtype=np.int64)]
        for low, high in id_ranges(self.chunk_ids_after(after), _ROWS):
            columns = self.backend.columns(statements.MENTIONS, ("i8",) * 4, after=low, until=high)
            parts.append(np.column_stack(columns))
        return merge_mentions(np.concatenate(parts))

    def mentions_of(self, chunk_ids: Ids) -> NDArray[np.int64]:
        """(n, 4): the `mention_rows` of these chunks alone."""
        ids = [int(id_) for id_ in chunk_ids]
        columns = self.backend.columns(statements.MENTIONS_OF, ("i8",) * 4, ids=ids)
        return merge_mentions(np.column_stack(columns))

    def relation_rows(self) -> RelationRows:
        """All relations that are not retracted, by id."""
        types = ("i8", "i8", "i8", "f4", "i8", "i8")
        parts = [[np.empty(0, dtype=type_) for type_ in types]]
        (ids,) = self.backend.columns(statements.RELATION_IDS, ("i8",))
        for low, high in id_ranges(np.sort(ids), _ROWS):
            parts.append(self.backend.columns(statements.RELATIONS, types, after=low, until=high))
        return RelationRows(*map(np.concatenate, zip(*parts, strict=True)))

    def entities_of_type(self, entity_type: str) -> Ids:
        """Ids (sorted) of the entities of a type, such as `date`."""
        found = self.backend.columns(statements.ENTITIES_OF_TYPE, ("i8",), type=entity_type)
        return np.sort(found[0])

    def statistics(self) -> dict[str, Any]:
        """Counts by name, `relation_types` by type, `embedder`, `generation`, `bytes` here.

        `relations_ended` are those of all relations that hold no more or were retracted.
        """
        with self.backend.consistent():
            counts = self.backend.rows(statements.COUNTS)[0]
            types = self.backend.rows(statements.RELATION_TYPES, now=now())
            state = self.state()
        embedder = state.vectors
        *tables, sentences, mentions = counts
        return {
            **dict(zip(_COUNTED, tables, strict=True)),
            "relations": sum(number for _, number, _ in types),
            "sentences": sentences,
            "mentions": mentions,
            "relations_ended": sum(ended for *_, ended in types),
            "relation_types": {name: number for name, number, _ in types},
            "embedder": {"name": embedder[0], "dimension": embedder[1]} if embedder else None,
            "generation": state.generation,
            "bytes": folder_size(self.backend.folder),
        }


def passage_row(
    chunk_id: int,
    document_id: str,
    ordinal: int,
    text: str,
    context: str,
    sentences: str,
    language: str | None,
) -> PassageRow:
    """A row of `statements.snapshot.PASSAGES`."""
    return PassageRow(
        chunk_id=chunk_id,
        document_id=document_id,
        ordinal=ordinal,
        text=text,
        context=context,
        sentences=tuple((start, end) for start, end in json.loads(sentences)),
        language=language or "",
    )


def merge_mentions(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows (n, 4) of chunk, sentence, entity and count, sorted; one for each of the first three.

    Two aliases of one entity in one sentence are two rows of a store and one of the graph.
    """
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    if len(rows) == 0:
        return rows
    first = np.append(True, (rows[1:, :3] != rows[:-1, :3]).any(axis=1)).nonzero()[0]
    return np.column_stack([rows[first, :3], np.add.reduceat(rows[:, 3], first)])


def id_ranges(ids: Ids, size: int) -> Iterator[tuple[int, int]]:
    """(above, up to) of ranges that hold at most `size` of the sorted ids, all of them together."""
    for start in range(0, len(ids), size):
        batch = ids[start : start + size]
        yield int(batch[0]) - 1, int(batch[-1])


# Reading the passages around a question, in one round trip.


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
    """What a question reads of a graph that is not in memory."""

    _figures: _Figures | None = None

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """The passages and figures, in one round trip; unknown ids, keys and terms are left out."""
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
    """(n, 4) as `mention_rows` has them; the last column holds them."""
    lists = [row[-1] for row in passages]
    if lists and isinstance(lists[0], str):  # SQLite knows no lists
        lists = json.loads(f"[{','.join(lists)}]")
    chunks = np.repeat([row[0] for row in passages], [len(found) for found in lists])
    numbers = chain.from_iterable(chain.from_iterable(lists))
    rows = np.fromiter(numbers, dtype=np.int64).reshape(-1, 3)
    return merge_mentions(np.column_stack([chunks, rows]).astype(np.int64))
