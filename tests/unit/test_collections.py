"""Several collections asked together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import NotFoundError
from clew.mcp.engines import Engines
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import Caller
from clew.tools.toolbox import TOOLS

TEXTS = {
    "mills": ["The mill at Harrow Ford was built by Jonas Reed.", "Jonas Reed feared the Lorne."],
    "rivers": ["The Lorne is a slow river with seven weirs.", "Jonas Reed drowned in the Lorne."],
    "secret": ["Jonas Reed was paid by the duke of the Lorne."],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("place")
    for namespace, texts in TEXTS.items():
        with clew.open(folder, namespace=namespace, embedder=HashEmbedder()) as engine:
            for number, text in enumerate(texts):
                engine.add(text, title=f"{namespace} {number}")
    return folder


@pytest.fixture
def engine(place: Path) -> Iterator[clew.Clew]:
    with clew.open(place, namespace="mills", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("strategy", ["vector", "keyword", "hybrid", "graph", "multi_hop"])
def test_answers_are_fused_by_rank_and_say_where_they_are_from(
    engine: clew.Clew, place: Path, strategy: str
) -> None:
    asked: dict[str, Any] = {"strategy": strategy, "limit": 3}
    alone = {"mills": engine.search("Jonas Reed and the Lorne", **asked)}
    with clew.open(place, namespace="rivers", embedder=HashEmbedder()) as other:
        alone["rivers"] = other.search("Jonas Reed and the Lorne", **asked)
    together = engine.search("Jonas Reed and the Lorne", namespaces=["mills", "rivers"], **asked)
    ranks = {
        (name, hit.chunk.public_id): rank
        for name, result in alone.items()
        for rank, hit in enumerate(result.hits)
    }
    found = [ranks[hit.namespace, hit.chunk.public_id] for hit in together.hits]
    assert found == sorted(ranks.values())[:3]
    assert {hit.namespace for hit in together.hits} == {"mills", "rivers"}
    assert together.to_dict()["results"][0]["metadata"]["namespace"] in alone


def test_of_the_first_of_each_the_surest_comes_first(tmp_path: Path) -> None:
    texts = {"one": "The baker sells bread.", "two": "Jonas Reed built the mill.", "xyz": "Rain."}
    for namespace, text in texts.items():
        with clew.open(tmp_path, namespace=namespace) as made:
            made.add(text, title=namespace)
    with clew.open(tmp_path, namespace="one") as engine:
        found = engine.search("Who built the mill?", namespaces=list(texts))
    sure = [hit.confidence or 0 for hit in found.hits]
    assert found.hits[0].namespace == "two"
    assert sure == sorted(sure, reverse=True)
    assert found.context.parts[0].text.startswith("[1] two: two")


def test_the_context_is_numbered_anew_and_keeps_to_its_budget(engine: clew.Clew) -> None:
    whole = engine.search("Who feared the Lorne?", namespaces=["mills", "rivers"]).context
    assert [citation.number for citation in whole.citations] == [1, 2, 3, 4]
    for part in whole.parts:
        (citation,) = part.citations
        name = citation.title.split()[0]
        assert part.text.startswith(f"[{citation.number}] {name}: {citation.title}\n")
    count = engine.state.embedder.count_tokens
    for budget in range(5, 80, 5):
        cut = engine.search(
            "Who feared the Lorne?", namespaces=["mills", "rivers"], max_tokens=budget
        ).context
        assert count(cut.text) <= cut.tokens <= budget
        assert len(cut.parts) + cut.left_out == 4


@pytest.mark.parametrize("name", ["nowhere", "../mills", "", "mills/../secret"])
def test_what_is_no_namespace_is_an_error_and_is_not_made(
    engine: clew.Clew, place: Path, name: str
) -> None:
    before = sorted(place.rglob("*.db"))
    with pytest.raises(NotFoundError, match="no namespace"):
        engine.search("Jonas Reed", namespaces=["mills", name])
    assert sorted(place.rglob("*.db")) == before


def test_a_caller_without_a_right_is_told_the_same_as_if_there_were_none(engine: clew.Clew) -> None:
    caller = Caller(namespaces=("mills", "rivers"), scopes=frozenset({"read"}))
    told = {}
    for name in ("secret", "nowhere"):
        arguments = {"query": "Who paid Jonas Reed?", "namespaces": ["mills", name]}
        outcome = engine.tools.call("query_documents", arguments, caller=caller)
        assert outcome.is_error
        assert "duke" not in outcome.text
        told[name] = outcome.text.replace(name, "…")
    assert told["secret"] == told["nowhere"]
    assert engine.tools.call("query_documents", {"query": "x", "namespaces": ["rivers"]}).is_error


def test_a_server_asks_the_engines_that_it_has(place: Path) -> None:
    settings: Settings = load_settings(store=place, namespace="mills")
    with clew.open(settings=settings, embedder=HashEmbedder()) as first:
        engines = Engines(settings, TOOLS, first)
        caller = Caller(namespaces=("mills", "rivers", "empty"))
        try:
            with engines.acquire("mills") as opened:
                call = opened.toolbox.call
                asked = {"query": "Jonas Reed", "namespaces": ["rivers", "mills"]}
                found = call("query_documents", asked, caller=caller)
                none = call(
                    "query_documents", {"query": "Reed", "namespaces": ["empty"]}, caller=caller
                )
            assert not found.is_error, found.text
            places = {hit["metadata"]["namespace"] for hit in found.content["results"]}
            assert places == {"mills", "rivers"}
            assert none.is_error
            assert not (place / "empty").exists()
        finally:
            engines.close()


def test_the_first_question_that_needs_communities_says_that_they_are_made(place: Path) -> None:
    question = "Give an overview of all that is known here"
    with clew.open(place, namespace="rivers", embedder=HashEmbedder()) as engine:
        engine.add("The Lorne Estate owns the weirs of the Lorne.", source="new")
        steps: list[str] = []
        engine.state.progress = lambda step, done, total: steps.append(step)
        first, again = (engine.search(question, strategy="global").notes for _ in range(2))
        other = engine.search("What is the Lorne Estate?", strategy="global").notes
        engine.delete(["new"])
    assert steps
    assert [
        any("communities and topics were made" in n for n in notes)
        for notes in (first, again, other)
    ] == [True, False, False]
