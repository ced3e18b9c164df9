from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from clew.search.strategies.entity_graph import (
    NEAREST,
    Nearest,
    entities_of,
    nearest_entities,
    search_neighbourhood,
)
from clew.testing.fakes import HashEmbedder
from clew.types import Community
from tests.unit.asked import add, day, new_session, titles

TEXTS = {
    "papers": "Hanna Brevik was taught by Lukas Orne. Hanna Brevik sailed on the Kestrel.",
    "Kestrel": "The Kestrel was lost with a cargo of guano.",
    "Lukas Orne": "Lukas Orne left two sons and a debt. Lukas Orne was taught by Piet Oss.",
    "Piet Oss": "Piet Oss kept bees near Lisse.",
    "bread": "Bread is baked at four in the morning, and sold by noon.",
}
DATES = {title: f"20{year}-01-01" for title, year in zip(TEXTS, range(15, 20), strict=True)}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def names(engine: clew.Clew, nearest: Nearest) -> dict[str, float]:
    known = engine.store.entity_names(list(nearest.relevance))
    return {known[id_]: value for id_, value in nearest.relevance.items()}


def community(*entities: str) -> Community:
    return Community(
        id=1, level=0, parent=None, title="", summary="", entities=entities, size=len(entities)
    )


def test_the_entities_that_the_question_names_are_nearest(engine: clew.Clew) -> None:
    near = names(engine, nearest_entities(new_session(engine, "Tell me about Hanna Brevik")))
    assert near["Hanna Brevik"] == 1
    assert len(near) <= NEAREST
    assert all(0 <= value <= 1 for value in near.values())
    assert list(near.values()) == sorted(near.values(), reverse=True)


def test_the_first_of_each_community_is_foremost(engine: clew.Clew) -> None:
    communities = [community("Lukas Orne", "Piet Oss", "Nobody"), community("Kestrel", "Piet Oss")]
    found = names(engine, entities_of(new_session(engine, "anything"), communities))
    assert found == {"Lukas Orne": 1, "Kestrel": 1, "Piet Oss": 0.5}


def test_passages_of_the_neighbours_come_and_the_context_says_what_ties_them(
    engine: clew.Clew,
) -> None:
    asked = new_session(engine, "Tell me about Hanna Brevik")
    found = search_neighbourhood(asked, Nearest({engine.entities.get("Hanna Brevik").id: 1.0}))
    assert titles(asked, found.ranking)[0] == "papers"
    assert set(titles(asked, found.ranking)[1:3]) == {"Kestrel", "Lukas Orne"}
    (block,) = found.arrange(asked, ())
    assert block.forms[0].text.startswith("Entities: Hanna Brevik (")
    said = "- Hanna Brevik — taught_by → Lukas Orne: “Hanna Brevik was taught by Lukas Orne.”"
    assert said in block.forms[0].text
    assert "papers" in {citation.title for citation in block.forms[0].citations}


def test_hops_bound_the_neighbourhood(engine: clew.Clew) -> None:
    def context(max_hops: int) -> str:
        asked = new_session(engine, "Hanna Brevik", max_hops=max_hops)
        found = search_neighbourhood(asked, Nearest({engine.entities.get("Hanna Brevik").id: 1.0}))
        return found.arrange(asked, ())[0].forms[0].text

    assert "Piet Oss" not in context(1)
    assert "Piet Oss" in context(2)


def test_neither_names_nor_relations_of_what_a_filter_forbids_are_shown(engine: clew.Clew) -> None:
    asked = new_session(engine, "Hanna Brevik", max_hops=3, until=day("2016-06-01"))
    found = search_neighbourhood(asked, Nearest({engine.entities.get("Hanna Brevik").id: 1.0}))
    assert set(titles(asked, found.ranking)) == {"papers", "Kestrel"}
    (block,) = found.arrange(asked, ())
    assert "Lukas Orne" in block.forms[0].text, "the allowed passage names him"
    assert "Piet Oss" not in block.forms[0].text


def test_where_no_entity_is_near_meaning_decides(engine: clew.Clew) -> None:
    asked = new_session(engine, "When is bread baked?")
    found = search_neighbourhood(asked, Nearest({}))
    assert titles(asked, found.ranking)[0] == "bread"
    assert asked.notes == ["no entity is near the question; passages were found by meaning alone"]
