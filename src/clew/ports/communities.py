"""Communities and topics: derived, and kept because they take long to make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from clew.types import (
    Community,
    Topic,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Vector, Vectors


@dataclass(frozen=True, slots=True)
class Partition:
    """A hierarchy of communities, and the ties of their members when they were placed."""

    ids: Ids
    """(K,) sorted; an id is never used again for other members."""
    levels: NDArray[np.int64]
    """(K,) 0 is the coarsest."""
    parents: NDArray[np.int64]
    """(K,) ids of the communities that they are parts of; 0 for none."""
    members: NDArray[np.int64]
    """(n, 2): community id, entity id; sorted."""
    entity_ids: Ids
    """(E,) sorted; the entities that have ties."""
    neighbourhoods: NDArray[np.int64]
    """(E,) a hash of the neighbours of each."""
    strengths: NDArray[np.float32]
    """(E,) how strongly each was tied to them together."""
    moved: int
    """Entities that changed since all were placed at once."""
    next_id: int
    """The first id that no community has had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportBasis:
    """What a report speaks of; where any of it is no more, the report is out of date."""

    entity_ids: tuple[int, ...]
    """The most central first."""
    entities: tuple[str, ...]
    """Their names."""
    sources: tuple[int, ...]
    """Ids of the chunks that its sentences stand in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityReport:
    """What the texts say of a community."""

    community_id: int
    title: str
    summary: str
    basis: ReportBasis
    vector: Vector


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSet:
    """All topics with their themes; numbers here are positions."""

    keys: tuple[str, ...]
    """(T,) distinct; a topic keeps its id as long as there is a topic of its key."""
    names: tuple[str, ...]
    """(T,)"""
    vectors: Vectors
    """(T, dim)"""
    themes: NDArray[np.int64]
    """(T,) positions of their themes."""
    documents: NDArray[np.int64]
    """(T,) documents that are on each."""
    chunks: NDArray[np.int64]
    """(n, 2): position of a topic, id of a chunk that is on it; sorted."""
    theme_titles: tuple[str, ...]
    """(themes,)"""
    theme_vectors: Vectors
    """(themes, dim)"""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunityChanges:
    """What bringing communities and topics up to a generation of the store changes."""

    expected: int
    """What `generation` said when the work began."""
    generation: int
    """What it is to say afterwards."""
    partition: Partition
    reports: Sequence[CommunityReport]
    """New ones; communities of the partition that are not among them keep theirs."""
    topics: TopicSet | None
    """None keeps those that there are."""


class CommunityStore(Protocol):
    """Communities that have a report, and topics: derived, kept because they take long to make.

    They are of the generation that `generation` gives: entities and chunks may have gone since.
    """

    def generation(self) -> int:
        """Generation of the store that they were last brought up to; -1 where never."""
        ...

    def members(self) -> NDArray[np.int64]:
        """(n, 3): entity id, level, community id; sorted."""
        ...

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """Communities by id (in that order), at one level, or all; largest first, then by id.

        At a level are its communities and those of coarser levels that have no parts: together
        they show everything once.
        """
        ...

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """Ids of the communities at a level and their embeddings, by id."""
        ...

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """Topics by id (in that order) or all; those of most documents first."""
        ...

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """Ids of all topics and their embeddings, by id."""
        ...

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """(topics,) number of the theme of each topic, by topic id; embeddings by theme number."""
        ...

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """(n, 2): topic id, id of a chunk that is on it; sorted."""
        ...


class CommunityWriter(CommunityStore, Protocol):
    """A `CommunityStore` that can be brought up to date."""

    def partition(self) -> Partition | None:
        """What was last written, communities without a report among it; None if never."""
        ...

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """What each community's report speaks of, by community id."""
        ...

    def write(self, changes: CommunityChanges) -> bool:
        """Make the changes, all or none; False, and none, where `generation` is not as expected.

        Communities that the partition does not hold are gone afterwards, with their reports. The
        store's generation does not change.
        """
        ...
