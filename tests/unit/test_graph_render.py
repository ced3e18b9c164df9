"""Subgraphs as text, JSON and GraphML, of a real store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.entity_graph import current_entity_graph, entity_ranks
from clew.graph.export import Edge, NamedGraph, as_graphml, as_json, as_text, read_subgraph
from clew.graph.subgraph import subgraph_around
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry
from clew.types import Entity

FIRST = "The Danube & its boats pass Vienna. Vienna adores Mozart."
SECOND = "The Danube flows through Vienna."


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NamedGraph]:
    """What lies around Vienna: the Danube by two relations, Mozart by a sentence alone."""
    folder = tmp_path_factory.mktemp("store")
    store = SqliteStore(folder, embedder=EMBEDDER)
    names = {"Danube": "place", "Vienna": "place", "Mozart": "person"}
    relations = [("Danube", "flows_through", "Vienna"), ("Vienna", "lies_on", "Danube")]
    store.save(make_entry("a", FIRST, names=names))
    store.save(make_entry("b", SECOND, names=names, relations=relations))
    graph = current_entity_graph(store, None, folder)
    seed = graph.entity_ids.tolist().index(store.resolve(["vienna"])["vienna"])
    yield read_subgraph(store, graph, subgraph_around(graph, [seed]), entity_ranks(graph))
    store.close()


def test_a_subgraph_is_read_with_its_relations_and_sentences(rivers: NamedGraph) -> None:
    names = {node.id: node.name for node in rivers.nodes}
    assert list(names.values()) == ["Vienna", "Danube", "Mozart"]
    assert (rivers.nodes[0].tier, rivers.nodes[0].salience_score) == ("core", 1.0)
    assert 0 < rivers.nodes[2].salience_score < 1
    found = [
        (names[e.from_entity_id], e.relation_type, names[e.to_entity_id], e.evidence)
        for e in rivers.edges
    ]
    assert found[:2] == [
        ("Danube", "flows_through", "Vienna", SECOND),
        ("Vienna", "lies_on", "Danube", SECOND),
    ]
    [(*ends, evidence)] = found[2:]
    assert set(ends) == {"Vienna", "Mozart", "co_occurs_with"}
    assert evidence == "Vienna adores Mozart."
    assert rivers.edges[2].id is None
    assert 0 < rivers.edges[2].weight < 1


def test_json_has_the_keys_of_a_local_graph(rivers: NamedGraph) -> None:
    found = json.loads(json.dumps(as_json(rivers)))
    assert (found["node_count"], found["edge_count"]) == (3, 3)
    assert set(found["nodes"][0]) == {"id", "name", "entity_type", "tier", "salience_score"}
    keys = {"id", "from_entity_id", "to_entity_id", "relation_type", "weight", "is_causal"}
    assert keys <= set(found["edges"][0])
    ids = {node["id"] for node in found["nodes"]}
    assert {
        edge[end] for edge in found["edges"] for end in ("from_entity_id", "to_entity_id")
    } <= ids


def test_graphml_names_every_node_and_edge(rivers: NamedGraph) -> None:
    root = ElementTree.fromstring("".join(as_graphml(rivers)))
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    nodes = {node.get("id") for node in root.iterfind(".//g:node", space)}
    edges = root.findall(".//g:edge", space)
    assert len(nodes) == len(edges) == len({edge.get("id") for edge in edges}) == 3
    assert all(edge.get(end) in nodes for edge in edges for end in ("source", "target"))
    types = root.iterfind(".//g:data[@key='edge_relation_type']", space)
    assert [data.text for data in types] == ["flows_through", "lies_on", "co_occurs_with"]


def test_text_says_who_and_what_ties_them(rivers: NamedGraph) -> None:
    context = as_text(rivers, max_tokens=100, count_tokens=words, tokenizer="words")
    first, *lines = context.text.split("\n")
    assert first == "Entities: Vienna (place); Danube (place); Mozart (person)"
    assert lines[0] == f"- Danube — flows_through → Vienna: “{SECOND}”"
    assert "Mozart" in lines[2]
    assert "→" not in lines[2]
    assert (context.tokens, context.left_out) == (words(context.text), 0)
    assert context.tokenizer == "words"


def test_a_tie_that_is_too_long_makes_room_for_the_next() -> None:
    long, short = ("word " * 30, "Short.")
    named = NamedGraph(
        nodes=tuple(Entity(id=i, name=f"N{i}", key=f"n{i}", entity_type="name") for i in (1, 2)),
        edges=tuple(
            Edge(
                id=number,
                from_entity_id=1,
                to_entity_id=2,
                relation_type="uses",
                weight=1.0,
                is_causal=False,
                evidence=evidence,
            )
            for number, evidence in enumerate((long, short))
        ),
    )
    context = as_text(named, max_tokens=20, count_tokens=words)
    assert context.text == "Entities: N1 (name); N2 (name)\n- N1 — uses → N2: “Short.”"
    assert context.left_out == 1


@given(max_tokens=st.integers(0, 60), per_letter=st.booleans())
def test_text_fits_any_budget(rivers: NamedGraph, max_tokens: int, per_letter: bool) -> None:
    context = as_text(rivers, max_tokens=max_tokens, count_tokens=len if per_letter else words)
    assert context.tokens <= max_tokens
    whole = as_text(rivers, max_tokens=10_000, count_tokens=words).text.split("\n")
    assert [line for line in context.text.split("\n")[1:] if line not in whole] == []
