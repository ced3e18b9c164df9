"""The values that flow through Clew: frozen, keyword-only, compared by value.

Character ranges are half-open `[start, end)` in code points. Times are aware and in UTC.
Scores follow one convention everywhere: higher is better, the range is stated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType, TypeAlias

from clew.errors import InputError

if TYPE_CHECKING:
    import networkx
    import numpy as np
    import pandas
    import pyarrow
    from numpy.typing import NDArray


# Aliases of arrays, JSON metadata, periods, filters.


# In quotes, so that nobody loads numpy for the sake of types.
Vector: TypeAlias = "NDArray[np.float32]"
"""(dim,) float32, unit length."""
Vectors: TypeAlias = "NDArray[np.float32]"
"""(n, dim) float32, each row of unit length."""
Ids: TypeAlias = "NDArray[np.int64]"
"""(n,) int64 chunk or entity ids."""
Scores: TypeAlias = "NDArray[np.float32]"
"""(n,) float32, higher is better."""

Metadata: TypeAlias = Mapping[str, Any]
"""JSON values by name."""

CharRange: TypeAlias = tuple[int, int]
"""Half-open, in code points."""

Fusion = Literal["rrf", "weighted"]
RagType = Literal["traditional", "contextual", "graph"]

NamedStrategy = NewType("NamedStrategy", str)
"""The name of a strategy that is known at run time alone, such as a plugin's."""
StrategyName: TypeAlias = (
    Literal["auto", "vector", "keyword", "hybrid", "graph", "parent_child", "topic", "multi_hop"]
    | Literal["hierarchical", "temporal", "global", "local", "weighted", "drift"]
    | NamedStrategy
)
"""How passages are found; see docs/asking.md."""

Right = Literal["read", "write", "admin"]
"""What a caller may do, and what a tool takes."""

ToolProfile = Literal["core", "full", "memory"]
"""Which tools are served."""

AliasMethod = Literal["exact", "acronym", "fuzzy", "manual"]

DatePrecision = Literal["", "year", "month", "day", "time"]
"""The unit that a date is stated in; empty for no date."""

DateSource = Literal["", "metadata", "title", "path", "message", "text", "properties"]
"""What of a document says its date: properties and headers, title or first heading, name of file
or folder, time of a message, first lines of the text; empty for no date."""


def random_id(digits: int = 16) -> str:
    """An id of hex digits that nobody guesses.

    The first is a letter: callers who read arguments as JSON would take `639356e100550634`, and
    ids of decimal digits alone, for numbers.
    """
    return secrets.choice("abcdef") + secrets.token_hex(digits)[1:digits]


NUMBER = re.compile(r"\[(\d{1,4})\]")
"""Of a source, behind the statement that rests on it."""


def with_sources(text: str, names: Sequence[str]) -> str:
    """A text with its sources' names in the place of their numbers: of `[1]`, the first name."""

    def name(found: re.Match[str]) -> str:
        place = int(found[1]) - 1
        return f"({names[place]})" if 0 <= place < len(names) else f"({found[1]})"

    return NUMBER.sub(name, text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A stretch of time, half-open `[start, end)`, in UTC; a side that is open is None."""

    start: datetime | None
    end: datetime | None
    text: str = ""
    """As it was worded; empty where it was given as dates."""

    def overlaps(self, other: Period) -> bool:
        """Whether the two share any moment."""
        return _before(self.start, other.end) and _before(other.start, self.end)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end


State = Literal["current", "ended", "planned", "earlier"]
"""Of a statement at some moment; `earlier`: something newer was told of the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Whether a statement holds, from when until when it does, and when it was told."""

    state: State
    told_at: datetime | None
    """None where that is not known."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def __str__(self) -> str:
        state = () if self.state == "current" else (self.state,)
        bounds = (("since", self.valid_from), ("until", self.valid_until), ("told", self.told_at))
        return ", ".join([*state, *(f"{word} {time:%Y-%m-%d}" for word, time in bounds if time)])

    def to_dict(self) -> dict[str, str]:
        """As JSON values, without what is not known."""
        times = {name: getattr(self, name) for name in ("valid_from", "valid_until", "told_at")}
        return {"state": self.state} | {
            name: time.isoformat() for name, time in times.items() if time is not None
        }


def state_at(moment: datetime, start: datetime | None, end: datetime | None) -> State:
    """What holds from `start` until `end` is at a moment; a side that is not known is open."""
    if end is not None and end <= moment:
        return "ended"
    return "planned" if start is not None and start > moment else "current"


def in_utc(time: datetime) -> datetime:
    """The time in UTC; a time without a zone is taken as UTC."""
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, moved out of it by its zone
        return time.replace(tzinfo=UTC)


_ISO_LENGTH: Mapping[DatePrecision, int] = {"year": 4, "month": 7, "day": 10}


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date with the precision in which it is stated: "2019" is no day of that year."""

    start: datetime
    """Its first moment, in UTC."""
    precision: DatePrecision

    @property
    def end(self) -> datetime:
        """The first moment after it; a time lasts for a second."""
        year, month = self.start.year, self.start.month
        first = datetime(year, 1, 1, tzinfo=UTC)
        try:
            match self.precision:
                case "year":
                    return first.replace(year=year + 1)
                case "month":
                    return first.replace(year=year + month // 12, month=month % 12 + 1)
                case "day":
                    return self.start + timedelta(days=1)
            return self.start + timedelta(seconds=1)
        except (ValueError, OverflowError):  # the calendar ends with the year 9999
            return datetime.max.replace(tzinfo=UTC)

    @property
    def period(self) -> Period:
        """From its first moment to the first one after it, named by its ISO form."""
        return Period(start=self.start, end=self.end, text=self.iso)

    @property
    def iso(self) -> str:
        """ISO 8601 as far as it is stated: "2019", "2019-03", "2019-03-02", or a time in UTC."""
        return self.start.isoformat()[: _ISO_LENGTH.get(self.precision)]


_Sign = Literal["=", "!=", ">=", "<=", ">", "<", "~", "!~"]
_Word = Literal["in", "not in", "contains", "not contains", "is null", "is not null"]
Operator = Literal[_Sign, _Word]
Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a field with a value: `year >= 2020`, `path ~ docs/*`."""

    name: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...] | None = None
    """Several for `in`, none for `is null`."""


@dataclass(frozen=True, slots=True)
class And:
    """All of them."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """What the part is not met by, missing fields included."""

    part: Filter


Filter: TypeAlias = Condition | And | Or | Not
"""A filter on metadata; `clew.filters` reads, writes and decides it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What a language model says of something, each statement with the passage that it rests on.

    Where it failed, sentences of these passages.
    """

    text: str
    """A statement ends with the number of its source: `[1]` is the first."""
    sources: tuple[str, ...]
    """Public ids of passages."""

    @property
    def sourced(self) -> str:
        """The text with the ids of passages in the place of their numbers."""
        return with_sources(self.text, self.sources)


# How the source of a document is spelled, so that things of two kinds never have the same one.
#
# A file has its path, a record its file's and a key (`/notes/n.jsonl#1`), what is stated by hand a
# name that nobody else may give (`memory:`, `entity:`), a text any other name.


OBSERVATION, CARD = "memory:", "entity:"
"""What the sources of what is stated by hand begin with."""


def file_source(path: Path) -> str:
    r"""The source of a file's document: its absolute path, links resolved, with forward slashes.

    A link that leads nowhere is called by its own name.
    Bytes of a name that are no UTF-8 are written as `\xNN`, and so are what would make it the
    source of a record, a `#` behind anything but a blank, and the backslash of a `\x` of its own:
    no two files have one source.
    """
    real = (
        Path(os.path.realpath(path))
        if os.path.exists(path)
        else Path(os.path.realpath(path.parent), path.name)
    )
    name = (
        os.fsencode(real.as_posix()).replace(b"\\x", b"\\x5cx").decode("utf-8", "backslashreplace")
    )
    return re.sub(r"(?<=[^/\s])#", r"\\x23", name)


def source_path(source: str) -> Path:
    """The path of the file that has this source, byte for byte."""
    escaped = re.compile(rb"\\x([0-9a-f]{2})")
    name = escaped.sub(lambda found: bytes([int(found[1], 16)]), source.encode())
    return Path(os.fsdecode(name))


def record_source(container: str, key: object) -> str:
    """The source of a record of a file, or of what a caller has named."""
    # So that no file has it, nor a record of a container that ends in the dot itself.
    dot = "." if container.rstrip(".")[-1:].isspace() else ""
    return f"{container}{dot}#{key}"


def check_given(*sources: str) -> None:
    """Raise `InputError` for a source that a caller gave and that another kind of thing has."""
    for source in sources:
        if source.startswith((OBSERVATION, CARD)):
            raise InputError(
                f"source {source!r} cannot be: what begins with {OBSERVATION!r} or {CARD!r} is"
                " stated by hand (memory tools); give the text another source"
            )


# Documents as they are read, split and stored.


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
class DocumentHead:
    """What is said of a document beside its text; `source` is its identity within a store."""

    source: str
    """Unique within a store: a path, a URL, or a name that the caller gave."""
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

    @property
    def date(self) -> PartialDate | None:
        """`created_at` with its precision; None where it has no date."""
        return partial_date(self.created_at, self.date_precision)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document(DocumentHead):
    """A text with its origin.

    Example:
        >>> loom = clew.Document(source="loom", text="A red loom.", metadata={"year": 1902})
        >>> store.add_documents([loom]).added
        1
    """

    text: str
    page_starts: tuple[int, ...] = ()
    """Offset in `text` at which each page starts; empty where there are no pages."""
    pieces: tuple[Piece, ...] = ()
    """The chunks, where the document comes ready split; they are in order and do not overlap."""
    vector: Sequence[float] | None = None
    """Its embedding, where the caller brings it: that of each of its chunks. None: the store's
    embedder makes them."""

    @property
    def id(self) -> str:
        """See `document_id`."""
        return document_id(self.source)


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
class DocumentInfo(DocumentHead):
    """A stored document without its text.

    Example:
        >>> clock = store.get("clock")
        >>> clock.title, clock.metadata, clock.characters
        ('The clock', {'year': 1881}, 55)
    """

    id: str
    indexed_at: datetime
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
        return replace(self, start=start, end=end, page=page_at(start, self.page, self.page_starts))


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
class StoredSection(Section):
    """A stored parent."""

    id: int
    document_id: str
    text: str


# What extraction finds in a document, and what indexing saves.


TERM, UNKNOWN_TYPE = WEAK_TYPES = ("term", "name")
"""Types that say nothing, the weakest first: of what may be no name, and of what is one. Terms tie
passages, and no list or picture of the graph shows them unless a relation states something."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A name in a chunk."""

    name: str
    """The name in full, as resolved within its document ("Nolan" → "Christopher Nolan")."""
    entity_type: str = "name"
    """`person`, `place`, `organisation`, `work`, `event`, `product`, `concept`, `code`, `date`,
    `name` (unknown) or `term` (likely none)."""
    sentence: int
    """Ordinal of the sentence within the chunk."""
    start: int
    """Range of the first occurrence in that sentence, in the chunk's text."""
    end: int
    count: int = 1
    """Occurrences within the sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SaidRelation:
    """A typed relation between two names, as something says it."""

    head: str
    relation_type: str
    """snake_case."""
    tail: str
    tail_type: str = "name"
    """`concept` where the tail is no name: "lighthouse" of "is a lighthouse"."""
    valid_from: datetime | None = None
    """From when on it held, as far as the text or its date says."""
    valid_until: datetime | None = None
    """Until when it held; None where no end is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedRelation(SaidRelation):
    """One with the sentence that says so."""

    sentence: int | None
    """Ordinal of the sentence within the chunk; None where no sentence of it says so."""
    confidence: float
    """0 to 1."""
    is_causal: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement(SaidRelation):
    """One that a document's structure states: a link, a field, a header, an import."""

    head_type: str = "name"
    start: int = 0
    """Range in the document's text of what states it; empty where that is not in the text."""
    end: int = 0
    confidence: float = 0.95
    """0 to 1."""


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


# The result of a question, and its shape as JSON values.


LEAST_LIKELY = 0.1
"""Probability below which no passage is likely to answer."""
LEAST_LIKELY_READ = 0.2
"""The same where passages were read, whose confidence is nearer to the middle. Of the questions of
SQuAD's articles 1 % stay below it, and 32 % of those that nothing answers (docs/quality.md)."""
FOUND = 3.0
"""Sureness of a reading from which its passage answers. Over folders that the reader has not
learned from, and the open ones of `benchmarks/everyday`, about one question in ten is answered
wrong so."""
UNLIKELY = "nothing here is likely to answer this; the nearest are given"


@dataclass(frozen=True, kw_only=True, slots=True)
class PathStep:
    """One step of a path: from an entity, through a sentence, to the next entity or the passage."""

    entity: str
    sentence: str
    document: str
    """Title or source of the document that the sentence stands in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationEvidence:
    """A relation as a hit shows it."""

    head: str
    relation: str
    tail: str
    evidence: str
    """The sentence that states it."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    provenance: Provenance | None = None
    statements: int = 1
    """Of this fact, where they are counted."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A passage that is to be read."""

    text: str
    title: str = ""
    thread: str = ""
    """Sentences elsewhere that led to it; empty: none did."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader says of a passage and a question."""

    relevance: float
    """Logit of whether the passage helps to answer."""
    margin: float
    """Logit of the best answer less that of there being none in the passage."""
    span: CharRange
    """Where that answer stands: in the passage's text; of a hit, in its document."""

    @property
    def sureness(self) -> float:
        """How sure it is that the passage answers; logits of relevance and margin together."""
        return self.relevance + self.margin / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A passage found, and why.

    Example:
        >>> hit = store.search("Who built the clock?").hits[0]
        >>> hit.chunk.source, hit.chunk.text[:9]
        ('clock', 'Ada Marsh')
    """

    chunk: StoredChunk
    score: float
    """Higher is better; comparable within one result only."""
    scores: Mapping[str, float]
    """By channel: `vector` (cosine, -1 to 1), `keyword` (BM25, above 0), `graph`, `temporal` (0 to
    1), and what else the strategy weighed."""
    source: Literal["vector", "keyword", "graph", "hybrid"]
    """The channel that found it; `hybrid` where several did."""
    entities: tuple[str, ...] = ()
    relations: tuple[RelationEvidence, ...] = ()
    path: tuple[PathStep, ...] = ()
    matched: tuple[str, ...] = ()
    """Ids of the children that matched, where the strategy finds parents by their children."""
    times: tuple[Period, ...] = ()
    """When it was said, then the times that it speaks of; where the strategy asks for them."""
    answer: CharRange | None = None
    """Range in the document of the sentence that answers best; None where none stands out."""
    confidence: float | None = None
    """Probability that the passage answers, 0 to 1; None where it was not judged."""
    reading: Reading | None = None
    """What the reader says of it; None where it was not read."""
    provenance: Provenance | None = None
    also_in: tuple[StoredChunk, ...] = ()
    """Passages left out of the result because this one says the same; of other places."""
    namespace: str = ""
    """The collection that it is from, where several were asked together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineEntry:
    """A passage or a relation at its place in time."""

    period: Period
    text: str
    reference: str
    """Id of the passage."""
    provenance: Provenance | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TemporalInfo:
    """The time that a question asks for, and what was made of it."""

    phrase: str
    """As the question words it; empty where it was given as dates."""
    since: datetime | None
    until: datetime | None
    """The period's end, exclusive."""
    as_of: datetime | None
    evolution: bool
    """Whether the question asks how something changed."""
    applied: Literal["filtered", "preferred", "ordered", "none"]
    """What the period did: nothing else was found, it went first, the context follows time."""
    timeline: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(period, ids of its passages) in order of time."""


RECORD = ("id", "score", "confidence", "title", "source", "page", "text", "metadata")
"""Names of what a hit is as a record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """The answer to one question.

    Example:
        >>> result = store.search("Who taught the builder of the Ostrava clock?", limit=2)
        >>> [hit.chunk.source for hit in result.hits]
        ['teacher', 'clock']
        >>> result.to_dicts()[0]["text"]
        'Ada Marsh was taught by Ivo Quill in Lund.'
    """

    query: str
    strategy: str
    reason: str
    hits: tuple[Hit, ...]
    context: Context
    entities: tuple[str, ...] = ()
    """Entities of the question that the graph knows."""
    stated: tuple[str, ...] = ()
    """Relations of theirs that were stated by hand, in words: no passage says them."""
    answering: int | None = None
    """Place in `stated` of the one that answers; None where none does."""
    temporal: TemporalInfo | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """By step; `cache` alone where the answer was still known."""
    notes: tuple[str, ...] = ()
    """Whatever was missing or degraded."""
    min_confidence: float = 0.0
    """What was asked for, 0 to 1."""
    overview: bool = False
    """Whether a whole is asked for, which no sentence answers but what the strategy made of it."""

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        """The hit at a place, 0 for the best."""
        return self.hits[place]

    def to_dicts(self) -> list[dict[str, Any]]:
        """A record a hit: what it is, how good, where from, its text and metadata."""
        return [
            {
                **{"id": hit.chunk.public_id, "score": hit.score, "confidence": hit.confidence},
                **{"title": hit.chunk.title, "source": hit.chunk.source, "page": hit.chunk.page},
                **{"text": hit.chunk.text, "metadata": dict(hit.chunk.metadata)},
            }
            for hit in self.hits
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """The records of `to_dicts` as a table; needs pandas."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=RECORD)

    def to_arrow(self) -> pyarrow.Table:
        """The records of `to_dicts` as a table, metadata as JSON; needs pyarrow."""
        import pyarrow

        rows = [{**one, "metadata": json.dumps(one["metadata"])} for one in self.to_dicts()]
        return pyarrow.table({name: [one[name] for one in rows] for name in RECORD})

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The paths to the hits and their relations as one graph; needs networkx.

        Its nodes are names of entities and ids of passages (`kind`); its edges have the `sentence`
        that ties the two, or the `relation` with the sentence that states it.
        """
        import networkx

        graph = networkx.MultiDiGraph()
        for hit in self.hits:
            id_ = hit.chunk.public_id
            graph.add_node(id_, kind="passage", title=hit.chunk.title, score=hit.score)
            for step, to in zip(hit.path, [*(s.entity for s in hit.path[1:]), id_], strict=False):
                graph.add_node(step.entity, kind="entity")
                graph.add_edge(step.entity, to, sentence=step.sentence, document=step.document)
            for fact in hit.relations:
                graph.add_nodes_from((fact.head, fact.tail), kind="entity")
                graph.add_edge(fact.head, fact.tail, relation=fact.relation, sentence=fact.evidence)
        return graph

    @property
    def confidence(self) -> float | None:
        """Probability that the best of the hits answers, 0 to 1; None where none was judged."""
        return max((h.confidence for h in self.hits if h.confidence is not None), default=None)

    @property
    def reached(self) -> bool:
        """Whether there are hits, and one reaches `min_confidence`, or none was judged."""
        confidence = self.confidence
        return bool(self.hits) and (confidence is None or confidence >= self.min_confidence)

    @property
    def answered(self) -> bool:
        """Whether what was stated answers, or a hit is `reached` and likely.

        Likely: at `LEAST_LIKELY` (`LEAST_LIKELY_READ`), `FOUND` by the reader, or of an earlier
        text.
        """
        read = [hit.reading for hit in self.hits if hit.reading is not None]
        least = LEAST_LIKELY_READ if read else LEAST_LIKELY
        likely = (
            self.confidence is None
            or self.confidence >= least
            or any(one.sureness > FOUND for one in read)
            or any(hit.chunk.version for hit in self.hits)
        )
        return self.answering is not None or (self.reached and likely)

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tools answer with."""
        info = self.temporal
        return {
            "query": self.query,
            "strategy": self.strategy,
            "reason": self.reason,
            "answered": self.answered,
            "confidence": self.confidence,
            "results": [_hit_dict(hit) for hit in self.hits],
            "graph_entities": list(self.entities),
            "temporal_info": None
            if info is None
            else {
                "phrase": info.phrase,
                "since": _iso(info.since),
                "until": _iso(info.until),
                "as_of": _iso(info.as_of),
                "evolution": info.evolution,
                "applied": info.applied,
                "timeline": [{"period": at, "ids": list(ids)} for at, ids in info.timeline],
            },
            "context": context_dict(self.context),
            "timings_ms": dict(self.timings_ms),
            "notes": list(self.notes),
        }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def provenance_dict(origin: Provenance | None) -> dict[str, Any] | None:
    """Where something comes from, as JSON values."""
    if origin is None:
        return None
    return {
        **{name: getattr(origin, name) for name in origin.__slots__},
        "written_at": _iso(origin.written_at),
        "date": origin.date or None,
        "date_source": origin.date_source or None,
        "indexed_at": _iso(origin.indexed_at),
        "page_starts": list(map(list, origin.page_starts)),
    }


def _path_lines(path: Iterable[PathStep]) -> list[str]:
    return [f"{step.entity} — {step.sentence} ({step.document})" for step in path]


def _place_dict(chunk: StoredChunk) -> dict[str, Any]:
    return {
        "document": chunk.document_id,
        "title": chunk.title,
        "source": chunk.source,
        "page": chunk.page,
        "char_start": chunk.start,
        "char_end": chunk.end,
    }


def _hit_dict(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    named: dict[str, Any] = {"namespace": hit.namespace} if hit.namespace else {}
    if chunk.replaced_at is not None:
        named |= {"version": chunk.version, "replaced_at": _iso(chunk.replaced_at)}
    if chunk.standing is not None:
        named |= chunk.standing.to_dict()
    answer: dict[str, Any] | None = None
    if hit.answer is not None:
        # The answering sentence, its range in the document; cut to the passage.
        start, end = hit.answer
        text = chunk.text[max(0, start - chunk.start) : max(0, end - chunk.start)]
        answer = {"text": text, "char_start": start, "char_end": end}
        if hit.reading is not None and start <= hit.reading.span[0] < end:
            first, last = (place - chunk.start for place in hit.reading.span)
            answer["span"] = chunk.text[first:last]
    return {
        "id": chunk.public_id,
        "text": chunk.text,
        "metadata": {**chunk.metadata, **_place_dict(chunk), **named},
        "score": hit.score,
        "confidence": hit.confidence,
        "scores": dict(hit.scores),
        "source": hit.source,
        "graph_context": {
            "entities": list(hit.entities),
            "relationships": [
                {
                    "from": relation.head,
                    "relation": relation.relation,
                    "to": relation.tail,
                    "evidence": relation.evidence,
                    "valid_from": _iso(relation.valid_from),
                    "valid_until": _iso(relation.valid_until),
                    "provenance": provenance_dict(relation.provenance),
                }
                for relation in hit.relations
            ],
            "path": _path_lines(hit.path),
        },
        "matched": list(hit.matched),
        "answer": answer,
        "times": [{"start": _iso(t.start), "end": _iso(t.end), "text": t.text} for t in hit.times],
        "provenance": provenance_dict(hit.provenance),
        "also_in": [{"id": same.public_id, **_place_dict(same)} for same in hit.also_in],
    }


# An answer to a question: statements, the words that support each, and where these stand.


AnswerMode: TypeAlias = Literal["one_shot", "stepwise", "global"]
"""One search; the question's parts and what is missing searched for, too; over all reports."""
UNSUPPORTED = "(unsupported)"
"""Behind a statement for which the documents do not stand."""
DO_NOT_SAY = "The documents do not say."
OPENING, CLOSING = "[\uff3b\u3010", "]\uff3d\u3011"
"""Brackets that citations are written in."""
_CITATION = re.compile(rf"[\{OPENING}]([\s\d,;–-]{{1,40}})[\{CLOSING}]")


def statement_text(text: str) -> str:
    """A text on one line, without what could pass for a citation: `[2]` becomes `(2)`."""
    return _CITATION.sub(r"(\1)", " ".join(text.split()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of a request, or of several."""

    input_tokens: int = 0
    """All tokens of the prompt."""
    cached_tokens: int = 0
    """Those of them that the provider had in its own cache."""
    output_tokens: int = 0

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            cached_tokens=self.cached_tokens - other.cached_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """Words of a document that support a statement; they stand there."""

    source: int
    """Number of the `AnswerSource`."""
    text: str
    """As the document has them."""
    start: int
    end: int
    """Range in the document, in characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerStatement:
    """One statement of an answer."""

    text: str
    quotations: tuple[Quotation, ...]
    supported: bool
    """Whether it has no number and no name that the passages quoted lack."""
    verbatim: bool = False
    """Whether it is a sentence of a document, shown as a quotation."""

    @property
    def marked(self) -> str:
        """The statement with the numbers of its sources, or the mark of one without support."""
        numbers = dict.fromkeys(quotation.source for quotation in self.quotations)
        marks = "".join(f"[{number}]" for number in numbers) if self.supported else UNSUPPORTED
        return f"“{self.text}” {marks}" if self.verbatim else f"{self.text} {marks}".rstrip()


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSource:
    """A passage that an answer cites."""

    number: int
    id: str
    """Of the passage; empty for what was stated by hand."""
    title: str
    source: str
    page: int | None
    start: int
    end: int
    """Range of the passage in the document, in characters."""
    path: tuple[PathStep, ...]
    """What led to the passage."""
    confidence: float | None = None
    """Probability that the passage answers, 0 to 1; None where it was not judged."""
    namespace: str = ""
    """The collection that it is from, where several were asked together."""
    text: str = ""
    """Where no model answered: what stands around the quotation, else the passage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The answer to a question.

    Example:
        >>> answer = store.ask("Who taught Ada Marsh?")
        >>> answer.sources[0].source
        'teacher'
    """

    question: str
    answered: bool
    """False: the documents do not say."""
    statements: tuple[AnswerStatement, ...]
    sources: tuple[AnswerSource, ...]
    """Those that the statements cite, by number; without a statement the nearest passages."""
    model: str
    """Who wrote it; empty: the statements are sentences of the documents."""
    strategy: str
    """How the passages were found."""
    mode: AnswerMode = "one_shot"
    questions: tuple[str, ...] = ()
    """What was searched for, in order, where that was more than the question."""
    confidence: float | None = None
    """Probability that the passage first quoted answers, or else the best one found, 0 to 1; None
    where none was judged."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None where the price is not known."""
    calls: int = 0
    """Requests to the model."""
    cached_calls: int = 0
    """Requests whose reply was known: nothing was spent on them."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """`search`, `model`."""
    notes: tuple[str, ...] = ()
    """Whatever was missing or degraded."""

    @property
    def text(self) -> str:
        """The answer in words, with its marks."""
        return " ".join(s.marked for s in self.statements) if self.answered else DO_NOT_SAY

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` prints and the tool `ask` answers with."""
        return {
            "question": self.question,
            "answer": self.text,
            "answered": self.answered,
            "statements": [
                {
                    "text": statement.text,
                    "quotations": [asdict(quotation) for quotation in statement.quotations],
                    "supported": statement.supported,
                }
                for statement in self.statements
            ],
            "sources": [asdict(s) | {"path": _path_lines(s.path)} for s in self.sources],
            "model": self.model or None,
            "strategy": self.strategy,
            "mode": self.mode,
            "questions": list(self.questions),
            "confidence": self.confidence,
            "usage": asdict(self.usage),
            "cost": self.cost,
            "calls": self.calls,
            "cached_calls": self.cached_calls,
            "timings_ms": dict(self.timings_ms),
            "notes": list(self.notes),
        }


# The context of an answer, and its shape as JSON values.


PartKind: TypeAlias = Literal[
    "passage", "path", "report", "timeline", "subgraph", "hierarchy", "topic"
]
"""What a part of a context is: a passage, or what a strategy made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A numbered source of the context."""

    number: int
    """From 1, as `[1]` in the context's text."""
    chunk_ids: tuple[str, ...]
    title: str
    source: str
    page: int | None
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextPart:
    """One part of a context."""

    kind: PartKind
    text: str
    """As it stands in the context's text: a line of heading, and every line below it quoted."""
    tokens: int
    citations: tuple[Citation, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Passages put together for a reader or a language model, within a budget.

    Example:
        >>> context = store.search("Who built the clock?", limit=1).context
        >>> print(context.text)
        [1] The clock
        > Ada Marsh built the clock of the Ostrava tower in 1881.
    """

    text: str
    citations: tuple[Citation, ...]
    tokens: int
    """Tokens of `text`; at most the budget."""
    left_out: int
    """Passages (reports, paths) found that did not fit."""
    tokenizer: str = ""
    """What counted the tokens."""
    parts: tuple[ContextPart, ...] = ()
    """What `text` is made of, in its order."""
    is_cut: bool = False
    """Whether the best part had no room as a whole, and is a beginning of itself."""


def context_dict(context: Context) -> dict[str, Any]:
    """The context as JSON values."""
    return {
        "text": context.text,
        "tokens": context.tokens,
        "tokenizer": context.tokenizer,
        "left_out": context.left_out,
        "citations": list(map(_citation_dict, context.citations)),
        "parts": [part_dict(part) for part in context.parts],
    }


def part_dict(part: ContextPart) -> dict[str, Any]:
    """A part of a context as JSON values."""
    return {
        "kind": part.kind,
        "text": part.text,
        "tokens": part.tokens,
        "citations": list(map(_citation_dict, part.citations)),
    }


def _citation_dict(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "ids": list(citation.chunk_ids),
        "title": citation.title,
        "source": citation.source,
        "page": citation.page,
        "char_start": citation.start,
        "char_end": citation.end,
    }


# Entities, relations, communities and topics, as the store holds them.


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
    """A node of the graph.

    Example:
        >>> ada = store.entities.get("Ada Marsh")
        >>> ada.name, ada.entity_type, ada.documents
        ('Ada Marsh', 'person', 2)
    """

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
    """An edge of the graph; it held over one period and was known over another.

    Example:
        >>> ada, ivo = store.entities.get("Ada Marsh"), store.entities.get("Ivo Quill")
        >>> relation = store.entities.add_relation(ada.id, ivo.id, "wrote_to")
        >>> relation.relation_type, relation.weight
        ('wrote_to', 1.0)
    """

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
    """An entity to be written by hand.

    Example:
        >>> vera = clew.NewEntity(name="Vera Holt", entity_type="person")
        >>> store.entities.memory.create([vera], [["repairs looms"]])[0].added
        ('repairs looms',)
    """

    name: str
    entity_type: str = "name"
    """`name`: unknown, what the store knows of its type stays."""
    content: str = ""
    """Description; empty keeps the one that there is."""
    metadata: Metadata = field(default_factory=dict)
    """What else to keep of it, as metadata of the text that says what it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation between two entities, to be written by hand.

    Example:
        >>> ada, ivo = map(store.entities.get, ("Ada Marsh", "Ivo Quill"))
        >>> wrote = clew.NewRelation(source_id=ada.id, target_id=ivo.id, relation_type="wrote_to")
        >>> [is_new for _, is_new in store.entities.memory.add_relations([wrote])]
        [True]
    """

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
    """What one run of `index` did.

    Example:
        >>> report = store.add_documents([clew.Document(source="loom", text="A red loom.")])
        >>> report.added, report.changed, report.skipped
        (1, 0, ())
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    embedding_seconds: float = 0.0
    embedding_tokens: int = 0
    """What a server was sent to embed."""
    embedding_cost: float | None = None
    """US dollars of it; None where no price is known."""
    moved: tuple[tuple[str, str], ...] = ()
    """(source that is gone and still stored, new source with the same content)"""
    gone: tuple[str, ...] = ()
    """What is still stored of files below the paths given that have vanished, and of records that
    their files no longer hold; `prune` drops it."""
    for_packs: Mapping[str, int] = field(default_factory=dict)
    """Files of a format that a pack is for, by the pack, which is not enabled."""
    lacks: tuple[str, ...] = ()
    """Extras that are not installed, and without which some files were read by words alone."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class CypherAnswer:
    """What a written query found. Nodes carry their `element_id`, by which they are cited."""

    question: str
    query: str
    """The query that ran, or would run; empty where none was written."""
    parameters: Mapping[str, object]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""
