"""Parameters as JSON Schema, in the small part of it that every client reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.tools.spec import Parameter, Schema

_TYPES = {
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


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Schema of a tool's arguments: flat, without `anyOf` and `$ref`; null means the default.

    That nothing else may be given, `clew.tools.validate` says to whoever tries; here it would cost
    every model its room.
    """
    required = [p.name for p in parameters if p.required]
    return {
        "type": "object",
        "properties": {p.name: parameter_schema(p) for p in parameters},
        **({"required": required} if required else {}),
    }


def parameter_schema(parameter: Parameter) -> Schema:
    """Schema of one parameter."""
    kind = _TYPES[parameter.kind]
    schema: dict[str, Any] = {"type": kind if parameter.required else [kind, "null"]}
    schema["description"] = parameter.description
    of_items = parameter.kind == "strings"
    if parameter.choices and not of_items:
        # A null that the type allows must be among the values, too.
        schema["enum"] = [*parameter.choices, *([] if parameter.required else [None])]
    if parameter.minimum is not None and not parameter.clamped:
        schema["minimum"] = parameter.minimum
    if parameter.maximum is not None and not parameter.clamped:
        schema["maximum"] = parameter.maximum
    if of_items:
        of_choices = {"enum": list(parameter.choices)} if parameter.choices else {}
        schema["items"] = {"type": "string", **of_choices}
    if parameter.kind == "integers":
        schema["items"] = {"type": "integer"}
    if parameter.kind == "objects":
        schema["items"] = input_schema(parameter.fields)
    # An empty default says no more than null does.
    if parameter.default not in (None, "", (), []):
        schema["default"] = parameter.default
    return schema


def shape(**types: str) -> Schema:
    """Schema of a result: the JSON types of the main things in it.

    No more than that: the list of all tools is to be small, since it goes into a model's context.
    """
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties}
