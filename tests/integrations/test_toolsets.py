"""Agents call the tools of a store through their frameworks; scripted models say what they call."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent as OpenAIAgent
from agents import FunctionTool, Model, ModelResponse, RunConfig, Runner, Usage
from agents.items import TResponseStreamEvent
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import ModelResponse as Reply
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

import clew
from clew.errors import InputError, MissingExtraError
from clew.integrations.openai_agents import clew_tools
from clew.integrations.pydantic_ai import clew_toolset
from clew.integrations.toolsets import tool_definitions
from clew.testing.fakes import HashEmbedder

pytestmark = pytest.mark.anyio

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
}
QUESTION = "Whose apprentice built the clock of the Tower of Vell?"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": QUESTION}),
    ("fetch", {"id": "no such id"}),
    ("query_documents", {"query": "bees", "namespaces": ["ben"]}),
    ("ingest_document", {"path": __file__}),
    ("ingest_document", {"text": "Piet Oss taught Mira Dun.", "source": "dun"}),
    ("find_paths", {"source": "Mira Dun", "target": "Lisse"}),
]
"""What a model calls, one after the other."""
CHOSEN = list(dict.fromkeys(name for name, _ in CALLS))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[clew.Clew]:
    with (
        clew.open(tmp_path / "store", embedder=HashEmbedder(), namespace="anna") as store,
        store.namespaces.open("ben") as ben,
    ):
        ben.add("Ben keeps bees.")
        for source, text in TEXTS.items():
            store.add(text, source=source)
        yield store


def check(results: Sequence[Any], store: clew.Clew) -> None:
    """What the calls came to, as the model read it."""
    search, fetch, foreign, file, ingest, paths = map(str, results)
    assert "workshop by the canal" in search
    assert "no such id" in fetch
    assert "no namespace 'ben' of yours" in foreign
    assert "bees" not in foreign
    assert "no folder is open to you here" in file
    assert "dun" in ingest
    assert store.text("dun") == "Piet Oss taught Mira Dun."
    assert "Piet Oss taught Mira Dun." in paths


# --- which tools


def test_no_tool_asks_for_a_namespace(store: clew.Clew) -> None:
    every = [one["name"] for one in store.tools.definitions("mcp", profile="full")]
    strict = tool_definitions(store, every, "openai-responses")
    loose = tool_definitions(store, every)

    assert "namespaces" not in json.dumps([one["parameters"] for one in strict])
    assert "namespaces" not in json.dumps([one["inputSchema"] for one in loose])
    for schema in (one["parameters"] for one in strict):
        assert set(schema["required"]) == set(schema["properties"])


def test_by_default_nothing_is_changed(store: clew.Clew) -> None:
    names = {one["name"] for one in tool_definitions(store, None)}

    assert {"search", "fetch", "get_entity_neighbors"} <= names
    assert not names & {"ingest_document", "delete_document", "add_entity_relationship"}


def test_an_unknown_tool_is_named(store: clew.Clew) -> None:
    with pytest.raises(InputError, match=r"there are no tools \['serch'\]; expected of \["):
        clew_tools(store, ["search", "serch"])
    with pytest.raises(InputError, match="expected a list"):
        clew_toolset(store, "search")


# --- Pydantic AI


async def test_pydantic_ai_calls_tools(store: clew.Clew) -> None:
    async def model(messages: list[ModelMessage], info: AgentInfo) -> Reply:
        assert [tool.name for tool in info.function_tools] == CHOSEN
        step = len(messages) // 2
        if step == len(CALLS):
            return Reply(parts=[TextPart("Piet Oss.")])
        return Reply(parts=[ToolCallPart(*CALLS[step])])

    agent = Agent(FunctionModel(model), toolsets=[clew_toolset(store, CHOSEN)])
    done = await agent.run(QUESTION)

    results = [
        part.content
        for message in done.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert done.output == "Piet Oss."
    check(results, store)


async def test_pydantic_ai_reads_the_schemas(store: clew.Clew) -> None:
    """Its test model calls every tool with arguments made from its schema."""
    toolset = clew_toolset(store, ["search", "list_documents", "get_graph_statistics"], id="clew")
    done = await Agent(TestModel(), toolsets=[toolset.prefixed("clew")]).run("Go on.")

    assert set(json.loads(done.output)) == {
        "clew_search",
        "clew_list_documents",
        "clew_get_graph_statistics",
    }
    assert toolset.id == "clew"


# --- OpenAI Agents


class Scripted(Model):
    """Calls the tools of `CALLS`, then answers."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: ANN401
        given = kwargs.get("input", args[1] if len(args) > 1 else None)
        offered = kwargs.get("tools", args[3] if len(args) > 3 else [])
        assert [tool.name for tool in offered] == CHOSEN
        items: list[Any] = given if isinstance(given, list) else []
        self.results = [i["output"] for i in items if i.get("type") == "function_call_output"]
        step = len(self.results)
        output: Any = ResponseOutputMessage(
            id="m",
            content=[ResponseOutputText(annotations=[], text="Piet Oss.", type="output_text")],
            role="assistant",
            status="completed",
            type="message",
        )
        if step < len(CALLS):
            name, arguments = CALLS[step]
            output = ResponseFunctionToolCall(
                arguments=json.dumps(arguments), call_id=str(step), name=name, type="function_call"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(
        self,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


async def test_openai_agents_call_tools(store: clew.Clew) -> None:
    model = Scripted()
    agent = OpenAIAgent(name="Librarian", model=model, tools=list(clew_tools(store, CHOSEN)))
    done = await Runner.run(agent, QUESTION, run_config=RunConfig(tracing_disabled=True))

    assert done.final_output == "Piet Oss."
    check(model.results, store)


def test_openai_agents_have_strict_tools(store: clew.Clew) -> None:
    every = [one["name"] for one in store.tools.definitions("mcp", profile="full")]

    made = clew_tools(store, every)

    assert [tool.name for tool in made] == every
    assert all(isinstance(tool, FunctionTool) and tool.strict_json_schema for tool in made)


@pytest.mark.parametrize(
    ("module", "needs", "extra"),
    [("pydantic_ai", "pydantic_ai", "pydantic-ai"), ("openai_agents", "agents", "openai-agents")],
)
def test_without_the_framework_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, needs: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, f"clew.integrations.{module}")
    monkeypatch.setitem(sys.modules, needs, None)

    with pytest.raises(MissingExtraError, match=rf"pip install 'clew\[{extra}\]'"):
        __import__(f"clew.integrations.{module}")
