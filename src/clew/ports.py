"""What Clew needs of a back end, as small Protocols; each docstring is the specification.

`clew.testing.conformance` holds every implementation to these words. One score convention:
higher is better, the range is stated. Every method raises `StoreError` (or a kind of it) where
a back end fails, never its driver's own exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from clew.types import (
    Alias,
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Community,
    Condition,
    Document,
    DocumentInfo,
    DocumentVersion,
    Entity,
    Extraction,
    IndexedDocument,
    NewEntity,
    NewRelation,
    Observation,
    Period,
    Provenance,
    Relation,
    StoredChunk,
    StoredSection,
    Topic,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.types import Ids, Scores, Vector, Vectors


# --- models ------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns text into unit vectors; documents and questions apart, since many models differ."""

    @property
    def name(self) -> str:
        """Identity of the model and of its precision; a store remembers it."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads, special tokens among them; the rest is cut."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(len(texts), dimension) float32, unit length, in the order given; none for none."""
        ...

    def embed_query(self, text: str) -> Vector:
        """(dimension,) float32, unit length."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, special tokens not counted, nothing cut."""
        ...


class Extractor(Protocol):
    """Finds names and relations in a document's chunks."""

    @property
    def name(self) -> str:
        """Identity and version; a store remembers which extractor read a document."""
        ...

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """One `ChunkExtraction` a chunk, in order; the same for the same text."""
        ...


class Reranker(Protocol):
    """Reads question and passage together; slower and better than either channel."""

    @property
    def name(self) -> str:
        """Identity of the model."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """(len(texts),) float32, 0 to 1, higher is better, in the order given."""
        ...


class LanguageModel(Protocol):
    """Writes text; nothing depends on one."""

    @property
    def name(self) -> str:
        """Identity of the model."""
        ...

    def complete(self, instructions: str, text: str) -> str:
        """What the model writes; `text` is data and never instruction.

        Raises `ModelError` where it cannot be reached or answers with nothing.
        """
        ...


# --- stores ------------------------------------------------------------------------------


class DocumentStore(Protocol):
    """Documents with their sections and chunks."""

    def save(self, entry: IndexedDocument) -> None:
        """Write one document whole, in place of the one with the same source: all of it or nothing.

        What only the old version held (chunks, mentions, relations, vectors, entities without
        another source) is gone afterwards. Aliases: a name whose key is known belongs to that
        key's entity; else `entry.links` may tie it to another key's entity; else it is new.
        """
        ...

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete documents and all that only they held; the number that existed."""
        ...

    def documents(
        self,
        *,
        ids: Sequence[str] | None = None,
        origin: str | None = None,
        where: Sequence[Condition] = (),
    ) -> list[DocumentInfo]:
        """Documents by id, by origin, by metadata, or all; ordered by source."""
        ...

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """Chunks in the order of the ids given; unknown ids are left out."""
        ...

    def document_chunks(self, document_id: str) -> list[StoredChunk]:
        """A document's chunks in order; none for an unknown document."""
        ...

    def sections(self, section_ids: Sequence[int]) -> list[StoredSection]:
        """Sections in the order of the ids given; unknown ids are left out."""
        ...

    def sentences(self, chunk_ids: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Sentences (their texts, in order) by chunk id; unknown ids are left out."""
        ...

    def sentence_ranges(self, chunk_ids: Sequence[int]) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Character ranges of the sentences in the document, by chunk id; unknown ids left out."""
        ...

    def document_sections(self, document_id: str) -> list[StoredSection]:
        """A document's sections in order; their texts in a row are the document's text."""
        ...

    def matching_chunks(self, where: Sequence[Condition]) -> Ids:
        """Ids (sorted) of the chunks whose metadata meets every condition.

        A chunk's own metadata goes before its document's. Both sides are compared as numbers where
        both are numbers, as times where both are ISO dates, else as text. A missing name meets no
        condition, not even `!=`. Lists meet `=` where one of their items does.
        """
        ...

    def lineage(self, document_id: str) -> list[DocumentVersion]:
        """The versions of a document, oldest first; none for an unknown document."""
        ...

    def provenance(self, chunk_ids: Sequence[int]) -> Mapping[int, Provenance]:
        """Where each chunk comes from, by chunk id; unknown ids are left out."""
        ...


class TimeIndex(Protocol):
    """Chunks by when they were said and by the times that they speak of.

    When a chunk was said is its own date or else its document's; the times that it speaks of are
    those of the dates that it mentions. A chunk without either has no time.
    """

    def chunks_within(self, period: Period) -> Ids:
        """Ids (sorted) of the chunks of which any time overlaps the period."""
        ...

    def chunks_as_of(self, moment: datetime) -> Ids:
        """Ids (sorted) of the chunks that there were at that moment.

        Chunks said later are left out, and so are documents that came to the store later, unless
        the store itself is younger than that. Chunks without a date count as old.
        """
        ...

    def chunk_times(self, chunk_ids: Sequence[int]) -> Mapping[int, tuple[Period, ...]]:
        """By chunk id: when it was said (where that is known), then what it speaks of, in order."""
        ...

    def is_dated(self) -> bool:
        """Whether any chunk has a date of its own or its document's."""
        ...

    def said_at(self, chunk_ids: Sequence[int]) -> Mapping[int, datetime]:
        """When each chunk was said, by chunk id; those without a date are left out."""
        ...

    def first_recorded(self) -> datetime | None:
        """When the store learned the oldest thing that it holds; None for an empty one."""
        ...


class UsageLog(Protocol):
    """How often and when passages were found useful; kept only where the settings ask for it."""

    def record_use(self, chunk_ids: Sequence[int], moment: datetime) -> None:
        """Count one use of each chunk; unknown ids are left out. Changes no generation."""
        ...

    def usage(self, chunk_ids: Sequence[int]) -> Mapping[int, tuple[int, datetime]]:
        """(uses, last use) by chunk id; chunks never used are left out."""
        ...


class KeywordIndex(Protocol):
    """Chunks by the words that they hold; `save` and `delete` of the store keep it current."""

    def search_keywords(
        self, terms: Sequence[str], limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """BM25 over context and text, for chunks that hold at least one term; above 0, best first.

        `terms` come from `clew.text.terms`. Ties go to the smaller id. `allowed` restricts the
        search itself, not its outcome. No terms, no hits.
        """
        ...


class VectorIndex(Protocol):
    """Chunks by nearness of their embedding."""

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Cosine similarity, -1 to 1, best first; ties go to the smaller id."""
        ...

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        """Embeddings of the chunks given, in that order. Unknown ids raise `StoreError`."""
        ...


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

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """Aliases of one entity, or all with an id above `after`; ordered by id."""
        ...

    def entity_chunks(self, entity_id: int) -> Ids:
        """Ids (sorted) of the chunks that mention the entity or are about it."""
        ...

    def relations(
        self, entity_ids: Sequence[int], limit: int = 1000, *, as_of: datetime | None = None
    ) -> list[Relation]:
        """Relations that start or end at one of the entities; heaviest first, then by id.

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

    def retract(self, relation_ids: Sequence[int]) -> int:
        """Say that relations were wrong from now on; the number that were not retracted before.

        What they had ended holds on again.
        """
        ...

    def merge(self, source_id: int, target_id: int, evidence: str) -> None:
        """Make every alias of the source an alias of the target; remembered when indexing again."""
        ...

    def split(self, entity_id: int, keys: Sequence[str]) -> int:
        """Take the aliases of those keys out into an entity of their own; its id. Remembered."""
        ...

    def rename(self, entity_id: int, name: str) -> None:
        """Show the entity under another name; the old one stays an alias. Remembered."""
        ...


class GraphWriter(Protocol):
    """Entities and relations written by hand, and what was told of the entities.

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

        One with the same ends and type, and the same beginning where both have one, is the same:
        it takes over weight, context and times. Functional types are settled as for texts.
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
        """What was told of each entity, by id, oldest first; none for those without.

        An observation is a document whose origin is `memory:` and a key of the entity.
        """
        ...

    def unstated_relations(self, entity_ids: Sequence[int]) -> list[Relation]:
        """Relations of the entities that no text states and that are not retracted; by id."""
        ...


class ReadingLog(Protocol):
    """What an assistant found in passages, and which ones it has read."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRow:
    """A chunk as derived structures read it."""

    chunk_id: int
    document_id: str
    ordinal: int
    text: str
    context: str
    sentences: tuple[tuple[int, int], ...]
    """Ranges in `text`."""


@dataclass(frozen=True, slots=True)
class RelationRows:
    """All relations that are not retracted, by id, as derived structures read them."""

    ids: NDArray[np.int64]
    """(n,)"""
    heads: NDArray[np.int64]
    """(n,) entity ids"""
    tails: NDArray[np.int64]
    """(n,) entity ids"""
    weights: NDArray[np.float32]
    """(n,) 0 to 1"""
    chunks: NDArray[np.int64]
    """(n,) chunk ids; 0 where no text states it"""
    sentences: NDArray[np.int64]
    """(n,) ordinals within the chunk; -1 where no sentence states it"""


class SnapshotSource(Protocol):
    """What derived structures are built from.

    Chunk ids grow and are never used again, and a chunk never changes, so that ids tell what a
    structure lacks and what it holds too much.
    """

    def reading(self) -> AbstractContextManager[None]:
        """Reads of this thread inside it see one state of the store, whoever writes meanwhile."""
        ...

    def generation(self) -> int:
        """A number that grows with every commit that changes anything."""
        ...

    def epoch(self) -> int:
        """A number that grows when mentions of old chunks change hands (merge, split)."""
        ...

    def chunk_ids(self) -> Ids:
        """Ids of all chunks, sorted."""
        ...

    def passages(self, after: int = 0) -> Iterator[PassageRow]:
        """Chunks with an id above `after`, by id."""
        ...

    def mention_rows(self, after: int = 0) -> NDArray[np.int64]:
        """(n, 4): chunk id, sentence (-1: the chunk is about it), entity id, count; sorted."""
        ...

    def relation_rows(self) -> RelationRows:
        """All relations that are not retracted, by id."""
        ...

    def entities_of_type(self, entity_type: str) -> Ids:
        """Ids (sorted) of the entities of a type, such as `date`."""
        ...

    def embeddings(self, after: int = 0) -> tuple[Ids, Vectors]:
        """Chunks with an id above `after`, by id, and their embeddings."""
        ...


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
    """(E,) a hash of whom each was tied to."""
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
    """What `built` said when the work began."""
    generation: int
    """What it is to say afterwards."""
    partition: Partition
    reports: Sequence[CommunityReport]
    """New ones; communities of the partition that are not among them keep theirs."""
    topics: TopicSet | None
    """None keeps those that there are."""


class CommunityStore(Protocol):
    """Communities that have a report, and topics: derived, kept since they are dear to make.

    They are of the generation that `built` gives: entities and chunks may have gone since.
    """

    def built(self) -> int:
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


class CommunityKeeper(CommunityStore, Protocol):
    """A `CommunityStore` that can be brought up to date."""

    def partition(self) -> Partition | None:
        """What was last written, communities without a report among it; None if never."""
        ...

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """What each community's report speaks of, by community id."""
        ...

    def write(self, changes: CommunityChanges) -> bool:
        """Make the changes, all or none; False, and none, where `built` is not as expected.

        Communities that the partition does not hold are gone afterwards, with their reports. The
        store's generation does not change.
        """
        ...


# --- jobs --------------------------------------------------------------------------------

JobStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
ItemStatus = Literal["waiting", "done", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Work that outlives the process that it was asked of."""

    id: str
    kind: str
    status: JobStatus
    completed: int
    """Documents done, those that failed among them."""
    total: int | None
    """None until the documents have been counted."""
    failed: int
    """Documents that failed; `items` say why."""
    description: str
    created_at: datetime
    updated_at: datetime
    error: str
    """Why the job as a whole failed, or is being tried again; else empty."""
    owner: str
    """Of the lease; empty where nobody runs it."""
    attempts: int
    """Claims since anything was last settled, or since a runner let go of its own accord."""
    arguments: Mapping[str, Any]
    """Empty once the job has ended: a text is not kept twice."""

    @property
    def ended(self) -> bool:
        """Whether nothing will be done any more."""
        return self.status in ("completed", "failed", "cancelled")

    @property
    def progress(self) -> float:
        """0 to 1."""
        if self.status == "completed":
            return 1.0
        return min(1.0, self.completed / self.total) if self.total else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class JobItem:
    """One document of a job."""

    ordinal: int
    name: str
    status: ItemStatus
    error: str
    """Why it failed; else empty."""


class JobStore(Protocol):
    """Jobs that last; several processes may submit and run them at once.

    A job is run by the holder of its lease. `owner` names the lease: each of the methods that take
    one answers False, and changes no job, where the lease is another's by now or the job was
    cancelled.
    """

    def submit(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        *,
        description: str,
        key: str | None = None,
        lease_seconds: float | None = None,
    ) -> tuple[Job, bool]:
        """A new job and True, or the job that has this idempotency key and False.

        It is queued; with `lease_seconds` it is claimed at once by the caller. Raises `InputError`
        where the key belongs to a job of another kind or with other arguments.
        """
        ...

    def job(self, job_id: str) -> Job | None:
        """A job by id."""
        ...

    def jobs(self, *, before: str | None = None, limit: int = 50) -> list[Job]:
        """Jobs, the newest first; those older than the job `before`."""
        ...

    def items(
        self, job_id: str, *, status: ItemStatus | None = None, after: int = -1, limit: int = 100
    ) -> list[JobItem]:
        """A job's documents with an ordinal above `after`, by ordinal."""
        ...

    def cancel(self, job_id: str) -> bool:
        """Cancel a job that has not ended; whether there was one. Its runner soon stops."""
        ...

    def forget(self, before: datetime) -> int:
        """Drop jobs that ended before that moment; how many."""
        ...

    def claim(self, lease_seconds: float) -> Job | None:
        """The oldest job that is queued or whose lease has run out, now leased to the caller."""
        ...

    def extend(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Let the lease last for so many seconds from now."""
        ...

    def plan(self, job_id: str, owner: str, names: Sequence[str]) -> bool:
        """Say which documents the job has, once."""
        ...

    def advance(self, job_id: str, owner: str, completed: int) -> bool:
        """Show how many documents are done, before they are settled."""
        ...

    def settle(self, job_id: str, owner: str, errors: Mapping[int, str | None]) -> bool:
        """Documents by ordinal that are done (None) or failed, and why; even of a cancelled job."""
        ...

    def release(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """Put the job back into the queue; with an error, the attempt counts as one that failed."""
        ...

    def finish(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """End the job: completed, or failed with an error."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """A change that somebody asked a tool for."""

    id: int
    recorded_at: datetime
    caller: str
    tool: str
    subjects: Mapping[str, Any]
    """Ids and names that it was about; never texts."""


class AuditLog(Protocol):
    """Who changed what, when, through which tool; nothing is ever taken out."""

    def record(self, caller: str, tool: str, subjects: Mapping[str, Any]) -> None:
        """Add an entry, at this moment."""
        ...

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Entries, the newest first; those with an id below `before`."""
        ...


class Store(
    DocumentStore,
    TimeIndex,
    UsageLog,
    KeywordIndex,
    GraphStore,
    GraphWriter,
    ReadingLog,
    SnapshotSource,
    Protocol,
):
    """A database that is the whole truth of one namespace."""

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...
