"""Every tool is what every client can read, whoever wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.packs import available, load
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import Parameter, Tool, definitions
from clew.tools.toolbox import TOOLS
from clew.wiring import make_audit

CORE = [tool for tool in TOOLS if "core" in tool.profiles]
CONTRACT: dict[str, dict[str, object]] = {
    "graph_enhanced_search": {
        "query": ...,
        "depth": 2,
        "limit": 10,
        "include_neighbors": True,
        "vector_weight": 0.6,
        "graph_weight": 0.4,
    },
    "get_entity_neighbors": {
        "entity_id": ...,
        "relation_type": None,
        "direction": "both",
        "depth": 1,
        "limit": 50,
        "min_weight": 0.0,
    },
    "add_entity_relationship": {
        "source_id": ...,
        "target_id": ...,
        "relation_type": ...,
        "weight": 1.0,
        "is_causal": False,
        "context": None,
    },
    "get_graph_statistics": {},
    "extract_entity_relationships": {"entity_id": ...},
    "extract_all_relationships": {"limit": None},
    "build_local_graph": {"entity_ids": ...},
}
"""Parameters with their defaults; `...` where one is required."""
BOUNDS = {"cursor", "max_tokens"}
"""What every read may take besides."""


def served(tool: Tool) -> dict[str, Any]:
    [definition] = definitions([tool], "mcp")
    return definition


def all_parameters(parameters: tuple[Parameter, ...]) -> Iterator[Parameter]:
    for parameter in parameters:
        yield parameter
        yield from all_parameters(parameter.fields)


def schemas(value: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema, itself first."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from schemas(inner)


def said(number: float) -> str:
    return f"{number:g}" if abs(number) < 1e5 else str(int(number))


PACKS = [tool for name in available(()) for tool in load(name, ()).tools()]
ALL = [*TOOLS, *(tool for tool in PACKS if isinstance(tool, Tool))]
each = pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))


def test_names_are_distinct() -> None:
    assert len({tool.name for tool in ALL}) == len(TOOLS) + len(PACKS)


def test_what_core_lists_is_small() -> None:
    listed = json.dumps({"tools": [served(tool) for tool in CORE]}, separators=(",", ":"))

    assert 4 <= len(CORE) <= 14
    assert len(listed.encode()) < 12_000


def test_core_is_part_of_full() -> None:
    assert all("full" in tool.profiles for tool in CORE)


@each
def test_names_are_short_and_plain(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z0-9_]{1,40}", tool.name)
    for parameter in all_parameters(tool.parameters):
        assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]{0,39}", parameter.name)


@each
def test_schemas_are_flat(tool: Tool) -> None:
    definition = served(tool)

    for schema in schemas([definition["inputSchema"], definition["outputSchema"]]):
        assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs", "not"} & set(schema)
        if isinstance(schema.get("type"), list):
            assert len(schema["type"]) == 2
            assert schema["type"][1] == "null"


@each
def test_null_means_the_default(tool: Tool) -> None:
    for parameter in all_parameters(tool.parameters):
        assert not (parameter.required and parameter.default is not None)
    for name, schema in served(tool)["inputSchema"]["properties"].items():
        required = name in served(tool)["inputSchema"].get("required", ())
        assert ("null" in schema["type"]) is not required
        if "enum" in schema:
            assert (None in schema["enum"]) is not required


@each
def test_descriptions_say_ranges_and_defaults_again(tool: Tool) -> None:
    """Some clients drop everything but the description."""
    assert 10 <= len(tool.description) <= 300
    assert tool.title
    for parameter in all_parameters(tool.parameters):
        text = parameter.description
        assert text.endswith("."), parameter.name
        if parameter.maximum is not None:
            assert said(parameter.maximum) in text, parameter.name
            assert said(parameter.minimum or 0) in text, parameter.name
        if isinstance(parameter.default, bool):
            assert f"Default {str(parameter.default).lower()}" in text, parameter.name
        elif isinstance(parameter.default, (int, float, str)) and parameter.default != "":
            assert f"Default {parameter.default}" in text, parameter.name
        for choice in parameter.choices:
            assert choice in text, parameter.name


@each
def test_hints_are_all_given_and_fit(tool: Tool) -> None:
    hints = served(tool)["annotations"]

    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert all(isinstance(hint, bool) for hint in hints.values())
    assert hints["readOnlyHint"] is tool.read_only
    assert tool.read_only is (tool.scope == "read" or tool.name in ("audit", "ask_by_cypher"))
    if tool.read_only:
        assert not tool.destructive
        assert not tool.confirm
    if tool.confirm:
        assert "confirm" in {parameter.name for parameter in tool.parameters}


@each
def test_the_server_describes_what_the_formats_do(tool: Tool) -> None:
    from mcp_types import Tool as ProtocolTool

    from clew.tools.spec import mcp_definition

    described = ProtocolTool.model_validate(mcp_definition(tool)).model_dump(
        by_alias=True, exclude_unset=True, mode="json"
    )

    expected = served(tool)
    for definition in (described, expected):
        definition["outputSchema"].pop("required", None)
    assert described == expected


@pytest.mark.parametrize("name", CONTRACT)
def test_graph_tools_take_what_was_promised(name: str) -> None:
    [tool] = [tool for tool in TOOLS if tool.name == name]
    taken = {p.name: ... if p.required else p.default for p in tool.parameters}

    assert {n: value for n, value in taken.items() if n not in BOUNDS} == CONTRACT[name]
    assert list(taken)[: len(CONTRACT[name])] == list(CONTRACT[name])


def test_a_loop_of_ones_own(tmp_path: Path) -> None:
    """As the documentation shows it."""
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add("Tarn Abbey is part of the Lorne Estate.", source="a")
        tools = {d["function"]["name"] for d in store.tools.definitions("openai")}

        answer = store.tools.call("graph_enhanced_search", json.loads('{"query": "Tarn Abbey"}'))

        assert tools == {tool.name for tool in CORE}
        assert json.loads(answer.text)["results"][0]["entity_name"] == "Tarn Abbey"
        assert store.tools is store.tools


def test_jobs_and_audit_come_with_an_engine(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        stored = store.tools.call("ingest_document", {"text": "Tarn Abbey is old.", "title": "A"})
        found = store.tools.call("search", {"query": "Tarn Abbey"})

        assert not stored.is_error, stored.text
        assert [r["title"] for r in found.content["results"]] == ["A"]
        [entry] = make_audit(store.state.journal).entries()
        assert (entry.tool, entry.caller) == ("ingest_document", "local")
