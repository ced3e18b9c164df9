"""Requests as pydantic-ai takes them; imports it, which takes seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    CachePoint,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from clew.models.llm.bounds import bound

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from clew.ports import Message, Request
    from clew.settings import LlmSettings

_AS_JSON = "\n\nAnswer with one JSON object and nothing else, of this JSON Schema: "


class Sent(NamedTuple):
    """A request, ready to be sent."""

    client: httpx2.AsyncClient
    model: Model
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


def prepare(settings: LlmSettings, address: str, request: Request) -> Sent:
    """The request for the provider of the settings, at its address."""
    asked = request.parameters
    assert asked is not None
    client = httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(asked.seconds, connect=settings.connect_seconds),
        event_hooks={"response": [bound]},
    )
    model = _make_model(settings, address, asked.model, client)
    instructions, parameters = _output(model, request)
    common = ModelSettings(
        max_tokens=asked.max_output_tokens, request_timeout=asked.seconds, max_retries=0
    )
    # Models that think take no temperature; 0 is what is meant where nothing is said.
    if asked.temperature or settings.provider == "openai-compatible":
        common["temperature"] = asked.temperature
    stored = settings.store and bool(request.tools)
    before = _stored_before(request.messages) if stored else 0
    known = request.messages[before - 1].response_id if before else ""
    named = {call.id: call.name for message in request.messages for call in message.calls}
    return Sent(
        client=client,
        model=model,
        messages=_messages(_marked(settings, request.messages[before:]), instructions, named),
        settings={**common, **_of_provider(settings, stored, known)},  # type: ignore[typeddict-item]
        parameters=parameters,
    )


async def send(sent: Sent) -> ModelResponse:
    """The whole answer."""
    async with sent.client:
        return await model_request(
            sent.model,
            sent.messages,
            model_settings=sent.settings,
            model_request_parameters=sent.parameters,
            instrument=False,
        )


async def read_stream(sent: Sent, tell: Callable[[str], None]) -> ModelResponse:
    """The whole answer, each piece of its text told as it comes."""
    async with (
        sent.client,
        model_request_stream(
            sent.model,
            sent.messages,
            model_settings=sent.settings,
            model_request_parameters=sent.parameters,
            instrument=False,
        ) as stream,
    ):
        async for event in stream:
            if text := _text(event):
                tell(text)
        return stream.get()


def _text(event: object) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _make_model(
    settings: LlmSettings, address: str, name: str, client: httpx2.AsyncClient
) -> Model:
    key = settings.api_key.get_secret_value() or "none"
    if settings.provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(
            name, provider=AnthropicProvider(base_url=address, api_key=key, http_client=client)
        )
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if settings.provider == "openai":
        vendor = OpenAIProvider(base_url=address, api_key=key, http_client=client)
        return OpenAIResponsesModel(name, provider=vendor)
    server = OpenAICompatibleProvider(
        "openai-compatible", base_url=address, api_key=key, http_client=client
    )
    return OpenAIChatModel(name, provider=server)


def _stored_before(messages: Sequence[Message]) -> int:
    """How many of the first messages the provider keeps: up to the last reply that it knows."""
    places = [place for place, message in enumerate(messages, 1) if message.response_id]
    return max(places, default=0)


def _of_provider(settings: LlmSettings, stored: bool, known: str) -> dict[str, Any]:
    """OpenAI keeps what it is asked to; what Anthropic was sent before is cheap to send again.

    `known` is the reply that the messages follow, where it is kept.
    """
    if settings.provider == "openai":
        follows = {"openai_previous_response_id": known} if known else {}
        return {"openai_store": stored, **follows}
    if settings.provider == "anthropic":
        return {"anthropic_cache_instructions": True, "anthropic_cache_messages": True}
    return {}


def _output(model: Model, request: Request) -> tuple[str, ModelRequestParameters]:
    """The instructions, and how the reply is held to the schema: by the provider, or by asking."""
    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters),
        )
        for tool in request.tools
    ]
    if request.schema is None:
        return request.instructions, ModelRequestParameters(function_tools=tools)
    schema = request.schema.model_json_schema()
    if not model.profile.get("supports_json_schema_output"):
        asked = f"{request.instructions}{_AS_JSON}{json.dumps(schema)}"
        return asked, ModelRequestParameters(function_tools=tools)
    return request.instructions, ModelRequestParameters(
        function_tools=tools,
        output_mode="native",
        output_object=OutputObjectDefinition(
            json_schema=schema, name=request.schema.__name__, strict=True
        ),
    )


def _messages(
    messages: Sequence[Message], instructions: str, named: Mapping[str, str]
) -> list[ModelMessage]:
    """`named` are the tools called, by the ids of the calls."""
    found: list[ModelMessage] = []
    for role, group in groupby(messages, key=lambda message: message.role):
        if role == "tool":
            # The answers to calls of one reply belong together.
            parts = [_returned(message, named) for message in group]
            found.append(ModelRequest(parts=parts, instructions=instructions))
        else:
            found += [_message(message, instructions) for message in group]
    return found


def _marked(settings: LlmSettings, messages: Sequence[Message]) -> Sequence[Message]:
    """What only Anthropic has to be told; others keep prompts by themselves, or not at all."""
    if settings.provider == "anthropic":
        return messages
    return [replace(message, shared=0) for message in messages]


def _content(message: Message) -> str | list[str | CachePoint]:
    """The text, with a mark behind what is to be kept."""
    if not message.shared:
        return message.text
    return [message.text[: message.shared], CachePoint(), message.text[message.shared :]]


def _returned(message: Message, named: Mapping[str, str]) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=named.get(message.answers, ""),
        content=message.text,
        tool_call_id=message.answers,
    )


def _message(message: Message, instructions: str) -> ModelMessage:
    if message.role == "user":
        return ModelRequest(parts=[UserPromptPart(_content(message))], instructions=instructions)
    calls = [
        ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id)
        for call in message.calls
    ]
    return ModelResponse(parts=[*([TextPart(message.text)] if message.text else []), *calls])
