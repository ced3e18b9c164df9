"""From settings to the parts of an engine; the only place that knows which back end is in use.

Each back end is imported inside the function that makes it, so that a start loads no other, and a
question loads nothing of indexing.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal

from clew.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.indexing.extension import Extension
    from clew.indexing.isolation.worker import Runner
    from clew.indexing.pipeline import IndexingPipeline
    from clew.models.llm.client import LanguageModelClient
    from clew.packs import EnabledPacks
    from clew.ports import (
        AuditLog,
        CommunityWriter,
        Embedder,
        Extractor,
        JobStore,
        RefusalLog,
        Reranker,
        Store,
        SyncedVectorIndex,
    )
    from clew.ports.models import LanguageModel, ReplyLog
    from clew.settings import Settings
    from clew.stores.copy import StoreCopy
    from clew.stores.sqlite.connection import Database
    from clew.stores.sqlite.store import SqliteStore
    from clew.stores.vectors.texts import TextVectors

TEXTS_ALONE: Literal["traditional"] = "traditional"
"""The kind of collection in Chroma that holds vectors of texts without their context."""


def make_store(settings: Settings) -> Store:
    """The store of the settings' namespace, made where there is none."""
    store = _open_store(settings)
    try:
        declare_functional(settings, store)
    except BaseException:
        store.close()
        raise
    return store


def enabled_packs(settings: Settings, store: Store) -> EnabledPacks:
    """The packs that a store has enabled; one that is not to be found here is left out."""
    from clew.packs import EnabledPacks

    return EnabledPacks(store.packs(), settings.packs.folders)


def declare_functional(settings: Settings, store: Store) -> None:
    """Tell a store which relation types are functional: by the settings, or by its packs."""
    packs = enabled_packs(settings, store)
    if len(packs.packs) < len(packs.names):
        return  # what a missing pack says of relations stays as it is
    store.declare_functional({*settings.relations.functional, *packs.functional})


def _open_store(settings: Settings) -> Store:
    keep_versions = settings.versions.keep
    if isinstance(settings.store, str):
        from clew.stores.neo4j.store import Neo4jStore

        place = (settings.store, settings.neo4j, settings.namespace, settings.folder)
        return Neo4jStore(*place, keep_versions=keep_versions)
    from clew.stores.large import keywords_from
    from clew.stores.sqlite.store import SqliteStore

    busy, rows = settings.busy_seconds, keywords_from(settings.large)
    return SqliteStore(
        settings.folder, busy_seconds=busy, keep_versions=keep_versions, indexed_from=rows
    )


def file_store(store: Store) -> SqliteStore | None:
    """A store that is a file, which can be backed up and built beside; None for one on a server."""
    from clew.stores.sqlite.store import SqliteStore

    return store if isinstance(store, SqliteStore) else None


def store_exists(settings: Settings) -> bool:
    """Whether the namespace has a store; none is made."""
    if not isinstance(settings.store, str):
        return (settings.folder / "clew.db").is_file()
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.stores.neo4j.schema import holds_namespace

    with closing(Neo4jDatabase(settings.store, settings.neo4j, settings.namespace)) as database:
        return holds_namespace(database)


def open_for_copying(settings: Settings, *, make: bool) -> StoreCopy:
    """The store of the settings' namespace, to be copied from or into.

    Where there is none, it is made, or else `InputError` is raised.
    """
    from clew.stores.copy import StoreCopy

    if isinstance(settings.store, str):
        from clew.stores.neo4j import store as on_server

        place = (settings.store, settings.neo4j, settings.namespace, settings.folder)
        return StoreCopy(on_server.open_for_copying(*place, make=make))
    from clew.stores.sqlite import store as in_file

    busy_seconds = settings.busy_seconds
    backend = in_file.open_for_copying(settings.folder, busy_seconds=busy_seconds, make=make)
    return StoreCopy(backend)


def make_vectors(settings: Settings, store: Store) -> SyncedVectorIndex:
    """The vector index of a store."""
    if settings.vectors == "qdrant":
        from clew.stores.vectors.qdrant import QdrantRemote
        from clew.stores.vectors.remote import SyncedIndex

        return SyncedIndex(
            store, QdrantRemote(store, settings.qdrant, settings.namespace, settings.folder)
        )
    if settings.vectors == "chroma":
        from clew.stores.vectors.chroma import ChromaRemote
        from clew.stores.vectors.remote import SyncedIndex

        return SyncedIndex(
            store, ChromaRemote(settings.chroma, settings.namespace, settings.folder)
        )
    if settings.on_server:
        from clew.stores.neo4j.store import Neo4jStore, Neo4jVectors

        assert isinstance(store, Neo4jStore)
        return Neo4jVectors(store, settings.folder)
    from clew.stores.large import codes_from
    from clew.stores.vectors.matrix import VectorMatrix

    return VectorMatrix(store, settings.folder, coded_from=codes_from(settings.large))


def make_text_vectors(settings: Settings, store: Store, embedder: Embedder) -> TextVectors | None:
    """The index of the texts without their context; None where the settings ask for none.

    Raises `SettingsError` where their collection is also that of the texts with it.
    """
    if settings.embed.vectors != "both":
        return None
    from clew.stores.large import codes_from
    from clew.stores.vectors.matrix import VectorMatrix
    from clew.stores.vectors.texts import KeptEmbeddings, TextEmbeddings, TextVectors

    source, rows = TextEmbeddings(store, embedder), codes_from(settings.large)
    own = VectorMatrix(source, store.folder, "textvectors", coded_from=rows)
    if settings.vectors != "chroma":
        return TextVectors(own, own)
    if settings.chroma.kind == TEXTS_ALONE:
        raise SettingsError(
            f"chroma.kind {TEXTS_ALONE!r} and embed.vectors 'both' cannot go together: the"
            " collection of that kind holds the texts alone; set chroma.kind to 'contextual'"
        )
    from clew.stores.vectors.chroma import ChromaRemote
    from clew.stores.vectors.remote import SyncedIndex

    of_texts = settings.chroma.model_copy(update={"kind": TEXTS_ALONE})
    remote = ChromaRemote(of_texts, settings.namespace, settings.folder)
    return TextVectors(own, SyncedIndex(KeptEmbeddings(store, own), remote))


def make_spare_vectors(store: Store) -> SyncedVectorIndex:
    """A vector index that needs nothing but the store."""
    from clew.stores.vectors.matrix import VectorMatrix

    return VectorMatrix(store, store.folder)


def make_communities(settings: Settings, store: Store) -> CommunityWriter:
    """The communities and topics of a store."""
    from clew.stores.communities import Communities
    from clew.stores.store import Store as AnyStore

    assert isinstance(store, AnyStore)
    return Communities(store.backend)


def make_journal(settings: Settings, store: Store) -> Database:
    """The file that jobs and the audit log are kept in: the store's own, or one on this machine.

    A job reads this machine's files, and has to outlast a server that is away for a while.
    """
    file = file_store(store)
    if file is not None:
        return file.database
    from clew.stores.sqlite.store import open_journal

    return open_journal(settings.folder, settings.busy_seconds)


def forget_undos(settings: Settings) -> None:
    """Forget what takes changes back, where a store on a server has become another one.

    A store in a file forgets them with its rows, since both are in the file.
    """
    from clew.stores.sqlite.journal import NO_WAY_BACK
    from clew.stores.sqlite.store import open_journal

    if settings.on_server:
        journal = open_journal(settings.folder, settings.busy_seconds)
        with closing(journal), journal.write() as connection:
            connection.execute(NO_WAY_BACK.format(table="audit"))


def make_jobs(journal: Database) -> JobStore:
    """The durable jobs of a store."""
    from clew.stores.sqlite.jobs import SqliteJobs

    return SqliteJobs(journal)


def make_refusals(journal: Database) -> RefusalLog:
    """The documents of a store that took more than a limit allows."""
    from clew.stores.sqlite.journal import SqliteRefusals

    return SqliteRefusals(journal)


def make_audit(journal: Database) -> AuditLog:
    """The audit log of a store."""
    from clew.stores.sqlite.journal import SqliteAudit

    return SqliteAudit(journal)


def make_embedder(settings: Settings) -> Embedder:
    """The embedder; its model loads when it is first needed."""
    from clew.models.onnx import embedder_of_passages

    return embedder_of_passages(settings.embed, settings.split.chunk_tokens)


def make_reranker(settings: Settings) -> Reranker | None:
    """The reranker, None where none is configured; its model loads when it is first needed."""
    chosen, embed = settings.rerank, settings.embed
    if not chosen.model:
        return None
    from clew.models.cross_encoder import OnnxCrossEncoder, SentenceTransformersReranker

    if chosen.runtime == "sentence-transformers":
        return SentenceTransformersReranker(chosen.model)
    return OnnxCrossEncoder(
        chosen.model, cache=embed.cache, threads=embed.threads, providers=embed.providers
    )


def make_language_provider(
    settings: Settings, before_close: Callable[[Callable[[], None]], None]
) -> LanguageModel | None:
    """What answers as a language model, None where none is configured; it loads when needed.

    `before_close` is told what lets go of it.
    """
    if not settings.llm.provider:
        return None
    from clew.models.llm.client import make_provider

    provider = make_provider(settings.llm)
    before_close(provider.close)
    return provider


def make_language_model(
    settings: Settings, provider: LanguageModel, store: Store
) -> LanguageModelClient:
    """The language model of a store: what it answers is kept there, counted and checked."""
    from clew.models.llm.client import LanguageModelClient

    return LanguageModelClient(provider, settings.llm, make_replies(store))


def make_replies(store: Store) -> ReplyLog:
    """What language models were asked, as the store keeps it."""
    from clew.stores.state import Replies
    from clew.stores.store import Store as AnyStore

    assert isinstance(store, AnyStore)
    return Replies(store.backend)


def make_extractor() -> Extractor:
    """The extractor; there is one, and callers may bring their own."""
    from clew.indexing.ner.pattern_extractor import PatternExtractor

    return PatternExtractor()


def make_ingest(
    settings: Settings,
    store: Store,
    embedder: Embedder,
    extractor: Extractor,
    runner: Runner,
    extension: Extension,
) -> IndexingPipeline:
    """The steps of indexing."""
    from clew.indexing.pipeline import IndexingPipeline

    return IndexingPipeline(
        store=store,
        embedder=embedder,
        extractor=extractor,
        split_settings=settings.split,
        link_settings=settings.link,
        runner=runner,
        extension=extension,
    )


def make_workers(
    settings: Settings,
    embedder: Embedder,
    extractor: Extractor,
    extension: Extension,
    on_start: Callable[[], None],
) -> Runner:
    """Where documents are read, split and extracted: in worker processes, or in this one.

    `on_start` is called when a worker starts, which takes a moment.
    """
    from clew.indexing.isolation import pool
    from clew.indexing.isolation.worker import Steps

    steps = Steps(
        tokens=embedder,
        extractor=extractor,
        split_settings=settings.split,
        limits=settings.limits,
        extension=extension,
    )
    return pool.make_runner(steps, on_start)
