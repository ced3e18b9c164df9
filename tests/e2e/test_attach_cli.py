"""`clew attach` and `clew schema` as a person runs them, on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from clew.settings import Neo4jSettings
from tests.e2e.attached_graph import Town, bm25, by_score, make_world, town
from tests.e2e.conftest import Run

WORLD = make_world(passages=20)
NAME = WORLD.names[0]
QUESTION = f"What did {NAME} build?"


@pytest.fixture(scope="module")
def made(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Town]:
    with town(neo4j_address, neo4j_settings, WORLD) as built:
        yield built


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch, neo4j_settings: Neo4jSettings) -> None:
    monkeypatch.setenv("CLEW_NEO4J__USER", neo4j_settings.user)
    monkeypatch.setenv("CLEW_NEO4J__PASSWORD", neo4j_settings.password.get_secret_value())


@pytest.fixture
def mapping(made: Town, tmp_path: Path) -> Path:
    """A file that maps the graph by words alone, so that no model is needed."""
    entries = made.entries()
    del entries["passages"]["vector_index"]
    return write_mapping(tmp_path / "mapping.toml", entries)


def test_a_query_is_estimated_before_a_model_is_asked(
    in_process: Run, made: Town, neo4j_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens there: whoever asked would say so.
    for name, value in {
        "PROVIDER": "ollama",
        "MODEL": "m",
        "BASE_URL": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(f"CLEW_LLM__{name}", value)

    done = in_process("cypher", QUESTION, "--dry-run", "--json", "--store", neo4j_address)
    asked = in_process("cypher", QUESTION, "--max-tokens-spent", "5", "--store", neo4j_address)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["calls"], said["cost"]) == (1, None)
    assert said["input_tokens"] > 300
    assert (asked.returncode, "cannot be reached" in asked.stderr) == (2, True)


def write_mapping(path: Path, entries: Mapping[str, Mapping[str, object]]) -> Path:
    # A list of texts is written in TOML as in JSON.
    parts = (
        "\n".join([f"[{part}]", *(f"{name} = {json.dumps(v)}" for name, v in values.items())])
        for part, values in entries.items()
    )
    path.write_text("\n\n".join(parts), encoding="utf-8")
    return path


def test_answers_as_json(in_process: Run, made: Town, mapping: Path, neo4j_address: str) -> None:
    done = in_process(
        "attach", neo4j_address, "--mapping", mapping, *QUESTION.split(), "--limit", "3", "--json"
    )

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = by_score(WORLD, bm25(WORLD, QUESTION))[:3]
    assert [hit["id"] for hit in answer["hits"]] == expected
    assert answer["hits"][0]["path"] == [
        {"entity": NAME, "type": made.name("SPEAKS_OF"), "forward": False}
    ]
    assert answer["notes"] == ["the mapping names no vector index of the passages"]


def test_answers_for_a_reader(in_process: Run, mapping: Path, neo4j_address: str) -> None:
    done = in_process(
        "attach", neo4j_address, "--mapping", mapping, QUESTION, "--strategy", "multi_hop"
    )

    assert done.returncode == 0, done.stderr
    first = by_score(WORLD, bm25(WORLD, QUESTION))[0]
    assert done.stdout.startswith(f"from {NAME}")
    assert f"Page {first}, https://example.org/{first}, {first}\n    {WORLD.texts[first]}\n" in (
        done.stdout
    )
    assert " · keyword " in done.stdout
    assert f"    {NAME} ←SPEAKS_OF_" in done.stdout
    assert done.stderr == "Note: the mapping names no vector index of the passages\n"


def test_check_of_a_mapping_that_fits(in_process: Run, mapping: Path, neo4j_address: str) -> None:
    shown = in_process("attach", neo4j_address, "--mapping", mapping)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "passages.label" in shown.stdout
    assert "nodes: 20" in shown.stdout


def test_schema_prints_what_there_is(in_process: Run, made: Town, neo4j_address: str) -> None:
    shown = in_process("schema", "--store", neo4j_address)
    found = json.loads(in_process("schema", "--store", neo4j_address, "--json").stdout)

    assert shown.returncode == 0
    assert "embedding (LIST<FLOAT>)" in shown.stdout
    assert f"{made.name('Passage')} to {made.name('Person')}" in shown.stdout
    assert made.name("Passage") in [label["name"] for label in found["labels"]]
    assert made.name("vectors") in [index["name"] for index in found["indexes"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("schema",), "is a folder; give the address of a Neo4j server"),
        (("schema", "--store", "neo4j://ada:secret@127.0.0.1"), "must not hold a password"),
        (("schema", "--store", "http://127.0.0.1:7474"), "address that begins with neo4j://"),
        (("schema", "--store", "neo4j://127.0.0.1:9"), "cannot be reached"),
        (("attach", "neo4j://127.0.0.1:9", "--mapping", "empty.toml"), "passages: Field required"),
        (("attach", "neo4j://127.0.0.1:9", "--mapping", "none.toml"), "does not exist"),
    ],
)
def test_wrong_use_is_named(
    in_process: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty.toml").touch()

    done = in_process(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr
