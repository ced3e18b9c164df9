"""Vectors of the passages' own texts, without their context: derived from the store like a matrix.

They are made of the texts that the store holds, once a passage, and may be deleted at any time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.ports import Embedder, Store
    from clew.types import Ids, Vectors


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """`ports.VectorSource`: embeds what is asked for."""

    store: Store
    embedder: Embedder

    def reading(self) -> AbstractContextManager[None]:
        """See `ports.VectorSource`."""
        return self.store.reading()

    def generation(self) -> int:
        """See `ports.VectorSource`."""
        return self.store.generation()

    def chunk_ids(self) -> Ids:
        """See `ports.VectorSource`."""
        return self.store.chunk_ids()

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """See `ports.VectorSource`."""
        passages = list(self.store.passages(after))
        ids = np.array([passage.chunk_id for passage in passages], dtype=np.int64)
        if not passages:
            return ids, np.empty((0, self.embedder.dimension), np.float32)
        return ids, self.embedder.embed_documents([passage.text for passage in passages])
