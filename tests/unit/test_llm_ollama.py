"""Ollama's own interface, served on this machine; its official client is the judge of requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import ollama
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from clew.errors import ModelError, ModelUnavailableError, ReplyError
from clew.models.llm.client import LanguageModelClient
from clew.models.llm.ollama import Ollama
from clew.ports.models import Message, Reply, Request, ToolCall, ToolDefinition
from tests.unit.llm import ADA, PARAMETERS, Person, request, settings

Serve = Callable[..., LanguageModelClient]


def event(
    content: str = "", message: dict[str, object] | None = None, **given: object
) -> dict[str, object]:
    said = {"role": "assistant", "content": content, **(message or {})}
    return {"model": "small", "created_at": "2026-01-02T03:04:05Z", "message": said, **given}


def end(reason: str = "stop", read: int = 12) -> dict[str, object]:
    return event(done=True, done_reason=reason, prompt_eval_count=read, eval_count=5)


def lines(*events: dict[str, object]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in events)


@pytest.fixture
def bodies() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def serve(httpserver: HTTPServer, bodies: list[dict[str, Any]]) -> Iterator[Serve]:
    """A client of a server that answers the requests with these, one after the other."""
    made: list[LanguageModelClient] = []

    def start(*answers: str | Response, length: int = 8192, **given: object) -> LanguageModelClient:
        left = iter(answers)

        def answer(asked: Asked) -> Response:
            bodies.append(asked.get_json())
            said = next(left)
            return said if isinstance(said, Response) else Response(said)

        info = {"model_info": {"general.architecture": "x", "x.context_length": length}}
        httpserver.expect_request("/api/show").respond_with_json(info)
        httpserver.expect_request("/api/chat").respond_with_handler(answer)
        chosen = settings(base_url=httpserver.url_for(""), **given)
        made.append(LanguageModelClient(Ollama(chosen), chosen))
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_a_reply_in_pieces(serve: Serve, bodies: list[dict[str, Any]]) -> None:
    asked = serve(lines(event('{"name": "Ada'), event(' Morn", "year": 1820}'), end()))

    *pieces, reply = asked.stream(request(schema=Person))

    assert "".join(map(str, pieces)) == '{"name": "Ada Morn", "year": 1820}'
    assert len(pieces) > 1
    assert isinstance(reply, Reply)
    assert reply.value == Person(name="Ada Morn", year=1820)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.cost) == (12, 5, None)
    (body,) = bodies
    assert body["format"] == Person.model_json_schema()
    assert (body["think"], body["keep_alive"], body["stream"]) == (False, "5m", True)


def test_requests_are_as_the_official_client_makes_them(
    serve: Serve, bodies: list[dict[str, Any]], httpserver: HTTPServer
) -> None:
    call = ToolCall(id="c1", name="find", arguments='{"name": "Ada"}')
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    ours = Request(
        task="answer",
        instructions="Answer.",
        messages=(
            Message(role="user", text="Who?"),
            Message(role="assistant", text="", calls=(call,)),
            Message(role="tool", text="Ada Morn", answers="c1"),
        ),
        schema=Person,
        tools=(ToolDefinition(name="find", description="Finds.", parameters=schema),),
    )
    said = lines(event(ADA), end())
    serve(said, said).reply(ours)
    theirs = ollama.Client(httpserver.url_for(""))
    *_, last = theirs.chat(
        model="small",
        messages=bodies[0]["messages"],
        tools=bodies[0]["tools"],
        format=Person.model_json_schema(),
        options=bodies[0]["options"],
        think=False,
        keep_alive="5m",
        stream=True,
    )

    assert bodies[0] == bodies[1]
    assert bodies[0]["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"name": "Ada"}
    assert last.done_reason == "stop"


def test_tool_calls_come_as_they_are(serve: Serve) -> None:
    function = {"function": {"name": "nothing_of_that_name", "arguments": {"x": 1}}}
    asked = serve(lines(event(message={"tool_calls": [function]}), end()))
    offered = (ToolDefinition(name="find", description="", parameters={}),)

    reply = asked.reply(replace(request(), tools=offered))

    assert reply.finish == "tool_calls"
    assert [(c.name, json.loads(c.arguments)) for c in reply.calls] == [
        ("nothing_of_that_name", {"x": 1})
    ]


@pytest.mark.parametrize("words", [1, 900, 3000])
def test_the_context_holds_prompt_and_reply(
    serve: Serve, bodies: list[dict[str, Any]], words: int
) -> None:
    asked = serve(lines(event("yes"), end(read=words * 2)), context_tokens=50_000, length=50_000)

    asked.reply(request("word " * words))

    length = bodies[0]["options"]["num_ctx"]
    assert length >= 2 * words + bodies[0]["options"]["num_predict"]
    assert length % 1024 == 0
    assert length <= 6 * words + bodies[0]["options"]["num_predict"] + 2048


@pytest.mark.parametrize(
    "given", [{"context_tokens": 1000}, {"length": 1000, "context_tokens": 9000}]
)
def test_a_prompt_that_is_too_long_is_not_sent(
    serve: Serve, bodies: list[dict[str, Any]], given: dict[str, Any]
) -> None:
    with pytest.raises(ReplyError, match=r"takes .* tokens at least, small reads 1,000") as error:
        serve(**given).reply(request("word " * 2000))

    assert error.value.reason == "truncated"
    assert bodies == []


def test_a_prompt_that_was_cut_is_an_error(serve: Serve) -> None:
    asked = serve(lines(event("yes"), end(read=400)))

    with pytest.raises(ReplyError, match="it cut the prompt") as error:
        asked.reply(request("word " * 1000))
    assert error.value.reason == "truncated"


def test_a_reply_that_was_cut_is_an_error(serve: Serve) -> None:
    asked = serve(lines(event("yes and"), end("length")))

    with pytest.raises(ReplyError, match=r"raise llm\.extract\.max_output_tokens") as error:
        asked.reply(request())
    assert error.value.reason == "truncated"


def test_a_model_that_is_not_there_names_how_to_get_it(serve: Serve) -> None:
    refusal = Response('{"error": "model \\"small\\" not found, try pulling it first"}', status=404)

    with pytest.raises(ModelError, match="get it with: ollama pull small"):
        serve(refusal).reply(request())


def test_an_overloaded_server_is_waited_for(serve: Serve) -> None:
    wait = {"Retry-After": "0"}
    busy, away = Response("busy", 429, headers=wait), Response("no", 503, headers=wait)

    reply = serve(busy, away, lines(event("yes"), end()), retries=2).reply(request())

    assert reply.text == "yes"


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (Response("oh dear", status=500), ModelUnavailableError, "answered 500: oh dear"),
        (Response("no", status=400), ModelError, "answered 400: no"),
        ("<html>404</html>", ReplyError, "something else than JSON"),
        ("[1, 2]\n", ReplyError, "something else than JSON"),
        ("[" * 100_000, ReplyError, "something else than JSON"),
        ("", ModelUnavailableError, "broke off"),
        (lines(event("half a")), ModelUnavailableError, "broke off"),
        (lines({"error": "out of memory"}), ModelUnavailableError, "out of memory"),
        (lines(end()), ReplyError, "answered with nothing"),
        (lines({"done": True, "message": ["x"], "eval_count": "many"}), ReplyError, "nothing"),
    ],
)
def test_faults_have_names(
    serve: Serve, answer: str | Response, kind: type[ModelError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        serve(answer).reply(request())


def test_a_stream_that_is_cut_on_the_wire(serve: Serve) -> None:
    cut = Response(lines(event("half a")), headers={"Content-Length": "10000"})

    with pytest.raises(ModelUnavailableError, match="broke off"):
        serve(cut).reply(request())


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("piece", [b"x" * 65_536, b"x\n" * 30_000])
def test_a_reply_without_an_end_is_not_read_on(serve: Serve, piece: bytes, status: int) -> None:
    taken = []

    def endless() -> Iterator[bytes]:
        for number in range(4_000):
            taken.append(number)
            yield piece

    client = serve(Response(endless(), status=status), retries=0)
    with pytest.raises(ModelError, match=r"more than 16,000,000|something else"):
        client.reply(request())
    time.sleep(0.2)
    assert len(taken) < 1_000, "16 MB, and what is on its way"


def test_a_server_that_hangs_is_given_up(serve: Serve) -> None:
    def drip() -> Iterator[str]:
        yield lines(event("a"))
        time.sleep(3)
        yield lines(end())

    hurried = replace(request(), parameters=replace(PARAMETERS, seconds=0.5))
    began = time.monotonic()

    with pytest.raises(ModelUnavailableError, match=r"did not answer within 0\.5 s"):
        serve(Response(drip())).reply(hurried)
    assert time.monotonic() - began < 2.5


def test_one_that_is_away_is_told_within_a_second() -> None:
    asked = settings(base_url="http://127.0.0.1:9", retries=5)
    began = time.monotonic()

    with (
        closing(Ollama(asked)) as provider,
        pytest.raises(ModelUnavailableError, match="start it with `ollama serve`") as error,
    ):
        LanguageModelClient(provider, asked).reply(request())

    assert not error.value.reached
    assert time.monotonic() - began < 1


def test_the_key_is_sent_and_never_shown(
    serve: Serve, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_LLM_API_KEY", "secret-of-ours")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-theirs")
    asked = serve(Response("no", status=400))

    with pytest.raises(ModelError) as error:
        asked.reply(request())

    (sent, _) = httpserver.log[-1]
    assert sent.headers["Authorization"] == "Bearer secret-of-ours"
    assert "secret" not in f"{error.value!r} {asked.settings!r} {asked.settings.model_dump()}"


# --- loading once


def _chat_bodies(bodies: list[dict[str, Any]]) -> list[int]:
    return [body["options"]["num_ctx"] for body in bodies]


def test_calls_of_like_size_share_a_context(serve: Serve, bodies: list[dict[str, Any]]) -> None:
    sizes = range(100, 9_000, 178)
    said = (lines(event("yes"), end(read=size + 50)) for size in sizes)
    chosen = serve(*said, context_tokens=50_000, length=50_000).settings
    for size in sizes:
        with closing(Ollama(chosen)) as fresh:  # which knows of no load
            LanguageModelClient(fresh, chosen).reply(request("word " * size))

    found = _chat_bodies(bodies)
    assert found == sorted(found)
    assert len(set(found)) <= 8
    assert max(b / a for a, b in pairwise(sorted(set(found)))) <= 1.5


def test_a_shorter_call_takes_the_context_that_is_loaded(
    serve: Serve, bodies: list[dict[str, Any]]
) -> None:
    said = [lines(event("yes"), end(read=3050))] * 3
    asked = serve(*said, context_tokens=50_000, length=50_000)

    for words in (10, 3000, 10):
        asked.reply(request("word " * words))

    first, second, third = _chat_bodies(bodies)
    assert first < second == third


def test_a_context_that_could_not_be_loaded_is_not_asked_for_again(
    serve: Serve, bodies: list[dict[str, Any]]
) -> None:
    said = lines(event("yes"), end(read=400))
    asked = serve(said, Response("no memory", 500), said, context_tokens=50_000, length=50_000)

    asked.reply(request("word " * 10))
    with pytest.raises(ModelUnavailableError):
        asked.reply(request("word " * 3000))
    asked.reply(request("word " * 10))

    first, second, third = _chat_bodies(bodies)
    assert first == third < second
