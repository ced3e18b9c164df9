"""Pydantic AI: the tools of a store as a toolset, called in this process.

from clew.integrations.pydantic_ai import clew_toolset

agent = Agent("openai:gpt-5", toolsets=[clew_toolset(store, ["search", "fetch"])])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import clew
from clew.integrations.toolsets import tool_definitions

try:
    from pydantic_ai import FunctionToolset, Tool
    from pydantic_ai.exceptions import ToolFailed
except ModuleNotFoundError as error:
    raise clew.errors.MissingExtraError("clew.integrations.pydantic_ai", "pydantic-ai") from error

if TYPE_CHECKING:
    from clew import Clew

__all__ = ["clew_toolset"]


def clew_toolset(
    store: Clew, tools: Sequence[str] | None = None, *, id: str | None = None
) -> FunctionToolset[Any]:
    """Make a toolset of the tools of a store.

    All work in the namespace that the store was opened with, whatever a model says. What cannot be
    done is told to the model, with what to do instead.

    Args:
        store: An open store; it stays open as long as agents run.
        tools: Names of docs/tools.md; None: those of the profile `core` that change nothing.
        id: The toolset's own, where durable execution wants one.

    Returns:
        The toolset, for `Agent(toolsets=[…])`; `prefixed`, `filtered` and `approval_required` of
        Pydantic AI go on from there.

    Raises:
        InputError: There is no tool of a name.

    Example:
        >>> store = clew.open("notes.clew")
        >>> sorted(clew_toolset(store, ["search", "fetch"]).tools)
        ['fetch', 'search']
    """
    made = [
        Tool.from_schema(
            partial(_call, store, one["name"]),
            name=one["name"],
            description=one["description"],
            json_schema=one["inputSchema"],
        )
        for one in tool_definitions(store, tools)
    ]
    return FunctionToolset(made, id=id)


def _call(store: Clew, tool: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    outcome = store.tools.call(tool, arguments)
    if outcome.is_error:
        raise ToolFailed(outcome.text)
    return outcome.content
