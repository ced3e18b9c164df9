"""Tools that follow the graph, as a client calls them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import clew
from clew import Clew
from clew.operations.toolbox import OPERATIONS, Toolbox
from clew.search.ranker import Ranker
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import engine_of
from tests.unit.called import call, refusal

TEXTS = {
    "Harrow Ford": "The mill at Harrow Ford was built by Jonas Reed. Jonas Reed feared the Lorne.",
    "Tarn Abbey": "Tarn Abbey stands on the river Lorne. Tarn Abbey is part of the Lorne Estate.",
    "Ada Quill": "Ada Quill was born in Port Anselm. Ada Quill married Jonas Reed in 1958.",
    "Port Anselm": "In 1971 Ada Quill left Port Anselm. Port Anselm is part of Veldt County.",
}


engine = engine_of(TEXTS)


@pytest.mark.parametrize("target", ["Lorne", "Veldt County"])
def test_paths_lead_to_an_entity_by_sentences_that_say_so(engine: Clew, target: str) -> None:
    found = call(engine.tools, "find_paths", source="Ada Quill", target=target, limit=50)
    assert found["paths"]
    for path in found["paths"]:
        assert path["hops"] == len(path["ties"]) <= 3
        for one, other in pairwise(path["ties"]):
            assert {one["from"], one["to"]} & {other["from"], other["to"]}
            assert one["evidence"] != other["evidence"], "no detour within one sentence"
        for tie in path["ties"]:
            assert any(tie["evidence"] in text for text in TEXTS.values())
            place = tie["source"]
            text = TEXTS[place["title"]]
            assert text[place["char_start"] : place["char_end"]] == tie["evidence"]


def test_a_timeline_is_in_order_and_of_the_period_asked(engine: Clew) -> None:
    whole = call(engine.tools, "entity_timeline", entity="Ada Quill")["timeline"]
    years = [entry["from"][:4] for entry in whole]
    assert years == sorted(years)
    assert set(years) == {"1958", "1971"}
    later = [entry for entry in whole if not entry["until"] or entry["until"] > "1960"]
    asked = {"entity": "Ada Quill"}
    assert call(engine.tools, "entity_timeline", **asked, since="1960")["timeline"] == later != []
    assert call(engine.tools, "entity_timeline", **asked, until="1900")["timeline"] == []


def test_the_graph_of_given_entities_ties_these(engine: Clew) -> None:
    ids = [engine.entities.get(name).id for name in ("Ada Quill", "Jonas Reed")]
    found = call(engine.tools, "relevant_subgraph", entity_ids=ids, format="json")
    assert set(ids) <= {node["id"] for node in found["nodes"]}
    assert found["edges"]
    asked = call(engine.tools, "relevant_subgraph", entity_ids=ids)["text"]
    assert "Ada Quill" in asked


BACKWARDS = {"since": "2024", "until": "2023"}


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("relevant_subgraph", {}, "give a question"),
        ("relevant_subgraph", {"query": "x", "entity_ids": [1]}, "not both"),
        ("relevant_subgraph", {"entity_ids": [987_654]}, "no entity 987654"),
        ("build_local_graph", {"entity_ids": [5000]}, "there is no entity 5000"),
        ("build_local_graph", {"entity_ids": []}, "no entity is given"),
        *(
            (tool, {"entity_id": entity_id}, said)
            for tool in ("get_entity_neighbors", "extract_entity_relationships")
            for entity_id, said in (
                (2**62, f"there is no entity {2**62}; expected an entity_id"),
                (10**30, f"at most {2**63 - 1}"),
            )
        ),
        ("extract_entity_relationships", {"entity_id": "Lorne"}, "expected a whole number"),
        ("get_document", {"document": "x"}, "no document 'x'"),
        ("get_document", {"document": "Harrow Ford", "cursor": "x"}, "cursor cannot be 'x'"),
        ("fetch", {"id": "x#3"}, "no document 'x#3'"),
        ("audit", {"cursor": "-1"}, "next_cursor"),
        ("query_job_status", {"job_id": "x"}, "no job 'x'"),
        ("entity_timeline", {"entity": "Ada Qiull"}, "Ada Quill"),
        ("entity_timeline", {"entity": "Ada Quill", **BACKWARDS}, "nothing lies between them"),
        ("search_entities", {"query": "Ada Quill", **BACKWARDS}, "nothing lies between them"),
        ("search", {"query": " \n"}, "query"),
        ("query_documents", {"query": " \n"}, "query"),
        ("graph_enhanced_search", {"query": " \n"}, "query"),
        ("relevant_subgraph", {"query": " \n"}, "query"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_why(
    engine: Clew, name: str, arguments: dict[str, object], said: str
) -> None:
    assert said in refusal(engine.tools, name, **arguments)


def test_communities_nearest_to_a_query_come_first(engine: Clew) -> None:
    every = call(engine.tools, "list_communities")["communities"]
    assert every
    assert all(community["sources"] for community in every)
    for wanted in every:
        report = f"{wanted['title']}\n{wanted['summary']}"
        (first,) = call(engine.tools, "list_communities", query=report, limit=1)["communities"]
        assert first["id"] == wanted["id"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("search_entities", "results"), ("list_communities", "communities"),
     ("graph_enhanced_search", "results")],
)  # fmt: skip
def test_what_is_nearest_is_told_from_what_was_asked(
    engine: Clew, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    found = call(engine.tools, name, query="Ada Quill married Jonas Reed")
    assert found[near]
    assert not found.get("notes")

    # What a question of another world is judged by on a store of real files.
    monkeypatch.setattr(Ranker, "judge", _nothing_answers)
    found = call(engine.tools, name, query="quantum lattices")
    assert found[near]
    assert "likely" in found["notes"][0]
    if near == "results":
        assert not call(engine.tools, name, query="ada quill")["notes"], "it is there by its name"


def _nothing_answers(ranker: Ranker, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ranker.rank_second(matrix), np.zeros(len(matrix), np.float32)


def test_an_entity_is_told_by_what_says_something_of_it(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("# Quux Engine\n\n---\n\nIt grinds flour for the whole of Veldt.", title="mill")
        found = call(engine.tools, "search_entities", query="Quux Engine")
    assert (
        "grinds flour" in {e["entity_name"]: e["content"] for e in found["results"]}["Quux Engine"]
    )


def test_a_question_gets_the_paths_that_its_strategy_found(engine: Clew) -> None:
    found = call(
        engine.tools,
        "query_documents",
        query="How are Ada Quill and Jonas Reed tied?",
        strategy="multi_hop",
    )
    parts = found["context"]["parts"]
    assert parts
    assert {part["kind"] for part in parts} == {"path"}
    assert all(part["citations"] for part in parts)
    assert "Ada Quill" in parts[0]["text"]


def test_a_temporal_question_gets_its_timeline_once(engine: Clew) -> None:
    found = call(
        engine.tools, "query_documents", query="What happened to Ada Quill?", strategy="temporal"
    )
    (part,) = found["context"]["parts"]
    assert part["kind"] == "timeline"
    assert len(part["citations"]) == len(found["results"])


def test_the_answering_sentence_stands_where_it_says(engine: Clew) -> None:
    found = call(engine.tools, "query_documents", query="Whom did Ada Quill marry?")
    (hit,) = [hit for hit in found["results"] if hit["metadata"]["title"] == "Ada Quill"]
    answer = hit["answer"]
    assert answer["text"] == "Ada Quill married Jonas Reed in 1958."
    assert TEXTS["Ada Quill"][answer["char_start"] : answer["char_end"]] == answer["text"]


@pytest.mark.parametrize(
    ("tool", "begun", "whole"),
    [
        ("entity_timeline", {"entity": "Ada Q"}, {"entity": "Ada Quill"}),
        ("get_entity_neighbors", {"entity_id": "Tarn A"}, {"entity_id": "Tarn Abbey"}),
        (
            "find_paths",
            {"source": "Ada Q", "target": "Jonas R"},
            {"source": "Ada Quill", "target": "Jonas Reed"},
        ),
    ],
)
def test_the_beginning_of_one_name_is_taken_and_said(
    engine: Clew, tool: str, begun: dict[str, str], whole: dict[str, str]
) -> None:
    taken = [
        f"'{one}' is taken for '{other}'"
        for one, other in zip(begun.values(), whole.values(), strict=True)
    ]
    expected = call(engine.tools, tool, **whole)
    assert call(engine.tools, tool, **begun) == {**expected, "notes": taken}


def test_a_failure_names_a_tool_that_helps(engine: Clew) -> None:
    failures: dict[str, dict[str, object]] = {
        "relevant_subgraph": {"entity_ids": [999]},
        "delete_relation": {"relation_id": 999, "confirm": True},
        "get_entity_neighbors": {"entity_id": 999},
        "extract_entity_relationships": {"entity_id": 999},
        "delete_document": {"document": "nowhere", "confirm": True},
        "fetch": {"id": "nowhere"},
    }
    for name, arguments in failures.items():
        told = refusal(engine.tools, name, **arguments)
        assert any(tool.name in told for tool in OPERATIONS if tool.name != name)


def test_a_tool_of_another_profile_is_said_to_be_there(engine: Clew) -> None:
    toolbox = Toolbox(engine, OPERATIONS, profile="core")
    assert "the profile full or memory" in refusal(toolbox, "create_entities", entities=[])
    assert "the profile full" in refusal(toolbox, "find_paths")


@pytest.mark.parametrize("strategy", ["keyword", "graph", "multi_hop"])
def test_a_budget_too_small_for_a_passage_shows_its_beginning_and_says_so(
    engine: Clew, strategy: str
) -> None:
    text = " ".join(f"The weir number {n} of the Lorne was mended in stone." for n in range(60))
    metadata = {"abstract": "Weirs of stone. " * 300}
    engine.add(text, title="Weirs of the Lorne", source="weirs", metadata=metadata)
    try:
        found = call(
            engine.tools, "query_documents", query="weirs stone", strategy=strategy, max_tokens=500
        )
    finally:
        engine.delete(["weirs"])
    (hit,) = found["results"]
    assert hit["text"].rstrip("…") in text
    assert len(hit["text"]) >= 80
    assert any("no room" in note for note in found["notes"])
    assert engine.state.embedder.count_tokens(json.dumps(found, ensure_ascii=False)) <= 500


@pytest.mark.parametrize(
    ("strategy", "question"),
    [("multi_hop", "How is Ada Quill tied to Harrow Ford?"), ("global", "What is this about?")],
)
def test_what_the_strategy_made_comes_first_in_little_room(
    engine: Clew, strategy: str, question: str
) -> None:
    asked = {"query": question, "strategy": strategy}
    whole = call(engine.tools, "query_documents", **asked, max_tokens=4000)["context"]["parts"]
    found = call(engine.tools, "query_documents", **asked, max_tokens=500)
    (first, *_) = found["context"]["parts"]
    assert first == whole[0]
    assert all(citation["ids"] for citation in first["citations"])
    assert found["results"] or any("no room" in note for note in found["notes"])
    assert engine.state.embedder.count_tokens(json.dumps(found, ensure_ascii=False)) <= 500


def test_a_context_too_small_for_the_best_passage_holds_its_beginning(engine: Clew) -> None:
    question = "Who built the mill at Harrow Ford?"
    best = engine.search(question).hits[0]
    found = engine.search(question, max_tokens=15)
    (part,) = found.context.parts
    assert part.citations[0].chunk_ids == (best.chunk.public_id,)
    assert found.context.is_cut
    assert any("is cut" in note for note in found.notes)
    assert found.context.tokens <= 15


def test_entities_are_found_by_type_and_time(engine: Clew) -> None:
    found = call(engine.tools, "search_entities", query="Who married Jonas Reed?", limit=50)[
        "results"
    ]
    types = {entity["entity_name"]: entity["entity_type"] for entity in found}
    assert len(set(types.values())) > 1
    people = call(
        engine.tools, "search_entities", query="Who married Jonas Reed?", node_types=["person"]
    )["results"]
    assert {one["entity_name"] for one in people} == {n for n, t in types.items() if t == "person"}
    late = call(engine.tools, "search_entities", query="Jonas Reed", since="1971", limit=50)[
        "results"
    ]
    assert {"Ada Quill", "Port Anselm"} <= {one["entity_name"] for one in late}
    assert "Tarn Abbey" not in {one["entity_name"] for one in late}
    assert all(one["content"] in TEXTS["Port Anselm"] for one in late)
    none = call(engine.tools, "search_entities", query="Jonas Reed", node_types=["dragon"])
    assert none["results"] == []
    assert "person" in none["notes"][0]


def test_a_fact_of_three_documents_is_one_edge_with_three_sources(engine: Clew) -> None:
    sources = ["first", "second", "third"]
    for source in sources:
        engine.add("Piet Oss married Brida Kall in 1960.", source=source, title=source)
    try:
        ids = [engine.entities.get(name).id for name in ("Piet Oss", "Brida Kall")]
        edges = call(engine.tools, "build_local_graph", entity_ids=ids)["graph"]["edges"]
        (edge,) = (one for one in edges if one["relation_type"] == "married")
        assert sorted(edge["sources"]) == sources
        assert edge["source_count"] == 3
        assert 0.5 < edge["weight"] < 1
    finally:
        engine.delete(sources)


def test_what_causes_is_causal(engine: Clew) -> None:
    ids = [engine.entities.get(name).id for name in ("Ada Quill", "Lorne")]
    ends = {"source_id": ids[0], "target_id": ids[1]}
    assert call(engine.tools, "add_entity_relationship", **ends, relation_type="causes")[
        "is_causal"
    ]
    assert not call(engine.tools, "add_entity_relationship", **ends, relation_type="uses")[
        "is_causal"
    ]


def test_neighbours_leave_room_for_the_entities_asked_for(engine: Clew) -> None:
    asked = {"query": "Ada Quill and Jonas Reed", "limit": 8}
    whole = call(engine.tools, "graph_enhanced_search", **asked, max_tokens=100_000)
    assert any(one["neighbors"] for one in whole["results"])
    bare = call(engine.tools, "graph_enhanced_search", **asked, include_neighbors=False)
    room = engine.state.embedder.count_tokens(json.dumps(bare, ensure_ascii=False)) + 60
    tight = call(engine.tools, "graph_enhanced_search", **asked, max_tokens=max(500, room))
    names = [one["entity_name"] for one in whole["results"]]
    assert [one["entity_name"] for one in tight["results"]] == names
    for one, other in zip(tight["results"], whole["results"], strict=True):
        assert one["neighbors"] == other["neighbors"][: one["neighbor_count"]]
        assert one["more_neighbors"] or one["neighbors"] == other["neighbors"]
