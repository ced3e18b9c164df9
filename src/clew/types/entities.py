"""Entities, relations, communities and topics, as the store holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from clew.types.documents import Provenance, StoredChunk, StoredSection
from clew.types.results import Usage
from clew.types.values import (
    AliasMethod,
    Description,
    Metadata,
    Period,
    Standing,
    Vectors,
    state_at,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """A name of an entity, and why it is one."""

    id: int
    key: str
    name: str
    entity_id: int
    method: AliasMethod
    score: float
    evidence: str


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of an entity, and what the entity is."""

    name: str
    entity_id: int
    entity_type: str
    tier: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkCandidates:
    """What a store knows of some keys, and of names that are spelled like them."""

    known: Set[str]
    """Those of the keys that are an alias."""
    ruled: Set[str]
    """Keys that somebody has decided about, among them and beside them."""
    names: Mapping[str, Sequence[tuple[str, str]]]
    """(key, name) by block (`clew.text.block_of`); none that were themselves tied by likeness,
    or chains would drift apart."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Documents of workers that saved at the same time, and names that came with them."""

    documents: Sequence[str]
    """Ids."""
    names: Mapping[str, str]
    """Types by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeSuggestion:
    """Two entities that may be one; to be merged by hand, or refused."""

    source_id: int
    source: str
    target_id: int
    target: str
    """The fuller name, which would take the other."""
    confidence: float
    """0 to 1: how sure it is that both are one."""
    reason: str
    verdict: str = ""
    """What a language model says, `yes` or `no`; empty where none was asked, or it failed."""
    description: Description | None = None
    """Why, with the passages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """A node of the graph."""

    id: int
    name: str
    key: str
    entity_type: str
    content: str = ""
    tier: str = "extracted"
    salience_score: float = 0.0
    """0 to 1: PageRank among the store's entities over the highest, on a log scale."""
    mentions: int = 0
    documents: int = 0
    description: Description | None = None
    """What a language model says of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """An edge of the graph; it held over one period and was known over another."""

    id: int
    from_entity_id: int
    to_entity_id: int
    relation_type: str
    weight: float
    """0 to 1."""
    is_causal: bool
    confidence: float
    """0 to 1."""
    context: Metadata
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    retracted_at: datetime | None
    chunk_id: int | None
    sentence: int | None
    """Ordinal of the sentence within the chunk."""
    extractor: str
    stated_until: datetime | None = None
    """The end that was said; `valid_until` is an earlier one where a later fact ends this."""

    @property
    def fact(self) -> tuple[int, str, int]:
        """What it states, whenever and by whom: ids of both ends around its type."""
        return self.from_entity_id, self.relation_type, self.to_entity_id

    def standing(self, moment: datetime) -> Standing:
        """Whether it holds at a moment, and since when, until when and when it was told."""
        return Standing(
            state=state_at(moment, self.valid_from, self.valid_until),
            told_at=self.recorded_at,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )


def current_first(relations: Iterable[Relation], moment: datetime) -> list[Relation]:
    """The relations in the order given, those that hold at a moment before the others."""
    return sorted(relations, key=lambda one: one.standing(moment).state != "current")


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRecord:
    """A chunk with what an answer shows of it."""

    chunk: StoredChunk
    section: StoredSection
    provenance: Provenance
    times: tuple[Period, ...]
    """When it was said (where that is known), then what it speaks of."""
    sentences: tuple[str, ...]
    sentence_ranges: tuple[tuple[int, int], ...]
    """In the document."""
    relations: tuple[Relation, ...]
    """That it states, by id."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EarlierVersion:
    """Passages of a version of a document that was replaced, as they were stored."""

    passages: tuple[PassageRecord, ...]
    """Without relations; their chunk ids are never those of other passages."""
    terms: tuple[str, ...]
    """Their words as they were indexed, with spaces between them."""
    vectors: Vectors | None
    """(passages, dim) float32; None where another embedder made them than the store's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageRecords:
    """Chunks, and the names that go with them."""

    passages: Mapping[int, PassageRecord]
    """By chunk id."""
    names: Mapping[int, str]
    """By entity id: those asked for, and the ends of the passages' relations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntity:
    """An entity to be written by hand."""

    name: str
    entity_type: str = "name"
    """`name`: unknown, what the store knows of its type stays."""
    content: str = ""
    """Description; empty keeps the one that there is."""
    metadata: Metadata = field(default_factory=dict)
    """What else to keep of it, as metadata of the text that says what it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation between two entities, to be written by hand."""

    source_id: int
    target_id: int
    relation_type: str
    """snake_case."""
    weight: float | None = 1.0
    """0 to 1; None keeps what there is, else 1."""
    is_causal: bool = False
    context: Metadata | None = None
    """JSON values; None keeps what there is."""
    valid_from: datetime | None = None
    """None: not said, whatever is known stays."""
    valid_until: datetime | None = None
    recorded_at: datetime | None = None
    """When it was told; None: now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """A text about an entity, told by hand; a document of its own."""

    document_id: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Entities that are tied to each other more than to others, and what the texts say of them."""

    id: int
    level: int
    """0 is the coarsest."""
    parent: int | None
    """Id of the community of the level above that holds it."""
    title: str
    summary: str
    """Report made of the texts' own sentences and of relations."""
    entities: tuple[str, ...]
    """Names, most central first; at most some dozens."""
    size: int
    """Number of entities."""
    sources: tuple[int, ...] = ()
    """Ids of the chunks that the report's sentences stand in."""
    provenance: tuple[Provenance, ...] = ()
    """Where these come from, where it was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A key phrase that several passages are on."""

    id: int
    name: str
    theme: str
    """Title of the group of topics that it belongs to."""
    passages: int
    documents: int
    phrase: str
    """The key phrase itself; `name` is a language model's, where one named it."""
    theme_phrase: str
    """The same of the theme."""
    description: Description | None = None
    """What a language model says of it."""


# Reports of indexing and of checks.


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file or record that could not be indexed, and why."""

    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What one run of `index` did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    embedding_seconds: float = 0.0
    moved: tuple[tuple[str, str], ...] = ()
    """(source that is gone and still stored, new source with the same content)"""
    gone: tuple[str, ...] = ()
    """Records that are still stored, and that their files no longer hold; `prune` drops them."""
    for_packs: Mapping[str, int] = field(default_factory=dict)
    """Files that were read as plain text though a pack knows their format, by the pack, which is
    not enabled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexPreview:
    """What a run of `index` would do, as far as files tell without being read: their sources."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Stored from another state of the file, or by other settings; also every file that holds
    several documents, of which only reading tells which have changed."""
    unchanged: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Stored, and their files below the paths given have vanished; `prune` drops them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A broken invariant that `check` found."""

    invariant: str
    detail: str
    repairable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What `check` looked at, found and mended."""

    checked: Sequence[str]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EnrichmentReport:
    """What a language model added to a store, in one run."""

    kind: str
    """`extract`, `context`, `documents`, `entities`, `topics` or `reports`."""
    done: int = 0
    """Passages, or things to be described, that the model was asked about with success."""
    failed: tuple[Skipped, ...] = ()
    """Those where it failed, and why; what was found without it stays."""
    next_step: str = ""
    """What to do about those that failed; empty where none did."""
    facts: int = 0
    """Facts that the passages state, quoted and checked."""
    new_relations: int = 0
    """Those of them that no passage had stated before."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """What the model said and the text does not, by reason."""
    requests: int = 0
    """Those that were answered from kept replies not counted."""
    cached: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    seconds: float = 0.0
    stopped: str = ""
    """Why it ended before all was done; run it again to go on."""
