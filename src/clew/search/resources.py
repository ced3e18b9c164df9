"""What a search needs of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.graph.entity_graph import EntityGraph, EntityRanks
    from clew.graph.snapshot import Snapshot
    from clew.graph.vocabulary import Vocabulary
    from clew.ports import CommunityStore, Embedder, Reranker, Store, VectorIndex
    from clew.ports.language_model import LanguageModel
    from clew.search.cache import RecentlyUsed
    from clew.search.ranking.ranker import Ranker
    from clew.settings import Settings
    from clew.types import Vector


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a store's domain prefers where a question leaves it open."""

    strategies: Mapping[str, str]
    """By kind of question, in place of the rules' own."""
    hierarchies: tuple[str, ...]
    """As `Options.hierarchy`; the first that has the layer asked for is followed."""


class SearchResources(Protocol):
    """What a search for passages needs."""

    @property
    def store(self) -> Store:
        """Texts, names, relations."""

    @property
    def vectors(self) -> VectorIndex:
        """Vector index over the chunks."""

    @property
    def text_vectors(self) -> VectorIndex:
        """Vector index over the chunks' texts without their context, or the one over both."""

    @property
    def embedder(self) -> Embedder:
        """Embeds questions and names."""

    @property
    def query_vectors(self) -> RecentlyUsed[str, Vector]:
        """Embeddings of earlier questions."""

    @property
    def name_vectors(self) -> RecentlyUsed[str, Vector]:
        """Embeddings of entities' names."""

    @property
    def snapshot(self) -> Snapshot:
        """The graph of chunks, sentences and entities."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the store as its texts spell them."""

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone."""

    @property
    def entity_ranks(self) -> EntityRanks:
        """How important each entity is."""

    @property
    def communities(self) -> CommunityStore:
        """Communities and topics, brought up to date."""

    @property
    def preferences(self) -> Preferences:
        """What is preferred where a question leaves it open."""

    @property
    def ranker(self) -> Ranker:
        """The learned ranker."""

    @property
    def reranker(self) -> Reranker | None:
        """Cross-encoder; None where none is configured."""

    @property
    def language_model(self) -> LanguageModel | None:
        """None where none is configured."""

    @property
    def settings(self) -> Settings:
        """Settings of the engine."""
