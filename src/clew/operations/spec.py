"""What a tool is: its name, parameters, result and rights, and the function that does it."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeGuard,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from clew.errors import InputError
from clew.filters import MAX_CHARACTERS
from clew.types import Right, ToolProfile

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.ports import ModelClient


Kind = Literal[
    "string", "name", "integer", "number", "boolean", "strings", "integers", "object", "objects"
]
"""A `name` is text or the number of an id; `strings`, `integers` and `objects` are arrays; `object`
is a free-form map, for contracts that have one."""
CORE: frozenset[ToolProfile] = frozenset({"core", "full"})
FULL: frozenset[ToolProfile] = frozenset({"full"})
MEMORY: frozenset[ToolProfile] = frozenset({"memory", "full"})
PEOPLE: frozenset[ToolProfile] = frozenset()
"""Of no profile: an operation for commands, pages and programs, which no assistant is offered."""
Arguments: TypeAlias = Mapping[str, Any]
Result: TypeAlias = dict[str, Any]
"""Structured content; the dispatcher adds `success`."""
Schema: TypeAlias = dict[str, Any]
"""JSON Schema, flat: no `anyOf`, no `$ref`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter of a tool, or one field of an object in an array of objects."""

    name: str = ""
    kind: Kind = "string"
    description: str = ""
    """Says ranges and defaults again, since some clients drop them."""
    required: bool = False
    default: object = None
    """What is taken where it is missing or null; a required one has none."""
    minimum: float | None = None
    maximum: float | None = None
    clamped: bool = False
    """Whether a number out of range is moved into it; else it is an error."""
    choices: tuple[str, ...] = ()
    fields: tuple[Parameter, ...] = ()
    """Of `objects`."""
    max_items: int = 1000
    """Of arrays."""
    max_length: int = 0
    """Characters of a string, or of each in an array; 0: 100,000."""
    lone: bool = False
    """Whether one of `strings` may come without its array, and an object for its JSON."""
    blank: bool = True
    """Whether a string may be without a visible character."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls, and what they may do."""

    name: str = "local"
    namespaces: tuple[str, ...] = ()
    """Those that the caller may name; the first is the default. Empty: the engine's alone."""
    scopes: frozenset[Right] = frozenset({"read", "write", "admin"})
    tools: frozenset[str] | None = None
    """Names of the tools allowed; None: all that the scopes allow."""
    whole: bool = False
    """Whether they are shown all there is, as a person is: no tokens are counted."""
    model: ModelClient | None = None
    """Asked in place of the engine's own: what a conversation takes is counted together."""


class Progress:
    """Told how far a call is; a server sends it on, by hand nothing happens."""

    def report(self, done: float, total: float | None, message: str) -> None:
        """`done` of `total` (None: unknown)."""

    def tell(self, piece: str) -> None:
        """A piece of an answer in words, as soon as it may be shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of a tool: the engine it works on, and the caller."""

    engine: Engine
    caller: Caller
    services: Mapping[str, Any] = field(default_factory=dict)
    """What some tools need beside the engine, by name: `jobs` (a `JobRunner`)."""
    progress: Progress = field(default_factory=Progress)

    def count_tokens(self, text: str) -> int:
        """Tokens that a text takes of the budget of a result."""
        return 0 if self.caller.whole else self.engine.state.embedder.count_tokens(text)


Run: TypeAlias = Callable[[Call, Arguments], Result]


@dataclass(frozen=True, kw_only=True, slots=True)
class Undo:
    """The way back from what a tool did, which the audit log keeps."""

    take_back: Callable[[Call, Arguments], None]
    """Given what `before` told with the arguments and the result of the call; raises `ClewError`
    where it cannot be any more."""
    before: Run | None = None
    """What has to be known of before, as JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool, as every client sees it."""

    name: str
    """At most 40 characters of `[a-z0-9_]`."""
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    result: Schema
    """JSON Schema of the result, `success` not among its properties."""
    run: Run
    scope: Right
    profiles: frozenset[ToolProfile]
    changes: bool = True
    """Whether it may change something; a tool of the scope `read` never does."""
    destructive: bool = False
    """Deletes or replaces what was there."""
    frees: bool = False
    """Takes nothing in, so that it works in a namespace that is full, as what is destructive."""
    idempotent: bool = False
    """Calling it again with the same arguments changes nothing more; of one that reads, always."""
    open_world: bool = False
    """Reaches beyond the store: files, addresses."""
    confirm: bool = False
    """Asks before it acts: by elicitation where the client can, else by `confirm=true`."""
    undo: Undo | None = None
    """The way back from what it changed; None where there is none."""
    http: str = ""
    """Where the HTTP API has it, such as `POST /documents 202`: method, path with parameters in
    braces, status where it is not 200; empty for nowhere."""

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.scope == "read" or not self.changes


# An operation is one annotated function; what clients see of it is read from its signature.
#
# That takes 8 ms of each start for all tools. Pydantic models in its place were measured at 45 ms,
# and the errors, clamping and flat schemas would have to be written anyway.


Limits = Parameter
"""Fields of a parameter that an annotation says beside its type and its description."""


def between(low: float, high: float, *, clamped: bool = False) -> Parameter:
    """Numbers from `low` to `high`; the description says them again."""
    return Limits(minimum=low, maximum=high, clamped=clamped)


def shape(**types: str) -> Schema:
    """Schema of a result: the JSON types of the main things in it.

    No more than that: the list of all tools is to be small, since it goes into a model's context.
    """
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties}


def operation(
    title: str,
    result: Schema,
    *,
    rights: Right = "read",
    profiles: frozenset[ToolProfile] = FULL,
    changes: bool = True,
    destructive: bool = False,
    frees: bool = False,
    idempotent: bool = False,
    open_world: bool = False,
    confirm: bool = False,
    undo: Undo | None = None,
    http: str = "",
) -> Callable[[Callable[..., Result]], Tool]:
    """Make a tool of a function: its name, docstring and parameters are what clients see.

    The function takes the `Call`, then its parameters: `limit: Annotated[int, "Entities",
    between(1, 50)] = 10`. Without a default, a parameter is required; None stands for what the
    description says. See `Limits` for what else can be said of one, `Tool` for the rest.
    """

    def declare(function: Callable[..., Result]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        _, *declared = inspect.signature(function).parameters.values()
        return Tool(
            name=function.__name__,
            title=title,
            description=" ".join((function.__doc__ or "").split()),
            parameters=tuple(
                _parameter(one.name, hints.get(one.name), one.default) for one in declared
            ),
            result=result,
            run=lambda call, arguments: function(call, **arguments),
            scope=rights,
            profiles=profiles,
            changes=changes,
            destructive=destructive,
            frees=frees,
            idempotent=idempotent,
            open_world=open_world,
            confirm=confirm,
            undo=undo,
            http=http,
        )

    return declare


_REQUIRED = inspect.Parameter.empty
_KINDS: Mapping[object, Kind] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    Literal: "string",
    Mapping: "object",
}
_ARRAYS: Mapping[object, Kind] = {str: "strings", int: "integers", Literal: "strings"}
_TEXT_LENGTH, _MOST_CHARACTERS = 1000, 100_000
"""Characters of a string that an operation declares, and of any other, where nothing is said."""


def _parameter(name: str, hint: object, given: object = _REQUIRED) -> Parameter:
    """What `Annotated[type, description, limits]` says of a parameter, or of a field.

    Raises `TypeError` for what no parameter can be: the author of the operation reads it.
    """
    declared, *said = get_args(hint) or (hint,)
    kinds = [declared]
    if isinstance(declared, UnionType):
        kinds = [one for one in get_args(declared) if one is not NoneType]
    item = get_args(kinds[0])[0] if get_origin(kinds[0]) is Sequence else kinds[0]
    known: Mapping[object, Kind] = _KINDS if item is kinds[0] else _ARRAYS
    kind = known.get(get_origin(item) or item)
    fields: tuple[Parameter, ...] = ()
    if is_typeddict(item):
        kind = "objects"
        told = get_type_hints(item, include_extras=True).items()
        fields = tuple(_parameter(*field) for field in told)
    if kinds == [str, int]:
        kind = "name"
    if kind is None or get_origin(hint) is not Annotated:
        raise TypeError(
            f"{name} is declared as {hint!r}; expected Annotated[type, description, limits], the"
            " type one of str, int, float, bool, Literal, Mapping, or a Sequence of str, int,"
            " Literal or a TypedDict"
        )
    limits = next((one for one in said if isinstance(one, Limits)), Limits())
    default = limits.default if given is _REQUIRED else given
    # What it is for, its range unless that is said, and its default.
    what = next((one for one in said if isinstance(one, str)), "")
    if limits.maximum is not None and not what.endswith("."):
        what = f"{what}{', ' if what else ''}{limits.minimum} to {limits.maximum}."
    if default not in (None, "", ()):
        shown = str(default).lower() if isinstance(default, bool) else default
        what = f"{what} Default {shown}."
    return replace(
        limits,
        name=name,
        kind=kind,
        description=what,
        required=given is _REQUIRED and default is None,
        default=default,
        fields=fields,
        choices=get_args(item) if get_origin(item) is Literal else limits.choices,
        max_length=limits.max_length or (_TEXT_LENGTH if kind in ("string", "name") else 0),
    )


# Parameters that several operations have.


LEAST_TOKENS = 500
"""The least budget: whatever a result says beside its items fits into it."""
MaxTokens = Annotated[int, between(LEAST_TOKENS, 100_000)]
Cursor = Annotated[str | None, "next_cursor of the page before.", Limits(max_length=20)]
Question = Annotated[str, "What is asked.", Limits(blank=False)]
Confirm = Annotated[bool, "true once the user agreed."]
Since = Annotated[str | None, "Of this time or later: 2019-05, last week."]
Until = Annotated[str | None, "Of this time or earlier; included."]
Where = Annotated[
    Sequence[str],
    "Such as year>=2020 and not tags in (a, b).",
    Limits(max_items=20, max_length=MAX_CHARACTERS, lone=True),
]
"""Filters on metadata, as text or as the JSON of data; all must be met."""


# Parameters as JSON Schema, in the small part of it that every client reads.


_ITEMS = {"strings": "string", "integers": "integer", "objects": "object"}
"""Kinds of arrays, and what is in them."""


def input_schema(parameters: Sequence[Parameter]) -> Schema:
    """Schema of a tool's arguments: flat, without `anyOf` and `$ref`; null means the default.

    That nothing else may be given, `clew.operations.spec` says to whoever tries; here it would cost
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
    item = _ITEMS.get(parameter.kind)
    kind = "array" if item else "string" if parameter.kind == "name" else parameter.kind
    schema: dict[str, Any] = {"type": kind if parameter.required else [kind, "null"]}
    schema["description"] = parameter.description
    if parameter.choices and not item:
        # A null that the type allows must be among the values, too.
        schema["enum"] = [*parameter.choices, *([] if parameter.required else [None])]
    for name in ("minimum", "maximum"):
        if (limit := getattr(parameter, name)) is not None and not parameter.clamped:
            schema[name] = limit
    if item:
        allowed = {"enum": list(parameter.choices)} if parameter.choices else {}
        schema["items"] = {"type": item, **allowed}
    if parameter.fields:
        schema["items"] = input_schema(parameter.fields)
    # An empty default says no more than null does.
    if parameter.default not in (None, "", (), []):
        schema["default"] = parameter.default
    return schema


# Arguments as a model gives them, checked and completed; errors say how to go on.


_HALF = re.compile(r"[\ud800-\udfff]")
"""JSON's escapes can say halves of pairs, UTF-8 cannot."""
_LARGEST = sys.float_info.max
_LARGEST_WHOLE = 2**63 - 1  # that stores and arrays can hold


def load_json(text: str | bytes) -> Any:  # noqa: ANN401 - whatever it says
    """What JSON of strangers says. Raises `ValueError`, in words for them, where it cannot be."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise ValueError("no UTF-8, nested too deeply, or a number too long") from error


def as_object(tool: str, given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Arguments as they are, or what their JSON text says; some models write the text of a text.

    Raises `InputError` for text that says no object.
    """
    if not isinstance(given, str):
        return given or {}
    found = _unquoted(_unquoted(given or "{}"))
    if not isinstance(found, dict):
        raise _wrong(f"{tool}: the arguments", given, 'an object such as {"query": "…"}')
    return found


def complete(tool: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> Arguments:
    """All arguments by name, defaults filled in.

    Raises `InputError` that says what was given, what is allowed and what to do next.
    """
    known = {parameter.name: parameter for parameter in parameters}
    unknown = sorted(set(given) - set(known))
    if unknown:
        expected = ", ".join(known) or "none"
        raise InputError(
            f"{tool} has no parameter {unknown[0]!r}; its parameters are {expected}. Call it again"
            " with those alone"
        )
    return {name: _value(tool, parameter, given) for name, parameter in known.items()}


def _value(tool: str, parameter: Parameter, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    value = given.get(parameter.name)
    if value is None:
        if parameter.required:
            raise InputError(
                f"{tool} needs {parameter.name!r}: {parameter.description} Call it again with it"
            )
        return parameter.default
    where = f"{tool}: {parameter.name}"
    items = value if parameter.kind in ("string", "name") else _unquoted(value)
    item = _ITEMS.get(parameter.kind)
    if item is None:
        return _READERS[parameter.kind](where, parameter, items)
    if parameter.lone and not isinstance(items, list):
        items = [items]
    if not isinstance(items, list):
        raise _wrong(where, items, "an array")
    if len(items) > parameter.max_items:
        raise InputError(
            f"{where} has {len(items)} items; at most {parameter.max_items} are taken. Give less at"
            " a time"
        )
    if parameter.lone:
        items = [
            json.dumps(_object(where, parameter, one)) if isinstance(one, dict) else one
            for one in items
        ]
    return [_READERS[item](f"{where}[{i}]", parameter, one) for i, one in enumerate(items)]


def _unquoted(value: object) -> object:
    """What JSON text says: small models, and formats without free-form objects, send values so."""
    if isinstance(value, str):
        with suppress(ValueError):
            return load_json(value)
    return value


def _string(where: str, parameter: Parameter, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(where, value, "a string")
    most = parameter.max_length or _MOST_CHARACTERS
    if len(value) > most:
        raise InputError(
            f"{where} has {len(value)} characters; at most {most} are read. Give less at a time"
        )
    if _HALF.search(value):
        raise _wrong(where, value, "text without halves of surrogate pairs")
    if not (parameter.blank or value.strip()):
        raise _wrong(where, value, "a text with a visible character")
    if parameter.choices and value not in parameter.choices:
        raise _wrong(where, value, f"one of {', '.join(parameter.choices)}")
    return value


def _name(where: str, parameter: Parameter, value: object) -> str:
    if isinstance(value, str):
        return _string(where, parameter, value)
    return str(_integer(where, parameter, value))


def _number(where: str, parameter: Parameter, value: object) -> float:
    if not _is_number(value):
        raise _wrong(where, value, "a number")
    return _within(where, parameter, value)


def _integer(where: str, parameter: Parameter, value: object) -> int:
    # Some models write 2.0 where 2 is meant, and ids of lists as text.
    value = _unquoted(value)
    if not _is_number(value) or value != value // 1:
        raise _wrong(where, value, "a whole number")
    if abs(value) > _LARGEST_WHOLE:
        raise _wrong(where, value, f"a whole number of at most {_LARGEST_WHOLE}")
    return int(_within(where, parameter, value))


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) <= _LARGEST  # a whole number may be too large to become a float


def _within(where: str, parameter: Parameter, value: float) -> float:
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    if parameter.clamped:
        return min(max(value, low), high)
    if not low <= value <= high:
        bounds = f"{low:g} to {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise _wrong(where, value, bounds)
    return value


def _boolean(where: str, _: Parameter, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(where, value, "true or false")
    return value


def _object(where: str, parameter: Parameter, value: object) -> Arguments:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise _wrong(where, value, "an object")
    if parameter.fields:
        return complete(where, parameter.fields, value)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        expected = "an object without halves of surrogate pairs and numbers of thousands of digits"
        raise _wrong(where, value, expected) from error
    return value


_READERS = {
    "string": _string,
    "name": _name,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "object": _object,
}


def _wrong(where: str, value: object, expected: str) -> InputError:
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number of thousands of digits
        shown = f"{type(value).__name__} with a number of thousands of digits"
    shown = shown if len(shown) <= 80 else f"{shown[:77]}…"
    return InputError(f"{where} cannot be {shown}; expected {expected}. Call it again with that")


# Tool definitions as the clients of several vendors take them. All hold the same: names,
# descriptions, types, choices, what is required. What a format has no place for (ranges and
# defaults in some) the descriptions say again.


Format = Literal["openai", "openai-strict", "openai-responses", "ollama", "anthropic", "mcp"]
FORMATS: tuple[Format, ...] = get_args(Format)

_OLLAMA_KEYS = ("type", "description", "enum", "items")
"""What Ollama keeps of a property."""


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
    return [_definition(tool, format) for tool in tools]


def _definition(tool: Tool, format: Format) -> dict[str, Any]:
    if format == "mcp":
        return mcp_definition(tool)
    about = {"name": tool.name, "description": tool.description}
    schema = input_schema(tool.parameters)
    if format == "anthropic":
        return {**about, "input_schema": schema}
    if format == "ollama":
        for name, told in schema["properties"].items():
            schema["properties"][name] = {k: v for k, v in told.items() if k in _OLLAMA_KEYS}
    function: dict[str, Any] = {**about, "parameters": schema}
    if format in ("openai-strict", "openai-responses"):
        function = {**about, "parameters": strict_schema(tool.parameters), "strict": True}
    if format == "openai-responses":
        return {"type": "function", **function}
    return {"type": "function", "function": function}


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

    Strict mode has no free-form objects: they are JSON text there, which `complete` reads back.
    """
    return _strict(input_schema(tuple(parameters)))


def _strict(schema: Schema) -> Schema:
    properties = {}
    for name, told in schema["properties"].items():
        kept = {key: value for key, value in told.items() if key != "default"}
        if "object" in told["type"]:
            optional = isinstance(told["type"], list)
            kept["type"] = ["string", "null"] if optional else "string"
            kept["description"] += " As JSON text."
        items = told.get("items")
        if items is not None and items["type"] == "object":
            kept["items"] = _strict(items)
        properties[name] = kept
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
