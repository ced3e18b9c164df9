"""The tools of a store for agents of any framework: chosen by the program, of one namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import clew

if TYPE_CHECKING:
    from clew import Clew

__all__ = ["tool_definitions"]


def tool_definitions(
    store: Clew, tools: Sequence[str] | None, format: Literal["mcp", "openai-responses"] = "mcp"
) -> list[dict[str, Any]]:
    """Choose tools of a store, as a framework takes them.

    No tool lets a model name a namespace: all work in the one that the store was opened with.

    Args:
        store: An open store.
        tools: Names of docs/tools.md; None: those of the profile `core` that change nothing.
        format: `mcp`, or the strict form of OpenAI's Responses API.

    Returns:
        The definitions, in the order of the names.

    Raises:
        InputError: There is no tool of a name.

    Example:
        >>> store = clew.open("notes.clew")
        >>> [one["name"] for one in tool_definitions(store, ["search", "fetch"])]
        ['search', 'fetch']
    """
    clew.errors.check_several(tools=tools)
    box = store.tools
    if tools is None:
        core = box.definitions("mcp")
        tools = [one["name"] for one in core if one["annotations"]["readOnlyHint"]]
    known = {one["name"]: one for one in box.definitions(format, profile="full")}
    unknown = [name for name in tools if name not in known]
    if unknown:
        raise clew.errors.InputError(f"there are no tools {unknown}; expected of {sorted(known)}")
    chosen = [known[name] for name in tools]
    for schema in (one.get("inputSchema") or one["parameters"] for one in chosen):
        schema["properties"].pop("namespaces", None)
        schema["required"] = [name for name in schema.get("required", ()) if name != "namespaces"]
    return chosen
