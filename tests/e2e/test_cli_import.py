"""`clew import`: another memory is taken over, once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import clew
from clew.testing.fakes import HashEmbedder

if TYPE_CHECKING:
    from tests.e2e.conftest import Run

RECORDS = [
    {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Sings.", " "]},
    {"type": "entity", "name": "anna", "entityType": "dog", "observations": ["Paints."]},
    {"type": "entity", "name": "Rome", "entityType": "", "observations": []},
    {"type": "entity", "name": "?!", "entityType": "x", "observations": []},
    {"type": "relation", "from": "Anna", "to": "Rome", "relationType": "lives in"},
    {"type": "relation", "from": "Anna", "to": "Mars", "relationType": "lives in"},
    {"type": "relation", "from": "Anna", "to": "Rome", "relationType": "…"},
]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([*map(json.dumps, RECORDS), "{"]) + "\n")
    return file


@pytest.fixture(autouse=True)
def _light_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process embed without a model."""
    monkeypatch.setattr("clew.engine.state.make_embedder", lambda settings: HashEmbedder())


def test_a_memory_is_taken_over_once_and_what_cannot_be_is_told(
    in_process: Run, memory: Path, tmp_path: Path
) -> None:
    store = ("--store", tmp_path / "store", "--json")
    first = in_process("import", memory, *store)
    report = json.loads(first.stdout)
    again = json.loads(in_process("import", memory, *store).stdout)

    assert (first.returncode, first.stderr) == (1, "")
    counts = [
        [one[name] for name in ("entities", "observations", "relations")] for one in (report, again)
    ]
    assert counts == [[2, 2, 1], [0, 0, 0]]
    reasons = {item["source"]: item["reason"] for item in report["skipped"]}
    assert reasons.keys() == {f"memory.jsonl#{line}" for line in (1, 2, 4, 6, 7, 8)}
    assert reasons["memory.jsonl#1"] == "a blank observation"
    assert reasons["memory.jsonl#6"] == "names 'Mars', which is no entity"
    with clew.open(tmp_path / "store") as engine:
        (relation,) = engine.graph.relations("Anna")
        assert (relation.head, relation.relation, relation.tail) == ("Anna", "lives_in", "Rome")


def test_a_table_names_what_was_left_out(in_process: Run, memory: Path) -> None:
    done = in_process("import", memory)
    assert done.stdout.startswith("2 entities, 2 observations, 1 relation new, 6 skipped\n")
    assert "memory.jsonl#8" in done.stdout
    assert "malformed JSON" in done.stdout


def test_what_another_memory_knew_beside_is_kept(in_process: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.executescript("""
            CREATE TABLE entities (id TEXT, name TEXT, type TEXT, content TEXT, tier TEXT,
                salience_score REAL);
            CREATE TABLE relations (id INT, from_entity_id TEXT, to_entity_id TEXT,
                relation_type TEXT, weight REAL, is_causal INT, context TEXT);
            INSERT INTO entities VALUES ('e1', 'Anna', 'person', 'keeps bees', 'core', 0.75),
                ('e2', 'Fog', 'event', '', 'minor', 0.1);
            INSERT INTO relations VALUES (7, 'e2', 'e1', 'delays', 0.4, 1, '{"seen": "often"}'),
                (8, 'e1', 'e2', 'fears', 0.5, 0, 'told at sea');
        """)
    assert in_process("import", "memory.db").returncode == 0
    (anna,) = json.loads(in_process("documents", "--where", "importance>=0.5", "--json").stdout)[
        "documents"
    ]
    assert anna["title"] == "Anna"
    assert (anna["metadata"]["imported_id"], anna["metadata"]["tier"]) == ("e1", "core")
    found = json.loads(in_process("search", "Who keeps bees?", "--json").stdout)
    assert found["results"][0]["metadata"]["title"] == "Anna"
    with clew.open() as engine:
        ids = [engine.entities.get(name).id for name in ("Anna", "Fog")]
        relations = {one.relation_type: one for one in engine.store.relations(ids)}
    assert (relations["delays"].is_causal, relations["delays"].weight) == (True, 0.4)
    assert relations["delays"].context == {"imported_id": 7, "seen": "often"}
    assert relations["fears"].context == {"imported_id": 8, "context": "told at sea"}
    assert not relations["fears"].is_causal
