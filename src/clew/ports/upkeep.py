"""A store as a whole: whose vectors it holds, its figures, whether it is sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    Progress = Callable[[str, int, int | None], None]
    """Called with a step, how much is done, and of how much (None: unknown)."""


# A store as tables of rows, the same for every back end: what copying reads and writes.
#
# A row is all that one thing holds, by column; ids are kept. Times, lists and objects are text,
# as
# `stores.values` and JSON write them; vectors are float32 and lists of ids int64, both little-
# endian
# bytes; yes and no are 1 and 0. What can be derived from the rows at once (files beside the
# database) is in none of them.


Table: TypeAlias = Literal[
    "documents",
    "versions",
    "earlier",
    "sections",
    "chunks",
    "times",
    "entities",
    "aliases",
    "rules",
    "mentions",
    "relations",
    "extraction_log",
    "communities",
    "themes",
    "topics",
    "descriptions",
    "partition",
]
Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = dict[str, Value]
Key: TypeAlias = tuple[str | int, ...]
"""Values of a row's key columns."""


class Shape(NamedTuple):
    """What the rows of a table look like."""

    key: tuple[str, ...]
    """Columns that tell rows apart."""
    columns: tuple[str, ...]
    """All of them."""

    def key_of(self, row: Row) -> Key:
        """The values of the key columns, none of which is null."""
        return tuple(value for value in map(row.get, self.key) if isinstance(value, (str, int)))


def _shape(key: str, others: str) -> Shape:
    names = tuple(key.split())
    return Shape(names, names + tuple(others.split()))


SHAPES: Mapping[Table, Shape] = {
    "documents": _shape(
        "id",
        "source origin title sha256 media_type created_at updated_at indexed_at characters recipe"
        " metadata version derived_from date_source date_precision title_key file_key language"
        " describes begins ends read_from",
    ),
    "versions": _shape("document_id version", "sha256 derived_from indexed_at replaced_at"),
    # Texts of versions before the one held: passages as compressed JSON, their vectors in a row.
    "earlier": _shape("document_id version", "said_at characters passages vectors"),
    "sections": _shape("id", "document_id ordinal start end headings text"),
    # With its terms, its vector (null where it has none), its uses, when it was last read, and what
    # a language model made of it.
    "chunks": _shape(
        "id",
        "document_id section_id ordinal start end page key metadata sentences context text terms"
        " vector uses last_used read_at sketch enriched",
    ),
    "times": _shape("chunk_id said start end", "text"),
    "entities": _shape("id", "name key entity_type content tier"),
    "aliases": _shape("id", "key name entity_id method score evidence block term"),
    "rules": _shape("key", "target name"),
    "mentions": _shape("chunk_id sentence alias_id", "start end count"),
    "relations": _shape(
        "id",
        "from_alias_id to_alias_id relation_type weight is_causal confidence context valid_from"
        " valid_until stated_until recorded_at retracted_at chunk_id sentence extractor",
    ),
    # The same entry twice says no more than once.
    "extraction_log": _shape("entity_id extracted_at relationships_found", ""),
    "communities": _shape(
        "id", "level parent size title summary entities entity_ids sources members embedding"
    ),
    "themes": _shape("number", "title embedding"),
    "topics": _shape("id", "key name theme passages documents chunks embedding"),
    # What a language model says of topics, documents, entities and communities.
    "descriptions": _shape("key", "name title text sources documents basis reason"),
    # Numbers and arrays by name, but for the generation that they were made at: see `Header`.
    "partition": _shape("name", "value"),
}
"""By table, in an order in which everything that a row points at comes before it."""


class Place(NamedTuple):
    """Where a store is, as the command line names it."""

    store: str
    """A folder of stores, absolute, or a server's address."""
    namespace: str

    def __str__(self) -> str:
        return f"{self.store!r} (namespace {self.namespace!r})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What a store remembers of itself."""

    embedder: tuple[str, int] | None
    """Name and dimension; None where no vectors were ever claimed."""
    functional: tuple[str, ...]
    """Relation types of which a later fact ends an earlier one, sorted."""
    packs: tuple[str, ...]
    """Names of the packs that are enabled."""
    pruned: Mapping[str, str]
    """The names that were pruned, by key."""
    generation: int
    mentions_version: int
    communities: int
    """Generation that communities and topics were made at; -1 where never."""
    next_ids: Mapping[str, int]
    """First id never used, by table: sections, chunks, entities, aliases, relations."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How far an unfinished copy has come; the target holds it until the copy is whole."""

    source: Place
    generation: int
    """The source's when the copy began."""
    held: int
    """The target's when the copy began; copying does not change it."""
    table: Table
    after: Key | None
    """Key of the last row of `table` that was written; None before the very first row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableCopy:
    """A table of both stores."""

    name: Table
    rows: int
    digest: str
    """Hash of all rows, whatever their order: 32 hexadecimal digits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyReport:
    """What a copy did."""

    source: Place
    target: Place
    tables: tuple[TableCopy, ...]
    """Read back from both stores and found the same."""
    written: int
    """Rows; 0 where the target held all of them already."""
    resumed: bool
    """Whether it went on with an unfinished copy."""
    seconds: float
