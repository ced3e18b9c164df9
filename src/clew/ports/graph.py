"""Entities, their names and relations; what is written by hand and by assistants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from clew.types import (
    Alias,
    AliasEvidence,
    ChunkExtraction,
    Community,
    Entity,
    ExtractedRelation,
    KnownName,
    LinkCandidates,
    NewEntity,
    NewRelation,
    Observation,
    Relation,
    Topic,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Vector, Vectors


FoundRelation = tuple[int, ExtractedRelation]
"""Id of a chunk, and a relation that it states."""
Fact = tuple[int, str, int]
"""(id of the head, relation type, id of the tail)"""


class GraphStore(Protocol):
    """Entities, their names and the relations between them."""

    def entities(self, entity_ids: Sequence[int]) -> list[Entity]:
        """Entities in the order of the ids given; unknown ids are left out."""
        ...

    def entity_names(self, entity_ids: Sequence[int]) -> Mapping[int, str]:
        """Name by id, without what `entities` counts; unknown ids are left out."""
        ...

    def find_entities(self, name: str, limit: int = 10) -> list[Entity]:
        """Exact key or alias first, then keys that begin with it, then keys that hold it."""
        ...

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """Entity id by key (`clew.text.entity_key`), for those keys that are an alias."""
        ...

    def named(self, names: Sequence[str]) -> Mapping[str, int]:
        """Entity id by name, for those that an entity has written in this very way.

        A name that is only guessed to be an entity's (`fuzzy`, `acronym`) is not among them.
        """
        ...

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """Aliases of one entity, or all with an id above `after`; ordered by id."""
        ...

    def known_names(self, *, after: int = 0) -> list[KnownName]:
        """The names of all aliases with an id above `after`, ordered by id."""
        ...

    def known_terms(self, terms: Sequence[str]) -> list[KnownName]:
        """The names with one of these terms (`clew.text.lookup_keys`), ordered by alias id."""
        ...

    def link_candidates(self, keys: Sequence[str], blocks: Sequence[str]) -> LinkCandidates:
        """Which of the keys are known or ruled by hand, and the names of the blocks."""
        ...

    def entity_chunks(self, entity_id: int) -> Ids:
        """Ids (sorted) of the chunks that mention the entity or are about it."""
        ...

    def relations(
        self,
        entity_ids: Sequence[int],
        limit: int = 1000,
        *,
        as_of: datetime | None = None,
        among: bool = False,
    ) -> list[Relation]:
        """Relations that start or end at one of the entities; heaviest first, then by id.

        With `among`, those alone that start at one of them and end at one of them.
        Without `as_of`, all that are not retracted, those that hold no more among them. With it,
        those that held at that moment and that the store knew at that moment; of a store that is
        younger than that, those that held.
        """
        ...

    def chunk_relations(
        self, chunk_ids: Sequence[int], *, as_of: datetime | None = None
    ) -> list[Relation]:
        """Relations that the chunks state, in the order of the ids given, then by id.

        `as_of` as in `relations`.
        """
        ...

    def relations_by_id(self, relation_ids: Sequence[int]) -> list[Relation]:
        """Relations in the order of the ids given; unknown and retracted ones are left out."""
        ...

    def relation_counts(self) -> list[tuple[str, int, int]]:
        """(type, distinct facts, causal ones among them) of what is not retracted; most first."""
        ...


class EntityEditor(Protocol):
    """Mending by hand what was found in texts; remembered when these are indexed again."""

    def retract(self, relation_ids: Sequence[int], *, by_hand: bool = True) -> int:
        """Say that relations were wrong from now on; the number that were not retracted before.

        What they had ended holds on again. Where texts state nothing else of a fact, later texts
        that state it are retracted too, as `delete_fact` says.
        """
        ...

    def restore_relations(self, relation_ids: Sequence[int]) -> int:
        """Take back that relations were wrong; the number that were retracted. Remembered."""
        ...

    def restore_pruned(self) -> int:
        """Restore what was retracted other than `by_hand`; the number of statements restored."""
        ...

    def delete_fact(self, relation_id: int) -> int:
        """Take a relation back, with all that states the same; the number taken back.

        Other periods of the fact stay. What texts state is retracted, and stays so where a text is
        indexed again or another one states it, as long as a text that was retracted is there. What
        was written by hand is deleted. An unknown id takes nothing back.
        """
        ...

    def merge(self, source_id: int, target_id: int, evidence: str) -> None:
        """Make every alias of the source an alias of the target; remembered when indexing again."""
        ...

    def before_merge(self, source_id: int, target_id: int) -> Mapping[str, Any]:
        """What takes a merge back, as JSON: to be asked before it."""
        ...

    def unmerge(self, known: Mapping[str, Any]) -> None:
        """Take a merge back by what `before_merge` told: all is as it was, ids among it.

        What was changed since stays. Raises `InputError` where the names of one are gone.
        """
        ...

    def split(self, entity_id: int, keys: Sequence[str]) -> int:
        """Take the aliases of those keys out into an entity of their own; its id. Remembered."""
        ...

    def keep_apart(self, entity_id: int, other_id: int) -> list[str]:
        """Say that two entities are not one; no text links their names by itself. Remembered.

        The keys of names of which nothing was said before: `forget_rules` takes it back.
        """
        ...

    def forget_rules(self, keys: Sequence[str]) -> None:
        """Let texts link the names of those keys again."""
        ...

    def rename(self, entity_id: int, name: str) -> None:
        """Show the entity under another name; the old one stays an alias. Remembered."""
        ...

    def prune_entities(self, entity_ids: Sequence[int]) -> int:
        """Take entities out, with what texts say of them; how many there were.

        Their names are remembered: no text makes them entities again before `restore_names`.
        """
        ...

    def pruned_names(self) -> Mapping[str, str]:
        """The names that were pruned, by key."""
        ...

    def restore_names(self, keys: Collection[str]) -> int:
        """Forget that names were pruned; how many were. Texts indexed from then on have them.

        Documents that may have them are due to be indexed again.
        """
        ...

    def link_rules(self) -> Mapping[str, str]:
        """Target key by key, for what was merged, split or renamed by hand."""
        ...

    def given_names(self) -> Mapping[str, str]:
        """Names that entities were given by hand, by the target of their rules."""
        ...

    def add_link_rules(self, rules: Mapping[str, str], names: Mapping[str, str]) -> None:
        """Write rules of keys that no entity has yet, and the names given to their targets.

        Names that are stored from then on follow them.
        """
        ...


class ManualGraph(Protocol):
    """Entities and relations written by hand, and observations about the entities.

    An entity made by hand needs no text; what texts say of it is tied to it as to any other.
    """

    def add_entities(self, entities: Sequence[NewEntity]) -> list[tuple[int, bool]]:
        """Make entities, all or none; (id, whether it was not made by hand before), in order.

        A name that is known belongs to its entity, which is shown under it from now on, unless it
        was tied to that by likeness alone. One that was made by hand before is left as it is.
        """
        ...

    def update_entity(
        self, entity_id: int, *, entity_type: str | None = None, content: str | None = None
    ) -> None:
        """Give an entity another type, another description or both."""
        ...

    def delete_entities(self, entity_ids: Sequence[int]) -> int:
        """Take back entities made by hand, with the relations written by hand and observations.

        Those that a text names stay as if they had been found there. The number that were made by
        hand; others are left alone.
        """
        ...

    def add_relations(self, relations: Sequence[NewRelation]) -> list[tuple[Relation, bool]]:
        """Write relations, all or none; each as it is afterwards, and whether it is new.

        Each is one period of a fact. One that speaks of a period that is there (the one that
        begins then; without a beginning, the one that holds when it is told) brings it up to date:
        it takes over weight, context and times. What had ended begins once more, and what ends
        another fact of a functional type begins when it is told, unless a beginning is given.
        """
        ...

    def delete_relations(self, relation_ids: Sequence[int]) -> int:
        """Delete relations written by hand; their number. Those that a text states stay."""
        ...

    def made_by_hand(
        self, *, ids: Sequence[int] | None = None, after: int = 0, limit: int = -1
    ) -> list[int]:
        """Ids (sorted) above `after` of the entities made by hand, among those given or of all."""
        ...

    def observations(self, entity_ids: Sequence[int]) -> Mapping[int, Sequence[Observation]]:
        """Observations by entity id, oldest first; entities without any are left out.

        An observation is a document whose origin is `memory:` and a key of the entity.
        """
        ...

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """Relations of the entities that no text states and that are not retracted; by id."""
        ...


class ExtractionLog(Protocol):
    """What was extracted from stored passages later: read once more, or found by an assistant."""

    def unread_entities(self, limit: int | None = None) -> list[int]:
        """Ids of entities whose passages were never read for relations and had none, by id."""
        ...

    def entity_documents(self, entity_ids: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """Entities by the id of a document that mentions them, both in order."""
        ...

    def add_found_relations(
        self, found: Sequence[FoundRelation], among: Set[int], extractor: str
    ) -> tuple[Set[Fact], int]:
        """Add what passages state of some entities and what the store does not hold yet.

        The facts found of them, and the number of relations added.
        """
        ...

    def log_reading(self, found: Mapping[int, int]) -> None:
        """Remember how many relations the passages of entities held when they were read."""
        ...

    def unread(self, after: int, limit: int) -> list[int]:
        """Ids above `after` of chunks that no assistant has read, sorted; at most `limit`."""
        ...

    def count_unread(self) -> int:
        """Chunks that no assistant has read."""
        ...

    def record_readings(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what was found to chunks, by chunk id, and mark them as read; the new relations.

        All or nothing, and the same again adds nothing. Names become entities as in
        `DocumentStore.save`. A relation that its chunk states already takes over confidence and
        sentence; its extractor is `assistant` then. One that was retracted stays so. Entities
        without a description get the one in `described`.
        """
        ...


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


class DescriptionLog(Protocol):
    """Descriptions by a language model, kept apart from what they are shown with."""

    def descriptions(self, *kinds: str) -> Mapping[str, StoredDescription]:
        """All of some kinds, such as `entity`, by key."""
        ...

    def describe(self, made: Sequence[StoredDescription]) -> None:
        """Keep descriptions, in place of those of the same keys."""
        ...

    def forget(self, keys: Sequence[str]) -> None:
        """Delete descriptions; unknown keys are left out."""
        ...


class EnrichmentLog(Protocol):
    """Passages that a language model has read; each is done, or failed for a reason."""

    def done(self, kind: Enriched) -> Mapping[int, str]:
        """By the id of each chunk that was tried: why it failed, empty where it did not."""
        ...

    def fail(self, kind: Enriched, reasons: Mapping[int, str]) -> None:
        """Remember why chunks failed; what was made of them before stays."""
        ...

    def record_extraction(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what a model found to chunks, and mark them as done; the new relations.

        As `ExtractionLog.record_readings`, but beside what was found before: a relation that its
        chunk states already is as sure as both are together. Raises `NotFoundError` for a chunk
        that is gone.
        """
        ...

    def record_contexts(self, contexts: Mapping[int, str], vectors: Vectors) -> None:
        """Give chunks other contexts, with the embeddings of context and text, in their order.

        The chunks have other ids then, since what is derived from them goes by ids. Those that are
        gone are left out.
        """
        ...

    def undo_contexts(self, chunk_ids: Sequence[int]) -> None:
        """Give chunks the context and the embedding back that they had before."""
        ...

    def undo_extraction(self, chunk_ids: Sequence[int]) -> None:
        """Take back what a model found in chunks, as if they had never been read.

        What others found or stated since stays.
        """
        ...
