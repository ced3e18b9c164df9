"""What derived structures are built from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRow:
    """A chunk as derived structures read it."""

    chunk_id: int
    document_id: str
    ordinal: int
    text: str
    context: str
    sentences: tuple[tuple[int, int], ...]
    """Ranges in `text`."""
    language: str = ""
    """Its document's."""


@dataclass(frozen=True, slots=True)
class RelationRows:
    """All relations that are not retracted, by id, as derived structures read them."""

    ids: NDArray[np.int64]
    """(n,)"""
    heads: NDArray[np.int64]
    """(n,) entity ids"""
    tails: NDArray[np.int64]
    """(n,) entity ids"""
    weights: NDArray[np.float32]
    """(n,) 0 to 1"""
    chunks: NDArray[np.int64]
    """(n,) chunk ids; 0 where no text states it"""
    sentences: NDArray[np.int64]
    """(n,) ordinals within the chunk; -1 where no sentence states it"""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyQuery:
    """Which passages and which figures of a store a question needs."""

    chunk_ids: Sequence[int] = ()
    """Chunks that are wanted, each with those before and after it in its document."""
    keys: Sequence[str] = ()
    """Of names (`clew.text.entity_key`), whose entities are counted and followed."""
    entity_ids: Sequence[int] = ()
    """Entities whose chunks are wanted."""
    subjects: Sequence[int] = ()
    """Entities of which those chunks are wanted that are about them."""
    most: int
    """Mentions of an entity that is followed, at most."""
    known: Sequence[int] = ()
    """Chunks that are not wanted again."""
    counted: Sequence[int] = ()
    """Entities that are counted."""
    terms: Sequence[str] = ()
    """Terms (`clew.text.terms`) that are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearbyRows:
    """What a store knows of a `NearbyQuery`."""

    chunks: int
    """Of the whole store, one in a hundred more or fewer."""
    passages: Sequence[PassageRow]
    """By id."""
    mentions: NDArray[np.int64]
    """(n, 4) all mentions of these passages, as `SnapshotSource.mention_rows` has them."""
    entities: Mapping[str, int]
    """Entity id by key, for those keys that are an alias."""
    entity_counts: NDArray[np.int64]
    """(m, 4): entity id, its chunks, its mentions with two a chunk at most, chunks about it."""
    term_counts: Mapping[str, int]
    """Chunks that hold a term."""


class VectorSource(Protocol):
    """What a matrix of vectors is built from.

    Chunk ids grow and are never used again, and a chunk never changes, so that ids tell what a
    structure lacks and what it holds too much.
    """

    def reading(self) -> AbstractContextManager[None]:
        """Reads of this thread inside it see one state of the store, whoever writes meanwhile."""
        ...

    def generation(self) -> int:
        """A number that grows with every commit that changes anything."""
        ...

    def chunk_ids(self) -> Ids:
        """Ids of all chunks, sorted; reads them all."""
        ...

    def deleted_since(self, generation: int) -> Ids | None:
        """Sorted ids of the chunks deleted since a generation, and perhaps of some before.

        None: not known, since too much was deleted meanwhile.
        """
        ...

    def mentions_version(self) -> int:
        """A number that grows when mentions of old chunks change hands, or old chunks come back.

        Merging and splitting entities do the one, bringing back a backup the other.
        """
        ...

    def moved_since(self, mentions_version: int) -> Ids | None:
        """Sorted ids of the chunks whose mentions changed hands since a version, and perhaps more.

        None: not known, since too many did meanwhile, or old chunks came back.
        """
        ...

    def chunk_count(self) -> int:
        """How many chunks there are."""
        ...

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings."""
        ...


class SnapshotSource(VectorSource, Protocol):
    """What derived structures are built from."""

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """Chunks with an id above `after`, by id."""
        ...

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """(n, 4): chunk id, sentence (-1: the chunk is about it), entity id, count; sorted."""
        ...

    def mentions_of(self, chunk_ids: Ids) -> NDArray[np.int64]:
        """(n, 4): the `mention_rows` of these chunks alone."""
        ...

    def relation_rows(self) -> RelationRows:
        """All relations that are not retracted, by id."""
        ...

    def entities_of_type(self, entity_type: str) -> Ids:
        """Ids (sorted) of the entities of a type, such as `date`."""
        ...


class NeighbourhoodSource(Protocol):
    """What a question reads of a graph that is not in memory."""

    def last_chunk(self) -> int:
        """About the highest id of a chunk: at least the number of chunks; 0 where none was ever."""
        ...

    def nearby(self, query: NearbyQuery) -> NearbyRows:
        """The passages and figures, in one round trip; unknown ids, keys and terms are left out."""
        ...


class EmbeddingSource(Protocol):
    """What an index of vectors in another system is kept up with."""

    def generation(self) -> int:
        """See `VectorSource`."""
        ...

    def chunk_ids(self) -> Ids:
        """See `VectorSource`."""
        ...

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `VectorSource`."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimension; None where nothing was saved yet."""
        ...
