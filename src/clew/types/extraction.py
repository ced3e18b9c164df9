"""What extraction finds in a document, and what indexing saves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from clew.types.documents import Document, Split
from clew.types.values import AliasMethod

if TYPE_CHECKING:
    from clew.types.values import Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A name in a chunk."""

    name: str
    """The name in full, as resolved within its document ("Nolan" → "Christopher Nolan")."""
    entity_type: str = "name"
    """`person`, `place`, `organisation`, `work`, `event`, `product`, `concept`, `code`, `date`, or
    `name` (unknown)."""
    sentence: int
    """Ordinal of the sentence within the chunk."""
    start: int
    """Range of the first occurrence in that sentence, in the chunk's text."""
    end: int
    count: int = 1
    """Occurrences within the sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedRelation:
    """A typed relation between two names, with the sentence that says so."""

    head: str
    tail: str
    relation_type: str
    """snake_case."""
    sentence: int | None
    """Ordinal of the sentence within the chunk; None where no sentence of it says so."""
    confidence: float
    """0 to 1."""
    is_causal: bool = False
    valid_from: datetime | None = None
    """From when on it held, as far as the text or its date says."""
    valid_until: datetime | None = None
    """Until when it held; None where no end is said."""
    tail_type: str = "name"
    """`concept` where the tail is no name: "lighthouse" of "is a lighthouse"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A relation that a document's structure states: a link, a field, a header, an import."""

    head: str
    head_type: str = "name"
    relation_type: str
    """snake_case."""
    tail: str
    tail_type: str = "name"
    start: int = 0
    """Range in the document's text of what states it; empty where that is not in the text."""
    end: int = 0
    confidence: float = 0.95
    """0 to 1."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredEntity:
    """A name that a document's structure declares, with its type: the event that a record is."""

    name: str
    entity_type: str
    start: int = 0
    """Range in the document's text of what declares it; empty where that is not in the text."""
    end: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Structure:
    """What the structure of a document says, rather than its sentences."""

    statements: tuple[Statement, ...] = ()
    aliases: tuple[AliasEvidence, ...] = ()
    entities: tuple[DeclaredEntity, ...] = ()
    """Their types go before what the words of the text suggest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AliasEvidence:
    """A reason for taking two names for one entity."""

    alias: str
    name: str
    """The name that the alias stands for."""
    method: AliasMethod
    score: float
    """0 to 1."""
    evidence: str
    """The sentence or the rule that says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkExtraction:
    """What one chunk holds. Sentences are ranges in the chunk's text, in order."""

    sentences: tuple[tuple[int, int], ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """What one document holds: one `ChunkExtraction` a chunk, in the chunks' order."""

    chunks: tuple[ChunkExtraction, ...]
    about: tuple[tuple[str, str], ...] = ()
    """(name, entity_type) of what the document is about: its title, with and without brackets."""
    aliases: tuple[AliasEvidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedDocument:
    """Everything that one document's transaction writes."""

    document: Document
    split: Split
    vectors: Vectors
    """(chunks, dim): one embedding a chunk, in order."""
    extraction: Extraction
    links: tuple[AliasEvidence, ...] = ()
    """Names of this document that the linker took for names already known (or for each other)."""
    pipeline_fingerprint: str = ""
    """How it was split, embedded and extracted, as JSON; a change means index again."""
