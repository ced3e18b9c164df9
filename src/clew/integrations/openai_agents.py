"""OpenAI Agents: the tools of a store as function tools, called in this process.

from clew.integrations.openai_agents import clew_tools

agent = Agent(name="Librarian", tools=clew_tools(store, ["search", "fetch"]))
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import clew
from clew.integrations.toolsets import tool_definitions

try:
    from agents import FunctionTool
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    name = "clew.integrations.openai_agents"
    raise clew.errors.MissingExtraError(name, "openai-agents") from error

if TYPE_CHECKING:
    from clew import Clew

__all__ = ["clew_tools"]


def clew_tools(store: Clew, tools: Sequence[str] | None = None) -> list[FunctionTool]:
    """Make function tools of the tools of a store, in strict mode.

    All work in the namespace that the store was opened with, whatever a model says. What cannot be
    done is told to the model, with what to do instead.

    Args:
        store: An open store; it stays open as long as agents run.
        tools: Names of docs/tools.md; None: those of the profile `core` that change nothing.

    Returns:
        The tools, for `Agent(tools=…)`. Set `needs_approval` on one to be asked before it runs.

    Raises:
        InputError: There is no tool of a name.

    Example:
        >>> store = clew.open("notes.clew")
        >>> [tool.name for tool in clew_tools(store, ["search", "fetch"])]
        ['search', 'fetch']
    """
    return [
        FunctionTool(
            name=one["name"],
            description=one["description"],
            params_json_schema=one["parameters"],
            on_invoke_tool=_calls(store, one["name"]),
        )
        for one in tool_definitions(store, tools, "openai-responses")
    ]


def _calls(store: Clew, tool: str) -> Callable[[ToolContext[Any], str], Awaitable[str]]:
    async def call(context: ToolContext[Any], arguments: str) -> str:
        return (await asyncio.to_thread(store.tools.call, tool, arguments)).text

    return call
