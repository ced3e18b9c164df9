"""From settings to the parts of an engine; the only place that turns a name into a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.ingest.pipeline import Ingest
from clew.stores.sqlite import SqliteStore
from clew.stores.vectors import VectorMatrix

if TYPE_CHECKING:
    from clew.ports import Embedder, Extractor
    from clew.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine is made of."""

    store: SqliteStore
    vectors: VectorMatrix
    ingest: Ingest


def make_parts(
    settings: Settings, *, embedder: Embedder | None = None, extractor: Extractor | None = None
) -> Parts:
    """The parts that the settings name; models load when they are first needed.

    `embedder` and `extractor` replace those that the settings name.
    """
    store = SqliteStore(
        settings.store.expanduser() / settings.namespace, busy_seconds=settings.busy_seconds
    )
    ingest = Ingest(
        store=store,
        embedder=embedder or _embedder(settings),
        extractor=extractor or _extractor(),
        split_settings=settings.split,
        link_settings=settings.link,
    )
    return Parts(store, VectorMatrix(store, store.folder), ingest)


def _embedder(settings: Settings) -> Embedder:
    from clew.models.onnx import OnnxEmbedder

    return OnnxEmbedder(settings.embed)


def _extractor() -> Extractor:
    from clew.ingest.extract import PatternExtractor

    return PatternExtractor()
