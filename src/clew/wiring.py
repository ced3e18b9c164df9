"""From settings to the parts of an engine; the only place that turns a name into a class.

What asks does not index: the parts of each are made apart, so that a question loads no patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.ingest.pipeline import Ingest
    from clew.ports import Embedder, Extractor
    from clew.settings import Settings
    from clew.stores.sqlite import SqliteStore
    from clew.stores.vectors import VectorMatrix


def make_store(settings: Settings) -> SqliteStore:
    """The store of the settings' namespace, made where there is none."""
    from clew.stores.sqlite import SqliteStore

    folder = settings.store.expanduser() / settings.namespace
    return SqliteStore(folder, busy_seconds=settings.busy_seconds)


def make_vectors(store: SqliteStore) -> VectorMatrix:
    """The vector index of a store."""
    from clew.stores.vectors import VectorMatrix

    return VectorMatrix(store, store.folder)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder; its model loads when it is first needed."""
    from clew.models.onnx import OnnxEmbedder

    return OnnxEmbedder(settings.embed)


def make_extractor() -> Extractor:
    """The extractor; there is one, and callers may bring their own."""
    from clew.ingest.extract import PatternExtractor

    return PatternExtractor()


def make_ingest(
    settings: Settings, store: SqliteStore, embedder: Embedder, extractor: Extractor | None
) -> Ingest:
    """The steps of indexing; `extractor` replaces the one that the settings name."""
    from clew.ingest.pipeline import Ingest

    return Ingest(
        store=store,
        embedder=embedder,
        extractor=extractor or make_extractor(),
        split_settings=settings.split,
        link_settings=settings.link,
    )
