"""The vector index, with one over the store that stands in while it cannot be reached."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from clew.errors import StoreBusyError, StoreError, StoreUnavailableError
from clew.wiring import make_spare_vectors, make_vectors

if TYPE_CHECKING:
    from clew.ports import Embedder, Store, SyncedVectorIndex
    from clew.settings import Settings

logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a vector index is left alone that could not be reached."""
AWAY = (StoreUnavailableError, StoreBusyError)
"""What a vector index raises that cannot be asked for a while."""


def make_vector_index(
    settings: Settings, store: Store, embedder: Embedder
) -> VectorIndexWithFallback:
    """The vectors that the settings ask for: of passages with their context, and of texts alone."""
    texts: SyncedVectorIndex | None = None
    if settings.embed.vectors == "both":
        from clew.stores.large import codes_from
        from clew.stores.vectors.matrix import VectorMatrix
        from clew.stores.vectors.texts import TextEmbeddings

        source, rows = TextEmbeddings(store, embedder), codes_from(settings.large)
        texts = VectorMatrix(source, store.folder, "textvectors", coded_from=rows)
    configured, fallback = make_vectors(settings, store), settings.vectors != "store"
    return VectorIndexWithFallback(configured, store, fallback=fallback, texts=texts)


class VectorIndexWithFallback:
    """The vector index that is configured, or the store's own while that one is away. Thread-safe.

    Without `fallback`, the configured one is the store's own, and nothing stands in for it.
    """

    def __init__(
        self,
        configured: SyncedVectorIndex,
        store: Store,
        *,
        fallback: bool,
        texts: SyncedVectorIndex | None = None,
    ) -> None:
        self._configured = configured
        self._texts = texts
        self._store = store
        self._fallback = fallback
        self._spare: SyncedVectorIndex | None = None
        self._away: tuple[float, str] | None = None
        self._refreshing = threading.Lock()

    def current(self) -> SyncedVectorIndex:
        """The index, brought up to the store's generation.

        Where it is on a server that is away, or another process holds its folder, one over the
        store stands in for it; it is tried again after `AWAY_SECONDS`.
        """
        with self._refreshing:
            if self.away is None:
                try:
                    self._configured.refresh()
                    return self._configured
                except AWAY as error:
                    self.lose(error)
            if self._spare is None:
                self._spare = make_spare_vectors(self._store)
            self._spare.refresh()
            return self._spare

    def of_texts(self) -> SyncedVectorIndex:
        """The vectors of the texts without their context, else those that there are."""
        return self._texts or self.current()

    def persist(self) -> None:
        """Bring the vectors up to the store now, so that the next process need not."""
        self.current().persist()
        if self._texts is not None:
            self._texts.persist()

    @property
    def away(self) -> str | None:
        """Why the configured index is not asked now; None where it is."""
        if self._away is None or time.monotonic() > self._away[0]:
            return None
        return self._away[1]

    def lose(self, error: StoreError) -> None:
        """Do without the configured index for a while; raises where the store itself is away."""
        if not self._fallback:
            raise error
        logger.warning("%s; the store's own vectors stand in", error)
        self._away = time.monotonic() + AWAY_SECONDS, str(error)

    def state(self) -> dict[str, Any]:
        """Figures of the configured index."""
        return self._configured.state()

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        self._configured.close()
