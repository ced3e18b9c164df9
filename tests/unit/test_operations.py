"""A tool is what its function declares: nothing of it is said a second time."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from agents import FunctionTool
from agents.models.chatcmpl_converter import Converter
from agents.strict_schema import ensure_strict_json_schema
from anthropic.lib.tools.mcp import mcp_tool
from anthropic.types import ToolParam
from hypothesis import given
from hypothesis import strategies as st
from mcp import types as mcp_types
from ollama import Tool as OllamaTool
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

import clew
from clew import Clew
from clew.errors import InputError
from clew.operations.spec import (
    FORMATS,
    Call,
    Caller,
    Format,
    Limits,
    Parameter,
    Result,
    Tool,
    between,
    complete,
    definitions,
    input_schema,
    operation,
    shape,
    strict_schema,
)
from clew.operations.toolbox import MEMORY_TOOLS, OPERATIONS, TOOLS
from clew.packs import available, load
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from tests.unit.qdrant_server import stand_in


class Stop(TypedDict):
    """A place on the way."""

    name: Annotated[str, "Its name.", Limits(max_length=20)]
    minutes: Annotated[int, "Stay", Limits(minimum=0, maximum=60, default=5)]


@operation("A way", shape(stops="array"), rights="write", idempotent=True, http="POST /ways 201")
def plan_way(
    call: Call,
    start: Annotated[str, "Where it starts."],
    stops: Annotated[Sequence[Stop], "Up to 3.", Limits(max_items=3)] = (),
    by: Annotated[Literal["foot", "boat"], "foot or boat."] = "foot",
    pace: Annotated[float, "Of a walker", between(0, 1)] = 0.5,
    nights: Annotated[int | None, "Nights; default none", between(1, 9)] = None,
    tags: Annotated[Sequence[Literal["wet", "dry"]], "Any of them."] = (),
    ids: Annotated[Sequence[int], "Of maps."] = (),
    quiet: Annotated[bool, "Without a word."] = False,
    more: Annotated[Mapping[str, Any] | None, "Whatever else."] = None,
) -> Result:
    """A way from a place,
    with its stops.

    Each is named once.
    """
    return {"start": start, "stops": stops, "by": by, "pace": pace, "nights": nights}


def test_a_tool_says_what_its_function_declares() -> None:
    told = {
        "name": "plan_way",
        "title": "A way",
        "description": "A way from a place, with its stops. Each is named once.",
        "scope": "write",
        "read_only": False,
        "http": "POST /ways 201",
    }
    assert {name: getattr(plan_way, name) for name in told} == told
    assert input_schema(plan_way.parameters) == {
        "type": "object",
        "properties": {
            "start": {"type": "string", "description": "Where it starts."},
            "stops": {
                **optional("array", "Up to 3."),
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "Its name."},
                        "minutes": {
                            **optional("integer", "Stay, 0 to 60. Default 5.", 5),
                            "minimum": 0,
                            "maximum": 60,
                        },
                    },
                    "required": ["name"],
                },
            },
            "by": {
                **optional("string", "foot or boat. Default foot.", "foot"),
                "enum": ["foot", "boat", None],
            },
            "pace": {
                **optional("number", "Of a walker, 0 to 1. Default 0.5.", 0.5),
                "minimum": 0,
                "maximum": 1,
            },
            "nights": {
                **optional("integer", "Nights; default none, 1 to 9."),
                "minimum": 1,
                "maximum": 9,
            },
            "tags": {
                **optional("array", "Any of them."),
                "items": {"type": "string", "enum": ["wet", "dry"]},
            },
            "ids": {**optional("array", "Of maps."), "items": {"type": "integer"}},
            "quiet": optional("boolean", "Without a word. Default false.", False),
            "more": optional("object", "Whatever else."),
        },
        "required": ["start"],
    }


def optional(kind: str, description: str, *default: object) -> dict[str, object]:
    """The schema of what need not be given."""
    said = {"type": [kind, "null"], "description": description}
    return {**said, **({"default": default[0]} if default else {})}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with clew.open(tmp_path_factory.mktemp("way"), embedder=HashEmbedder()) as engine:
        yield Call(engine=engine, caller=Caller())


@given(
    by=st.sampled_from(["foot", "boat", "cart", None]),
    pace=st.floats(allow_nan=False) | st.none(),
    stops=st.none() | st.lists(st.fixed_dictionaries({"name": st.text(max_size=25)}), max_size=4),
)
def test_what_is_declared_reaches_the_function_or_is_refused(
    call: Call, by: str | None, pace: float | None, stops: list[dict[str, str]] | None
) -> None:
    asked = {"start": "Vell", "by": by, "pace": pace, "stops": stops}
    good = by != "cart" and (pace is None or 0 <= pace <= 1)
    good = good and len(stops or ()) <= 3
    good = good and all(len(s["name"]) <= 20 for s in stops or ())
    try:
        result = plan_way.run(call, complete("plan_way", plan_way.parameters, asked))
    except InputError:
        assert not good
        return
    assert good
    assert result == {
        "start": "Vell",
        "stops": () if stops is None else [{**stop, "minutes": 5} for stop in stops],
        "by": by or "foot",
        "pace": 0.5 if pace is None else pace,
        "nights": None,
    }


def _bytes(call: Call, data: Annotated[bytes, "Data."]) -> Result:
    """Take bytes."""
    return {}


def _bare(call: Call, name: str) -> Result:
    """Take a name."""
    return {}


def _set(call: Call, names: Annotated[set[str], "Names."]) -> Result:
    """Take names."""
    return {}


def _objects(call: Call, items: Annotated[Sequence[dict[str, str]], "Items."]) -> Result:
    """Take items."""
    return {}


@pytest.mark.parametrize("function", [_bytes, _bare, _set, _objects])
def test_a_declaration_that_no_client_could_read_is_refused_by_name(function: Any) -> None:  # noqa: ANN401
    with pytest.raises(
        TypeError, match=r"(data|names?|items) is declared as .* expected Annotated"
    ):
        operation("Odd", shape())(function)


# --- The definitions of the tools: schemas, the formats of other libraries, statistics.


# --- Each format through its vendor's own library: names, descriptions, types and choices
# arrive.


EVERY_KIND = (
    Parameter(name="text", kind="string", description="A text.", required=True),
    Parameter(name="way", kind="string", description="a or b. Default a.", choices=("a", "b")),
    Parameter(name="count", kind="integer", description="1 to 9.", minimum=1, maximum=9),
    Parameter(name="share", kind="number", description="0 to 1. Default 0.5.", default=0.5),
    Parameter(name="really", kind="boolean", description="Default false.", default=False),
    Parameter(name="names", kind="strings", description="Names.", required=True),
    Parameter(name="ids", kind="integers", description="Ids."),
    Parameter(name="more", kind="object", description="Anything."),
    Parameter(name="must", kind="object", description="Anything at all.", required=True),
    Parameter(
        name="items",
        kind="objects",
        description="Items.",
        fields=(
            Parameter(name="name", kind="string", description="Its name.", required=True),
            Parameter(name="size", kind="number", description="Its size. Default 1.", default=1),
        ),
    ),
)


EVERYTHING = Tool(
    name="everything",
    title="Everything",
    description="Takes one of every kind.",
    parameters=EVERY_KIND,
    result={"type": "object", "properties": {"done": {"type": "boolean"}}},
    run=lambda call, arguments: dict(arguments),
    scope="write",
    profiles=frozenset({"full"}),
)


ALL = (*OPERATIONS, EVERYTHING)
TYPES = {
    "string": "string",
    "name": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "strings": "array",
    "integers": "array",
    "objects": "array",
    "object": "object",
}


def check_parameters(
    parameters: tuple[Parameter, ...], schema: dict[str, Any], *, strict: bool = False
) -> None:
    """Names, order, descriptions, types, choices and what is required are as the tool has them."""
    assert list(schema["properties"]) == [p.name for p in parameters]
    required = [p.name for p in parameters if p.required or strict]
    assert list(schema.get("required", ())) == required
    for parameter in parameters:
        told = schema["properties"][parameter.name]
        as_text = strict and parameter.kind == "object"
        kind = "string" if as_text else TYPES[parameter.kind]
        assert told["type"] == (kind if parameter.required else [kind, "null"])
        assert told["description"].startswith(parameter.description)
        choices = [*parameter.choices, *([] if parameter.required else [None])]
        assert (told.get("enum") or []) == (choices if parameter.choices else [])
        if parameter.kind == "objects":
            check_parameters(parameter.fields, told["items"], strict=strict)


async def _never(context: object, arguments: str) -> str:
    raise AssertionError


def by_agents(definition: dict[str, Any], strict: bool) -> dict[str, Any]:
    function = definition["function"]
    tool = FunctionTool(
        name=function["name"],
        description=function["description"],
        params_json_schema=function["parameters"],
        on_invoke_tool=_never,
        strict_json_schema=strict,
    )
    converted: dict[str, Any] = Converter.tool_to_openai(tool)  # type: ignore[assignment]
    if not strict:
        assert converted["function"].pop("strict") is False
    return converted


def by_responses(definition: dict[str, Any]) -> dict[str, Any]:
    assert definition["strict"] is True
    return {**definition, "parameters": ensure_strict_json_schema({**definition["parameters"]})}


def by_anthropic(definition: dict[str, Any]) -> dict[str, Any]:
    [tool] = [tool for tool in ALL if tool.name == definition["name"]]
    return dict(mcp_tool(mcp_types.Tool.model_validate(served(tool)), client=None).to_dict())  # type: ignore[arg-type]


def by_ollama(definition: dict[str, Any]) -> dict[str, Any]:
    return OllamaTool.model_validate(definition).model_dump(exclude_unset=True)


def by_mcp(definition: dict[str, Any]) -> dict[str, Any]:
    return mcp_types.Tool.model_validate(definition).model_dump(by_alias=True, exclude_unset=True)


VENDORS: dict[Format, tuple[Callable[[dict[str, Any]], object], Any]] = {
    "openai": (partial(by_agents, strict=False), ChatCompletionFunctionToolParam),
    "openai-strict": (partial(by_agents, strict=True), ChatCompletionFunctionToolParam),
    "openai-responses": (by_responses, FunctionToolParam),
    "ollama": (by_ollama, OllamaTool),
    "anthropic": (by_anthropic, ToolParam),
    "mcp": (by_mcp, mcp_types.Tool),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_a_vendors_library_changes_nothing(tool: Tool, format: Format) -> None:
    again, shape = VENDORS[format]
    [definition] = definitions([tool], format)
    told = definition.get("function", definition)
    [schema] = [
        told[name] for name in ("parameters", "input_schema", "inputSchema") if name in told
    ]

    assert again(definition) == definition
    assert (told["name"], told["description"]) == (tool.name, tool.description)
    check_parameters(tool.parameters, schema, strict=bool(told.get("strict")))
    TypeAdapter(shape).validate_python(definition)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_strict_schema_is_what_agents_makes_of_a_free_one(tool: Tool) -> None:
    """But for free-form objects, which strict mode does not have at all."""
    if any(p.kind == "object" for p in tool.parameters):
        return
    made = ensure_strict_json_schema(input_schema(tool.parameters))
    for told in schemas(made["properties"]):
        if "type" in told:
            told.pop("default", None)

    assert strict_schema(tool.parameters) == made


@pytest.mark.parametrize("text", ["", "{", "[1]", '"a"', "NaN"])
def test_text_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"must cannot be .*; expected an object\. Call it again"):
        complete("everything", EVERY_KIND, {"text": "x", "names": [], "must": text})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(value=st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_an_object_and_its_text_are_the_same_argument(value: dict[str, Any]) -> None:
    shared = {"text": "x", "names": []}

    as_object = complete("everything", EVERY_KIND, {**shared, "must": value})
    as_text = complete("everything", EVERY_KIND, {**shared, "must": json.dumps(value)})

    assert as_object == as_text


@given(
    share=st.floats(0, 1),
    really=st.booleans(),
    names=st.lists(st.text("abc"), max_size=3),
    ids=st.lists(st.integers(-9, 9), max_size=3),
)
def test_values_that_a_model_sends_as_text_are_what_the_text_says(
    share: float, really: bool, names: list[str], ids: list[int]
) -> None:
    values = {"share": share, "really": really, "names": names, "ids": ids, "must": {"a": 1}}
    as_text = {name: json.dumps(value) for name, value in values.items()}
    assert complete("everything", EVERY_KIND, {"text": "[1]", **as_text}) == complete(
        "everything", EVERY_KIND, {"text": "[1]", **values}
    )


def test_arguments_may_come_as_the_text_that_a_model_writes(engine: Clew) -> None:
    engine.add("The mill at Harrow Ford was built by Jonas Reed.", title="Mill")
    arguments = {"query": "Who built the mill?", "top_k": 1}
    text = json.dumps(arguments)
    found = [
        engine.tools.call("query_documents", one).content["results"]
        for one in (arguments, text, json.dumps(text))
    ]
    assert found[0]
    assert found[1:] == found[:1] * 2
    assert engine.tools.call("list_documents", "").content["total"] == 1
    for wrong in ("[1]", "7", '"x"', "{", "Who built the mill?"):
        outcome = engine.tools.call("query_documents", wrong)
        assert outcome.is_error
        assert "expected an object such as" in outcome.text


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="'gemini'; expected one of openai, openai-strict, openai-r"
    ):
        definitions(OPERATIONS, "gemini")  # type: ignore[arg-type]


# --- Every tool is what every client can read, whoever wrote it.


CORE = [tool for tool in OPERATIONS if "core" in tool.profiles]
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
DOCUMENT_TOOLS = """ingest_document ingest_with_context query_job_status cancel_job query_documents
    list_documents get_document delete_document list_collections reindex backup restore search
    fetch""".split()
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
SCHEMA_ALL = [*OPERATIONS, *(tool for tool in PACKS if isinstance(tool, Tool))]
each = pytest.mark.parametrize("tool", SCHEMA_ALL, ids=lambda tool: str(tool.name))


def test_assistants_are_offered_few() -> None:
    names = {tool.name for tool in TOOLS}
    listed = json.dumps({"tools": [served(tool) for tool in CORE]}, separators=(",", ":"))

    assert len(TOOLS) <= 28
    assert names >= {*CONTRACT, *DOCUMENT_TOOLS}
    assert not names & {tool.name for tool in MEMORY_TOOLS}
    assert len({tool.name for tool in SCHEMA_ALL}) == len(OPERATIONS) + len(PACKS)
    assert 4 <= len(CORE) <= 14
    assert len(listed.encode()) < 12_000
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
    assert tool.read_only is (tool.scope == "read" or tool.name == "audit")
    if tool.read_only:
        assert not tool.destructive
        assert not tool.confirm
    if tool.confirm:
        assert "confirm" in {parameter.name for parameter in tool.parameters}


@pytest.mark.parametrize("name", CONTRACT)
def test_graph_tools_take_what_was_promised(name: str) -> None:
    [tool] = [tool for tool in OPERATIONS if tool.name == name]
    taken = {p.name: ... if p.required else p.default for p in tool.parameters}

    assert {n: value for n, value in taken.items() if n not in BOUNDS} == CONTRACT[name]
    assert list(taken)[: len(CONTRACT[name])] == list(CONTRACT[name])


# --- What `get_graph_statistics` says about the vector index in use.


@pytest.mark.parametrize(
    ("vectors", "server", "status", "named", "problems"),
    [
        ("store", "", "healthy", {"embedded": (True, True), "qdrant": (False, False)}, []),
        ("chroma", "", "healthy", {"chroma": (True, True), "qdrant": (False, False)}, []),
        ("qdrant", "answers", "healthy", {"qdrant": (True, True)}, []),
        (
            "qdrant",
            "away",
            "degraded",
            {"qdrant": (True, False)},
            ["cannot reach Qdrant at 'http", "start it there, or set qdrant.url"],
        ),
        (
            "qdrant",
            "without its client",
            "unhealthy",
            {"qdrant": (False, False)},
            ["pip install 'clew[qdrant]'"],
        ),
    ],
)
def test_statistics_say_which_vectors_are_in_use_and_why_they_are_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vectors: str,
    server: str,
    status: str,
    named: dict[str, tuple[bool, bool]],
    problems: list[str],
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill")
    with ExitStack() as open_until_asked:
        address = open_until_asked.enter_context(stand_in()).url
        settings = load_settings(store=tmp_path, vectors=vectors, qdrant={"url": address})
        if server == "without its client":
            monkeypatch.setitem(sys.modules, "qdrant_client", None)
        with Clew(settings, embedder=HashEmbedder()) as engine:
            if server == "away":
                open_until_asked.close()
            content = engine.tools.call("get_graph_statistics", {}).content
            entities = engine.maintenance.stats()["entities"]
    told, health = content["statistics"], dict(content["health"])
    assert health.pop("status") == status
    assert health["entities"] == entities
    assert health == {name: told[name] for name in health}
    assert told["vector_store"] == next(iter(named))
    assert named == {n: (told[f"{n}_available"], told[f"{n}_connected"]) for n in named}
    assert bool(problems) == bool(told["vector_store_problem"])
    assert all(problem in told["vector_store_problem"] for problem in problems)
