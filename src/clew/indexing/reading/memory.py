"""The files of other memories: entities, their observations, and relations, as records.

Three kinds are read: the JSON Lines of the reference memory server, those of `clew export`, and
SQLite files with the tables `entities` and `relations` (and, where there is one, `observations`).
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.common import MALFORMED, json_lines, json_safe
from clew.text import entity_key
from clew.types import CARD, OBSERVATION, Metadata, Skipped, in_utc

_SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEntity:
    """An entity of another memory."""

    name: str
    entity_type: str
    content: str = ""
    observations: tuple[str, ...] = ()
    told_at: Mapping[str, datetime] = field(default_factory=dict)
    """When observations were told, where that is known."""
    aliases: tuple[str, ...] = ()
    """Other names that it was given by hand."""
    is_end: bool = False
    """Whether it is needed only where no entity has its name: a relation leads from or to it."""
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
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    recorded_at: datetime | None = None
    """When it was told, where that is known."""
    place: str


@dataclass(slots=True)
class MemoryRecords:
    """What one file holds, and what of it could not be read."""

    entities: list[MemoryEntity] = field(default_factory=list)
    relations: list[MemoryRelation] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    """What was merged, split or renamed by hand: the key of a group of names by key."""
    given_names: dict[str, str] = field(default_factory=dict)
    """Names that these groups were given by hand."""
    documents: int = 0
    """Documents that were read and not stated by hand; nothing of them is taken."""
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, place: str, reason: str) -> None:
        """Say what was not taken, and why."""
        self.skipped.append(Skipped(source=place, reason=reason))


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
    exported = _Exported(found)
    for number, record in json_lines(path.read_text("utf-8-sig")):
        place = f"{path.name}#{number}"
        if record is MALFORMED:
            found.skip(place, "malformed JSON")
        elif isinstance(record, dict) and "kind" in record and "type" not in record:
            exported.add(record, place)
        elif reason := _add_record(found, record, place):
            found.skip(place, reason)
    exported.finish()
    return found


def _add_record(found: MemoryRecords, record: object, place: str) -> str:
    """Add an entity or a relation of the reference memory server; else the reason why not."""
    told = record if isinstance(record, dict) else {}
    if told.get("type") == "entity":
        name, kind = told.get("name"), told.get("entityType", "")
        texts = told.get("observations", [])
        if not isinstance(name, str) or not name.strip():
            return "an entity without a name"
        if not isinstance(kind, str):
            return "an entityType that is no text"
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return "observations that are no list of texts"
        found.entities.append(
            MemoryEntity(name=name, entity_type=kind, observations=tuple(texts), place=place)
        )
    elif told.get("type") == "relation":
        head, tail, kind = (told.get(name) for name in ("from", "to", "relationType"))
        if not isinstance(head, str) or not isinstance(tail, str) or not isinstance(kind, str):
            return "a relation without from, to or relationType"
        relation = MemoryRelation(head=head, tail=tail, relation_type=kind, place=place)
        found.relations.append(relation)
    else:
        return 'neither {"type": "entity", …} nor {"type": "relation", …}'
    return ""


# --- Clew's own export -------------------------------------------------------------------


_TIME = (str, type(None))
_LINES: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "document": {"source": str, "origin": str, "text": str, "metadata": dict, "created_at": _TIME},
    "chunk": {},
    "entity": {
        **{"id": int, "name": str, "entity_type": str, "content": str, "tier": str},
        "aliases": list,
    },
    "relation": {
        **{"from_entity_id": int, "to_entity_id": int, "relation_type": str, "extractor": str},
        **{"weight": (int, float), "is_causal": bool, "context": dict},
        **{"valid_from": _TIME, "stated_until": _TIME, "recorded_at": str, "retracted_at": _TIME},
    },
    "rule": {"key": str, "target": str, "name": str},
}
"""What is read of each kind of line of `clew export`."""


class _Exported:
    """What lines of `clew export` say was stated by hand.

    Of names, relations and observations all lines have to be known before one can be understood.
    """

    def __init__(self, found: MemoryRecords) -> None:
        self._found = found
        self._entities: dict[int, MemoryEntity] = {}
        self._by_hand: set[int] = set()
        self._by_key: dict[str, int] = {}
        self._told: list[tuple[str, str, datetime | None, str]] = []
        self._cards: dict[str, Metadata] = {}
        self._relations: list[tuple[int, int, MemoryRelation]] = []

    def add(self, line: Mapping[str, Any], place: str) -> None:
        """Take a line in, or say why not."""
        shape = _LINES.get(str(line["kind"]))
        if shape is None:
            self._found.skip(place, f"a line of the kind {str(line['kind'])[:40]!r}")
        elif wrong := [name for name, of in shape.items() if not isinstance(line.get(name), of)]:
            self._found.skip(place, f"a line of clew export without a sound {wrong[0]}")
        else:
            try:
                self._take(line, place)
            except ValueError as error:  # a time that is none
                self._found.skip(place, f"a line of clew export: {error}")

    def _take(self, line: Mapping[str, Any], place: str) -> None:
        kind = line["kind"]
        if kind == "entity":
            self._add_entity(line, place)
        elif kind == "document":
            if line["source"].startswith(CARD):
                self._cards[line["source"].removeprefix(CARD)] = line["metadata"]
            elif line["origin"].startswith(OBSERVATION):
                key = line["origin"].removeprefix(OBSERVATION)
                self._told.append((key, line["text"], _moment(line["created_at"]), place))
            else:
                self._found.documents += 1
        elif kind == "relation":
            if line["extractor"] == "manual" and line["retracted_at"] is None:
                relation = MemoryRelation(
                    head="",
                    tail="",
                    relation_type=line["relation_type"],
                    weight=line["weight"],
                    is_causal=line["is_causal"],
                    context=line["context"],
                    valid_from=_moment(line["valid_from"]),
                    valid_until=_moment(line["stated_until"]),
                    recorded_at=_moment(line["recorded_at"]),
                    place=place,
                )
                self._relations.append((line["from_entity_id"], line["to_entity_id"], relation))
        elif kind == "rule":
            self._found.rules[line["key"]] = line["target"]
            if line["name"]:
                self._found.given_names[line["key"]] = line["name"]

    def _add_entity(self, line: Mapping[str, Any], place: str) -> None:
        number, names = line["id"], [line["name"], *map(str, line["aliases"])]
        self._by_key |= {entity_key(name): number for name in names}
        if line["tier"] == "manual":
            self._by_hand.add(number)
        self._entities[number] = MemoryEntity(
            name=line["name"],
            entity_type=line["entity_type"],
            content=line["content"],
            aliases=tuple(name for name in names if name != line["name"]),
            place=place,
        )

    def finish(self) -> None:
        """Add what the lines say together."""
        told: dict[int, dict[str, datetime | None]] = {}
        for key, text, moment, place in self._told:
            owner = self._by_key.get(key)
            if owner is None:
                self._found.skip(place, "an observation of no entity in the file")
            else:
                told.setdefault(owner, {})[text] = moment
        ends: set[int] = set()
        for head, tail, relation in self._relations:
            if {head, tail} <= self._entities.keys():
                ends |= {head, tail}
                from_, to = self._entities[head].name, self._entities[tail].name
                self._found.relations.append(replace(relation, head=from_, tail=to))
            else:
                self._found.skip(relation.place, "a relation of an entity that the file lacks")
        stated = self._by_hand | told.keys()
        for number in sorted(stated | ends):
            entity, texts = self._entities[number], told.get(number, {})
            cards = (self._cards.get(entity_key(name)) for name in (entity.name, *entity.aliases))
            given = [name for name in entity.aliases if entity_key(name) in self._found.rules]
            whole = replace(
                entity,
                observations=tuple(texts),
                told_at={text: moment for text, moment in texts.items() if moment},
                aliases=tuple(given) if number in stated else (),
                is_end=number not in stated,
                metadata=next(filter(None, cards), {}),
            )
            self._found.entities.append(whole)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else in_utc(datetime.fromisoformat(text))


# --- SQLite ------------------------------------------------------------------------------


# By what memories in the wild call their columns; the first that a table has is taken.
_Row = Mapping[str, object]
_COLUMNS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "observations": {
        "owner": ("entity_id", "entity_name", "entity", "name"),
        "text": ("content", "observation", "text", "fact", "value"),
    },
    "entities": {"name": ("name", "entity_name", "title", "label")},
    "relations": {
        "from": (
            *("from_entity_id", "from_id", "source_id", "from_entity", "source_entity", "source"),
            *("from", "source_name", "from_name", "subject", "head"),
        ),
        "to": (
            *("to_entity_id", "to_id", "target_id", "to_entity", "target_entity", "target", "to"),
            *("target_name", "to_name", "object", "tail"),
        ),
        "type": ("relation_type", "relationtype", "type", "relation", "predicate", "name"),
    },
}
"""Of each table, what it must have."""
_CONTENTS = ("content", "description", "summary")
_TOLD = ("observations", "observation", "facts", "notes")
_CAUSAL = ("is_causal", "causal")
_WEIGHTS = ("weight", "strength", "confidence")
_KEPT_IDS = {"id": "imported_id", "uuid": "imported_id"}
_ENTITY_KEPT = {
    **_KEPT_IDS,
    "tier": "tier",
    **dict.fromkeys(("importance", "salience", "salience_score"), "importance"),
    "context": "context",
}
_RELATION_KEPT = {**_KEPT_IDS, **dict.fromkeys(("context", "metadata", "evidence"), "context")}
"""What is kept of a row as it was, by column."""


def _read_database(path: Path) -> MemoryRecords:
    found = MemoryRecords()
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name.lower(): name for (name,) in listed}
        for needed in ("entities", "relations"):
            if needed not in tables:
                shown = ", ".join(sorted(tables.values())) or "none"
                raise InputError(
                    f"{path.name!r} has no table {needed}; expected the tables entities and"
                    f" relations, found {shown}"
                )
        rows = {
            table: list(_rows(path.name, connection, table, tables[table]))
            for table in _COLUMNS
            if table in tables
        }
    told: dict[str, list[str]] = {}  # by what names their entity
    for place, row, column in rows.get("observations", ()):
        text = row[column["text"]]
        if isinstance(text, str) and text.strip():
            told.setdefault(str(row[column["owner"]]), []).append(text)
        else:
            found.skip(place, "an observation without a text")
    names: dict[str, str] = {}  # of entities, by id and by itself
    for place, row, column in rows["entities"]:
        name = row[column["name"]]
        if not isinstance(name, str) or not name.strip():
            found.skip(place, "an entity without a name")
            continue
        keys = [*(str(row[id_]) for id_ in ("id", "entity_id", "uuid") if id_ in row), name]
        names |= dict.fromkeys(keys, name)
        texts = [text for key in keys for text in told.get(key, ())]
        entity = MemoryEntity(
            name=name,
            entity_type=_text_of(row, ("entity_type", "entitytype", "type", "kind", "category")),
            content=_text_of(row, _CONTENTS),
            observations=(*_listed(_text_of(row, _TOLD)), *texts),
            metadata=_kept(row, _ENTITY_KEPT),
            place=place,
        )
        found.entities.append(entity)
    for place, row, column in rows["relations"]:
        kind = row[column["type"]]
        if not isinstance(kind, str) or not kind.strip():
            found.skip(place, "a relation without a type")
            continue
        head, tail = (str(row[column[end]]) for end in ("from", "to"))
        weight = next((row[name] for name in _WEIGHTS if name in row), None)
        is_share = isinstance(weight, (int, float)) and math.isfinite(weight) and 0 <= weight <= 1
        relation = MemoryRelation(
            head=names.get(head, head),
            tail=names.get(tail, tail),
            relation_type=kind,
            weight=float(weight) if is_share else 1.0,  # type: ignore[arg-type]
            is_causal=any(row.get(name) in (1, True, "1", "true") for name in _CAUSAL),
            context=_kept(row, _RELATION_KEPT),
            place=place,
        )
        found.relations.append(relation)
    return found


def _rows(
    name: str, connection: sqlite3.Connection, table: str, spelled: str
) -> Iterator[tuple[str, _Row, Mapping[str, str]]]:
    """Place and cells of each row of a table; and which column is what."""
    cursor = connection.execute(f'SELECT * FROM "{spelled}" ORDER BY rowid')
    names = [column[0].lower() for column in cursor.description]
    columns: dict[str, str] = {}
    for number, cells in enumerate(cursor, 1):
        for what, known in _COLUMNS[table].items() if number == 1 else ():
            columns[what] = next((one for one in known if one in names), "")
            if not columns[what]:
                raise InputError(
                    f"the table {table} of {name!r} has the columns {', '.join(names)}; expected"
                    f" one of {', '.join(known)} among them"
                )
        yield f"{name}: {table} {number}", dict(zip(names, cells, strict=True)), columns


def _text_of(row: _Row, names: Sequence[str]) -> str:
    """The first of the columns that holds a text."""
    return next(
        (value for value in (row.get(name) for name in names) if isinstance(value, str)), ""
    )


def _kept(row: _Row, columns: Mapping[str, str]) -> dict[str, Any]:
    """Values of these columns under their new names; JSON objects as their own fields."""
    found: dict[str, Any] = {}
    for column, name in columns.items():
        value = row.get(column)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, dict):
            found |= json_safe(value)
        elif isinstance(value, (str, int, float)) and value != "":
            found.setdefault(name, json_safe(value))
    return found


def _listed(text: str) -> list[str]:
    """Observations in one column: a JSON list of texts, or a text a line."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, list):
            return [item for item in value if isinstance(item, str)]
    return [line for line in text.splitlines() if line.strip()]
