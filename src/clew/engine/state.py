"""What every part of the engine works with: the store, the models, and what is derived.

What only some questions, or only indexing, need is imported inside the functions that use it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack
from zoneinfo import ZoneInfo

from clew.engine.indexing_steps import IndexingSteps
from clew.engine.vector_index import make_vector_index
from clew.errors import InputError, ModelError
from clew.search.cache import RecentlyUsed
from clew.search.resources import Preferences
from clew.wiring import (
    make_communities,
    make_embedder,
    make_journal,
    make_language_model,
    make_language_provider,
    make_reranker,
    make_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.snapshot import Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.indexing.pipeline import IndexingPipeline
    from clew.models.llm.client import LanguageModelClient
    from clew.packs.enabled import EnabledPacks
    from clew.ports import (
        CommunityStore,
        Embedder,
        Extractor,
        Reranker,
        Store,
        SyncedVectorIndex,
    )
    from clew.ports.language_model import LanguageModel
    from clew.search.ranking.ranker import Ranker
    from clew.settings import Settings
    from clew.stores.sqlite.connection import Database
    from clew.types import Vector

    Progress = Callable[[str, int, int | None], None]
    """Called with a step, how much of it is done, and of how much (None: unknown)."""

NAMES_KEPT, VIEWS_KEPT = 4096, 3
"""Names of entities whose embedding is kept; parts of the graph."""


class Models(TypedDict, total=False):
    """What stands in for the models that the settings name."""

    embedder: Embedder | None
    extractor: Extractor | None
    reranker: Reranker | None
    language_model: LanguageModel | None


class EngineState:
    """The store of one namespace, its models, and the structures derived from it, up to date.

    Threads may share it. Implements `search.session.SearchResources`.
    """

    def __init__(self, settings: Settings, **models: Unpack[Models]) -> None:
        self.settings = settings
        self.store = make_store(settings)
        self.embedder = models.get("embedder") or make_embedder(settings)
        """The model that texts and questions are embedded with."""
        self.reranker = models.get("reranker") or make_reranker(settings)
        """Reads question and passage together; None where none is configured."""
        self._before_close: list[Callable[[], None]] = []
        given = models.get("language_model")
        self.language_provider = given or make_language_provider(settings, self.before_close)
        """What answers as a language model; None where none is configured or given."""
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(settings.search.cache)
        """Embeddings of questions asked before."""
        self.name_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(NAMES_KEPT)
        """Embeddings of entities' names."""
        self.views: RecentlyUsed[Hashable, Any] = RecentlyUsed(VIEWS_KEPT)
        """What the explorer showed of the graph, by generation and by what was wanted."""
        self.vector_index = make_vector_index(settings, self.store, self.embedder)
        self.progress: Progress | None = None
        """Told of the steps that a question has to wait for."""
        self.communities_made = 0
        """How often communities and topics were computed here."""
        self.writing = threading.Lock()
        """Held while something is saved."""
        self._steps = IndexingSteps(
            settings, self.store, self.embedder, models.get("extractor"), self._load_model_early
        )
        self.kept_communities = make_communities(settings, self.store)
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
        self._steps.close()
        self.vector_index.close()
        self.store.close()

    def before_close(self, action: Callable[[], None]) -> None:
        """Have something done when the engine closes, while the store is still open."""
        self._before_close.append(action)

    def warm(self, *, patience: float | None = None) -> None:
        """Load the embedding model in the background, while the caller prepares its question.

        Where it cannot be loaded, the first question says so. Questions wait for it for at most
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

    @cached_property
    def language_model(self) -> LanguageModelClient | None:
        """The language model, its replies kept in the store; None: everything works without."""
        provider = self.language_provider
        return make_language_model(self.settings, provider, self.store) if provider else None

    def bind_embedder(self) -> None:
        """Make sure that the store holds vectors of this embedder and of no other."""
        self.store.bind_embedder(self.embedder.name, self.embedder.dimension)

    @property
    def ranker(self) -> Ranker:
        """The learned ranker that ships."""
        from clew.search.ranking.ranker import shipped

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
        from clew.graph.snapshot_files import current_snapshot

        with self._refreshing:
            self._snapshot = current_snapshot(self.store, self.store.folder, self._snapshot)
            return self._snapshot

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the store, brought up to its generation."""
        from clew.graph.vocabulary import current_vocabulary

        with self._refreshing:
            self._vocabulary = current_vocabulary(self.store, self.store.folder, self._vocabulary)
            return self._vocabulary

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone, brought up to the store's generation."""
        from clew.graph.entity_graph import current_entity_graph

        snapshot = self.snapshot
        with self._refreshing:
            self._entity_graph = current_entity_graph(
                self.store, snapshot, self.store.folder, self._entity_graph
            )
            return self._entity_graph

    @property
    def entity_ranks(self) -> EntityRanks:
        """How much each entity matters, brought up to the store's generation."""
        from clew.graph.entity_graph import current_entity_ranks

        with self._refreshing:
            self._entity_ranks = current_entity_ranks(
                self.store, self._snapshot, self.store.folder, self._entity_ranks
            )
            return self._entity_ranks

    @property
    def communities(self) -> CommunityStore:
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
        """Write down what is derived from the store where much has changed, for other processes."""
        from clew.engine.persisting import persist, publish

        if self.settings.on_server:
            publish(self.store, self.packs, self.embedder)
        persist(self.store, self.vector_index, lambda: self.snapshot, self.settings)

    # --- indexing

    @property
    def packs(self) -> EnabledPacks:
        """The packs that the store has enabled, by this process or by another."""
        return self._steps.packs

    @property
    def preferences(self) -> Preferences:
        """See `SearchResources`: as the packs want it."""
        return Preferences(self.packs.strategies, self.packs.hierarchies)

    @property
    def ingest(self) -> IndexingPipeline:
        """The steps of indexing."""
        return self._steps.pipeline

    def make_ingest(self, store: Store) -> IndexingPipeline:
        """The steps of indexing into a store, with this engine's models and workers."""
        return self._steps.make(store)

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
        return datetime.now(ZoneInfo(self.settings.search.time_zone))
