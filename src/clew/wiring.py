"""From settings to the parts of an engine; the only place that knows which back end is in use.

Each back end is imported inside the function that makes it, so that a start loads no other, and a
question loads nothing of indexing.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.hookspecs import StoreKind, VectorIndexKind
    from clew.ports import (
        Embedder,
        Extractor,
        LanguageModel,
        ModelClient,
        Reader,
        Reranker,
        SyncedVectorIndex,
    )
    from clew.settings import Settings
    from clew.stores.sqlite.connection import Database
    from clew.stores.sqlite.store import SqliteStore
    from clew.stores.store import Store, StoreCopy
    from clew.stores.vectors import TextVectors


def make_store(settings: Settings) -> Store:
    """The store of the settings' namespace, made where there is none."""
    if settings.on_server:
        store: Store = server_kind(settings).open(settings)
    else:
        from clew.stores.sqlite.store import SqliteStore

        store = SqliteStore(
            settings.folder,
            busy_seconds=settings.busy_seconds,
            keep_versions=settings.versions.keep,
            indexed_from=used_from("keywords", settings.large.keywords, "tantivy"),
        )
    try:
        declare_functional(settings, store)
    except BaseException:
        store.close()
        raise
    return store


def declare_functional(settings: Settings, store: Store) -> None:
    """Tell a store which relation types are functional: by the settings, or by its packs."""
    from clew.packs import EnabledPacks

    packs = EnabledPacks(store.packs(), settings.packs.folders)
    if len(packs.packs) < len(packs.names):
        return  # what a missing pack says of relations stays as it is
    store.declare_functional({*settings.relations.functional, *packs.functional})


def server_kind(settings: Settings) -> StoreKind:
    """What reaches the server that the settings name; raises `InputError` where it is a folder."""
    from clew.hookspecs import named, there

    if not settings.on_server:
        raise InputError(
            f"the store {str(settings.store)!r} is a folder; give the address of a Neo4j server,"
            " such as --store neo4j://localhost:7687"
        )

    kind: StoreKind = there(named("stores")[str(settings.store).partition("://")[0]][0])
    return kind


LARGE = 100_000
"""Passages from which an index that an optional package makes is faster than the store itself;
docs/scale.md has the figures."""


def used_from(setting: str, wanted: str, package: str) -> int | None:
    """Passages from which a store has such an index beside it; None for never."""
    installed = find_spec(package) is not None
    if wanted == "always" and not installed:
        raise MissingExtraError(f"large.{setting} = 'always'", "large")
    if wanted == "never" or not installed:
        return None
    return LARGE if wanted == "auto" else 1


def file_store(store: Store) -> SqliteStore | None:
    """A store that is a file, which can be backed up and built beside; None for one on a server."""
    from clew.stores.sqlite.store import SqliteStore

    return store if isinstance(store, SqliteStore) else None


def store_exists(settings: Settings) -> bool:
    """Whether the namespace has a store; none is made."""
    if settings.on_server:
        return server_kind(settings).exists(settings)
    return (settings.folder / "clew.db").is_file()


def namespaces_of(settings: Settings) -> list[str]:
    """Names of the namespaces at the settings' place, sorted; none for a missing folder."""
    if settings.on_server:
        return sorted(server_kind(settings).namespaces(settings))
    return sorted(file.parent.name for file in settings.stores_folder.glob("*/clew.db"))


def drop_store(settings: Settings) -> None:
    """Delete the namespace's store, and what is kept of it on this machine."""
    if settings.on_server:
        server_kind(settings).drop(settings)
    if settings.folder.is_dir():
        # First out of the way, so that none is found that is half gone.
        with tempfile.TemporaryDirectory(dir=settings.stores_folder, prefix=".gone-") as gone:
            settings.folder.rename(Path(gone) / settings.namespace)


def move_store(settings: Settings, to: Settings) -> bool:
    """Have a store under another name; whether that is done by renaming its folder."""
    if settings.on_server or settings.vectors != "store":
        return False
    settings.folder.rename(to.folder)
    return True


def open_for_copying(settings: Settings, *, make: bool) -> StoreCopy:
    """The store of the settings' namespace, to be copied from or into.

    Where there is none, it is made, or else `InputError` is raised.
    """
    from clew.stores.store import StoreCopy

    if settings.on_server:
        return StoreCopy(server_kind(settings).open_for_copying(settings, make=make))
    from clew.stores.sqlite import store as in_file

    busy_seconds = settings.busy_seconds
    backend = in_file.open_for_copying(settings.folder, busy_seconds=busy_seconds, make=make)
    return StoreCopy(backend)


def _beside(settings: Settings) -> VectorIndexKind:
    """What searches vectors beside the store."""
    from clew.hookspecs import named, there

    kind: VectorIndexKind = there(named("vector_indexes")[settings.vectors][0])
    return kind


def make_vectors(settings: Settings, store: Store) -> SyncedVectorIndex:
    """The vector index of a store."""
    found: SyncedVectorIndex
    if settings.vectors != "store":
        found = _beside(settings).passages(settings, store)
    elif settings.on_server:
        found = server_kind(settings).vectors(settings, store)
    else:
        from clew.stores.vectors import VectorMatrix

        found = VectorMatrix(store, settings.folder, coded_from=_coded_from(settings))
    return found


def _coded_from(settings: Settings) -> int | None:
    return used_from("vectors", settings.large.vectors, "turbovec")


def make_text_vectors(settings: Settings, store: Store, embedder: Embedder) -> TextVectors | None:
    """The index of the texts without their context; None where the settings ask for none.

    Raises `SettingsError` where their collection is also that of the texts with it.
    """
    if settings.embed.vectors != "both":
        return None
    from clew.stores.vectors import (
        TextEmbeddings,
        TextVectors,
        VectorMatrix,
        kept_embeddings,
    )

    read, rows = TextEmbeddings(store, embedder).embeddings, _coded_from(settings)
    own = VectorMatrix(store, store.folder, "textvectors", coded_from=rows, embeddings=read)
    beside = None
    if settings.vectors != "store":
        beside = _beside(settings).texts(settings, store, kept_embeddings(store, own))
    return TextVectors(own, beside or own)


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


def make_embedder(settings: Settings) -> Embedder:
    """The embedder; its model loads when it is first needed."""
    provider, is_named, _ = settings.embed.model.partition(":")
    if is_named:
        from clew.hookspecs import named, there

        if provider in named("embedders"):
            made: Embedder = there(named("embedders")[provider][0])(settings.embed)
            return made
    from clew.models.onnx import embedder_of_passages

    return embedder_of_passages(settings.embed, settings.split.chunk_tokens)


def make_reader(settings: Settings) -> Reader | None:
    """The reader, None where it is off, or not installed and not demanded; it loads when needed."""
    if settings.search.reader == "off":
        return None
    from clew.models.reader import OnnxReader, shipped

    return shipped() or (OnnxReader() if settings.search.reader == "on" else None)


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
    settings: Settings, before_close: Callable[[Callable[[], None]], object]
) -> LanguageModel | None:
    """What answers as a language model, None where none is configured; it loads when needed.

    `before_close` is told what lets go of it.
    """
    if not settings.llm.provider:
        return None
    from clew.hookspecs import named, there

    provider = there(named("language_models")[settings.llm.provider][0])(settings.llm)
    before_close(provider.close)
    made: LanguageModel = provider
    return made


def make_language_model(
    settings: Settings, provider: LanguageModel, store: Store | None = None
) -> ModelClient:
    """The language model as an engine has it; with a store, what it answers is kept there."""
    from clew.hookspecs import listed
    from clew.stores.state import Replies

    client: ModelClient = listed("model_clients")[0](
        provider, settings.llm, None if store is None else Replies(store.backend)
    )
    return client


def make_extractor() -> Extractor:
    """The extractor; there is one, and callers may bring their own."""
    from clew.indexing.ner.pattern_extractor import PatternExtractor
    from clew.models.tagger import shipped

    return PatternExtractor(shipped())
