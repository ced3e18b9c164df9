"""Search before the embedding model is loaded: keywords and graph, no vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from clew.search.pipeline import ask
from clew.search.session import RecentlyUsed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports import Embedder, VectorIndex
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.types import Ids, Scores, SearchResult, Vector, Vectors

NOTE = (
    "the embedding model is still being loaded: passages were found by words and ties, not by"
    " meaning; ask again in a few seconds"
)


def answer_by_keywords(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """What can be found without the model; the notes say so."""
    if options.strategy == "vector":
        options = replace(options, strategy="keyword")
    without = cast("SearchResources", _WithoutModel(resources))
    result = ask(without, question, replace(options, min_confidence=0.0))
    # How sure an answer is follows from its meaning, too.
    hits = tuple(replace(hit, confidence=None) for hit in result.hits)
    return replace(result, hits=hits, notes=(NOTE, *result.notes))


class _WithoutModel:
    """`SearchResources` without the embedding model: no passage is near to any question."""

    reranker = None
    """It may have to be loaded, too."""

    def __init__(self, resources: SearchResources) -> None:
        self._resources = resources
        self.embedder = _NotYet(resources.embedder)
        self.vectors = self.text_vectors = _NothingNear(resources.vectors)
        # What is embedded here must not be taken for the model's.
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(1)

    def __getattr__(self, name: str) -> object:
        return getattr(self._resources, name)


@dataclass(frozen=True, slots=True)
class _NothingNear:
    index: VectorIndex

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        return self.index.vectors(chunk_ids)


class _NotYet:
    """An embedder whose vectors are all zero; its tokens are the model's."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension = embedder.name, embedder.dimension
        self.count_tokens = embedder.count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), self.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.zeros(self.dimension, np.float32)
