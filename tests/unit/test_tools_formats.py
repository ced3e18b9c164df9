"""Each format through its vendor's own library: names, descriptions, types and choices arrive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

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
from clew.errors import InputError
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import (
    FORMATS,
    Format,
    Parameter,
    Tool,
    complete,
    definitions,
    input_schema,
    strict_schema,
)
from clew.tools.toolbox import TOOLS

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


def one_of_every_kind() -> Tool:
    return Tool(
        name="everything",
        title="Everything",
        description="Takes one of every kind.",
        parameters=EVERY_KIND,
        result={"type": "object", "properties": {"done": {"type": "boolean"}}},
        run=lambda call, arguments: dict(arguments),
        scope="write",
        profiles=frozenset({"full"}),
    )


ALL = (*TOOLS, one_of_every_kind())
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


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_agents_converter_changes_nothing_of_openai(tool: Tool) -> None:
    [definition] = definitions([tool], "openai")
    function = definition["function"]

    converted = Converter.tool_to_openai(
        FunctionTool(
            name=function["name"],
            description=function["description"],
            params_json_schema=function["parameters"],
            on_invoke_tool=_never,
            strict_json_schema=False,
        )
    )

    assert converted == {**definition, "function": {**function, "strict": False}}
    assert (function["name"], function["description"]) == (tool.name, tool.description)
    check_parameters(tool.parameters, function["parameters"])
    TypeAdapter(ChatCompletionFunctionToolParam).validate_python(definition)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_agents_converter_changes_nothing_of_openai_strict(tool: Tool) -> None:
    [definition] = definitions([tool], "openai-strict")
    function = definition["function"]

    converted = Converter.tool_to_openai(
        FunctionTool(
            name=function["name"],
            description=function["description"],
            params_json_schema=function["parameters"],
            on_invoke_tool=_never,
        )
    )

    assert converted == definition
    assert function["strict"] is True
    check_parameters(tool.parameters, function["parameters"], strict=True)
    TypeAdapter(ChatCompletionFunctionToolParam).validate_python(definition)


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_strict_schema_is_what_agents_makes_of_a_free_one(tool: Tool) -> None:
    """But for free-form objects, which strict mode does not have at all."""
    if any(p.kind == "object" for p in tool.parameters):
        return
    made = ensure_strict_json_schema(input_schema(tool.parameters))

    ours = strict_schema(tool.parameters)

    for told in made["properties"].values():
        told.pop("default", None)
        for field in told.get("items", {}).get("properties", {}).values():
            field.pop("default", None)
    assert ours == made


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_ollama_keeps_everything(tool: Tool) -> None:
    [definition] = definitions([tool], "ollama")

    kept = OllamaTool.model_validate(definition).model_dump(exclude_unset=True)

    assert kept == definition
    assert definition["function"]["name"] == tool.name
    assert definition["function"]["description"] == tool.description
    check_parameters(tool.parameters, definition["function"]["parameters"])


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_anthropic_makes_the_same_of_mcp(tool: Tool) -> None:
    [served] = definitions([tool], "mcp")
    [definition] = definitions([tool], "anthropic")

    made = mcp_tool(mcp_types.Tool.model_validate(served), client=None)  # type: ignore[arg-type]

    assert dict(made.to_dict()) == definition
    TypeAdapter(ToolParam).validate_python(definition)
    check_parameters(tool.parameters, definition["input_schema"])


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: str(tool.name))
def test_mcp_types_keep_everything(tool: Tool) -> None:
    [definition] = definitions([tool], "mcp")

    kept = mcp_types.Tool.model_validate(definition)

    assert kept.model_dump(by_alias=True, exclude_unset=True) == definition
    assert kept.annotations is not None
    assert kept.annotations.read_only_hint is tool.read_only


def test_free_form_objects_come_back_from_strict_text() -> None:
    as_strict: dict[str, Any] = {
        "text": "x",
        "names": [],
        "must": '{"a": [1]}',
        "more": None,
        "items": None,
    }

    arguments = complete("everything", EVERY_KIND, as_strict)

    assert arguments["must"] == {"a": [1]}
    assert arguments["more"] is None


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


def test_arguments_may_come_as_the_text_that_a_model_writes(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add("The mill at Harrow Ford was built by Jonas Reed.", title="Mill")
        arguments = {"query": "Who built the mill?", "top_k": 1}
        text = json.dumps(arguments)
        found = [
            store.tools.call("query_documents", one).content["results"]
            for one in (arguments, text, json.dumps(text))
        ]
        assert found[0]
        assert found[1:] == found[:1] * 2
        assert store.tools.call("list_documents", "").content["total"] == 1
        for wrong in ("[1]", "7", '"x"', "{", "Who built the mill?"):
            outcome = store.tools.call("query_documents", wrong)
            assert outcome.is_error
            assert "expected an object such as" in outcome.text


def test_function_tools_of_the_responses_api_are_as_its_client_has_them() -> None:
    for tool, given_tool in zip(TOOLS, definitions(TOOLS, "openai-responses"), strict=True):
        parsed = TypeAdapter(FunctionToolParam).validate_python(given_tool)
        assert (parsed["name"], parsed["strict"]) == (tool.name, True)
        assert parsed["parameters"] == ensure_strict_json_schema(dict(given_tool["parameters"]))


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="'gemini'; expected one of openai, openai-strict, openai-r"
    ):
        definitions(TOOLS, "gemini")  # type: ignore[arg-type]


def test_formats_are_all_there_are() -> None:
    assert get_args(Format) == FORMATS
