from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from clew.graph.paths import all_paths
from clew.search.strategies.entity_graph import PATHS, TOGETHER, paths_between, read_paths
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add, day, new_session

TEXTS = {
    "Larkmoor days": "Marta Quill was taught by Sefton Hale.",
    "Verity": "Sefton Hale and Osric Dane printed hymns at night.",
    "Short": "Marta Quill once met Brida Kall. Brida Kall married Osric Dane.",
    "Far": "Piet Oss never left Lisse.",
}
DATES = {"Larkmoor days": "2019-01-01", "Verity": "2020-01-01", "Short": "2022-01-01"}
QUESTION = "How is Marta Quill connected to Osric Dane?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def test_paths_come_with_the_sentence_of_each_tie_and_its_source(engine: clew.Clew) -> None:
    asked = new_session(engine, QUESTION, max_hops=3)
    texts = {block.forms[0].text: block for block in paths_between(asked)[0]}
    way = (
        "Marta Quill — taught_by → Sefton Hale: “Marta Quill was taught by Sefton Hale.”\n"
        "Sefton Hale — co_occurs_with → Osric Dane:"
        " “Sefton Hale and Osric Dane printed hymns at night.”"
    )
    block = texts[way]
    assert block.heading == "Path of 2 hops"
    assert [c.title for c in block.forms[0].citations] == ["Larkmoor days", "Verity"]


def test_the_fewest_hops_come_first(engine: clew.Clew) -> None:
    asked = new_session(engine, "Marta Quill, Osric Dane and Sefton Hale", max_hops=3)
    hops = [block.forms[0].text.count("\n") + 1 for block in paths_between(asked)[0]]
    assert hops == sorted(hops)
    assert hops[0] == 1
    assert len(hops) <= PATHS


def test_the_passages_that_state_the_first_path_are_among_the_hits(engine: clew.Clew) -> None:
    asked = new_session(engine, QUESTION, max_hops=3, limit=2)
    blocks, stating = paths_between(asked)
    titles = [chunk.title for chunk in engine.store.chunks(stating.tolist())]
    assert {c.title for c in blocks[0].forms[0].citations} == set(titles)
    result = engine.search(QUESTION, strategy="multi_hop", max_hops=3, limit=1 + len(titles))
    assert set(titles) <= {hit.chunk.title for hit in result.hits}


def test_too_few_names_and_no_path_are_said(engine: clew.Clew) -> None:
    alone = new_session(engine, "Who is Piet Oss?")
    assert paths_between(alone)[0] == []
    assert alone.notes == ["the question names fewer than two entities of the graph: no paths"]
    apart = new_session(engine, "How is Piet Oss connected to Marta Quill?", max_hops=2)
    assert paths_between(apart)[0] == []
    assert apart.notes == ["no path of at most 2 hops ties them"]


def test_a_path_does_not_lead_through_what_a_filter_forbids(engine: clew.Clew) -> None:
    every, _ = paths_between(new_session(engine, QUESTION, max_hops=2))
    early, _ = paths_between(new_session(engine, QUESTION, max_hops=2, until=day("2021-01-01")))
    assert {"Short"} in [{c.title for c in block.forms[0].citations} for block in every]
    assert [[c.title for c in block.forms[0].citations] for block in early] == [
        ["Larkmoor days", "Verity"]
    ]
    none = new_session(engine, QUESTION, max_hops=2, since=day("2023-01-01"))
    assert paths_between(none)[0] == []


def test_a_relation_that_did_not_hold_is_read_as_the_sentence_that_names_both(
    engine: clew.Clew,
) -> None:
    graph = engine.state.entity_graph
    ends = [engine.entities.get(name).id for name in ("Marta Quill", "Sefton Hale")]
    rows = [graph.entity_ids.tolist().index(id_) for id_ in ends]
    paths = all_paths(graph, rows[0], rows[1], max_hops=1).paths
    now = read_paths(engine.store, graph, paths)
    before = read_paths(engine.store, graph, paths, as_of=day("2001-01-01"))
    assert [tie.relation for way in now for tie in way] == ["taught_by"]
    assert [tie.relation for way in before for tie in way] == [TOGETHER]
    assert before[0][0].evidence == now[0][0].evidence
