"""What a store is built on: a database behind the same few operations, SQLite or Neo4j.

All that a store does (documents, names, relations, communities …) is written once over `Backend`.
What it asks is in `statements/`, each question in SQL and in Cypher beside each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import (
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
)

from numpy.typing import NDArray

from clew.errors import InputError, StoreMismatchError, check_several
from clew.types import Description

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a step, how much is done, and of how much (None: unknown)."""

# A store as tables of rows, the same for every back end: what copying reads and writes.
#
# A row is all that one thing holds, by column; ids are kept. Times are text as `to_text` writes
# them, lists and objects JSON; vectors are float32 and lists of ids int64, both little-endian
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
WholeRow: TypeAlias = dict[str, Value]
Key: TypeAlias = tuple[str | int, ...]
"""Values of a row's key columns."""


class Shape(NamedTuple):
    """What the rows of a table look like."""

    key: tuple[str, ...]
    """Columns that tell rows apart."""
    columns: tuple[str, ...]
    """All of them."""

    def key_of(self, row: WholeRow) -> Key:
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
        " vector uses last_used read_at enriched",
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


T = TypeVar("T")
P = ParamSpec("P")

Row: TypeAlias = Mapping[str, Any]
"""Values of a row of a table by column; some or all of them."""
Rows: TypeAlias = Mapping[Table, Sequence[Row]]
"""Rows by table; those of one table have the same columns."""
Found: TypeAlias = list[Sequence[Any]]
"""Rows that a statement returned."""

NO_LIMIT = 2**31 - 1
"""As many rows as there are, for a parameter `limit`."""


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One question, or one change, in both languages: same parameters, same columns, same order.

    A parameter that is a list comes to SQL as JSON, for `json_each(:ids)`, and to Cypher as it is.
    Cypher also knows `$namespace`, and returns each row as one list that it calls `row`.
    """

    sql: str
    cypher: str


class Backend(Protocol):
    """A database that holds a store; threads may share one.

    Every method raises `StoreError`, or a kind of it, where the database fails.
    """

    @property
    def place(self) -> Place:
        """Where the store is, for messages."""
        ...

    @property
    def folder(self) -> Path:
        """The folder on this machine that holds what is derived from the store."""
        ...

    # --- transactions

    @property
    def read_only(self) -> bool:
        """Whether this process may only read it; what writes then raises `StoreError`."""
        ...

    def writable(self) -> Backend:
        """Itself; of a store that can only be read, a copy of this process's own.

        For what is derived from the store. The copy is gone when this back end is closed.
        """
        ...

    def write(self, work: Callable[[], T], *, durable: bool = True) -> T:
        """Do all that `work` writes, or nothing, while nobody else writes to the store.

        Within another `write` it is a part of that. `work` may be called again, from its beginning,
        where the database asks for that. What may be refused is checked before the first change:
        inside `batch` a back end need not undo what a failed `work` has done. What is not `durable`
        may be lost with the power, as long as nothing follows that is.
        """
        ...

    def batch(self) -> AbstractContextManager[None]:
        """A context whose writes share one commit; what precedes an exception lasts."""
        ...

    def grouping(self) -> AbstractContextManager[None]:
        """A context at whose end all writes of this thread become durable, together."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """A context whose reads see one state of the store, whoever writes meanwhile."""
        ...

    def consistent(self) -> AbstractContextManager[None]:
        """`reading` where that hinders nobody, else nothing: for a few reads that go together."""
        ...

    # --- statements

    def rows(self, statement: Statement, **parameters: object) -> Found:
        """The rows that a statement returns, in its order; one round trip."""
        ...

    def gather(self, *statements: Statement, **parameters: object) -> list[Found]:
        """The rows of each statement, of one state, in any order; one round trip for all.

        For what is shown: of a text that is damaged they have what can be read.
        """
        ...

    def columns(
        self, statement: Statement, types: Sequence[str], **parameters: object
    ) -> list[NDArray[Any]]:
        """A statement's columns as arrays of these types, such as `i8`.

        Its Cypher returns a list a column: `RETURN collect(c.id), collect(c.ordinal)`.
        """
        ...

    def execute(self, *statements: Statement, **parameters: object) -> None:
        """Make changes one after the other, inside `write`; one round trip for all."""
        ...

    def execute_many(self, statement: Statement, rows: Sequence[Row]) -> int:
        """Make a change once for each row, inside `write`; how many rows it changed.

        The values of a row are the parameters of SQL; Cypher begins with `UNWIND $rows AS row`, and
        returns the number as its only column where it is asked for.
        """
        ...

    # --- tables

    def insert(self, rows: Rows, *, changes: int = 0, weights: Sequence[Row] = ()) -> None:
        """Write new rows, inside `write`; few rows take one round trip, whatever their tables.

        New ids are those that come next (`statements.state.NEXT_IDS`), in order. Also counts
        changes to the store, and writes `weights` (id and weight) of relations that there are.
        """
        ...

    def update(self, table: Table, rows: Sequence[Row]) -> None:
        """Write some columns of rows that there are, found by their key; inside `write`."""
        ...

    def replace_passages(self, rows: Sequence[Row]) -> None:
        """Give chunks another context, other terms and another vector, inside `write`.

        A row has `id`, `new_id`, `context`, `terms` and `vector`. What is derived goes by ids, so
        the new ids are those that come next; all that hangs on the chunks stays with them.
        """
        ...

    def delete(self, table: Table, keys: Sequence[int] | Sequence[str]) -> None:
        """Delete the rows of those keys (the first column) with all that hangs on them.

        Inside `write`. A document takes its text with it, but not its versions.
        """
        ...

    def read_rows(self, table: Table, after: Key | None, limit: int) -> list[WholeRow]:
        """At most `limit` whole rows with a key above `after` (None: from the first), by key.

        How texts are ordered is the back end's. Raises `StoreCorruptError` for a damaged vector.
        """
        ...

    def count_rows(self, table: Table) -> int:
        """How many rows a table has."""
        ...

    def clear(self) -> None:
        """Delete all rows of all tables, outside `write`; in more than one transaction, perhaps."""
        ...

    def define_vectors(self, dimension: int) -> None:
        """Make what searching vectors of that dimension takes; outside `write`."""
        ...

    def close(self) -> None:
        """Let go of files and connections; may be called twice."""
        ...


class _OnBackend(Protocol):
    @property
    def backend(self) -> Backend: ...


S = TypeVar("S", bound=_OnBackend)


def writing(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a method one transaction: `Backend.write` of its back end."""

    @wraps(method)
    def within_write(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.backend.write(lambda: method(self, *args, **kwargs))

    return within_write


def distinct(values: Sequence[int] | Any) -> list[int]:  # noqa: ANN401 - any integers
    """Ids as Python's own integers, each once, for a parameter."""
    check_several(ids=values)
    return list(dict.fromkeys(map(int, values)))


def limited(limit: int | None) -> int:
    """A number of rows for a parameter `limit`; None or below 0 is for all."""
    return NO_LIMIT if limit is None or limit < 0 else limit


def pairs(rows: Found) -> dict[Any, Any]:
    """The second column by the first one."""
    return {row[0]: row[1] for row in rows}


# --- values as they are kept -------------------------------------------------------------


def to_text(time: datetime | None) -> str | None:
    """ISO 8601 in UTC; a time without a zone is taken for UTC."""
    if time is None:
        return None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat()


def to_time(text: str | None) -> datetime | None:
    """The time that `to_text` wrote."""
    return None if text is None else datetime.fromisoformat(text)


def now() -> str:
    """This moment, as it is stored."""
    return datetime.now(UTC).isoformat()


def check_characters(text: str) -> None:
    """Raise `InputError` for a text that is no valid Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise half_character(error) from error


def half_character(error: UnicodeEncodeError) -> InputError:
    """The error that names what no store can keep: half of a surrogate pair."""
    return InputError(
        f"a text holds {error.object[error.start : error.end]!r}, which is half a character"
        " and cannot be stored; expected valid Unicode: mend the text or rename the file"
    )


def other_schema(
    place: str, version: object, known: int, *, earlier: bool = False
) -> StoreMismatchError:
    """The error for a store whose tables are not the ones that this Clew knows.

    `earlier`: it was made before there was one schema, whatever its number.
    """
    layout = " of an earlier layout" if earlier else ""
    upgrade = "" if earlier else "upgrade with `pip install --upgrade clew`, or "
    return StoreMismatchError(
        f"the store {place!r} has schema version {version}{layout}, and this Clew knows version"
        f" {known} alone: {upgrade}run `clew index` into a new store (--store); what was stated by"
        " hand goes there by `clew export` of the Clew that wrote this one and `clew import`"
    )


# Reading what a language model says of something, beside that thing itself.


def read_described(value: str | list[Any] | None) -> tuple[str, Description | None]:
    """Title and description from the column `statements.enrichments.described`."""
    if value is None:
        return "", None
    title, text, sources = json.loads(value) if isinstance(value, str) else value
    said = Description(text=text, sources=tuple(json.loads(sources))) if text else None
    return title, said
