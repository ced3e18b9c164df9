"""Clew's own graph on a real server, asked by Cypher: its examples, and the tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.attach.cypher import own_examples
from clew.errors import InputError
from clew.library import Clew
from clew.ports.models import Reply, Request
from clew.settings import Neo4jSettings, Settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.tools.spec import Caller
from tests.contract.neo4j_stores import new_place

TEXTS = {
    "Vell": "Ada Morn built the great clock of Vell. Ada Morn works at Harrow Mill.",
    "Mill": "Tobias Fenn works at Harrow Mill. He met Ada Morn there.",
    "Bridge": "Mira Holt painted the bridge of Ostby.",
}
WRITTEN = {
    example.question: json.dumps(
        {
            "query": example.query,
            "parameters": [{"name": n, "value": v} for n, v in example.parameters.items()],
        }
    )
    for example in own_examples()
}


class Writer(ScriptedLanguageModel):
    """Writes the query of the example that is asked."""

    def reply(self, request: Request) -> Reply:
        return ScriptedLanguageModel([WRITTEN[request.subject]]).reply(request)


@pytest.fixture(scope="module")
def store(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    local = tmp_path_factory.mktemp("local")
    with new_place(neo4j_address, neo4j_settings) as place:
        settings = Settings(
            store=place.address,
            namespace=place.namespace,
            neo4j=place.settings.model_copy(update={"local": local}),
        )
        with Clew(settings, embedder=HashEmbedder(64), language_model=Writer()) as opened:
            for title, text in TEXTS.items():
                opened.add(text, title=title, source=f"{title}.md", metadata={"date": "2023-05-01"})
            yield opened


def test_every_example_about_the_own_graph_is_let_through(store: Clew) -> None:
    for question in WRITTEN:
        found = store.ask_by_cypher(question)
        assert found.query
        assert not found.notes, found.notes


def test_what_they_find_is_what_the_store_holds(store: Clew) -> None:
    found = {question: store.ask_by_cypher(question).rows for question in WRITTEN}
    assert found["How many documents are there?"] == ((len(TEXTS),),)
    assert found["Which documents mention Ada Morn?"] == (("Mill", "Mill.md"), ("Vell", "Vell.md"))
    assert {row[0] for row in found["Which documents are of 2023?"]} == set(TEXTS)
    workers = [row[0] for row in found["Who works at Harrow Mill?"]]
    assert [node["name"] for node in workers if isinstance(node, dict)] == [
        "Ada Morn",
        "Tobias Fenn",
    ]
    ties = found["What is Ada Morn tied to?"]
    assert ("Ada Morn", "works_at", "Harrow Mill") in ties


def test_the_tool_answers_whoever_may_read_all_of_the_database(store: Clew) -> None:
    asked = {"query": "Which documents mention Ada Morn?"}
    found = store.tools.call("ask_by_cypher", asked)
    assert not found.is_error, found.content
    assert found.content["rows"] == [
        {"title": "Mill", "source": "Mill.md"},
        {"title": "Vell", "source": "Vell.md"},
    ]
    assert found.content["parameters"] == {"name": "Ada Morn"}
    assert "MATCH" in found.content["cypher"]
    reader = Caller(name="reader", scopes=frozenset({"read"}))
    assert "there is no tool" in store.tools.call("ask_by_cypher", asked, caller=reader).text


def test_a_blank_question_asks_no_model(store: Clew) -> None:
    with pytest.raises(InputError, match="no question"):
        store.ask_by_cypher("  ")


def test_a_store_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with clew.open(tmp_path / "s", embedder=HashEmbedder(64), language_model=Writer()) as opened:
        found = opened.tools.call("ask_by_cypher", {"query": "How many documents are there?"})
    assert found.is_error
    assert "is a folder" in found.content["error"]
