"""Requests as pydantic-ai takes them; imports it, which takes seconds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import httpx2
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
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

from clew.errors import ReplyError
from clew.plugins.llm.ollama import MOST_BYTES, too_long
from clew.ports import Message, Request
from clew.settings import LlmSettings

_OF_PROVIDER = {
    "openai": {"openai_store": False},
    "anthropic": {"anthropic_cache_instructions": True, "anthropic_cache_messages": True},
}
"""OpenAI is to keep nothing; what Anthropic was sent before is cheap to send again."""
_AS_JSON = "\n\nAnswer with one JSON object and nothing else, of this JSON Schema: "


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a response, as long as they keep to the size of a reply."""

    def __init__(self, response: httpx2.Response) -> None:
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream, self._name = stream, response.url.netloc.decode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MOST_BYTES:
                raise too_long(self._name)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound(response: httpx2.Response) -> None:
    """Bound what is read of a response; a hook of clients that ask for nothing packed."""
    if response.headers.get("content-encoding", "identity") != "identity":
        # A few bytes could unpack to any number.
        name = response.url.netloc.decode()
        raise ReplyError(f"{name} answers packed, which was not asked for", "malformed")
    response.stream = _Bounded(response)


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
    named = {call.id: call.name for message in request.messages for call in message.calls}
    return Sent(
        client=client,
        model=model,
        messages=_messages(settings, request.messages, instructions, named),
        settings={**common, **_OF_PROVIDER.get(settings.provider, {})},  # type: ignore[typeddict-item]
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
            match event:
                case (
                    PartStartEvent(part=TextPart(content=str(text)))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=str(text)))
                ) if text:
                    tell(text)
        return stream.get()


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
    settings: LlmSettings, messages: Sequence[Message], instructions: str, named: Mapping[str, str]
) -> list[ModelMessage]:
    """`named` are the tools called, by the ids of the calls."""
    found: list[ModelMessage] = []
    for role, group in groupby(messages, key=lambda message: message.role):
        if role == "tool":
            # The answers to calls of one reply belong together.
            parts = [
                ToolReturnPart(
                    tool_name=named.get(message.answers, ""),
                    content=message.text,
                    tool_call_id=message.answers,
                )
                for message in group
            ]
            found.append(ModelRequest(parts=parts, instructions=instructions))
            continue
        for message in group:
            text, calls = message.text, message.calls
            if role == "user":
                content: str | list[str | CachePoint] = text
                # Others keep prompts by themselves, or not at all.
                if settings.provider == "anthropic" and message.shared:
                    content = [text[: message.shared], CachePoint(), text[message.shared :]]
                said = [UserPromptPart(content)]
                found.append(ModelRequest(parts=said, instructions=instructions))
            else:
                called = [
                    ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.id)
                    for call in calls
                ]
                found.append(ModelResponse(parts=[*([TextPart(text)] if text else []), *called]))
    return found
