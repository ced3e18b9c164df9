"""Parameters as JSON Schema, in the small part of it that every client reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.tools.spec import Parameter, Schema

_TYPES = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "strings": "array",
    "integers": "array",
    "objects": "array",
    "object": "object",
}


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Schema of a tool's arguments: flat, without `anyOf` and `$ref`; null means the default."""
    return {
        "type": "object",
        "properties": {p.name: parameter_schema(p) for p in parameters},
        "required": [p.name for p in parameters if p.required],
        "additionalProperties": False,
    }


def parameter_schema(parameter: Parameter) -> Schema:
    """Schema of one parameter."""
    kind = _TYPES[parameter.kind]
    schema: dict[str, Any] = {"type": kind if parameter.required else [kind, "null"]}
    schema["description"] = parameter.description
    if parameter.choices:
        # A null that the type allows must be among the values, too.
        schema["enum"] = [*parameter.choices, *([] if parameter.required else [None])]
    if parameter.minimum is not None and not parameter.clamped:
        schema["minimum"] = parameter.minimum
    if parameter.maximum is not None and not parameter.clamped:
        schema["maximum"] = parameter.maximum
    if parameter.kind == "strings":
        schema["items"] = {"type": "string"}
    if parameter.kind == "integers":
        schema["items"] = {"type": "integer"}
    if parameter.kind == "objects":
        schema["items"] = input_schema(parameter.fields)
    if not parameter.required:
        schema["default"] = parameter.default
    return schema
