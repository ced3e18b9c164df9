"""What every part of the engine works with: the store, the models, and what is derived.

What only some questions, or only indexing, need is imported inside the functions that use it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast

from clew.derived_files import is_outdated
from clew.errors import (
    InputError,
    ModelError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    check_options,
)
from clew.graph.snapshot import Snapshot
from clew.graph.snapshot_files import current_snapshot, is_behind, write_snapshot
from clew.graph.vocabulary import Vocabulary, current_vocabulary, persist_vocabulary
from clew.models.given import (
    FunctionEmbedder,
    as_embedder,
    as_reranker,
    checked_model,
    unit_vectors,
)
from clew.packs import EnabledPacks
from clew.ports import (
    Embedder,
    Extractor,
    LanguageModel,
    ModelClient,
    Reader,
    Reranker,
    SyncedVectorIndex,
)
from clew.search.ranker import Ranker, shipped
from clew.search.session import Preferences, RecentlyUsed, keeps_snapshot
from clew.settings.place import zone_of
from clew.stores.backend import Progress as Progress
from clew.stores.communities import Communities
from clew.stores.sqlite.connection import Database
from clew.stores.vectors import KIND as VECTORS
from clew.stores.vectors import TextVectors, VectorMatrix
from clew.text import entity_key
from clew.types import Vector
from clew.wiring import (
    make_embedder,
    make_extractor,
    make_journal,
    make_language_model,
    make_language_provider,
    make_reader,
    make_reranker,
    make_store,
    make_text_vectors,
    make_vectors,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.hookspecs import FieldKind
    from clew.indexing.pipeline import IndexingPipeline
    from clew.indexing.processes import Runner
    from clew.models.given import EmbedFunction, RerankFunction
    from clew.settings import Settings
    from clew.stores.store import Store


logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a vector index is left alone that could not be reached."""
AWAY = (StoreUnavailableError, StoreBusyError)
"""What a vector index raises that cannot be asked for a while."""


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
        self._configured, self._texts = configured, texts
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
                # It needs nothing but the store.
                self._spare = found = self._spare or VectorMatrix(self._store, self._store.folder)
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


VIEWS_KEPT = 3
"""Parts of the graph that are kept."""


class Models(TypedDict, total=False):
    """What stands in for the models that the settings name."""

    embedder: Embedder | EmbedFunction | None
    extractor: Extractor | None
    reranker: Reranker | RerankFunction | None
    language_model: LanguageModel | None


class EngineState:
    """The store of one namespace, its models, and the structures derived from it, up to date.

    Threads may share it. Implements `search.session.SearchResources`.
    """

    def __init__(self, settings: Settings, **models: Unpack[Models]) -> None:
        self.settings = settings
        check_options(models, Models)
        given = {name: one for name, one in models.items() if one is not None}
        for name, port in (("extractor", Extractor), ("language_model", LanguageModel)):
            if name in given:
                checked_model(given[name], port)
        embedder, reranker = models.get("embedder"), models.get("reranker")
        own = None if embedder is None else as_embedder(embedder)
        own_reranker = None if reranker is None else as_reranker(reranker)
        self.store = make_store(settings)
        self.embedder = own or make_embedder(settings)
        """The model that texts and questions are embedded with."""
        self.reranker = own_reranker or make_reranker(settings)
        """Reads question and passage together; None where none is configured."""
        self._before_close: list[Callable[[], None]] = []
        self.language_provider = models.get("language_model") or make_language_provider(
            settings, self.before_close
        )
        """What answers as a language model; None where none is configured or given."""
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(settings.search.cache)
        """Embeddings of questions asked before."""
        self.views: RecentlyUsed[Hashable, Any] = RecentlyUsed(VIEWS_KEPT)
        """What the explorer showed of the graph, by generation and by what was wanted."""
        self.vector_index = VectorIndexWithFallback(
            make_vectors(settings, self.store),
            self.store,
            fallback=settings.vectors != "store",
            texts=make_text_vectors(settings, self.store, self.embedder),
        )
        """The vectors that the settings ask for: with context, and of the texts alone."""
        self.progress: Progress | None = None
        """Told of the steps that a question has to wait for."""
        self.communities_made = 0
        """How often communities and topics were computed here."""
        self.writing = threading.Lock()
        """Held while something is saved."""
        self._extractor = models.get("extractor")
        self._steps_lock = threading.Lock()
        self._packs: EnabledPacks | None = None
        self._runner: Runner | None = None
        self._pipeline: IndexingPipeline | None = None
        self.kept_communities = Communities(self.store.backend)
        """Communities as they were found last, perhaps before the last changes."""
        self._entity_graph: EntityGraph | None = None
        self._entity_ranks: EntityRanks | None = None
        self._snapshot: Snapshot | None = None
        self._vocabulary: Vocabulary | None = None
        self._loading: threading.Thread | None = None
        self._patience: float | None = None
        self._refreshing = threading.Lock()

    def close(self) -> None:
        """Let go of files; may be called twice."""
        while self._before_close:
            self._before_close.pop()()
        with self._steps_lock:
            self._forget_steps()
        self.vector_index.close()
        self.store.close()

    @property
    def models(self) -> Models:
        """The models, for another namespace to share."""
        return {
            "embedder": self.embedder,
            "extractor": self._extractor,
            "reranker": self.reranker,
            "language_model": self.language_provider,
        }

    def before_close(self, action: Callable[[], None]) -> None:
        """Have something done when the engine closes, while the store is still open."""
        self._before_close.append(action)

    def warm(self, *, patience: float | None = None) -> None:
        """Load embedder and reader in the background, while the caller prepares its question.

        Where the first cannot be loaded, a question says so. Questions wait for it for at most
        `patience` seconds, then make do with words and relations, and say so.
        """
        self._patience = patience
        self._loading = threading.Thread(target=self._load_model, name="clew-warm")
        self._loading.start()

    @property
    def ready(self) -> bool:
        """Whether nothing is being loaded in the background (see `warm`)."""
        return self._loading is None or not self._loading.is_alive()

    @property
    def keyword_only(self) -> bool:
        """Whether a question has waited long enough for the embedding model."""
        if self._loading is not None and self._patience:
            self._loading.join(self._patience)
        return self._patience is not None and not self.ready

    def _load_model(self) -> None:
        with suppress(ModelError):
            self.embedder.embed_query("warm")
            if self.reader is not None:
                self.reader.warm()

    def embedded(self, question: str) -> Vector:
        """The embedding of a question, which may have been asked before."""
        make = self.embedder.embed_query
        return self.query_vectors.get_or_make(question, lambda: make(question))

    def unit(self, vector: ArrayLike) -> tuple[float, ...]:
        """A vector that a caller brings, of length 1; raises `InputError` where it does not fit."""
        with suppress(ModelError):
            (made,) = unit_vectors(cast("ArrayLike", [vector]), "the caller")
            if len(made) == self.embedder.dimension:
                return tuple(made.tolist())
        raise InputError(
            f"the vector {vector!r:.60} cannot be; expected {self.embedder.dimension} finite"
            f" numbers, not all 0, as {self.embedder.name!r} has them"
        )

    @cached_property
    def language_model(self) -> ModelClient | None:
        """The language model, its replies kept in the store; None: everything works without."""
        provider = self.language_provider
        return make_language_model(self.settings, provider, self.store) if provider else None

    def bind_embedder(self) -> None:
        """Make sure that the store holds vectors of this embedder and of no other."""
        held = self.store.embedder()
        if isinstance(self.embedder, FunctionEmbedder) and held and held[0] == self.embedder.name:
            self.embedder.expect(held[1])
        self.store.bind_embedder(self.embedder.name, self.embedder.dimension)

    @property
    def reader(self) -> Reader | None:
        """The reader that ships; None where it is off, or not installed and not demanded."""
        return make_reader(self.settings)

    @property
    def ranker(self) -> Ranker:
        """The learned ranker that ships."""
        return shipped()

    # --- what is derived from the store

    @property
    def vectors(self) -> SyncedVectorIndex:
        """The vector index, brought up to the store's generation, or what stands in for it."""
        return self.vector_index.current()

    @property
    def text_vectors(self) -> SyncedVectorIndex:
        """Of the texts alone, where the settings ask for vectors of these, too."""
        return self.vector_index.of_texts()

    @property
    def snapshot(self) -> Snapshot:
        """The graph, brought up to the store's generation."""
        with self._refreshing:
            self._snapshot = current_snapshot(self.store, self.store.folder, self._snapshot)
            return self._snapshot

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the store, brought up to its generation."""
        with self._refreshing:
            self._vocabulary = current_vocabulary(self.store, self.store.folder, self._vocabulary)
            return self._vocabulary

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone, brought up to the store's generation."""
        from clew.graph.entity_graph import EntityGraph, current

        snapshot = self.snapshot
        with self._refreshing:
            self._entity_graph = current(
                EntityGraph, self.store, snapshot, self.store.folder, self._entity_graph
            )
            return self._entity_graph

    @property
    def entity_ranks(self) -> EntityRanks:
        """How much each entity matters, brought up to the store's generation."""
        from clew.graph.entity_graph import EntityRanks, current

        with self._refreshing:
            self._entity_ranks = current(
                EntityRanks, self.store, self._snapshot, self.store.folder, self._entity_ranks
            )
            return self._entity_ranks

    @property
    def communities(self) -> Communities:
        """Communities and topics, brought up to the store's generation."""
        self.update_communities(self.progress)
        return self.kept_communities

    def update_communities(self, progress: Progress | None = None) -> None:
        """Compute the communities and topics again that changes touched; nothing where none did.

        What reads them does this, too. `progress` is called with each step.
        """
        from clew.graph.communities import refresh_communities

        if self.kept_communities.generation() == self.store.generation():
            return
        self.communities_made += 1
        say = None if progress is None else lambda step: progress(step, 0, None)
        graphs = self.snapshot.whole, self.entity_graph
        refresh_communities(self.store, self.kept_communities, *graphs, self.vectors, say)

    def persist(self) -> None:
        """Write down what is derived from the store where much has changed, for other processes.

        Of a large store a few changes are not worth writing its files again: each process takes
        them in by itself. Vectors that are not in the store itself are brought up always. A
        snapshot that no question would use is not made. On a server, the graph is shown in its own
        terms.
        """
        store, settings, folder = self.store, self.settings, self.store.folder
        packs = self.packs if settings.on_server else None
        if packs and (packs.packs or packs.entity_types):
            types = packs.entity_types
            labels = {
                name: one.label or "".join(part.capitalize() for part in name.split("_"))
                for name, one in types.items()
            }
            is_own = store.embedder() == (self.embedder.name, self.embedder.dimension)
            embed = self.embedder.embed_documents if is_own else None
            # Key, type, document and properties of the entities that documents describe.
            described: list[tuple[str, str, str, dict[str, Any]]] = []
            for document in store.documents():
                kind = types.get(str(document.metadata.get("entity_type", "")))
                if kind is not None:
                    values = {
                        field.name: _value(field.kind, document.metadata.get(field.name))
                        for field in kind.fields
                    }
                    described.append((entity_key(document.title), kind.name, document.id, values))
            store.publish(labels, described, embed)
        generation = store.generation()
        if settings.vectors != "store" or is_outdated(folder, VECTORS, generation):
            self.vector_index.persist()
        store.write_indexes()
        if keeps_snapshot(store, settings):
            if is_behind(folder, generation):
                write_snapshot(self.snapshot, folder)
            persist_vocabulary(store, folder)

    # --- indexing

    @property
    def packs(self) -> EnabledPacks:
        """The packs that the store has enabled, by this process or by another."""
        found = EnabledPacks(self.store.packs(), self.settings.packs.folders)
        with self._steps_lock:
            if self._packs is None or found != self._packs:
                self._packs = found
                self._forget_steps()
            return self._packs

    @property
    def preferences(self) -> Preferences:
        """See `SearchResources`: as the packs want it."""
        return Preferences(self.packs.strategies, self.packs.hierarchies)

    @property
    def ingest(self) -> IndexingPipeline:
        """The steps of indexing; made again where the packs of the store change."""
        self.packs  # noqa: B018 - the steps are forgotten where they have changed
        if self._pipeline is None:
            self._pipeline = self.make_ingest(self.store)
        return self._pipeline

    def make_ingest(self, store: Store) -> IndexingPipeline:
        """The steps of indexing into a store, with this engine's models and workers."""
        from clew.indexing.pipeline import IndexingPipeline
        from clew.indexing.processes import Steps, make_runner

        packs, settings = self.packs, self.settings
        self._extractor = self._extractor or make_extractor()
        if self._runner is None:
            # Where documents are read, split and extracted: in worker processes, or in this one.
            steps = Steps(
                tokens=self.embedder,
                extractor=self._extractor,
                split_settings=settings.split,
                limits=settings.limits,
                extension=packs,
            )
            self._runner = make_runner(steps, self._load_model_early)
        return IndexingPipeline(
            store=store,
            embedder=self.embedder,
            extractor=self._extractor,
            split_settings=settings.split,
            link_settings=settings.link,
            runner=self._runner,
            extension=packs,
        )

    def _forget_steps(self) -> None:
        """End the workers."""
        runner, self._runner, self._pipeline = self._runner, None, None
        if runner is not None:
            runner.close()

    def bound_ingest(self) -> IndexingPipeline:
        """The steps of indexing; raises where the store's vectors or packs are others."""
        self.bind_embedder()
        self.packs.require()
        return self.ingest

    def _load_model_early(self) -> None:
        """Load the embedding model while a worker starts, unless that has been begun."""
        if self._loading is None:
            self.warm()

    @cached_property
    def journal(self) -> Database:
        """Where jobs and the audit log are kept."""
        journal = make_journal(self.settings, self.store)
        self.before_close(journal.close)
        return journal

    def check_length(self, kind: Literal["question", "name"], text: str) -> None:
        """Raise `InputError` for a text that is longer than the settings allow."""
        limits = self.settings.limits
        most = limits.question_characters if kind == "question" else limits.name_characters
        if len(text) > most:
            raise InputError(
                f"the {kind} {text[:40]!r}… has {len(text):,} characters; expected at most"
                f" {most:,}: shorten it, or raise the setting limits.{kind}_characters"
            )

    def now(self) -> datetime:
        """This moment, in the zone of the settings."""
        return datetime.now(zone_of(self.settings.search.time_zone))


def _value(kind: FieldKind, value: object) -> object:
    """A value as a server's own type; as text where it is none of its kind."""
    if kind == "list":
        return [str(one) for one in value] if isinstance(value, list) else value
    if isinstance(value, str):
        with suppress(ValueError):
            if kind == "time":
                return datetime.fromisoformat(value)
            if kind == "date":
                return date.fromisoformat(value)
            if kind == "number":
                return float(value)
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)
