"""The steps of indexing of one engine, made again where the packs of its store change."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from clew.wiring import enabled_packs, make_extractor, make_ingest, make_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.indexing.isolation.requests import Runner
    from clew.indexing.pipeline import IndexingPipeline
    from clew.packs.enabled import EnabledPacks
    from clew.ports import Embedder, Extractor, Store
    from clew.settings import Settings


class IndexingSteps:
    """Models, packs and worker processes, put together when they are first needed."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        embedder: Embedder,
        extractor: Extractor | None,
        on_start: Callable[[], None],
    ) -> None:
        """`on_start` is called when a worker starts, which takes a moment."""
        self._settings = settings
        self._store = store
        self._embedder = embedder
        self._extractor = extractor
        self._on_start = on_start
        self._lock = threading.Lock()
        self._packs: EnabledPacks | None = None
        self._runner: Runner | None = None
        self._pipeline: IndexingPipeline | None = None

    @property
    def packs(self) -> EnabledPacks:
        """The packs that the store has enabled, by this process or by another."""
        found = enabled_packs(self._settings, self._store)
        with self._lock:
            if self._packs is None or found != self._packs:
                self._packs = found
                self._forget()
            return self._packs

    @property
    def pipeline(self) -> IndexingPipeline:
        """The steps into the engine's own store."""
        self.packs  # noqa: B018 - the steps are forgotten where they have changed
        if self._pipeline is None:
            self._pipeline = self.make(self._store)
        return self._pipeline

    def make(self, store: Store) -> IndexingPipeline:
        """The steps into a store."""
        packs = self.packs
        if self._extractor is None:
            self._extractor = make_extractor()
        if self._runner is None:
            self._runner = make_workers(
                self._settings, self._embedder, self._extractor, packs, self._on_start
            )
        return make_ingest(
            self._settings, store, self._embedder, self._extractor, self._runner, packs
        )

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        runner, self._runner, self._pipeline = self._runner, None, None
        if runner is not None:
            runner.close()
