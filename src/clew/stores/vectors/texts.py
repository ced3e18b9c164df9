"""Vectors of the passages' own texts, without their context: derived from the store like a matrix.

They are made of the texts that the store holds, once a passage, and may be deleted at any time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from clew.ports import Embedder, Store, SyncedVectorIndex
    from clew.types import Ids, Vector, Vectors


@dataclass(slots=True)
class TextEmbeddings:
    """`ports.VectorSource`: embeds what is asked for."""

    store: Store
    embedder: Embedder
    _known: dict[int, Vector] = field(default_factory=dict)

    def reading(self) -> AbstractContextManager[None]:
        """See `ports.VectorSource`."""
        return self.store.reading()

    def generation(self) -> int:
        """See `ports.VectorSource`."""
        return self.store.generation()

    def chunk_ids(self) -> Ids:
        """See `ports.VectorSource`."""
        return self.store.chunk_ids()

    def deleted_since(self, generation: int) -> Ids | None:
        """See `ports.VectorSource`."""
        return self.store.deleted_since(generation)

    def mentions_version(self) -> int:
        """See `ports.VectorSource`."""
        return self.store.mentions_version()

    def moved_since(self, mentions_version: int) -> Ids | None:
        """See `ports.VectorSource`."""
        return self.store.moved_since(mentions_version)

    def chunk_count(self) -> int:
        """See `ports.VectorSource`."""
        return self.store.chunk_count()

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.VectorSource`; what the call before this one embedded is not embedded again.

        A matrix asks twice: whether it is the store's by its last row, then for all that is new.
        """
        passages = list(self.store.passages(after))
        known, self._known = self._known, {}
        texts = [p.text for p in passages if p.chunk_id not in known]
        made = iter(self.embedder.embed_documents(texts) if texts else ())
        rows = {
            p.chunk_id: known[p.chunk_id] if p.chunk_id in known else next(made) for p in passages
        }
        if after and not known:
            self._known = rows
        vectors = np.array(list(rows.values()), dtype=np.float32)
        return np.array(list(rows), np.int64), vectors.reshape(-1, self.embedder.dimension)


class TextVectors(NamedTuple):
    """The vectors of texts alone, in two places or twice in one."""

    own: SyncedVectorIndex
    """Kept beside the store, so that each text is embedded once."""
    searched: SyncedVectorIndex
    """Where they are searched."""


@dataclass(frozen=True, slots=True)
class KeptEmbeddings:
    """`ports.EmbeddingSource` of a remote: the vectors that an index of the same chunks keeps."""

    store: Store
    kept: SyncedVectorIndex

    def generation(self) -> int:
        """See `ports.VectorSource`."""
        return self.store.generation()

    def chunk_ids(self) -> Ids:
        """See `ports.VectorSource`."""
        return self.store.chunk_ids()

    def embedder(self) -> tuple[str, int] | None:
        """See `ports.EmbeddingSource`."""
        return self.store.embedder()

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.VectorSource`."""
        with self.store.reading():
            ids = self.store.chunk_ids()
            newer = ids[ids > after]
            return newer, self.kept.vectors(newer)
