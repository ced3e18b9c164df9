"""OpenAI's and Anthropic's interfaces, served on this machine with their faults."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response as OpenAIResponse
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from clew.errors import ModelError, ModelUnavailableError, ReplyError
from clew.models.llm.client import LanguageModelClient
from clew.models.llm.hosted import Hosted
from clew.ports.models import Message, Reply, Request, ToolCall, ToolDefinition
from tests.unit.llm import ADA, PARAMETERS, Person, request, settings

Serve = Callable[..., LanguageModelClient]
EVENTS, JSON = "text/event-stream", "application/json"


def completion(content: str | None = "yes", finish: str = "stop", **message: object) -> str:
    """A whole answer of chat completions, held to OpenAI's own types."""
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 5,
        "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    said = {"role": "assistant", "content": content, **message}
    whole = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
        "usage": usage,
    }
    return ChatCompletion.model_validate(whole).model_dump_json()


def pieces(*texts: str, end: bool = True) -> str:
    """A streamed answer of chat completions."""

    def chunk(delta: dict[str, object], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "small"}
        return f"data: {json.dumps({**whole, 'choices': [choice]})}\n\n"

    said = "".join(chunk({"role": "assistant", "content": text}) for text in texts)
    return said + (chunk({}, "stop") + "data: [DONE]\n\n" if end else "")


def response(text: str = "yes") -> str:
    """A whole answer of the Responses API, held to OpenAI's own types."""
    content = {"type": "output_text", "text": text, "annotations": []}
    whole = {
        "id": "r1",
        "object": "response",
        "created_at": 1.0,
        "status": "completed",
        "model": "gpt-4o-mini",
        "output": [
            {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [content],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 17,
        },
    }
    return OpenAIResponse.model_validate(whole).model_dump_json()


def anthropic(text: str = "yes", stop: str = "end_turn") -> str:
    """A whole answer of Anthropic's, held to its own types."""
    whole = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 4, "output_tokens": 5, "cache_read_input_tokens": 8},
    }
    return AnthropicMessage.model_validate(whole).model_dump_json()


PROVIDERS = {
    "openai-compatible": ("/v1", "/v1/chat/completions", completion),
    "openai": ("/v1", "/v1/responses", response),
    "anthropic": ("", "/v1/messages", anthropic),
}


@pytest.fixture
def asked_of() -> list[Asked]:
    return []


@pytest.fixture
def serve(
    httpserver: HTTPServer, asked_of: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Serve]:
    """A client of a provider that answers the requests with these, one after the other."""
    monkeypatch.setenv("CLEW_LLM_API_KEY", "secret-of-ours")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-theirs")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-of-theirs")
    made: list[LanguageModelClient] = []

    def start(
        *answers: str | Response, provider: str = "openai-compatible", **given: object
    ) -> LanguageModelClient:
        left = iter(answers)

        def answer(asked: Asked) -> Response:
            asked.get_data()
            asked_of.append(asked)
            said = next(left)
            return said if isinstance(said, Response) else Response(said, mimetype=_type(said))

        base, path, _ = PROVIDERS[provider]
        httpserver.expect_request(path).respond_with_handler(answer)
        chosen = settings(provider=provider, base_url=httpserver.url_for(base), **given)
        made.append(LanguageModelClient(Hosted(chosen), chosen))
        return made[-1]

    yield start
    for one in made:
        one.close()


def _type(said: str) -> str:
    return "text/event-stream" if said.startswith("data:") else "application/json"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_of_a_schema(serve: Serve, asked_of: list[Asked], provider: str) -> None:
    make: Any = PROVIDERS[provider][2]
    asked = serve(make(ADA), provider=provider)

    reply = asked.reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (12, 8)
    assert (reply.usage.output_tokens, reply.finish) == (5, "stop")
    (sent,) = asked_of
    keys = " ".join(sent.headers.values())
    assert "secret-of-ours" in keys
    assert "secret-of-theirs" not in keys
    body = sent.get_data(as_text=True)
    assert "year" in body, "the schema is sent"
    assert "Who?" in body


def test_nothing_is_kept_at_openai(serve: Serve, asked_of: list[Asked]) -> None:
    serve(response(), provider="openai").reply(request())

    assert asked_of[0].get_json()["store"] is False


def test_anthropic_keeps_the_beginning_that_other_prompts_have_too(
    serve: Serve, asked_of: list[Asked]
) -> None:
    asked = replace(request(), messages=(Message(role="user", text="whole then part", shared=5),))

    serve(anthropic(), provider="anthropic").reply(asked)

    whole, part = asked_of[0].get_json()["messages"][-1]["content"]
    assert (whole["text"], whole["cache_control"]["type"]) == ("whole", "ephemeral")
    assert part["text"] == " then part"


def test_other_servers_are_sent_one_text(serve: Serve, asked_of: list[Asked]) -> None:
    asked = replace(request(), messages=(Message(role="user", text="whole then part", shared=5),))

    serve(completion()).reply(asked)

    assert asked_of[0].get_json()["messages"][-1]["content"] == "whole then part"


def test_anthropic_is_told_what_to_keep_for_the_next_prompt(
    serve: Serve, asked_of: list[Asked]
) -> None:
    serve(anthropic(), provider="anthropic").reply(request())

    body = asked_of[0].get_json()
    assert body["system"][-1]["cache_control"]["type"] == "ephemeral"
    assert body["messages"][-1]["content"][-1]["cache_control"]["type"] == "ephemeral"


def test_a_streamed_reply(serve: Serve) -> None:
    *told, reply = serve(pieces('{"name": "Ada', ' Morn", "year": 1820}')).stream(
        request(schema=Person)
    )

    assert "".join(map(str, told)) == '{"name": "Ada Morn", "year": 1820}'
    assert len(told) > 1
    assert isinstance(reply, Reply)
    assert reply.value == Person(name="Ada Morn", year=1820)


def test_whoever_stops_reading_ends_the_request(serve: Serve) -> None:
    asked = serve(pieces("a", "b"), pieces("c"))
    stream = asked.stream(request())
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    *_, reply = asked.stream(request())
    assert isinstance(reply, Reply)
    assert reply.text == "c"


def test_tools_and_their_results_go_out_and_calls_come_back(
    serve: Serve, asked_of: list[Asked]
) -> None:
    function = {"name": "nothing_of_that_name", "arguments": '{"x": 1}'}
    calls = [{"id": "c9", "type": "function", "function": function}]
    asked = serve(completion(None, "tool_calls", tool_calls=calls))
    before = ToolCall(id="c1", name="find", arguments='{"name": "Ada"}')
    conversation = Request(
        task="answer",
        instructions="Answer.",
        messages=(
            Message(role="user", text="Who?"),
            Message(role="assistant", text="", calls=(before,)),
            Message(role="tool", text="Ada Morn", answers="c1"),
        ),
        tools=(ToolDefinition(name="find", description="Finds.", parameters={"type": "object"}),),
    )

    reply = asked.reply(conversation)

    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.calls] == [
        ("c9", "nothing_of_that_name", {"x": 1})
    ]
    sent = asked_of[0].get_json()
    assert sent["messages"][2]["tool_calls"][0]["id"] == "c1"
    assert sent["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "Ada Morn"}
    assert sent["tools"][0]["function"]["name"] == "find"


def test_an_overloaded_provider_is_waited_for(serve: Serve) -> None:
    wait = {"Retry-After": "0"}
    busy = Response('{"error": {"message": "slow down"}}', 429, headers=wait)

    assert serve(busy, completion(), retries=1).reply(request()).text == "yes"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Response("{}", status=500), ModelUnavailableError),
        (Response('{"error": {"message": "no key"}}', status=401), ModelError),
        (Response("<html>not here</html>", mimetype="text/html"), ModelError),
        (Response("{}", mimetype="application/json"), ModelError),
        (Response("", mimetype="application/json"), ModelError),
        (completion(""), ReplyError),
        (completion("half a", "length"), ReplyError),
        (completion("", "content_filter"), ReplyError),
        (completion(None, refusal="I will not."), ReplyError),
    ],
    ids=["500", "401", "HTML", "JSON", "empty", "nothing", "cut", "filtered", "refused"],
)
def test_faults_have_names(serve: Serve, answer: str | Response, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as error:
        serve(answer).reply(request())

    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("said", [pieces("half a", end=False), "data: {\n\n", "data: []\n\n"])
def test_a_stream_that_is_broken_is_an_error(serve: Serve, said: str) -> None:
    with pytest.raises(ModelError):
        list(serve(said).stream(request(schema=Person)))


def test_a_provider_that_hangs_is_given_up(serve: Serve) -> None:
    def drip() -> Iterator[str]:
        yield " "
        time.sleep(4)
        yield completion()

    asked = serve(Response(drip(), mimetype="application/json"))
    hurried = replace(request(), parameters=replace(PARAMETERS, seconds=1))
    began = time.monotonic()

    with pytest.raises(ModelUnavailableError, match="did not answer within 1 s"):
        asked.reply(hurried)
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("streamed", [True, False])
def test_one_that_drips_for_ever_is_given_up(serve: Serve, provider: str, streamed: bool) -> None:
    def drip() -> Iterator[str]:
        while True:
            yield ": wait\n\n" if streamed else " "
            time.sleep(0.05)

    asked = serve(Response(drip(), mimetype=EVENTS if streamed else JSON), provider=provider)
    hurried = replace(request(), parameters=replace(PARAMETERS, seconds=1))

    with pytest.raises(ModelUnavailableError, match="did not answer within 1 s"):
        list(asked.stream(hurried) if streamed else [asked.reply(hurried)])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_one_that_sends_without_an_end_is_cut_off(
    serve: Serve, provider: str, streamed: bool, packed: bool
) -> None:
    def pour() -> Iterator[bytes]:
        press = zlib.compressobj(wbits=31)
        while True:
            part = (b": wait" if streamed else b"     ") * 20_000 + b"\n\n"
            yield press.compress(part) + press.flush(zlib.Z_SYNC_FLUSH) if packed else part

    said = Response(pour(), mimetype=EVENTS if streamed else JSON)
    if packed:
        said.headers["Content-Encoding"] = "gzip"
    asked = serve(said, provider=provider)

    with pytest.raises(ReplyError) as error:
        list(asked.stream(request()) if streamed else [asked.reply(request())])
    assert "answers packed" in str(error.value) if packed else "more than" in str(error.value)


def test_one_that_is_away_is_told_within_a_second() -> None:
    asked = settings(provider="openai-compatible", base_url="http://127.0.0.1:9/v1", retries=5)
    began = time.monotonic()

    with pytest.raises(ModelUnavailableError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        LanguageModelClient(Hosted(asked), asked).reply(request())
    assert time.monotonic() - began < 1


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = settings(provider="openai")

    with pytest.raises(ModelError, match="set OPENAI_API_KEY in the environment"):
        LanguageModelClient(Hosted(asked), asked).reply(request())
