"""Language models: their client, the check of one, and providers on the wire."""

from __future__ import annotations

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import ollama
import pytest
from anthropic.types import Message as AnthropicMessage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from openai.types.responses import Response as OpenAIResponse
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from clew.engine.maintenance import model_statistics
from clew.errors import BudgetError, ModelError, ModelUnavailableError, ReplyError
from clew.plugins.llm.budget import Budget
from clew.plugins.llm.client import LONGEST_WAIT, LanguageModelClient, parse, with_retries
from clew.plugins.llm.hosted import Hosted
from clew.plugins.llm.ollama import Ollama
from clew.ports import LoggedReply, Message, Reply, Request, ToolCall, ToolDefinition
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import Replies
from clew.testing.conformance import EMBEDDER, make_entry
from clew.testing.fakes import ScriptedLanguageModel
from clew.types import Usage
from tests.unit.llm import ADA, PARAMETERS, Person, client, request, settings

# --- the client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


def _reply(text: str = "yes", **given: object) -> Reply:
    return replace(Reply(text=text, finish="stop", model="small"), **given)  # type: ignore[arg-type]


# --- what is kept


def test_the_same_request_is_asked_once_and_costs_nothing_again(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ADA])
    asked = client(model, store)
    *pieces, first = asked.stream(request(schema=Person))
    again = client(model, store).reply(request(schema=Person))
    *repeated, third = asked.stream(request(schema=Person))

    assert model.calls == 1
    assert ("".join(map(str, pieces)), repeated) == (ADA, [ADA])
    for one in (first, again, third):
        assert isinstance(one, Reply)
        assert one.value == Person(name="Ada Morn", year=1820)
        assert one.cached == (one is not first) == (one.usage.total == 0)
    (entry,) = Replies(store.backend).entries()
    assert (entry.hits, entry.reason, entry.documents) == (2, "", ("d1",))
    assert entry.usage == asked.budget.spent.usage


def test_one_call_serves_all_that_ask_the_same_at_the_same_time(store: SqliteStore) -> None:
    def slowly(asked: Request) -> str:
        time.sleep(0.2)
        return ADA if asked.schema else "Vell"

    model = ScriptedLanguageModel(slowly)
    asking = client(model, store, concurrency=4)

    with ThreadPoolExecutor(5) as pool:
        found = list(pool.map(lambda _: asking.reply(request(schema=Person)), range(4)))
        found.append(pool.submit(asking.reply, request("Where?")).result())

    assert model.calls == 2
    assert [one.cached for one in found].count(False) == 2
    assert {one.text for one in found} == {ADA, "Vell"}
    assert (asking.budget.spent.requests, asking.budget.spent.cached) == (2, 3)


@pytest.mark.parametrize(
    "other",
    [
        request("Who else?", schema=Person),
        request(),
        replace(request(schema=Person), instructions="Answer well."),
        replace(request(schema=Person), task="judge"),
        replace(
            request(schema=Person),
            tools=(ToolDefinition(name="find", description="", parameters={}),),
        ),
    ],
    ids=["text", "schema", "instructions", "parameters", "tools"],
)
def test_another_request_is_asked_by_itself(store: SqliteStore, other: Request) -> None:
    model = ScriptedLanguageModel([ADA, ADA])
    for asked in (request(schema=Person), other):
        client(model, store).reply(asked)

    assert model.calls == 2


def test_what_was_said_of_a_document_goes_with_it(store: SqliteStore) -> None:
    store.save(make_entry("diary", "Ada kept bees."))
    (document,) = store.documents()
    asked = client(ScriptedLanguageModel([ADA, ADA]), store)
    asked.reply(replace(request("of the diary"), documents=(document.id,)))
    asked.reply(request("of another"))

    store.delete([document.id])

    assert [entry.subject for entry in Replies(store.backend).entries()] == ["of another"]


def test_a_failure_is_kept_with_its_reason_and_asked_again(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ModelError("no such model"), ADA])
    with pytest.raises(ModelError, match="no such model"):
        client(model, store).reply(request())
    (entry,) = Replies(store.backend).entries()
    assert entry.reason == "no such model"

    assert client(model, store).reply(request()).text == ADA
    assert [entry.reason for entry in Replies(store.backend).entries()] == [""]


# --- the form of replies


@pytest.mark.parametrize("text", [f"```json\n{ADA}\n```", f"Here it is: {ADA}. Anything else?"])
def test_prose_around_the_json_is_passed_over(text: str) -> None:

    reply = client(ScriptedLanguageModel([text])).reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)


def test_a_malformed_reply_is_repaired_once(store: SqliteStore) -> None:
    model = ScriptedLanguageModel(['{"name": "Ada Morn", "year": "long ago"}', ADA])
    asked = client(model, store)

    reply = asked.reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)
    told = model.asked[1].messages
    assert [message.role for message in told] == ["user", "assistant", "user"]
    assert "year: Input should be a valid integer" in told[-1].text
    spent = asked.budget.spent
    assert (spent.requests, spent.usage) == (2, reply.usage)


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["nothing of the kind", "neither"], "malformed"),
        ([_reply("")], "empty"),
        ([_reply(ADA, finish="length")], "truncated"),
        ([_reply("no", finish="refused")], "refused"),
        (["[" * 100_000, "[" * 100_000], "malformed"),
    ],
)
def test_what_cannot_be_used_is_recorded(
    store: SqliteStore, replies: list[str | Reply], reason: str
) -> None:
    model = ScriptedLanguageModel(replies)

    with pytest.raises(ReplyError) as error:
        client(model, store).reply(request(schema=Person))

    (entry,) = Replies(store.backend).entries()
    assert (error.value.reason, model.calls) == (reason, len(replies))
    assert (entry.reason.partition(": ")[0], entry.reply) == (reason, "")


CALLING = _reply(
    "", calls=(ToolCall(id="1", name="nothing_of_that_name", arguments="{"),), finish="tool_calls"
)


@pytest.mark.parametrize("schema", [Person, None])
def test_a_tool_that_was_not_offered_is_no_reply_to_keep(
    store: SqliteStore, schema: type[Person] | None
) -> None:
    model = client(ScriptedLanguageModel([CALLING, CALLING, ADA]), store)

    with pytest.raises(ReplyError, match="was offered none"):
        model.reply(request(schema=schema))
    assert model.reply(request(schema=schema)).text == ADA


@given(text=st.text(max_size=80) | st.sampled_from([ADA[:n] for n in range(len(ADA))]))
def test_no_reply_is_taken_for_what_it_is_not(text: str) -> None:
    """Malformed replies raise `ReplyError` and nothing else."""
    try:
        value = parse(request(schema=Person), _reply(text))
    except ReplyError:
        return
    assert isinstance(value, Person)


# --- trying again


def _try(errors: list[ModelUnavailableError], waited: list[float], **given: Any) -> None:  # noqa: ANN401
    """Try what fails like this until it is done, and note each wait."""
    usual: dict[str, Any] = {
        "retries": 5,
        "deadline": 1000.0,
        "jitter": lambda: 0.5,
        "now": lambda: sum(waited),
    }
    with_retries(Mock(side_effect=[*errors, "done"]), sleep=waited.append, **{**usual, **given})


def _busy(retry_after: float | None = None) -> ModelUnavailableError:
    return ModelUnavailableError("busy", reached=True, retry_after=retry_after)


@pytest.mark.parametrize(("jitter", "first"), [(0.0, 0.25), (1.0, 0.75)])
def test_waits_double_with_a_jitter(jitter: float, first: float) -> None:
    waited = list[float]()
    _try([_busy()] * 5, waited, jitter=lambda: jitter)

    assert waited == [first * 2**n for n in range(5)]


@pytest.mark.parametrize(
    ("errors", "given"),
    [
        ([ModelUnavailableError("away")], {}),
        ([_busy(LONGEST_WAIT + 1)], {}),
        ([_busy(2.0)], {"deadline": 1.0}),
        ([_busy()], {"retries": 0}),
    ],
    ids=["not reached", "too long", "too late", "no more"],
)
def test_some_waits_are_in_vain(
    errors: list[ModelUnavailableError], given: dict[str, object]
) -> None:
    waited = list[float]()
    with pytest.raises(ModelUnavailableError):
        _try(errors, waited, **given)

    assert waited == []


def test_one_that_is_away_is_not_asked_again_at_once() -> None:
    model = ScriptedLanguageModel([ModelUnavailableError("away"), ADA])
    asked = client(model)

    for _ in range(3):
        with pytest.raises(ModelUnavailableError, match="away"):
            asked.reply(request())

    assert model.calls == 1


def test_the_fallback_answers_where_the_model_fails(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([ModelError("no such model"), ADA])

    reply = client(model, store, fallback_model="other").reply(request())

    assert reply.text == ADA
    assert [one.parameters.model for one in model.asked if one.parameters] == ["small", "other"]


# --- what is spent


def test_the_budget_stops_before_the_request_beyond_it(store: SqliteStore) -> None:
    model = ScriptedLanguageModel([_reply(usage=Usage(input_tokens=90, output_tokens=10))] * 3)
    asked = client(model, store)
    asked.budget = Budget(max_tokens=150)
    asked.reply(request("a"))
    asked.reply(request("b"))

    with pytest.raises(BudgetError, match=r"200 of 150 tokens are spent.*llm.max_tokens_spent"):
        asked.reply(request("c"))
    assert model.calls == 2
    assert asked.reply(request("a")).cached, "what is kept costs nothing"
    assert (asked.budget.spent.requests, asked.budget.spent.cached) == (2, 1)


def test_requests_at_a_time_are_bounded() -> None:
    """Three are answered at a time: a fourth would be seen beside them."""
    three, under_way, most = threading.Barrier(3), set[str](), list[int]()

    def together(asked: Request) -> str:
        under_way.add(asked.messages[0].text)
        three.wait(5)
        most.append(len(under_way))
        three.wait(5)
        under_way.discard(asked.messages[0].text)
        return "yes"

    asked = client(ScriptedLanguageModel(together), concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda n: asked.reply(request(str(n))), range(12)))

    assert set(most) == {3}


# --- llm check


CALL = ToolCall(id="1", name="look_up", arguments='{"place": "Vell"}')
TASKS = ["extract", "context", "summarise", "answer", "route", "judge"]


def test_a_model_that_can_all() -> None:
    called = Reply(text="", finish="tool_calls", model="small", calls=(CALL,))

    found = list(client(ScriptedLanguageModel([*[ADA] * 8, called])).trials())

    whats = [*TASKS, "stream", "context length", "tools"]
    assert [(trial.what, trial.ok) for trial in found] == [(what, True) for what in whats]


def test_a_model_that_is_wrong_or_calls_nothing() -> None:
    wrong = json.dumps({"name": "Corwin Hale", "year": 1872})
    model = ScriptedLanguageModel([wrong, "no", "no", *[ADA] * 6, "I cannot."])

    failed = {trial.what: trial.found for trial in client(model).trials() if not trial.ok}
    assert failed.keys() == {"extract", "context", "tools"}
    assert "Corwin Hale" in failed["extract"]
    assert "form asked for" in failed["context"]
    assert failed["tools"] == "called no tool"


@pytest.mark.parametrize(("context", "ok"), [(2500, True), (8192, False), (10_000_000, False)])
def test_a_server_that_cuts_prompts_is_found(context: int, ok: bool) -> None:
    """One that reads 2,000 words at most."""

    def cutting(asked: Request) -> Reply:
        words = len(f"{asked.instructions} {asked.messages[0].text}".split())
        return _reply(ADA, usage=Usage(input_tokens=min(words, 2000), output_tokens=9))

    model = client(ScriptedLanguageModel(cutting), context_tokens=context)
    found = {trial.what: trial for trial in model.trials()}

    length = found["context length"]
    assert (length.ok, found["extract"].ok) == (ok, True)
    told = "read 2,000 tokens of" in length.found and "llm.context_tokens" in length.found
    assert told == (not ok)


def test_figures_are_those_of_the_requests() -> None:
    entry = LoggedReply(
        key="a",
        task="extract",
        model="small",
        subject="",
        documents=(),
        reason="",
        reply="",
        characters=1,
        usage=Usage(input_tokens=10, cached_tokens=4, output_tokens=20),
        cost=None,
        seconds=2.0,
        at="",
        hits=3,
    )
    failed = replace(entry, task="answer", reason="empty", hits=0, cost=0.5, usage=Usage())

    found = model_statistics([entry, replace(entry, seconds=4.0), failed])

    assert found["tasks"].keys() == {"answer", "extract"}
    assert (found["cost"], found.pop("tasks")["extract"]["cost"]) == (0.5, None)
    assert found == {
        "requests": 3,
        "failures": 1,
        "cache_hits": 6,
        "input_tokens": 20,
        "cached_tokens": 8,
        "output_tokens": 40,
        "cost": 0.5,
        "tokens_per_second": round(40 / 6, 1),
        "p50_seconds": 3.0,
        "p95_seconds": 3.9,
    }
    assert model_statistics([])["requests"] == 0


# --- OpenAI's and Anthropic's interfaces, served on this machine with their faults.


Serve = Callable[..., LanguageModelClient]
EVENTS, JSON = "text/event-stream", "application/json"
STREAMED = (Path(__file__).parent / "wires" / "openai-compatible.2.txt").read_text("utf-8")
"""An answer of chat completions in pieces."""


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
    """What the servers of this test were asked."""
    return []


@pytest.fixture
def client_of(httpserver: HTTPServer, asked_of: list[Asked]) -> Iterator[Serve]:
    """A client of a server that answers the requests with these, one after the other."""
    made: list[LanguageModelClient] = []

    def start(model: Any, path: str, chosen: Any, answers: Iterable[Any]) -> LanguageModelClient:  # noqa: ANN401
        left = iter(answers)

        def answer(asked: Asked) -> Response:
            asked.get_data()
            asked_of.append(asked)
            said = next(left)
            return said if isinstance(said, Response) else Response(said, mimetype=_type(said))

        httpserver.expect_request(path).respond_with_handler(answer)
        made.append(LanguageModelClient(model(chosen), chosen))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of Clew's, and those that other programs have in the environment."""
    monkeypatch.setenv("CLEW_LLM_API_KEY", "secret-of-ours")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "secret-of-theirs")


@pytest.fixture
def serve(httpserver: HTTPServer, client_of: Serve, keys: None) -> Serve:
    """A client of a hosted provider."""

    def start(
        *answers: str | Response, provider: str = "openai-compatible", **given: object
    ) -> LanguageModelClient:
        base, path, _ = PROVIDERS[provider]
        chosen = settings(provider=provider, base_url=httpserver.url_for(base), **given)
        return client_of(Hosted, path, chosen, answers)

    return start


def _type(said: str) -> str:
    return "text/event-stream" if said.startswith("data:") else "application/json"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_of_a_schema(serve: Serve, asked_of: list[Asked], provider: str) -> None:
    make: Any = PROVIDERS[provider][2]

    reply = serve(make(ADA), provider=provider).reply(request(schema=Person))

    assert reply.value == Person(name="Ada Morn", year=1820)
    assert reply.usage == Usage(input_tokens=12, cached_tokens=8, output_tokens=5)
    (sent,) = asked_of
    assert set(re.findall(r"secret-\S+", str(sent.headers))) == {"secret-of-ours"}
    body = sent.get_json()
    assert "year" in str(body), "the schema is sent"
    assert "Who?" in str(body)
    assert body.get("store", False) is False, "nothing is kept at OpenAI"


def test_anthropic_keeps_the_beginning_that_other_prompts_have_too(
    serve: Serve, asked_of: list[Asked]
) -> None:
    asked = replace(request(), messages=(Message(role="user", text="whole then part", shared=5),))

    serve(anthropic(), provider="anthropic").reply(asked)

    whole, part = asked_of[0].get_json()["messages"][-1]["content"]
    assert (whole["text"], whole["cache_control"]["type"]) == ("whole", "ephemeral")
    assert part["text"] == " then part"


def test_whoever_stops_reading_ends_the_request(serve: Serve) -> None:
    asked = serve(STREAMED, STREAMED)
    stream = asked.stream(request())
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    *_, reply = asked.stream(request())
    assert isinstance(reply, Reply)
    assert reply.text == "It was Ada Morn."


CONVERSATION = Request(
    task="answer",
    instructions="Answer.",
    messages=(
        Message(role="user", text="Who?"),
        Message(
            role="assistant",
            text="",
            calls=(ToolCall(id="c1", name="find", arguments='{"name": "Ada"}'),),
        ),
        Message(role="tool", text="Ada Morn", answers="c1"),
    ),
    tools=(ToolDefinition(name="find", description="Finds.", parameters={"type": "object"}),),
)


def test_an_overloaded_provider_is_waited_for(serve: Serve) -> None:
    busy = Response('{"error": {"message": "slow down"}}', 429, headers={"Retry-After": "0"})

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


@pytest.mark.parametrize("said", [STREAMED.rpartition("data: {")[0], "data: {\n\n", "data: []\n\n"])
def test_a_stream_that_is_broken_is_an_error(serve: Serve, said: str) -> None:
    with pytest.raises(ModelError):
        list(serve(said).stream(request(schema=Person)))


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


def test_without_a_key_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = settings(provider="openai")

    with pytest.raises(ModelError, match="set OPENAI_API_KEY in the environment"):
        LanguageModelClient(Hosted(asked), asked).reply(request())


# --- Ollama's own interface, served on this machine; its official client is the judge of
# requests.


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
def ollama_serve(httpserver: HTTPServer, client_of: Serve) -> Serve:
    """A client of Ollama."""

    def start(*answers: str | Response, length: int = 8192, **given: object) -> LanguageModelClient:
        info = {"model_info": {"general.architecture": "x", "x.context_length": length}}
        httpserver.expect_request("/api/show").respond_with_json(info)
        chosen = settings(base_url=httpserver.url_for(""), **given)
        return client_of(Ollama, "/api/chat", chosen, answers)

    return start


def bodies(asked_of: list[Asked]) -> list[dict[str, Any]]:
    return [asked.get_json() for asked in asked_of]


def test_requests_are_as_the_official_client_makes_them(
    ollama_serve: Serve, asked_of: list[Asked], httpserver: HTTPServer
) -> None:
    said = lines(event(ADA), end())
    reply = ollama_serve(said, said).reply(replace(CONVERSATION, schema=Person))
    (ours,) = bodies(asked_of)
    *_, last = ollama.Client(httpserver.url_for("")).chat(
        model="small",
        messages=ours["messages"],
        tools=ours["tools"],
        format=Person.model_json_schema(),
        options=ours["options"],
        think=False,
        keep_alive="5m",
        stream=True,
    )

    assert bodies(asked_of) == [ours, ours]
    assert reply.value == Person(name="Ada Morn", year=1820)
    assert (reply.usage, reply.cost) == (Usage(input_tokens=12, output_tokens=5), None)
    assert ours["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"name": "Ada"}
    assert last.done_reason == "stop"


@pytest.mark.parametrize(
    ("given", "words", "says"),
    [
        ({"context_tokens": 1000}, 2000, r"takes .* tokens at least, small reads 1,000"),
        ({"length": 1000}, 2000, r"takes .* tokens at least, small reads 1,000"),
        ({}, 1000, "it cut the prompt"),
    ],
)
def test_a_prompt_that_is_too_long_is_not_sent_and_one_that_was_cut_is_an_error(
    ollama_serve: Serve, asked_of: list[Asked], given: dict[str, Any], words: int, says: str
) -> None:
    asked = ollama_serve(lines(event("yes"), end(read=400)), **given)

    with pytest.raises(ReplyError, match=says) as error:
        asked.reply(request("word " * words))
    assert error.value.reason == "truncated"
    assert len(asked_of) == (not given)


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
def test_ollama_faults_have_names(
    ollama_serve: Serve, answer: str | Response, kind: type[ModelError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        ollama_serve(answer).reply(request())


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("piece", [b"x" * 65_536, b"x\n" * 30_000])
def test_a_reply_without_an_end_is_not_read_on(
    ollama_serve: Serve, piece: bytes, status: int
) -> None:
    taken = []

    def endless() -> Iterator[bytes]:
        for number in range(4_000):
            taken.append(number)
            yield piece

    client = ollama_serve(Response(endless(), status=status), retries=0)
    with pytest.raises(ModelError, match=r"more than 16,000,000|something else"):
        client.reply(request())
    time.sleep(0.2)
    assert len(taken) < 1_000, "16 MB, and what is on its way"


def test_the_key_is_sent_and_never_shown(
    ollama_serve: Serve, asked_of: list[Asked], keys: None
) -> None:
    asked = ollama_serve(Response("no", status=400))

    with pytest.raises(ModelError) as error:
        asked.reply(request())

    assert asked_of[0].headers["Authorization"] == "Bearer secret-of-ours"
    assert "secret" not in f"{error.value!r} {asked.settings!r} {asked.settings.model_dump()}"


# --- loading once


def test_a_shorter_call_takes_the_context_that_is_loaded(
    ollama_serve: Serve, asked_of: list[Asked]
) -> None:
    said = [lines(event("yes"), end(read=3050))] * 3
    asked = ollama_serve(*said, context_tokens=50_000, length=50_000)

    for words in (10, 3000, 10):
        asked.reply(request("word " * words))

    first, second, third = (body["options"]["num_ctx"] for body in bodies(asked_of))
    assert first < second == third
