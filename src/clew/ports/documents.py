"""Documents, their times and uses, and finding them by words and by vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Scores, Vector, Vectors


class KeywordIndex(Protocol):
    """Chunks by the words that they hold; `save` and `delete` of the store keep it current."""

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """BM25 over context and text, for chunks that hold at least one term; above 0, best first.

        `terms` come from `clew.text.terms`; several with a space between them are one phrase: they
        must stand in a row. Ties go to the smaller id. `allowed` restricts the search itself, not
        its outcome. No terms, no hits.
        """
        ...


class VectorIndex(Protocol):
    """Chunks by nearness of their embedding."""

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Cosine similarity, -1 to 1, best first; ties go to the smaller id."""
        ...

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """Embeddings of the chunks given, in that order. Unknown ids raise `StoreError`."""
        ...


@runtime_checkable
class HybridIndex(Protocol):
    """What finds by vectors and by words at once."""

    def search_both(
        self, vector: Vector, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[tuple[Ids, Scores], tuple[Ids, Scores]]:
        """`search_vector` and `search_keywords` in one round trip, each with its own scores."""
        ...


class SyncedVectorIndex(VectorIndex, Protocol):
    """A `VectorIndex` that is derived from a store's embeddings and kept beside it.

    Whatever is lost of it is made again from the store, which is the truth: it may be deleted at
    any time, and a server that was down while documents were indexed catches up afterwards.
    """

    def refresh(self) -> None:
        """Take in what was saved and deleted since; cheap where nothing was.

        Raises `StoreUnavailableError` where its server cannot be reached.
        """
        ...

    def persist(self) -> None:
        """Bring it up to the store now, so that the next process need not."""
        ...

    def state(self) -> dict[str, Any]:
        """`backend`, `available`, `connected`, `version`, `points`, `problem`; never raises.

        `available`: what it needs is installed. `connected`: it can be reached now. `version` of
        the back end ("" unknown), `points`: vectors held of this namespace (None: unknown).
        `problem`: why it cannot be reached and what to do ("" where it can).
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...


# What derived structures are built from.


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
