"""Tool definitions as the clients of several vendors take them.

All hold the same: names, descriptions, types, choices, what is required. What a format has no place
for (ranges and defaults in some) the descriptions say again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from clew.errors import InputError
from clew.tools.schema import input_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.tools.spec import Parameter, Schema, Tool

Format = Literal["openai", "openai-strict", "openai-responses", "ollama", "anthropic", "mcp"]
FORMATS: tuple[Format, ...] = get_args(Format)

_OLLAMA_KEYS = ("type", "description", "enum", "items")
"""What Ollama keeps of a property."""
_JSON_NOTE = " As JSON text."


def definitions(tools: Iterable[Tool], format: Format) -> list[dict[str, Any]]:
    """The tools in one of `FORMATS`, in their order.

    - `openai`: function tools of chat completions, which other servers of that API take, too;
    - `openai-strict`: the same in strict mode, see `strict_schema`;
    - `openai-responses`: strict function tools of the Responses API, which are flat;
    - `ollama`: the same with what Ollama keeps of a schema;
    - `anthropic`: `name`, `description`, `input_schema`;
    - `mcp`: as `tools/list` of the Model Context Protocol gives them.

    Raises `InputError` for another format.
    """
    if format not in FORMATS:
        raise InputError(f"format cannot be {format!r}; expected one of {', '.join(FORMATS)}")
    write = {
        "openai": _openai,
        "openai-strict": _openai_strict,
        "openai-responses": _openai_responses,
        "ollama": _ollama,
        "anthropic": _anthropic,
        "mcp": mcp_definition,
    }[format]
    return [write(tool) for tool in tools]


def _openai(tool: Tool) -> dict[str, Any]:
    return _function(tool, input_schema(tool.parameters))


def _openai_strict(tool: Tool) -> dict[str, Any]:
    definition = _function(tool, strict_schema(tool.parameters))
    definition["function"]["strict"] = True
    return definition


def _openai_responses(tool: Tool) -> dict[str, Any]:
    return {"type": "function", **_openai_strict(tool)["function"]}


def _ollama(tool: Tool) -> dict[str, Any]:
    schema = input_schema(tool.parameters)
    properties = {
        name: {key: value for key, value in told.items() if key in _OLLAMA_KEYS}
        for name, told in schema["properties"].items()
    }
    return _function(tool, {**schema, "properties": properties})


def _function(tool: Tool, parameters: Schema) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    }


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": input_schema(tool.parameters),
    }


def mcp_definition(tool: Tool) -> dict[str, Any]:
    """The tool as `tools/list` gives it, with what it answers and what it may change."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema(tool.parameters),
        "outputSchema": tool.result,
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent or tool.read_only,
            "openWorldHint": tool.open_world,
        },
    }


def strict_schema(parameters: Iterable[Parameter]) -> Schema:
    """Schema for strict mode: everything is required, and null stands for the default.

    Strict mode has no free-form objects: they are JSON text there, which `validate.complete` reads
    back.
    """
    return _strict(input_schema(tuple(parameters)))


def _strict(schema: Schema) -> Schema:
    properties = {name: _strict_property(told) for name, told in schema["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _strict_property(told: Schema) -> Schema:
    kept = {key: value for key, value in told.items() if key != "default"}
    if "object" in told["type"]:
        optional = isinstance(told["type"], list)
        kept["type"] = ["string", "null"] if optional else "string"
        kept["description"] += _JSON_NOTE
    items = told.get("items")
    if items is not None and items["type"] == "object":
        kept["items"] = _strict(items)
    return kept
