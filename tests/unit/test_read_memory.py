"""The files of other memories, as they are found in the wild."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.memory import MemoryRecords, read_memory


def database(path: Path, *statements: str) -> Path:
    """A SQLite file made by the statements."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))
    return path


def entities(found: MemoryRecords) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(e.name, e.entity_type, e.content, e.observations) for e in found.entities]


def relations(found: MemoryRecords) -> list[tuple[str, str, str, float]]:
    return [(r.head, r.relation_type, r.tail, r.weight) for r in found.relations]


@pytest.mark.parametrize("character", ["\n", "\u2028", "\u2029", "\x85", "\x0c", "\x1c"])
def test_lines_of_the_reference_server(tmp_path: Path, character: str) -> None:
    """It writes line separators as they are: a line ends at a line feed alone."""
    told = f"one{character}two"
    lines: Sequence[object] = [
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["a", told]},
        {"type": "relation", "from": "Anna", "to": "Rome", "relationType": "lives_in"},
        {"type": "entity", "name": "Rome", "entityType": "place", "observations": []},
    ]
    text = "\r\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    file = tmp_path / "memory.jsonl"
    file.write_text(text, encoding="utf-8", newline="")
    found = read_memory(file)
    assert entities(found) == [("Anna", "person", "", ("a", told)), ("Rome", "place", "", ())]
    assert relations(found) == [("Anna", "lives_in", "Rome", 1.0)]
    assert found.skipped == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "malformed JSON"),
        ("[" * 100_000, "malformed JSON"),
        ("3", "neither"),
        ('{"type": "node"}', "neither"),
        ('{"type": "entity", "name": " "}', "an entity without a name"),
        ('{"type": "entity", "name": "A", "entityType": 3}', "an entityType that is no text"),
        ('{"type": "entity", "name": "A", "observations": [1]}', "no list of texts"),
        ('{"type": "relation", "from": "A", "to": "B"}', "a relation without"),
        ('{"kind": "node"}', "a line of the kind 'node'"),
        (
            '{"kind": "rule", "key": "a", "target": "a"}',
            "a line of clew export without a sound name",
        ),
        (
            '{"kind": "document", "source": "memory:a#1", "origin": "memory:a", "text": "T",'
            ' "metadata": {}, "created_at": null}',
            "an observation of no entity",
        ),
        (
            '{"kind": "document", "source": "memory:a#1", "origin": "memory:a", "text": "T",'
            ' "metadata": {}, "created_at": "once"}',
            "Invalid isoformat string: 'once'",
        ),
    ],
)
def test_a_bad_line_is_reported_and_the_rest_taken(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "memory.jsonl"
    good = '{"type": "entity", "name": "Anna"}'
    file.write_text(f"{good}\n{line}\n{good}\n")
    found = read_memory(file)
    assert [e.name for e in found.entities] == ["Anna", "Anna"]
    (skipped,) = found.skipped
    assert skipped.source == "memory.jsonl#2"
    assert reason in skipped.reason


def test_a_database_with_names_and_a_table_of_observations(tmp_path: Path) -> None:
    file = database(
        tmp_path / "memory.db",
        "CREATE TABLE entities (name TEXT PRIMARY KEY, entity_type TEXT)",
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, entity_name TEXT, content TEXT)",
        "CREATE TABLE relations (source TEXT, target TEXT, relation_type TEXT)",
        "INSERT INTO entities VALUES ('Anna', 'person'), ('Rome', 'place'), (NULL, 'x')",
        "INSERT INTO observations VALUES (1, 'Anna', 'Sings.'), (2, 'Anna', 'Paints.')",
        "INSERT INTO observations VALUES (3, 'Rome', ' ')",
        "INSERT INTO relations VALUES ('Anna', 'Rome', 'lives_in'), ('Anna', 'Rome', NULL)",
    )
    found = read_memory(file)
    assert entities(found) == [
        ("Anna", "person", "", ("Sings.", "Paints.")),
        ("Rome", "place", "", ()),
    ]
    assert relations(found) == [("Anna", "lives_in", "Rome", 1.0)]
    assert [(s.source, s.reason) for s in found.skipped] == [
        ("memory.db: observations 3", "an observation without a text"),
        ("memory.db: entities 3", "an entity without a name"),
        ("memory.db: relations 2", "a relation without a type"),
    ]


@pytest.mark.parametrize(
    "columns",
    ["from_entity_id INT, to_entity_id INT, type TEXT", "from_id INT, to_id INT, relation TEXT"],
)
@pytest.mark.parametrize(
    ("observations", "expected"),
    [('["a", "b"]', ("a", "b")), ("a\n\nb", ("a", "b")), (None, ()), ("[1", ("[1",))],
)
def test_a_database_with_ids_and_observations_in_a_column(
    tmp_path: Path, observations: str | None, expected: tuple[str, ...], columns: str
) -> None:
    text = "NULL" if observations is None else f"'{observations}'"
    file = database(
        tmp_path / "memory.sqlite",
        "CREATE TABLE Entities (ID INTEGER, Name TEXT, Type TEXT, Content TEXT, Observations TEXT)",
        f"CREATE TABLE relations ({columns}, weight REAL)",
        f"INSERT INTO Entities VALUES (7, 'Anna', 'person', 'A painter.', {text})",
        "INSERT INTO Entities VALUES (8, 'Rome', 'place', '', NULL)",
        "INSERT INTO relations VALUES (7, 8, 'lives in', 0.25), (7, 8, 'knows', 12)",
    )
    before = file.read_bytes()
    found = read_memory(file)
    assert entities(found)[0] == ("Anna", "person", "A painter.", expected)
    assert relations(found) == [("Anna", "lives in", "Rome", 0.25), ("Anna", "knows", "Rome", 1.0)]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("statements", "match"),
    [
        (["CREATE TABLE notes (a)"], "no table entities; .* found notes"),
        (["CREATE TABLE entities (name)"], "no table relations"),
        (
            [
                "CREATE TABLE entities (label_text)",
                "CREATE TABLE relations (a)",
                "INSERT INTO entities VALUES ('x')",
            ],
            "entities of 'memory.db' has the columns label_text; expected one of name",
        ),
        (
            [
                "CREATE TABLE entities (name)",
                "CREATE TABLE relations (source, type)",
                "INSERT INTO relations VALUES ('x', 'y')",
            ],
            "relations of 'memory.db' has the columns source, type; expected one of to_entity_id",
        ),
    ],
)
def test_a_database_of_another_kind_is_refused(
    tmp_path: Path, statements: list[str], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        read_memory(database(tmp_path / "memory.db", *statements))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"SQLite format 3\x00" + b"\xff" * 2000, "SQLite says"),
        (b"\xff\xfe\x00\x80", "neither JSON Lines in UTF-8 nor SQLite"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "memory").write_bytes(content)
    with pytest.raises(UnreadableError, match=reason):
        read_memory(tmp_path / "memory")
