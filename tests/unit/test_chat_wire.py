"""A whole conversation over each provider's wire: two calls at once, their answers, the answer.

What the servers say is held to the vendors' own types; what they are sent is read back from it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

import clew
from clew.chat import ChatTurn
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import Toolbox
from tests.unit.test_ask import BORN, BUILT

CALLS = {"call_a": "clock of Vell", "call_b": "Ada Morn"}
"""Queries of the tool `search`, by the ids of the calls."""
ANSWER = "It was Ada Morn."
USAGE = {
    "input_tokens": 12,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 17,
}


def sse(events: Iterable[dict[str, Any]], types: TypeAdapter[Any]) -> str:
    """Server-sent events, each held to the vendor's types."""
    found = list(events)
    for event in found:
        types.validate_python(event)
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in found)


# --- each provider's way to ask for two calls, then to answer


def openai_events(number: int) -> Iterator[dict[str, Any]]:
    """The Responses API."""
    output: list[dict[str, Any]] = []
    whole = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1.0,
        "model": "gpt-4o-mini",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    count = iter(range(100))
    begun = {**whole, "status": "in_progress", "output": []}
    yield {"type": "response.created", "sequence_number": next(count), "response": begun}
    if number == 1:
        for place, (id_, query) in enumerate(CALLS.items()):
            arguments = json.dumps({"query": query})
            item = {
                "type": "function_call",
                "id": f"fc_{place}",
                "call_id": id_,
                "name": "search",
                "arguments": "",
                "status": "in_progress",
            }
            about = {"output_index": place, "item_id": f"fc_{place}"}
            yield {
                "type": "response.output_item.added",
                "sequence_number": next(count),
                "output_index": place,
                "item": item,
            }
            for part in (arguments[:5], arguments[5:]):
                yield {
                    "type": "response.function_call_arguments.delta",
                    "sequence_number": next(count),
                    "delta": part,
                    **about,
                }
            output.append({**item, "arguments": arguments, "status": "completed"})
            yield {
                "type": "response.output_item.done",
                "sequence_number": next(count),
                "output_index": place,
                "item": output[-1],
            }
    else:
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress"}
        yield {
            "type": "response.output_item.added",
            "sequence_number": next(count),
            "output_index": 0,
            "item": {**item, "content": []},
        }
        for part in (ANSWER[:6], ANSWER[6:]):
            yield {
                "type": "response.output_text.delta",
                "sequence_number": next(count),
                "output_index": 0,
                "content_index": 0,
                "item_id": "m1",
                "delta": part,
                "logprobs": [],
            }
        said = {"type": "output_text", "text": ANSWER, "annotations": []}
        output.append({**item, "status": "completed", "content": [said]})
    done = {**whole, "status": "completed", "output": output, "usage": USAGE}
    yield {"type": "response.completed", "sequence_number": next(count), "response": done}


def anthropic_events(number: int) -> Iterator[dict[str, Any]]:
    """Messages."""
    usage = {"input_tokens": 12, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "tool_use", "id": id_, "name": "search", "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps({"query": query})}],
        )
        for id_, query in CALLS.items()
    ]
    if number > 1:
        parts = (ANSWER[:6], ANSWER[6:])
        deltas = [{"type": "text_delta", "text": part} for part in parts]
        blocks = [({"type": "text", "text": ""}, deltas)]
    for place, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": place, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    stop = {"stop_reason": "tool_use" if number == 1 else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def compatible_events(number: int) -> str:
    """Chat completions."""
    whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "small"}
    asked = [
        {
            "index": place,
            "id": id_,
            "type": "function",
            "function": {"name": "search", "arguments": json.dumps({"query": query})},
        }
        for place, (id_, query) in enumerate(CALLS.items())
    ]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "tool_calls": asked}]
    if number > 1:
        deltas = [{"role": "assistant", "content": part} for part in (ANSWER[:6], ANSWER[6:])]
    ends = "tool_calls" if number == 1 else "stop"
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": ends})
    lines = [f"data: {json.dumps({**whole, 'choices': [choice]})}\n\n" for choice in choices]
    return "".join(lines) + "data: [DONE]\n\n"


def ollama_lines(number: int) -> str:
    """Its own interface."""
    asked = [{"function": {"name": "search", "arguments": {"query": q}}} for q in CALLS.values()]
    said: dict[str, Any] = {"content": ANSWER} if number > 1 else {"tool_calls": asked}
    message: dict[str, Any] = {
        "model": "small",
        "message": {"role": "assistant", "content": "", **said},
    }
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 4000, "eval_count": 5}
    return f"{json.dumps(message)}\n{json.dumps({**message, 'message': {}, **end})}\n"


def forgotten(id_: str) -> str:
    """What OpenAI answers to who follows a reply that it no longer has."""
    error = {
        "message": f"Previous response with id '{id_}' not found.",
        "type": "invalid_request_error",
        "param": "previous_response_id",
        "code": "previous_response_not_found",
    }
    return json.dumps({"error": error})


EVENTS = "text/event-stream"
WIRES: dict[str, tuple[str, str, str, Callable[[int], str]]] = {
    "openai": (
        "/v1",
        "/v1/responses",
        EVENTS,
        lambda number: sse(openai_events(number), TypeAdapter(ResponseStreamEvent)),
    ),
    "anthropic": (
        "",
        "/v1/messages",
        EVENTS,
        lambda number: sse(anthropic_events(number), TypeAdapter(RawMessageStreamEvent)),
    ),
    "openai-compatible": ("/v1", "/v1/chat/completions", EVENTS, compatible_events),
    "ollama": ("", "/api/chat", "application/x-ndjson", ollama_lines),
}


@pytest.fixture
def bodies() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def talk(
    tmp_path: Path,
    httpserver: HTTPServer,
    bodies: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., list[ChatTurn]]:
    """What turns of a conversation with a provider come to."""
    monkeypatch.setenv("CLEW_LLM_API_KEY", "any")

    def start(
        provider: str, *said: str, forgets: Sequence[str] = (), **given: object
    ) -> list[ChatTurn]:
        base, path, kind, write = WIRES[provider]

        def answer(asked: Asked) -> Response:
            bodies.append(asked.get_json())
            if (known := bodies[-1].get("previous_response_id")) in forgets:
                return Response(forgotten(str(known)), 400, mimetype="application/json")
            return Response(write(len(bodies)), mimetype=kind)

        httpserver.expect_request("/api/show").respond_with_json({"model_info": {}})
        httpserver.expect_request(path).respond_with_handler(answer)
        llm = {
            "provider": provider,
            "model": "small",
            "base_url": httpserver.url_for(base),
            "context_tokens": 32_000,
            **given,
        }
        settings = load_settings(store=tmp_path, llm=llm)
        with clew.open(settings=settings, embedder=HashEmbedder()) as store:
            store.add(BUILT, title="Vell")
            store.add(BORN, title="Ada Morn")
            chat = store.chat()
            return [chat.say(text) for text in said]

    return start


@pytest.mark.parametrize("provider", WIRES)
def test_two_calls_their_answers_and_the_answer(
    talk: Callable[..., list[ChatTurn]], bodies: list[dict[str, Any]], provider: str
) -> None:
    (turn,) = talk(provider, "Who built the clock?")

    assert turn.notes == ()
    assert turn.text == ANSWER
    assert [call.arguments for call in turn.calls] == [{"query": q} for q in CALLS.values()]
    assert all(call.ok for call in turn.calls)
    assert len(bodies) == 2
    first, second = (json.dumps(body) for body in bodies)
    assert "<document tool=" not in first
    assert second.count("<document tool=") == 2
    assert "Ada Morn" in second


@pytest.fixture
def at_a_time(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tools were being called as each was; each waits a moment for another."""
    found: list[int] = []
    under_way: set[object] = set()
    two, call = threading.Event(), Toolbox.call

    def noted(self: Toolbox, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as it is passed on
        mark = object()
        under_way.add(mark)
        if len(under_way) == 2:
            two.set()
        two.wait(0.5)
        found.append(len(under_way))
        try:
            return call(self, *given, **named)
        finally:
            under_way.discard(mark)

    monkeypatch.setattr(Toolbox, "call", noted)
    return found


@pytest.mark.parametrize("provider", WIRES)
def test_calls_of_one_reply_run_at_the_same_time_but_for_ollama(
    talk: Callable[..., list[ChatTurn]], at_a_time: list[int], provider: str
) -> None:
    (turn,) = talk(provider, "Who built the clock?")

    assert [call.arguments for call in turn.calls] == [{"query": q} for q in CALLS.values()]
    assert max(at_a_time) == (1 if provider == "ollama" else 2)


def test_answers_to_calls_of_one_reply_go_to_anthropic_together(
    talk: Callable[..., list[ChatTurn]], bodies: list[dict[str, Any]]
) -> None:
    talk("anthropic", "Who built the clock?")

    _, said, answered = bodies[1]["messages"]
    assert [block["type"] for block in said["content"]] == ["tool_use"] * 2
    assert [block["tool_use_id"] for block in answered["content"]] == list(CALLS)


@pytest.mark.parametrize("store", [False, True])
def test_openai_keeps_a_conversation_only_where_it_may(
    talk: Callable[..., list[ChatTurn]], bodies: list[dict[str, Any]], store: bool
) -> None:
    talk("openai", "Who built the clock?", "Where was she born?", store=store)

    assert [body["store"] for body in bodies] == [store] * 3
    follows = [body.get("previous_response_id") for body in bodies]
    kinds = [[item.get("type", item.get("role")) for item in body["input"]] for body in bodies]
    if store:
        assert follows == [None, "resp_1", "resp_2"]
        assert kinds[1] == ["function_call_output"] * 2
        assert [item["content"] for item in bodies[2]["input"]] == ["Where was she born?"]
    else:
        assert follows == [None] * 3
        assert kinds[1].count("function_call") == kinds[1].count("function_call_output") == 2
        assert len(kinds[2]) == len(kinds[1]) + 2


def test_a_reply_that_openai_forgot_is_followed_by_the_whole_history(
    talk: Callable[..., list[ChatTurn]], bodies: list[dict[str, Any]]
) -> None:
    turns = talk("openai", "Who built the clock?", "And when?", store=True, forgets=("resp_2",))

    assert [(turn.text, turn.notes) for turn in turns] == [(ANSWER, ())] * 2
    follows = [body.get("previous_response_id") for body in bodies]
    assert follows == [None, "resp_1", "resp_2", None]
    kinds = [item.get("type", item.get("role")) for item in bodies[3]["input"]]
    assert kinds.count("function_call") == kinds.count("function_call_output") == 2
    assert [item.get("content") for item in bodies[3]["input"]][-1] == "And when?"
    assert bodies[3]["store"] is True


def test_a_conversation_ends_where_a_stream_is_cut(tmp_path: Path, httpserver: HTTPServer) -> None:
    cut = compatible_events(1)[:200]
    httpserver.expect_request("/v1/chat/completions").respond_with_data(cut, mimetype=EVENTS)
    llm = {
        "provider": "openai-compatible",
        "model": "small",
        "base_url": httpserver.url_for("/v1"),
        "retries": 0,
    }
    with clew.open(
        settings=load_settings(store=tmp_path, llm=llm), embedder=HashEmbedder()
    ) as store:
        store.add(BUILT)
        chat = store.chat()
        turn = chat.say("Who built the great clock of Vell?")

    assert turn.calls == ()
    assert turn.notes
    assert chat.messages == []
