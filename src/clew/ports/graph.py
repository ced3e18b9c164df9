"""Entities, their names and relations; what is written by hand and by assistants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from clew.types import (
    ExtractedRelation,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Vector, Vectors


FoundRelation = tuple[int, ExtractedRelation]
"""Id of a chunk, and a relation that it states."""


# Communities and topics: derived, and kept because they take long to make.


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


# What a language model made of stored passages, kept so that it can be taken back.


Enriched: TypeAlias = Literal["context", "extract"]
"""What was made of a passage: words that situate it in its document, or names and facts."""

Described: TypeAlias = Literal["documents", "entities", "topics", "reports", "links"]
"""What it writes: summaries, descriptions, names of topics and themes, community reports, and
whether entities that may be one are one."""

Enrichment: TypeAlias = Enriched | Described
"""What a language model can add: to passages, and beside what texts say by themselves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDescription:
    """What a language model says of something, or why it failed."""

    key: str
    """`kind:identity`, such as `entity:17`."""
    name: str
    """What it is of, for people."""
    title: str = ""
    text: str = ""
    """Its statements, each with the number of its source, `[1]`; where the model failed, sentences
    of the texts."""
    sources: tuple[str, ...] = ()
    """Public ids of the passages cited."""
    documents: tuple[str, ...] = ()
    """Ids of the documents that it is made of; it goes with any of them."""
    basis: str
    """Hash of what the model was sent; another one is asked about again."""
    reason: str = ""
    """Why the model failed; empty where it did not."""
