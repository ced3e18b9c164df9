"""Conversations, their tools, and what they are on each provider's wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from clew import Clew
from clew.chat import ChatTurn
from clew.errors import (
    InputError,
    ModelError,
    ModelUnavailableError,
    NoLanguageModelError,
    NotFoundError,
    StoreError,
)
from clew.models.llm.budget import prompt_text, usual_tokens
from clew.ports import Message, Reply, ToolCall
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.text import words
from clew.tools.toolbox import Toolbox
from clew.types import Usage
from tests.unit.test_ask import BORN, BUILT

# --- Conversations: the tools that a model calls, what it is told, and what is kept.


Say = str | Reply | Exception


def calls(*named: tuple[str, object], text: str = "") -> Reply:
    """A reply that asks for tools; arguments that are no text are written as JSON."""
    made = tuple(
        ToolCall(
            id=f"c{place}",
            name=name,
            arguments=given if isinstance(given, str) else json.dumps(given),
        )
        for place, (name, given) in enumerate(named)
    )
    usage = Usage(input_tokens=10, output_tokens=5)
    return Reply(text=text, finish="tool_calls", model="scripted", calls=made, usage=usage)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add(BUILT, title="Vell")
        store.add(BORN, title="Ada Morn")
    return tmp_path


class Talk:
    """A store with a scripted model."""

    def __init__(self, library: Path, *replies: Say) -> None:
        self.model = ScriptedLanguageModel(list(replies))
        self.store: Clew = clew.open(library, embedder=HashEmbedder(), language_model=self.model)

    def told(self, request: int) -> list[str]:
        """What the tools answered, as the model saw it in a request."""
        return [m.text for m in self.model.asked[request].messages if m.role == "tool"]


Start = Callable[..., Talk]


@pytest.fixture
def talks(library: Path) -> Iterator[Start]:
    made: list[Talk] = []

    def start(*replies: Say) -> Talk:
        made.append(Talk(library, *replies))
        return made[-1]

    yield start
    for talk in made:
        talk.store.close()


# --- the loop


def test_what_tools_answer_is_read_before_the_answer(talks: Start) -> None:
    talk = talks(
        calls(("search", {"query": "clock of Vell"}), ("search", {"query": "Ada Morn"})),
        "It was Ada Morn.",
    )
    told: list[str] = []
    turn = talk.store.chat().say("Who built the clock?", told.append)

    assert turn.text == "".join(told) == "It was Ada Morn."
    assert [(call.name, call.ok) for call in turn.calls] == [("search", True)] * 2
    first, second = talk.told(1)
    assert first.startswith('<document tool="search">')
    assert "Vell" in first
    assert "Ada Morn" in second
    assert turn.usage.output_tokens > 5
    assert [m.answers for m in talk.model.asked[1].messages if m.role == "tool"] == ["c0", "c1"]


def test_only_tools_that_read_are_offered(talks: Start) -> None:
    talk = talks("Hello.")
    talk.store.chat().say("Hello")

    names = {tool.name for tool in talk.model.asked[0].tools}
    assert {"search", "fetch", "query_documents"} <= names
    assert not names & {"delete_document", "ingest_document", "graph_upsert"}


def test_a_tool_that_changes_something_has_to_be_allowed_and_permitted(
    talks: Start, library: Path
) -> None:
    wanted = ("delete_document", {"document": "any", "confirm": True})
    asked: list[tuple[str, Mapping[str, Any]]] = []

    def permit(tool: str, arguments: Mapping[str, Any]) -> bool:
        asked.append((tool, arguments))
        return False

    talk = talks(calls(wanted), "No.", calls(wanted), "No.")
    talk.store.chat().say("Delete all")
    talk.store.chat(allow=["delete_document"], permit=permit).say("Delete all")

    assert "there is no tool 'delete_document'" in talk.told(1)[0]
    assert "does not allow delete_document" in talk.told(3)[0]
    assert [tool for tool, _ in asked] == ["delete_document"]
    assert len(talk.store.documents.list()) == 2
    with pytest.raises(InputError, match="--allow delete_document"):
        talk.store.chat(tools=["delete_document"])
    with pytest.raises(InputError, match="there is no tool"):
        talk.store.chat(tools=["rm"])


@pytest.mark.parametrize(
    "name", ["Search", "functions.search", "query_document", "query-documents"]
)
def test_a_name_that_is_nearly_right_is_meant(talks: Start, name: str) -> None:
    talk = talks(calls((name, {"query": "clock"})), "Yes.")
    (call,) = talk.store.chat().say("Clock?").calls

    assert call.ok
    assert call.name in ("search", "query_documents")


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("rm_rf", {}, "use one of search"),
        ("search", "{broken", "parameters of search are query"),
        ("search", "[1]", "parameters of search are query"),
        ("search", {"question": "x"}, "its parameters are query"),
        ("search", {}, "needs 'query'"),
        ("search", "null", "no JSON object"),
    ],
)
def test_what_cannot_be_called_is_answered_with_what_can(
    talks: Start, name: str, given: object, says: str
) -> None:
    talk = talks(calls((name, given)), "I see.")
    turn = talk.store.chat().say("Clock?")

    assert [call.ok for call in turn.calls] == [False]
    assert says in talk.told(1)[0]
    assert turn.text == "I see."


def test_json_in_a_string_is_read(talks: Start) -> None:
    talk = talks(calls(("search", json.dumps(json.dumps({"query": "clock"})))), "Yes.")

    assert talk.store.chat().say("Clock?").calls[0].ok


def test_there_are_no_more_rounds_than_allowed(talks: Start) -> None:
    endless = [calls(("search", {"query": str(n)})) for n in range(9)]
    talk = talks(*endless)
    turn = talk.store.chat(max_rounds=2).say("Go on")
    assert (len(turn.calls), talk.model.calls, turn.text) == (2, 4, "")
    assert any("does not answer" in note for note in turn.notes)
    assert "limit of rounds" in talk.told(3)[-1]

    talk = talks(*endless[:2], "Enough.")
    assert talk.store.chat(max_rounds=1).say("Go on").text == "Enough."


def test_a_reply_cannot_ask_for_any_number_of_calls(talks: Start) -> None:
    talk = talks(calls(*[("search", {"query": str(n)}) for n in range(50)]), "Done.")
    turn = talk.store.chat().say("All")

    assert sum(call.ok for call in turn.calls) == 8
    assert len(talk.told(1)) == 50, "each call has its answer"


def test_a_conversation_takes_no_more_than_it_may(talks: Start) -> None:
    talk = talks(calls(("search", {"query": "a"})), "Never.")
    turn = talk.store.chat(max_tokens_spent=10).say("Go on")

    assert talk.model.calls == 1
    assert any("of 10 tokens are spent" in note for note in turn.notes)
    assert turn.usage.total == 15


# --- what is kept


@pytest.mark.parametrize("tool", ["query_documents", "ask"])
def test_what_a_tool_asks_of_the_model_counts_for_the_conversation(talks: Start, tool: str) -> None:
    asked = {"query": "Who built the clock of Vell?", "model_filter": True}
    inner = Reply(
        text='{"passages": [1]}',
        finish="stop",
        model="m",
        usage=Usage(input_tokens=7, output_tokens=3),
    )
    said = Reply(
        text='{"statements": []}',
        finish="stop",
        model="m",
        usage=Usage(input_tokens=7, output_tokens=3),
    )
    talk = talks(calls((tool, asked)), inner, *([said] if tool == "ask" else []), "Ada Morn.")

    turn = talk.store.chat(tools=[tool]).say("Who built the clock of Vell?")

    assert turn.text == "Ada Morn."
    nested = 10 * (2 if tool == "ask" else 1)
    last = talk.model.asked[-1]
    told = sum(len(words(one.text)) for one in last.messages) + len(words(last.instructions))
    assert turn.usage.total == 15 + nested + told + 2

    short = talks(calls((tool, asked)), inner, *([said] if tool == "ask" else []), "Ada Morn.")
    ended = short.store.chat(tools=[tool], max_tokens_spent=20).say("Who built the clock of Vell?")
    assert "tokens are spent" in " ".join(ended.notes)


def test_what_a_turn_would_take_is_said_beforehand(talks: Start, library: Path) -> None:
    talk = talks(calls(("query_documents", {"query": "Who built the clock of Vell?"})), "Ada Morn.")
    conversation = talk.store.chat()

    guess = conversation.estimate("Who built the clock of Vell?")
    remembering = talk.store.chat(remember=True).estimate("Who built the clock of Vell?")

    assert talk.model.calls == 0
    assert conversation.messages == []
    assert (guess.calls, remembering.calls) == (2, 3), "a look-up, the answer, what is kept"
    assert remembering.input_tokens > guess.input_tokens
    conversation.say("Who built the clock of Vell?")
    sent = sum(usual_tokens(prompt_text(request)) for request in talk.model.asked)
    assert guess.input_tokens == pytest.approx(sent, rel=0.15)
    with pytest.raises(InputError):
        conversation.estimate("  ")
    with (
        clew.open(library, embedder=HashEmbedder()) as store,
        pytest.raises(NoLanguageModelError),
    ):
        store.chat().estimate("Who?")


def test_it_goes_on_where_it_was(talks: Start, library: Path) -> None:
    talk = talks(calls(("search", {"query": "clock"})), "Ada Morn.", "In Dunmere.")
    first = talk.store.chat()
    first.say("Who built the clock?")
    (kept,) = talk.store.conversations.conversations()
    assert (kept.id, kept.title, kept.messages) == (first.id, "Who built the clock?", 4)
    talk.store.close()

    again = talks("In Dunmere.")
    later = again.store.chat(conversation=first.id)
    later.say("Where was she born?")

    roles = [message.role for message in again.model.asked[0].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert again.model.asked[0].messages[1].calls[0].name == "search"
    assert again.store.conversations.forget(first.id)
    assert not again.store.conversations.forget(first.id)
    with pytest.raises(NotFoundError):
        again.store.chat(conversation=first.id)


def test_a_turn_that_fails_leaves_the_conversation_as_it_was(talks: Start) -> None:
    talk = talks(calls(("search", {"query": "clock"})), ModelError("no more"), "Ada Morn.")
    chat = talk.store.chat()
    failed = chat.say("Who?")
    assert (failed.text, failed.notes) == ("", ("no more",))
    assert chat.messages == []

    assert chat.say("Who?").text == "Ada Morn."
    assert [m.role for m in talk.model.asked[-1].messages] == ["user"]


def test_what_a_turn_that_failed_did_not_remember_is_told(talks: Start) -> None:
    turn = talks(ModelError("no more")).store.chat(remember=True).say(SAID)

    assert turn.remembered == ()
    assert turn.notes == ("no more", "of this turn nothing was remembered; say it again")


def test_the_earliest_turns_give_way(talks: Start) -> None:
    talk = talks("One.", "Two.", "Three.")
    chat = talk.store.chat(tools=["search"])
    for word in ("first", "second", "third"):
        chat.say(f"{word} " * 1500)

    sent = talk.model.asked[-1].messages
    assert sent[0].role == "user"
    assert sent[-1].text.startswith("third")
    assert "first" not in "".join(message.text for message in sent)
    assert len(chat.messages) == 6, "all are kept"


def test_no_reply_is_kept_for_others(talks: Start) -> None:
    talk = talks("One.", "Two.")
    assert [talk.store.chat().say("Hello").text for _ in range(2)] == ["One.", "Two."]


# --- without a model


def test_without_a_model_the_documents_answer(library: Path) -> None:
    with clew.open(library, embedder=HashEmbedder()) as store:
        turn = store.chat().say("Who built the great clock of Vell?")
        assert store.conversations.conversations() == []

    assert BUILT in turn.text
    assert "no language model is configured" in turn.notes[0]


def test_where_the_model_is_away_the_documents_answer(talks: Start) -> None:
    talk = talks(ModelUnavailableError("it is away"))
    turn = talk.store.chat().say("Who built the great clock of Vell?")

    assert BUILT in turn.text
    assert turn.model == ""
    assert "it is away" in turn.notes[0]


# --- what is remembered

SAID = "Mira Holt works at Harrow Mill since June. Who built the clock?"
FACT = {
    "sentence": "Mira Holt works at Harrow Mill since June.",
    "source": "Mira Holt",
    "relation_type": "works_at",
    "target": "Harrow Mill",
}


def facts(*stated: Mapping[str, str]) -> str:
    return json.dumps({"facts": stated})


def test_what_the_user_states_is_remembered_with_its_sentence(talks: Start) -> None:
    talk = talks("Ada Morn.", facts(FACT))
    turn = talk.store.chat(remember=True).say(SAID)

    assert turn.remembered == (FACT["sentence"],)
    store = talk.store
    head, tail = (store.entities.get(FACT[name]).id for name in ("source", "target"))
    relation = next(r for r in store.store.relations([head], 10) if r.relation_type == "works_at")
    assert relation.to_entity_id == tail
    (document,) = [d for d in store.documents.list() if d.source.startswith("conversation:")]
    assert store.documents.text(document.id) == SAID
    hit = store.search("Where does Mira Holt work?").hits[0]
    assert any(r.evidence == FACT["sentence"] for r in hit.relations)
    assert hit.provenance is not None
    assert hit.provenance.date, "it is dated"


@pytest.mark.parametrize(
    "fact",
    [
        {**FACT, "sentence": "Mira Holt left Harrow Mill."},
        {**FACT, "target": "Vell"},
        {**FACT, "relation_type": "!"},
        {**FACT, "source": "Harrow Mill"},
    ],
)
def test_what_the_user_did_not_say_is_not_remembered(talks: Start, fact: dict[str, str]) -> None:
    store = talks("Ada Morn.", facts(fact)).store
    known = store.maintenance.stats()["entities"]
    turn = store.chat(remember=True).say(SAID)

    assert turn.remembered == ()
    assert len(store.documents.list()) == 2, "a message without a fact is no document"
    assert store.maintenance.stats()["entities"] == known


def test_what_documents_say_is_not_remembered(talks: Start) -> None:
    """Neither tools' answers nor the model's own words are shown to whoever takes facts."""
    talk = talks(calls(("search", {"query": "clock"})), "Ada Morn built it.", facts())
    turn = talk.store.chat(remember=True).say("Who built the clock of Vell?")

    text = "".join(message.text for message in talk.model.asked[-1].messages)
    assert BUILT not in text
    assert "Ada Morn built it" not in text
    assert turn.remembered == ()
    assert len(talk.store.documents.list()) == 2


def test_facts_that_cannot_be_read_cost_no_answer(talks: Start) -> None:
    turn = talks("Ada Morn.", "nonsense", "nonsense").store.chat(remember=True).say(SAID)

    assert (turn.text, turn.remembered) == ("Ada Morn.", ())
    assert any("nothing was remembered" in note for note in turn.notes)


def test_messages_are_kept_as_they_are(library: Path) -> None:
    call = ToolCall(id="c", name="search", arguments='{"query": "é\\u202e"}')
    said = [
        Message(role="user", text="a\u2028b\U0001f511"),
        Message(role="assistant", text="", calls=(call,), response_id="resp_1"),
        Message(role="tool", text="x", answers="c"),
    ]
    with clew.open(library, embedder=HashEmbedder()) as store:
        store.conversations.append("one", said[:1])
        store.conversations.append("one", said[1:])
        assert store.conversations.messages("one") == said
        assert store.conversations.messages("two") == []


def test_a_damaged_message_is_an_error_that_says_what_to_do(library: Path) -> None:
    with clew.open(library, embedder=HashEmbedder()) as store:
        store.conversations.append("one", [Message(role="user", text="hello")])
        with store.state.journal.write() as connection:
            connection.execute("UPDATE conversation_messages SET message = ?", ('{"role": 1}',))
        with pytest.raises(StoreError, match="clew chat --forget"):
            store.chat(conversation="one")


@pytest.mark.parametrize("text", ["", " \n", "x" * 100_001, "half \ud800"])
def test_what_cannot_be_said_is_refused_and_not_kept(talks: Start, text: str) -> None:
    talk = talks("I am here.")
    chat = talk.store.chat()

    with pytest.raises(InputError):
        chat.say(text)
    assert talk.model.calls == 0
    assert talk.store.conversations.messages(chat.id) == []


def test_half_a_character_of_a_model_is_shown_as_none(talks: Start) -> None:
    told: list[str] = []
    talk = talks("The clock \ud83d stands.")
    turn = talk.store.chat().say("Where is it?", told.append)

    assert turn.text == "".join(told) == "The clock ? stands."
    json.dumps(turn.to_dict(), ensure_ascii=False).encode()


# --- A whole conversation over each provider's wire: two calls at once, their answers, the
# answer.


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
