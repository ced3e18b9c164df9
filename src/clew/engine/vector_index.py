"""The vector index, with one over the store that stands in while it cannot be reached."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from clew.errors import StoreBusyError, StoreError, StoreUnavailableError
from clew.wiring import make_spare_vectors, make_text_vectors, make_vectors

if TYPE_CHECKING:
    from clew.ports import Embedder, SyncedVectorIndex
    from clew.settings import Settings
    from clew.stores.store import Store
    from clew.stores.vectors.matrix import TextVectors

logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a vector index is left alone that could not be reached."""
AWAY = (StoreUnavailableError, StoreBusyError)
"""What a vector index raises that cannot be asked for a while."""


def make_vector_index(
    settings: Settings, store: Store, embedder: Embedder
) -> VectorIndexWithFallback:
    """The vectors that the settings ask for: of passages with their context, and of texts alone."""
    configured, fallback = make_vectors(settings, store), settings.vectors != "store"
    texts = make_text_vectors(settings, store, embedder)
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
        texts: TextVectors | None = None,
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
            found = self._refreshed(self._configured)
            if found is None:
                self._spare = found = self._spare or make_spare_vectors(self._store)
                found.refresh()
            return found

    def of_texts(self) -> SyncedVectorIndex:
        """The vectors of the texts without their context, else those that there are."""
        if self._texts is None:
            return self.current()
        with self._refreshing:
            return self._refreshed(self._texts.searched) or self._texts.own

    def _refreshed(self, index: SyncedVectorIndex) -> SyncedVectorIndex | None:
        """The index, brought up to the store; None where it is away."""
        if self.away is None:
            try:
                index.refresh()
                return index
            except AWAY as error:
                self.lose(error)
        return None

    def persist(self) -> None:
        """Bring the vectors up to the store now, so that the next process need not."""
        self.current().persist()
        if self._texts is not None:
            self._texts.own.persist()
            self.of_texts().persist()

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
        if self._texts is not None:
            self._texts.searched.close()
