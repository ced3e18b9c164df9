"""Conversations, their tools, and what they are on each provider's wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import RawMessageStreamEvent
from ollama import ChatResponse
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

import clew
from clew.errors import (
    InputError,
    ModelError,
    NoLanguageModelError,
    NotFoundError,
    StoreError,
)
from clew.plugins.llm.budget import prompt_text, usual_tokens
from clew.ports import Message, Reply, ToolCall
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.text import words
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
        self.store: clew.Clew = clew.open(
            library, embedder=HashEmbedder(), language_model=self.model
        )

    def told(self, request: int) -> list[str]:
        """What the tools answered, as the model saw it in a request."""
        return [m.text for m in self.model.asked[request].messages if m.role == "tool"]


Start = Callable[..., Talk]


@pytest.fixture
def talks(library: Path) -> Iterator[Start]:
    with ExitStack() as stack:

        def start(*replies: Say) -> Talk:
            talk = Talk(library, *replies)
            stack.enter_context(talk.store)
            return talk

        yield start


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


def test_a_tool_that_changes_something_has_to_be_allowed_and_permitted(talks: Start) -> None:
    wanted = ("delete_document", {"document": "any", "confirm": True})
    asked: list[str] = []

    def permit(tool: str, arguments: Mapping[str, Any]) -> bool:
        asked.append(tool)
        return False

    talk = talks(calls(wanted), "No.", calls(wanted), "No.")
    talk.store.chat().say("Delete all")
    talk.store.chat(allow=["delete_document"], permit=permit).say("Delete all")

    offered = {tool.name for tool in talk.model.asked[0].tools}
    assert {"search", "fetch", "query_documents"} <= offered
    assert not offered & {"delete_document", "ingest_document"}
    assert "there is no tool 'delete_document'" in talk.told(1)[0]
    assert "does not allow delete_document" in talk.told(3)[0]
    assert asked == ["delete_document"]
    assert len(talk.store.documents.list()) == 2
    for tool, says in (("delete_document", "--allow delete_document"), ("rm", "there is no tool")):
        with pytest.raises(InputError, match=says):
            talk.store.chat(tools=[tool])


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
        ("search", json.dumps("no object"), "parameters of search are query"),
    ],
)
def test_what_cannot_be_called_is_answered_with_what_can(
    talks: Start, name: str, given: object, says: str
) -> None:
    talk = talks(calls((name, given)), "I see.")
    turn = talk.store.chat().say("Clock?")

    assert ([call.ok for call in turn.calls], turn.text) == ([False], "I see.")
    assert says in talk.told(1)[0]


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


# --- what is kept


@pytest.mark.parametrize("tool", ["query_documents", "ask"])
def test_what_a_tool_asks_of_the_model_counts_for_the_conversation(talks: Start, tool: str) -> None:
    asked = {"query": "Who built the clock of Vell?", "model_filter": True}
    usage = Usage(input_tokens=7, output_tokens=3)
    texts = ['{"passages": [1]}', '{"statements": []}'][: 2 if tool == "ask" else 1]
    inner = [Reply(text=text, finish="stop", model="m", usage=usage) for text in texts]
    replies = [calls((tool, asked)), *inner, "Ada Morn."]
    talk = talks(*replies)

    turn = talk.store.chat(tools=[tool]).say("Who built the clock of Vell?")

    assert turn.text == "Ada Morn."
    last = talk.model.asked[-1]
    told = sum(len(words(one.text)) for one in last.messages) + len(words(last.instructions))
    assert turn.usage.total == 15 + 10 * len(inner) + told + 2

    short = talks(*replies).store.chat(tools=[tool], max_tokens_spent=20)
    assert "tokens are spent" in " ".join(short.say("Who built the clock of Vell?").notes)


def test_what_a_turn_would_take_is_said_beforehand(talks: Start, library: Path) -> None:
    question = "Who built the clock of Vell?"
    talk = talks(calls(("query_documents", {"query": question})), "Ada Morn.")
    conversation = talk.store.chat()

    guess = conversation.estimate(question)
    remembering = talk.store.chat(remember=True).estimate(question)

    assert (talk.model.calls, conversation.messages) == (0, [])
    assert (guess.calls, remembering.calls) == (2, 3), "a look-up, the answer, what is kept"
    assert remembering.input_tokens > guess.input_tokens
    conversation.say(question)
    sent = sum(usual_tokens(prompt_text(request)) for request in talk.model.asked)
    assert guess.input_tokens == pytest.approx(sent, rel=0.15)
    with pytest.raises(InputError):
        conversation.estimate("  ")
    with (
        clew.open(library, embedder=HashEmbedder()) as store,
        pytest.raises(NoLanguageModelError),
    ):
        store.chat().estimate("Who?")


def test_it_goes_on_where_it_was(talks: Start) -> None:
    first = talks(calls(("search", {"query": "clock"})), "Ada Morn.").store.chat()
    first.say("Who built the clock?")
    again = talks("In Dunmere.")
    kept = again.store.conversations
    (one,) = kept.conversations()
    assert (one.id, one.title, one.messages) == (first.id, "Who built the clock?", 4)

    again.store.chat(conversation=first.id).say("Where was she born?")

    sent = again.model.asked[0].messages
    assert [m.role for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1].calls[0].name == "search"
    assert [kept.forget(first.id), kept.forget(first.id)] == [True, False]
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


# --- without a model


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
    store = talks("Ada Morn.", facts(FACT)).store
    turn = store.chat(remember=True).say(SAID)

    assert turn.remembered == (FACT["sentence"],)
    head, tail = (store.entities.get(FACT[name]).id for name in ("source", "target"))
    stated = {(r.relation_type, r.to_entity_id) for r in store.store.relations([head], 10)}
    assert ("works_at", tail) in stated
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
    assert "Ada Morn built" not in text
    assert turn.remembered == ()
    assert len(talk.store.documents.list()) == 2


def test_facts_that_cannot_be_read_cost_no_answer(talks: Start) -> None:
    turn = talks("Ada Morn.", "nonsense", "nonsense").store.chat(remember=True).say(SAID)

    assert (turn.text, turn.remembered) == ("Ada Morn.", ())
    assert any("nothing was remembered" in note for note in turn.notes)


def test_messages_are_kept_as_they_are_and_a_damaged_one_is_told(engine: clew.Clew) -> None:
    call = ToolCall(id="c", name="search", arguments='{"query": "é\\u202e"}')
    said = [
        Message(role="user", text="a\u2028b\U0001f511"),
        Message(role="assistant", text="", calls=(call,)),
        Message(role="tool", text="x", answers="c"),
    ]
    kept = engine.conversations
    kept.append("one", said[:1])
    kept.append("one", said[1:])
    assert (kept.messages("one"), kept.messages("two")) == (said, [])
    with engine.state.journal.write() as connection:
        connection.execute("UPDATE conversation_messages SET message = ?", ('{"role": 1}',))
    with pytest.raises(StoreError, match="clew chat --forget"):
        engine.chat(conversation="one")


@pytest.mark.parametrize("text", ["", " \n", "x" * 100_001, "half \ud800"])
def test_what_cannot_be_said_is_refused_and_not_kept(talks: Start, text: str) -> None:
    talk = talks("I am here.")
    chat = talk.store.chat()

    with pytest.raises(InputError):
        chat.say(text)
    assert talk.model.calls == 0
    assert talk.store.conversations.messages(chat.id) == []


# --- A whole conversation over each provider's wire: two calls at once, their answers, the
# answer.


CALLS = {"call_a": "clock of Vell", "call_b": "Ada Morn"}
"""Queries of the tool `search`, by the ids of the calls."""
WIRES: dict[str, tuple[str, str, Any]] = {
    "openai": ("/v1", "/v1/responses", ResponseStreamEvent),
    "anthropic": ("", "/v1/messages", RawMessageStreamEvent),
    "openai-compatible": ("/v1", "/v1/chat/completions", ChatCompletionChunk),
    "ollama": ("", "/api/chat", ChatResponse),
}
"""Where each provider is asked, and the vendor's own type of what it sends."""


@pytest.mark.parametrize("provider", WIRES)
def test_two_calls_their_answers_and_the_answer(
    library: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    """What a provider sends stands in files beside this one, held to the vendor's own types."""
    monkeypatch.setenv("CLEW_LLM_API_KEY", "any")
    base, path, kind = WIRES[provider]
    asked: list[str] = []

    def answer(request: Asked) -> Response:
        asked.append(request.get_data(as_text=True))
        file = Path(__file__).parent / "wires" / f"{provider}.{len(asked)}.txt"
        said = file.read_text("utf-8")
        for line in said.splitlines():
            if (event := line.removeprefix("data: ")).startswith("{"):
                TypeAdapter(kind).validate_json(event)
        streamed = "application/x-ndjson" if provider == "ollama" else "text/event-stream"
        return Response(said, mimetype=streamed)

    httpserver.expect_request("/api/show").respond_with_json({"model_info": {}})
    httpserver.expect_request(path).respond_with_handler(answer)
    address = {"base_url": httpserver.url_for(base), "context_tokens": 32_000}
    llm = {"provider": provider, "model": "small", **address}
    settings = load_settings(store=library, llm=llm)
    with clew.open(settings=settings, embedder=HashEmbedder()) as store:
        turn = store.chat().say("Who built the clock?")

    assert (turn.text, turn.notes) == ("It was Ada Morn.", ())
    assert [(call.ok, call.arguments) for call in turn.calls] == [
        (True, {"query": query}) for query in CALLS.values()
    ]
    first, second = asked
    assert "query_documents" in first, "the tools are offered"
    assert "<document tool=" not in first
    assert second.count("<document tool=") == 2
    assert "Ada Morn" in second
