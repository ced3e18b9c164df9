"""What Ollama is sent and what it sends, in the form of its own interface."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clew.ports.language_model import ToolCall

if TYPE_CHECKING:
    from clew.ports.language_model import FinishReason, Message, Request, ToolDefinition


def messages_of(request: Request) -> list[dict[str, Any]]:
    """What is said so far, Clew's own words first."""
    return [
        {"role": "system", "content": request.instructions},
        *map(_message, request.messages),
    ]


def object_of(event: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What an event has of that name; nothing where that is no object."""
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def count_of(event: Mapping[str, Any], name: str) -> int:
    """A number of tokens; 0 where the event has none."""
    value = event.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def calls_of(found: object, before: int) -> Iterator[ToolCall]:
    """The calls of a message, numbered on from `before`: Ollama gives them no ids."""
    for number, call in enumerate(found if isinstance(found, list) else (), start=before):
        function = object_of(call, "function") if isinstance(call, dict) else {}
        arguments = json.dumps(function.get("arguments") or {})
        yield ToolCall(id=f"call-{number}", name=str(function.get("name")), arguments=arguments)


def finish_of(event: Mapping[str, Any], calls: Sequence[ToolCall]) -> FinishReason:
    """Why a reply with these calls ended."""
    if event.get("done_reason") == "length":
        return "length"
    return "tool_calls" if calls else "stop"


def _message(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role}
    if message.text:
        sent["content"] = message.text
    if message.calls:
        sent["tool_calls"] = [
            {"function": {"name": call.name, "arguments": _arguments(call)}}
            for call in message.calls
        ]
    return sent


def _arguments(call: ToolCall) -> object:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return {}


def tool_of(tool: ToolDefinition) -> dict[str, Any]:
    """A tool as the model is told of it."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}
