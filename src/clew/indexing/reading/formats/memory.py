"""The files of other memories: entities, their observations, and relations, as records.

Two kinds are read: the JSON Lines of the reference memory server, and SQLite files with the tables
`entities` and `relations` (and, where there is one, `observations`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.formats.memory_columns import (
    CAUSAL,
    CONTENT,
    ENTITY_ID,
    ENTITY_KEPT,
    FROM,
    NAME,
    OWNER,
    RELATION_KEPT,
    RELATION_TYPE,
    TEXT,
    TO,
    TOLD,
    TRUE,
    TYPE,
    Row,
    kept,
    listed,
    share_of,
    text_of,
)
from clew.types import Metadata, Skipped

_SQLITE_MAGIC = b"SQLite format 3\x00"


# By what memories in the wild call their columns; the first that a table has is taken.
@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEntity:
    """An entity of another memory."""

    name: str
    entity_type: str
    content: str = ""
    observations: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    """Its id, tier, importance and context there."""
    place: str
    """Where it stands, for reports."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryRelation:
    """A relation of another memory."""

    head: str
    tail: str
    relation_type: str
    weight: float = 1.0
    """0 to 1."""
    is_causal: bool = False
    context: Metadata = field(default_factory=dict)
    """Its id and context there."""
    place: str


@dataclass(slots=True)
class MemoryRecords:
    """What one file holds, and what of it could not be read."""

    entities: list[MemoryEntity] = field(default_factory=list)
    relations: list[MemoryRelation] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def read_memory(path: Path) -> MemoryRecords:
    """Read a memory's file; what it is, its first bytes say.

    Raises `UnreadableError` for a file that cannot be read, `InputError` for a database without
    the tables and columns that a memory has.
    """
    if path.exists() and not path.is_file():
        raise UnreadableError(str(path), "not a file")
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
        return _read_database(path) if is_database else _read_lines(path)
    except OSError as error:
        raise UnreadableError(str(path), (error.strerror or str(error)).lower()) from error
    except UnicodeDecodeError as error:
        raise UnreadableError(str(path), "neither JSON Lines in UTF-8 nor SQLite") from error
    except sqlite3.Error as error:
        raise UnreadableError(str(path), f"SQLite says: {error}") from error


# --- JSON Lines --------------------------------------------------------------------------


def _read_lines(path: Path) -> MemoryRecords:
    found = MemoryRecords()
    # Nothing but a line feed ends a line: JSON's strings may hold what else `splitlines` ends at.
    for number, line in enumerate(path.read_text("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        place = f"{path.name}#{number}"
        try:
            _add_record(found, json.loads(line), place)
        except (ValueError, RecursionError):  # a JSONDecodeError is a ValueError
            found.skipped.append(Skipped(source=place, reason="malformed JSON"))
    return found


def _add_record(found: MemoryRecords, record: object, place: str) -> None:
    kind = record.get("type") if isinstance(record, dict) else None
    if isinstance(record, dict) and kind == "entity":
        reason = _add_entity(found, record, place)
    elif isinstance(record, dict) and kind == "relation":
        reason = _add_relation(found, record, place)
    else:
        reason = 'neither {"type": "entity", …} nor {"type": "relation", …}'
    if reason:
        found.skipped.append(Skipped(source=place, reason=reason))


def _add_entity(found: MemoryRecords, record: Mapping[str, object], place: str) -> str:
    """Add an entity; else the reason why not."""
    name, kind = record.get("name"), record.get("entityType", "")
    told = record.get("observations", [])
    if not isinstance(name, str) or not name.strip():
        return "an entity without a name"
    if not isinstance(kind, str):
        return "an entityType that is no text"
    if not isinstance(told, list) or not all(isinstance(text, str) for text in told):
        return "observations that are no list of texts"
    found.entities.append(
        MemoryEntity(name=name, entity_type=kind, observations=tuple(told), place=place)
    )
    return ""


def _add_relation(found: MemoryRecords, record: Mapping[str, object], place: str) -> str:
    """Add a relation; else the reason why not."""
    head, tail, kind = (record.get(name) for name in ("from", "to", "relationType"))
    if not isinstance(head, str) or not isinstance(tail, str) or not isinstance(kind, str):
        return "a relation without from, to or relationType"
    found.relations.append(MemoryRelation(head=head, tail=tail, relation_type=kind, place=place))
    return ""


# --- SQLite ------------------------------------------------------------------------------


def _read_database(path: Path) -> MemoryRecords:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        tables = {
            row[0].lower(): row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        for needed in ("entities", "relations"):
            if needed not in tables:
                shown = ", ".join(sorted(tables.values())) or "none"
                raise InputError(
                    f"{path.name!r} has no table {needed}; expected the tables entities and"
                    f" relations, found {shown}"
                )
        rows = {name: list(_rows(connection, tables[name])) for name in tables if name in _READ}
    return _Database(path.name, rows).read()


_READ = ("entities", "relations", "observations")


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    cursor = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
    names = [column[0].lower() for column in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


class _Database:
    """The tables of one memory on their way."""

    def __init__(self, name: str, rows: Mapping[str, Sequence[Row]]) -> None:
        self._name = name
        self._rows = rows
        self._found = MemoryRecords()
        self._names: dict[str, str] = {}  # by id, and by itself

    def read(self) -> MemoryRecords:
        told = self._told()
        for place, row in self._numbered("entities"):
            self._entity(place, row, told)
        for place, row in self._numbered("relations"):
            self._relation(place, row)
        return self._found

    def _numbered(self, table: str) -> Iterator[tuple[str, Row]]:
        for number, row in enumerate(self._rows.get(table, ()), 1):
            yield f"{self._name}: {table} {number}", row

    def _told(self) -> dict[str, list[str]]:
        """Texts of the table of observations, by what names their entity."""
        told: dict[str, list[str]] = {}
        for place, row in self._numbered("observations"):
            text = row[self._column("observations", row, TEXT)]
            if isinstance(text, str) and text.strip():
                owner = row[self._column("observations", row, OWNER)]
                told.setdefault(str(owner), []).append(text)
            else:
                self._skip(place, "an observation without a text")
        return told

    def _entity(self, place: str, row: Row, told: Mapping[str, Sequence[str]]) -> None:
        name = row[self._column("entities", row, NAME)]
        if not isinstance(name, str) or not name.strip():
            self._skip(place, "an entity without a name")
            return
        ids = [str(row[column]) for column in ENTITY_ID if column in row]
        self._names |= dict.fromkeys((*ids, name), name)
        texts = [text for key in (*ids, name) for text in told.get(key, ())]
        self._found.entities.append(
            MemoryEntity(
                name=name,
                entity_type=text_of(row, TYPE),
                content=text_of(row, CONTENT),
                observations=(*listed(text_of(row, TOLD)), *texts),
                metadata=kept(row, ENTITY_KEPT),
                place=place,
            )
        )

    def _relation(self, place: str, row: Row) -> None:
        ends = [str(row[self._column("relations", row, names)]) for names in (FROM, TO)]
        kind = row[self._column("relations", row, RELATION_TYPE)]
        if not isinstance(kind, str) or not kind.strip():
            self._skip(place, "a relation without a type")
            return
        head, tail = (self._names.get(end, end) for end in ends)
        self._found.relations.append(
            MemoryRelation(
                head=head,
                tail=tail,
                relation_type=kind,
                weight=share_of(row),
                is_causal=any(row.get(name) in TRUE for name in CAUSAL),
                context=kept(row, RELATION_KEPT),
                place=place,
            )
        )

    def _column(self, table: str, row: Row, names: Sequence[str]) -> str:
        for name in names:
            if name in row:
                return name
        raise InputError(
            f"the table {table} of {self._name!r} has the columns {', '.join(row)}; expected one"
            f" of {', '.join(names)} among them"
        )

    def _skip(self, place: str, reason: str) -> None:
        self._found.skipped.append(Skipped(source=place, reason=reason))
