"""The part of the graph that matters to a question, and what the engine says of entities."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.engine import Engine
from clew.errors import InputError
from clew.search.strategies.subgraph import QuestionSubgraph
from clew.testing.fakes import HashEmbedder

CHAIN = ["Ada Morn", "Vell Abbey", "Piet Sorrel", "Tarn Mill", "Jo Quill"]
TEXTS = {
    "a": "Ada Morn built the clock of Vell Abbey.",
    "b": "Vell Abbey was sold to Piet Sorrel.",
    "c": "Piet Sorrel ground his corn at Tarn Mill.",
    "d": "Tarn Mill belonged to Jo Quill.",
    "e": "Lena Hart swam with Otto Berg.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        for source, text in TEXTS.items():
            engine.add(text, source=source)
        yield engine


def names(found: QuestionSubgraph) -> set[str]:
    return {node.name for node in found.graph.nodes}


def test_the_tree_ties_the_ends_that_are_named(engine: Engine) -> None:
    found = engine.graph.subgraph("How is Ada Morn tied to Jo Quill?")

    assert names(found) == set(CHAIN)
    assert len(found.graph.edges) == len(CHAIN) - 1
    assert {edge.evidence for edge in found.graph.edges} == set(TEXTS.values()) - {TEXTS["e"]}
    assert found.notes == ()


@pytest.mark.parametrize(("hops", "reached"), [(1, 2), (2, 3), (3, 4)])
def test_hops_take_all_that_lies_so_near(engine: Engine, hops: int, reached: int) -> None:
    found = engine.graph.subgraph("Ada Morn", hops=hops)

    assert set(CHAIN[:reached]) <= names(found)
    assert "Lena Hart" not in names(found)


@given(limit=st.integers(2, 8), hops=st.none() | st.integers(1, 3), budget=st.integers(1, 80))
def test_it_is_always_bounded_and_whole(
    engine: Engine, limit: int, hops: int | None, budget: int
) -> None:
    found = engine.graph.subgraph(
        "Ada Morn, Jo Quill and Otto Berg", hops=hops, limit=limit, max_tokens=budget
    )

    ids = {node.id for node in found.graph.nodes}
    assert 1 <= len(ids) <= limit
    assert {e.from_entity_id for e in found.graph.edges} <= ids
    assert {e.to_entity_id for e in found.graph.edges} <= ids
    assert engine.state.embedder.count_tokens(found.context.text) == found.context.tokens <= budget
    assert any("did not fit" in remark for remark in found.notes) == bool(found.context.left_out)


def test_as_json_it_is_a_local_graph(engine: Engine) -> None:
    found = engine.graph.subgraph("Ada Morn and Piet Sorrel")

    shown = json.loads(json.dumps(found.to_dict()))
    assert shown.keys() == {"query", "graph", "notes"}
    assert shown["graph"].keys() == {"nodes", "edges", "node_count", "edge_count"}
    assert "".join(found.to_graphml()).count("<node ") == shown["graph"]["node_count"]


@pytest.mark.parametrize("question", ["", " "])
def test_neither_a_question_nor_entities_is_refused(engine: Engine, question: str) -> None:
    with pytest.raises(InputError, match="entity_ids"):
        engine.graph.subgraph(question)


@pytest.mark.parametrize("question", ["zzz qqq", "the of and"])
def test_nothing_near_is_an_empty_graph_and_a_note(engine: Engine, question: str) -> None:
    found = engine.graph.subgraph(question)

    assert isinstance(found.to_dict()["graph"]["node_count"], int)
    assert found.graph.nodes or found.notes


def test_an_empty_store_has_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    with clew.open(tmp_path_factory.mktemp("empty"), embedder=HashEmbedder()) as empty:
        found = empty.graph.subgraph("Ada Morn")

    assert (found.graph.nodes, found.context.text) == ((), "")
    assert found.notes == ("no entity of the graph is near the question",)


def test_bounds_that_cannot_be(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"limit 1 cannot be; a graph takes at least 2"):
        engine.graph.subgraph("Ada Morn", limit=1)
    with pytest.raises(InputError, match=r"hops 4 cannot be; expected 1 to 3"):
        engine.graph.subgraph("Ada Morn", hops=4)


def test_entities_come_with_salience_and_tier(engine: Engine) -> None:
    entity, [found] = engine.entities.get("Vell Abbey"), engine.entities.find("Vell Abb")
    saliences = {name: engine.entities.get(name).salience_score for name in CHAIN}

    assert entity == found
    assert entity.tier in ("core", "notable", "minor")
    assert max(saliences.values()) == 1
    assert saliences["Piet Sorrel"] > saliences["Ada Morn"] > 0
    assert {n.entity.tier for n in engine.graph.neighbors("Vell Abbey")} <= {
        "core",
        "notable",
        "minor",
    }


def test_salience_follows_the_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        engine.add("Ada Morn stood still.", source="a")
        before = engine.entities.get("Ada Morn").salience_score
        engine.add("Ada Morn met Piet Sorrel.", source="b")
        after = engine.entities.get("Ada Morn").salience_score

    assert (before, after) == (0, 1)


def test_communities_are_made_once_and_their_steps_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    told: list[tuple[str, int, int | None]] = []
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        for source, text in TEXTS.items():
            engine.add(text, source=source)
        engine.state.update_communities(lambda *step: told.append(step))
        first = list(told)
        engine.state.update_communities(lambda *step: told.append(step))

        with pytest.raises(InputError, match=r"level 9 cannot be; the deepest level .* is 0"):
            engine.graph.communities(9)

    assert [step for step, _, _ in first] == ["communities", "reports", "topics", "save"]
    assert told == first
