"""Search before the embedding model is loaded: keywords and graph, no vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.search.pipeline import ask
from clew.search.session import RecentlyUsed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.snapshot import Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.ports import Embedder, Reranker, VectorIndex
    from clew.ports.models import LanguageModel
    from clew.search.options import Options
    from clew.search.ranking.ranker import Ranker
    from clew.search.session import Preferences, SearchResources
    from clew.settings import Settings
    from clew.stores.communities import Communities
    from clew.stores.store import Store
    from clew.types import Ids, Scores, SearchResult, Vector, Vectors

NOTE = (
    "the embedding model is still being loaded: passages were found by words and ties, not by"
    " meaning; ask again in a few seconds"
)


def answer_by_keywords(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """What can be found without the model; the notes say so."""
    if options.strategy == "vector":
        options = replace(options, strategy="keyword")
    result = ask(_WithoutModel(resources), question, replace(options, min_confidence=0.0))
    # How sure an answer is follows from its meaning, too.
    hits = tuple(replace(hit, confidence=None) for hit in result.hits)
    return replace(result, hits=hits, notes=(NOTE, *result.notes))


class _WithoutModel:
    """`SearchResources` without the embedding model: no passage is near to any question."""

    def __init__(self, resources: SearchResources) -> None:
        self._resources = resources
        self.embedder: Embedder = _NotYet(resources.embedder)
        self.vectors: VectorIndex = _NothingNear(resources.vectors)
        self.text_vectors = self.vectors
        # What is embedded here must not be taken for the model's.
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(1)
        self.name_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(1)

    @property
    def store(self) -> Store:
        return self._resources.store

    @property
    def preferences(self) -> Preferences:
        return self._resources.preferences

    @property
    def snapshot(self) -> Snapshot:
        return self._resources.snapshot

    @property
    def vocabulary(self) -> Vocabulary:
        return self._resources.vocabulary

    @property
    def entity_graph(self) -> EntityGraph:
        return self._resources.entity_graph

    @property
    def entity_ranks(self) -> EntityRanks:
        return self._resources.entity_ranks

    @property
    def communities(self) -> Communities:
        return self._resources.communities

    @property
    def ranker(self) -> Ranker:
        return self._resources.ranker

    @property
    def reranker(self) -> Reranker | None:
        return None  # it may have to be loaded, too

    @property
    def language_model(self) -> LanguageModel | None:
        return self._resources.language_model

    @property
    def settings(self) -> Settings:
        return self._resources.settings


@dataclass(frozen=True, slots=True)
class _NothingNear:
    index: VectorIndex

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        return self.index.vectors(chunk_ids)


@dataclass(frozen=True, slots=True)
class _NotYet:
    """An embedder whose vectors are all zero; its tokens are the model's."""

    embedder: Embedder

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def dimension(self) -> int:
        return self.embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self.embedder.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), self.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.zeros(self.dimension, np.float32)

    def count_tokens(self, text: str) -> int:
        return self.embedder.count_tokens(text)
