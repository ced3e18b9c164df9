"""What every part of the engine works with: the store and what is derived from it."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, Self
from zoneinfo import ZoneInfo

from clew.errors import (
    InputError,
    ModelError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from clew.search.cache import RecentlyUsed
from clew.wiring import (
    make_communities,
    make_embedder,
    make_extractor,
    make_ingest,
    make_journal,
    make_reranker,
    make_spare_vectors,
    make_store,
    make_vectors,
    make_workers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.importance import EntityRanks
    from clew.graph.snapshot import Snapshot
    from clew.indexing.isolation.requests import Runner
    from clew.indexing.pipeline import IndexingPipeline
    from clew.ports import (
        CommunityStore,
        Embedder,
        Extractor,
        LanguageModel,
        Reranker,
        Store,
        SyncedVectorIndex,
    )
    from clew.search.ranking.ranker import Ranker
    from clew.settings import Settings
    from clew.stores.sqlite.connection import Database
    from clew.types import (
        Entity,
        SearchResult,
        Vector,
    )

    Progress = Callable[[str, int, int | None], None]
    """Called with a step's name, how much of it is done, and of how much (None: unknown)."""

logger = logging.getLogger("clew")

AWAY_SECONDS = 30.0
"""How long a vector index is left alone that could not be reached."""
AWAY = (StoreUnavailableError, StoreBusyError)
"""What a vector index raises that cannot be asked for a while."""
NAMES_KEPT = 4096
"""Names of entities whose embedding is kept."""


class Resources:
    """The store of one namespace, its models, and the structures derived from it, up to date.

    Threads may share an engine. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        reranker: Reranker | None = None,
        language_model: LanguageModel | None = None,
    ) -> None:
        self.settings = settings
        self.store = make_store(settings)
        self.embedder = embedder or make_embedder(settings)
        """The model that texts and questions are embedded with."""
        self.reranker = reranker or make_reranker(settings)
        """Reads question and passage together; None where none is configured."""
        self.language_model = language_model
        """None where none is given: everything works without."""
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(settings.search.cache)
        """Embeddings of questions asked before."""
        self.name_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(NAMES_KEPT)
        """Embeddings of entities' names."""
        self._answers: RecentlyUsed[object, SearchResult] = RecentlyUsed(settings.search.cache)
        self._given_extractor = extractor
        self._communities = make_communities(settings, self.store)
        self._entity_graph: EntityGraph | None = None
        self._entity_ranks: EntityRanks | None = None
        self._vectors = make_vectors(settings, self.store)
        self._spare_vectors: SyncedVectorIndex | None = None
        self._vectors_away: tuple[float, str] | None = None
        self._snapshot: Snapshot | None = None
        self._before_close: list[Callable[[], None]] = []
        self._loading: threading.Thread | None = None
        self._answers_meanwhile = False
        self._refreshing = threading.Lock()
        self._writing = threading.Lock()

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the engine."""
        self.close()

    def close(self) -> None:
        """Let go of files; may be called twice."""
        while self._before_close:
            self._before_close.pop()()
        if "_runner" in self.__dict__:
            self._runner.close()
        self._vectors.close()
        self.store.close()

    def before_close(self, action: Callable[[], None]) -> None:
        """Have something done when the engine closes, while the store is still open."""
        self._before_close.append(action)

    def warm(self, *, meanwhile: bool = False) -> None:
        """Load the embedding model in the background, while the caller prepares its question.

        Where it cannot be loaded, the first question says so. With `meanwhile`, questions do not
        wait for it: they are answered from words and ties, and their notes say so.
        """
        self._answers_meanwhile = meanwhile
        self._loading = threading.Thread(target=self._load_model, name="clew-warm")
        self._loading.start()

    @property
    def ready(self) -> bool:
        """Whether nothing is being loaded in the background (see `warm`)."""
        return self._loading is None or not self._loading.is_alive()

    def _load_model(self) -> None:
        with suppress(ModelError):
            self.embedder.embed_query("warm")

    @property
    def vectors(self) -> SyncedVectorIndex:
        """The vector index, brought up to the store's generation.

        Where it is on a server that is away, or another process holds its folder, one over the
        store stands in for it; it is tried again after `AWAY_SECONDS`.
        """
        with self._refreshing:
            if self.vectors_away is None:
                try:
                    self._vectors.refresh()
                    return self._vectors
                except AWAY as error:
                    self._lose_vectors(error)
            spare = self._spare_vectors or make_spare_vectors(self.store)
            self._spare_vectors = spare
            spare.refresh()
            return spare

    @property
    def vectors_away(self) -> str | None:
        """Why the vector index is not asked now; None where it is."""
        if self._vectors_away is None or time.monotonic() > self._vectors_away[0]:
            return None
        return self._vectors_away[1]

    def _lose_vectors(self, error: StoreError) -> None:
        """Do without the vector index for a while; raises where the store itself is away."""
        if self.settings.vectors == "store":
            raise error
        logger.warning("%s; the store's own vectors stand in", error)
        self._vectors_away = time.monotonic() + AWAY_SECONDS, str(error)

    @cached_property
    def journal(self) -> Database:
        """Where jobs and the audit log are kept."""
        journal = make_journal(self.settings, self.store)
        self.before_close(journal.close)
        return journal

    @property
    def snapshot(self) -> Snapshot:
        """The graph, brought up to the store's generation."""
        from clew.graph.snapshot_files import current_snapshot

        with self._refreshing:
            self._snapshot = current_snapshot(self.store, self.store.folder, self._snapshot)
            return self._snapshot

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone, brought up to the store's generation."""
        from clew.graph.entity_graph_files import current_entity_graph

        snapshot = self.snapshot
        with self._refreshing:
            self._entity_graph = current_entity_graph(
                self.store, snapshot, self.store.folder, self._entity_graph
            )
            return self._entity_graph

    @property
    def entity_ranks(self) -> EntityRanks:
        """How much each entity matters, brought up to the store's generation."""
        from clew.graph.entity_graph_files import current_entity_ranks

        with self._refreshing:
            self._entity_ranks = current_entity_ranks(
                self.store, self._snapshot, self.store.folder, self._entity_ranks
            )
            return self._entity_ranks

    @property
    def communities(self) -> CommunityStore:
        """Communities and topics, brought up to the store's generation."""
        self.update_communities()
        return self._communities

    def update_communities(self, progress: Progress | None = None) -> None:
        """Make the communities and topics anew that changes touched; done already where none did.

        Whatever needs them does it, too; `progress` is told the steps.
        """
        from clew.graph.communities.refresh import refresh_communities

        if self._communities.built() == self.store.generation():
            return
        say = None if progress is None else partial(_begin, progress)
        refresh_communities(
            self.store, self._communities, self.snapshot, self.entity_graph, self.vectors, say
        )

    @property
    def ranker(self) -> Ranker:
        """The learned ranker that ships."""
        from clew.search.ranking.ranker import shipped

        return shipped()

    @cached_property
    def _ingest(self) -> IndexingPipeline:
        return self._make_ingest(self.store)

    def _make_ingest(self, store: Store) -> IndexingPipeline:
        """The steps of indexing into a store, with this engine's models and workers."""
        return make_ingest(self.settings, store, self.embedder, self._extractor, self._runner)

    @cached_property
    def _extractor(self) -> Extractor:
        return self._given_extractor or make_extractor()

    @cached_property
    def _runner(self) -> Runner:
        """Where documents are read, split and extracted."""
        return make_workers(
            self.settings, self.embedder, self._extractor, self._load_model_meanwhile
        )

    def _load_model_meanwhile(self) -> None:
        """Load the embedding model while a worker starts, unless that has been begun."""
        if self._loading is None:
            self.warm()

    @property
    def pipeline_fingerprint(self) -> str:
        """How documents are split, embedded and extracted now, as JSON."""
        return self._ingest.pipeline_fingerprint

    def _claim_embedder(self) -> None:
        """Make sure that the store holds vectors of this embedder and of no other."""
        self.store.claim(self.embedder.name, self.embedder.dimension)

    def _claimed_ingest(self) -> IndexingPipeline:
        self._claim_embedder()
        return self._ingest

    def _persist(self) -> None:
        """Write down what is derived from the store, so that the next process need not."""
        from clew.graph.snapshot_files import write_snapshot

        self.vectors.persist()
        write_snapshot(self.snapshot, self.store.folder)

    def _check_length(self, kind: Literal["question", "name"], text: str) -> None:
        """Raise `InputError` for a text that is longer than the settings allow."""
        limits = self.settings.limits
        most = limits.question_characters if kind == "question" else limits.name_characters
        if len(text) > most:
            raise InputError(
                f"the {kind} {text[:40]!r}… has {len(text):,} characters; expected at most"
                f" {most:,}: shorten it, or raise the setting limits.{kind}_characters"
            )

    def _now(self) -> datetime:
        return datetime.now(ZoneInfo(self.settings.search.time_zone))

    def _query_vector(self, question: str) -> Vector:
        return self.query_vectors.get_or_make(question, lambda: self.embedder.embed_query(question))

    def _entity(self, name: str) -> Entity:
        """The same, without how much it matters, which may have to be computed."""
        from clew.text import entity_key, whole_number

        self._check_length("name", name)
        found = self.store.resolve([entity_key(name)]).get(entity_key(name))
        if found is None:
            found = whole_number(name)
        entities = self.store.entities([found]) if found is not None else []
        if entities:
            return entities[0]
        near = self.store.find_entities(name, 5) or [
            entity for word in name.split() for entity in self.store.find_entities(word, 5)
        ]
        names = list(dict.fromkeys(entity.name for entity in near))
        raise NotFoundError(not_one("entity", name, names, "clew stats --graph"))


def _begin(progress: Progress, step: str) -> None:
    progress(step, 0, None)


def not_one(kind: str, name: str, found: Sequence[str], command: str) -> str:
    """The message where a name fits none, or several: what is near, or what shows all."""
    if not found:
        return f"no {kind} {name!r}; `{command}` shows what there is"
    shown = ", ".join(repr(item) for item in found[:5])
    return f"no single {kind} {name!r}; near it: {shown}"
