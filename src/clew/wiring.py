"""From settings to the parts of an engine; the only place that turns a name into a class.

What asks does not index: the parts of each are made apart, so that a question loads no patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.ingest.pipeline import Ingest
    from clew.ports import Embedder, Extractor, Reranker
    from clew.settings import Settings
    from clew.stores.sqlite import SqliteStore
    from clew.stores.sqlite_audit import SqliteAudit
    from clew.stores.sqlite_communities import SqliteCommunities
    from clew.stores.sqlite_jobs import SqliteJobs
    from clew.stores.vectors import VectorMatrix


def make_store(settings: Settings) -> SqliteStore:
    """The store of the settings' namespace, made where there is none."""
    from clew.stores.sqlite import SqliteStore

    folder = settings.store.expanduser() / settings.namespace
    return SqliteStore(
        folder,
        busy_seconds=settings.busy_seconds,
        functional=settings.relations.functional,
    )


def make_vectors(store: SqliteStore) -> VectorMatrix:
    """The vector index of a store."""
    from clew.stores.vectors import VectorMatrix

    return VectorMatrix(store, store.folder)


def make_communities(store: SqliteStore) -> SqliteCommunities:
    """The communities and topics of a store."""
    from clew.stores.sqlite_communities import SqliteCommunities

    return SqliteCommunities(store.database)


def make_jobs(store: SqliteStore) -> SqliteJobs:
    """The durable jobs of a store."""
    from clew.stores.sqlite_jobs import SqliteJobs

    return SqliteJobs(store.database)


def make_audit(store: SqliteStore) -> SqliteAudit:
    """The audit log of a store."""
    from clew.stores.sqlite_audit import SqliteAudit

    return SqliteAudit(store.database)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder; its model loads when it is first needed."""
    from clew.models.onnx import OnnxEmbedder

    return OnnxEmbedder(settings.embed)


def make_reranker(settings: Settings) -> Reranker | None:
    """The reranker, None where none is configured; its model loads when it is first needed."""
    chosen = settings.rerank
    if not chosen.model:
        return None
    from clew.models.cross_encoder import OnnxCrossEncoder, SentenceTransformersReranker

    if chosen.runtime == "sentence-transformers":
        return SentenceTransformersReranker(chosen.model)
    return OnnxCrossEncoder(
        chosen.model, cache=settings.embed.cache, threads=settings.embed.threads
    )


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
