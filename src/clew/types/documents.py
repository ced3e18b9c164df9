"""Documents as they are read, split and stored."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from operator import itemgetter

from clew.types.values import (
    AliasMethod,
    DatePrecision,
    DateSource,
    Description,
    Metadata,
    PartialDate,
    Standing,
    Vectors,
    in_utc,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A ready-split part of a document, such as a turn of a conversation or a row of a table."""

    start: int
    end: int
    key: str
    """The piece's own name, unique within its document."""
    metadata: Metadata = field(default_factory=dict)


def document_id(source: str) -> str:
    """16 hex digits of the source's SHA-256: the same in every store."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text with its origin; `source` is its identity within a store."""

    source: str
    """Unique within a store: a path, a URL, or a name that the caller gave."""
    text: str
    title: str = ""
    sha256: str = ""
    """Hex digest of what was read (file bytes, or a record's own text); decides "unchanged"."""
    media_type: str = "text/plain"
    language: str = ""
    """Its ISO 639 code of two letters; empty where it is unknown."""
    origin: str = ""
    """What the document was read from, where one file holds several documents; else `source`."""
    read_from: str = ""
    """"file" where it was read from a file at its path; empty where a caller gave it."""
    created_at: datetime | None = None
    """The first moment of its own date, never that of its file."""
    date_source: DateSource = ""
    """What says `created_at`; empty means "metadata" where there is one."""
    date_precision: DatePrecision = ""
    """How precisely it is said; empty means a day where it is a midnight, else a time."""
    updated_at: datetime | None = None
    """When it was last changed, by its own word or that of its file."""
    metadata: Metadata = field(default_factory=dict)
    page_starts: tuple[int, ...] = ()
    """Offset in `text` at which each page starts; empty where there are no pages."""
    pieces: tuple[Piece, ...] = ()
    """The chunks, where the document comes ready split; they are in order and do not overlap."""

    @property
    def id(self) -> str:
        """See `document_id`."""
        return document_id(self.source)

    @property
    def date(self) -> PartialDate | None:
        """`created_at` with its precision; None where it has no date."""
        return partial_date(self.created_at, self.date_precision)


def partial_date(start: datetime | None, precision: DatePrecision = "") -> PartialDate | None:
    """A date by its first moment; without a precision a day where that is a midnight in UTC."""
    if start is None:
        return None
    utc = in_utc(start)
    return PartialDate(utc, precision or ("day" if utc.time() == time() else "time"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A parent: the passage of context around some chunks. Sections partition the document."""

    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...] = ()
    """The trail of headings above this section, outermost first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """A child: what is embedded and found."""

    ordinal: int
    """Position among the document's chunks, from 0."""
    section: int
    """Ordinal of the section that it lies in."""
    start: int
    end: int
    text: str
    """`document.text[start:end]`."""
    context: str = ""
    """Title and trail of headings; embedded and indexed with the text, kept apart from it."""
    page: int | None = None
    """From 1; the page on which the chunk starts."""
    page_starts: tuple[tuple[int, int], ...] = ()
    """(offset in the document, page) of each further page that it reaches over."""
    key: str | None = None
    metadata: Metadata = field(default_factory=dict)
    masked: str = ""
    """`text` with blanks for marks and addresses that no reader is shown; empty without any."""

    @property
    def embedding_text(self) -> str:
        """What the embedder sees: the context, a line break, the text as readers are shown it."""
        text = self.masked or self.text
        return f"{self.context}\n{text}" if self.context else text

    @property
    def keyword_text(self) -> str:
        """What is searched by words: the context and the text, addresses of links among it."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """A document's sections and chunks, both in order."""

    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that was looked up by its name."""

    id: str
    source: str
    title_key: str
    """`clew.text.name_key` of its title, and of its file without the ending."""
    file_key: str
    chunk_ids: tuple[int, ...]
    """In order of the text; at least one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentInfo:
    """A stored document without its text."""

    id: str
    source: str
    origin: str
    title: str
    sha256: str
    media_type: str
    language: str
    """Its ISO 639 code of two letters; empty where it is unknown."""
    created_at: datetime | None
    """The first moment of its own date; see `date_precision`."""
    date_source: DateSource
    """What says `created_at`."""
    date_precision: DatePrecision
    updated_at: datetime | None
    indexed_at: datetime
    metadata: Metadata
    pipeline_fingerprint: str
    characters: int
    sections: int
    chunks: int
    version: int = 1
    """Counts the texts that this source has had in this store, from 1."""
    derived_from: str = ""
    """Hex SHA-256 of the version before; empty for the first."""
    summary: Description | None = None
    """What a language model says of it."""
    read_from: str = ""
    """See `Document`."""

    @property
    def date(self) -> PartialDate | None:
        """`created_at` with its precision; None where it has no date."""
        return partial_date(self.created_at, self.date_precision)


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentVersion:
    """A text that a document had; the digests of all stay, the texts of the last ones."""

    version: int
    sha256: str
    derived_from: str
    """Digest of the version before; empty for the first."""
    indexed_at: datetime
    replaced_at: datetime | None
    """None for the version that the store holds."""
    is_kept: bool
    """Whether its text can be read; see the setting `versions.keep`."""


def page_at(position: int, page: int | None, page_starts: Sequence[tuple[int, int]]) -> int | None:
    """The last page that starts at or before a position; `page` before the first of them."""
    at = bisect_right(page_starts, position, key=itemgetter(0))
    return page_starts[at - 1][1] if at else page


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where something stored comes from, who wrote it and when, and what found it."""

    document: str
    """Id of the document."""
    title: str
    source: str
    version: int
    sha256: str
    derived_from: str
    """Digest of the version before; empty for the first."""
    page: int | None
    """On which `start` lies."""
    start: int
    """Character range in the document."""
    end: int
    author: str
    """As the document's or the passage's metadata names one; else empty."""
    written_at: datetime | None
    """The first moment of the passage's own date, else of its document's."""
    date: str
    """That date as precisely as it is stated: "2019", "2019-03", "2019-03-02", a time; or empty."""
    date_source: DateSource
    """What says it."""
    indexed_at: datetime
    extractor: str
    """Identity of what read names and relations here."""
    confidence: float = 1.0
    """0 to 1; 1 for text, the extractor's word for a relation."""
    page_starts: tuple[tuple[int, int], ...] = ()
    """As `Chunk.page_starts`."""

    def narrowed(self, start: int, end: int) -> Provenance:
        """That of a part of the passage."""
        page = page_at(start, self.page, self.page_starts)
        return replace(self, start=start, end=end, page=page)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredChunk:
    """A stored chunk with what a hit shows of its document."""

    id: int
    document_id: str
    source: str
    title: str
    ordinal: int
    section_id: int
    start: int
    end: int
    page: int | None
    """Where it begins; of a hit, that of its answering sentence where one is told."""
    text: str
    context: str
    key: str | None
    metadata: Metadata
    """The document's metadata overlaid with the chunk's own."""
    language: str = ""
    """The document's."""
    version: int = 0
    """Of an earlier version its number; 0 for the text that the store holds."""
    replaced_at: datetime | None = None
    """When a later text took the place of that version."""
    page_starts: tuple[tuple[int, int], ...] = ()
    """As `Chunk.page_starts`, and first where it begins itself; empty within one page."""

    def page_at(self, position: int) -> int | None:
        """The page on which a character of the document lies."""
        return page_at(position, self.page, self.page_starts)

    standing: Standing | None = None
    """Of what was told of an entity: whether it holds at the moment that is asked about."""

    @property
    def told_of(self) -> str:
        """Key of the entity that it is an observation or the card of; empty for other texts."""
        kind, _, key = self.source.partition(":")
        return key.partition("#")[0] if kind in ("memory", "entity") else ""

    @property
    def is_card(self) -> bool:
        """Whether it is what an entity is, as a text."""
        return self.source.startswith("entity:")

    @property
    def remark(self) -> str:
        """Which version it is of and until when that stood, else its standing; or empty."""
        if self.replaced_at is not None:
            return f"version {self.version}, replaced {self.replaced_at:%Y-%m-%d}"
        return str(self.standing or "")

    @property
    def public_id(self) -> str:
        """`<document id>#<ordinal>`: the same in every store that holds the same text.

        Of an earlier version `<document id>@<version>#<ordinal>`.
        """
        document = f"{self.document_id}@{self.version}" if self.version else self.document_id
        return f"{document}#{self.ordinal}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSection:
    """A stored parent."""

    id: int
    document_id: str
    ordinal: int
    start: int
    end: int
    headings: tuple[str, ...]
    text: str


# What extraction finds in a document, and what indexing saves.


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
