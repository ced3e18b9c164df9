"""Widening on a small corpus: three passages call what is asked for by another name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.search.analysis.expansion import (
    NAMES_A_SEED,
    QueryExpansion,
    expand_query,
    expansion_ranking,
)
from clew.search.options import Options
from clew.search.retrieval.channels import Ranking
from clew.search.session import QuerySession, RecentlyUsed
from clew.testing.fakes import HashEmbedder
from clew.types import Condition

if TYPE_CHECKING:
    from clew.types import Vector, Vectors

CORPUS = {
    "Founding": "The Skerrow Lighthouse Trust (SLT) began in Marrow.",
    "alias": "SLT has its oil brought from Bergen by ship.",
    "Company": "The Quellin Mill is the pride of Bastow.",
    "synonym": "Grindhouse Nine and its wheel belong to the widow of a baker.",
    "Clock": "Ada Morn and Piet Oss made the Vell Clock together. Ada Morn paid Piet Oss well.",
    "neighbour": "Piet Oss herded goats as a child near Lisse.",
    "Numbers": "Drill 39 came after Drill 23 in the workshops of Ruhle.",
    **{
        f"distractor {number}": text
        for number, text in enumerate(
            (
                "What oil do people burn in winter?",
                "In a hard winter, a lighthouse may burn twice the oil.",
                "Oil will burn, winter or not, where there is trust.",
                "A lighthouse without oil will not burn in any winter.",
                "Who owns a wheel owns half of a mill.",
                "The wheel that the miller owns is not all of his mill.",
                "A mill has a wheel, which its miller owns.",
                "No miller owns his mill before the wheel turns.",
                "A partner was a child, too, and went to school.",
                "To school a child goes, not a partner.",
                "School makes a partner of each child.",
                "The child and its partner share a bench at school.",
            )
        )
    },
}
ASKED = {
    "alias": "What oil did the Skerrow Lighthouse Trust burn in winter?",
    "synonym": "Which miller owns the wheel of the Quellin Mill?",
    "neighbour": "Where did the partner of Ada Morn go to school as a child?",
}


class AlikeEmbedder(HashEmbedder):
    """Takes two names, each as a whole text, for one; counts what it embeds at once."""

    def __init__(self) -> None:
        super().__init__(1024)
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return super().embed_documents(
            ["Quellin Mill" if text == "Grindhouse Nine" else text for text in texts]
        )


@pytest.fixture(scope="module")
def embedder() -> AlikeEmbedder:
    return AlikeEmbedder()


@pytest.fixture(scope="module")
def engine(
    tmp_path_factory: pytest.TempPathFactory, embedder: AlikeEmbedder
) -> Iterator[clew.Clew]:
    folder: Path = tmp_path_factory.mktemp("widen")
    with clew.open(folder, embedder=embedder) as engine:
        for source, text in CORPUS.items():
            engine.add(text, source=source, metadata={"gold": source in ASKED})
        yield engine


def new_session(engine: clew.Clew, question: str, *where: Condition) -> QuerySession:
    options = Options(
        strategy="hybrid", limit=4, max_tokens=1000, where=where, now=datetime.now(UTC)
    )
    return QuerySession.start(engine.state, question, options)


def sources(engine: clew.Clew, ranking: Ranking) -> list[str]:
    return [chunk.source for chunk in engine.store.chunks(ranking.ids.tolist())]


# --- what it is for ------------------------------------------------------------------------------


@pytest.mark.parametrize("gold", ASKED)
def test_a_passage_under_another_name_is_found_by_widening_alone(
    engine: clew.Clew, gold: str
) -> None:
    narrow = engine.search(ASKED[gold], strategy="hybrid", limit=4)
    wide = engine.search(ASKED[gold], strategy="hybrid", limit=4, expand=True)

    assert gold not in [hit.chunk.source for hit in narrow.hits]
    assert gold in [hit.chunk.source for hit in wide.hits]


# --- which names ---------------------------------------------------------------------------------


def test_each_kind_of_name_is_told_apart(engine: clew.Clew) -> None:
    alias = expand_query(new_session(engine, ASKED["alias"]))
    synonym = expand_query(new_session(engine, ASKED["synonym"]))
    neighbour = expand_query(new_session(engine, ASKED["neighbour"]))

    assert alias.aliases == ("SLT",)
    assert alias.seeds == (engine.entities.get("SLT").id,)
    assert synonym.synonyms == ("Grindhouse Nine",)
    assert neighbour.neighbours[0] == "Piet Oss"
    assert set(neighbour.terms) >= {"piet", "oss"}


def test_names_that_differ_by_a_number_are_no_synonyms(engine: clew.Clew) -> None:
    found = expand_query(new_session(engine, "What was Drill 39 for?"))

    drills = engine.state.embedder.embed_documents(["Drill 39", "Drill 40"])
    assert found.seeds == (engine.entities.get("Drill 39").id,)
    assert found.synonyms == ()
    assert drills[0] @ drills[1] > 0  # alike, and yet


def test_neighbours_are_those_of_the_strongest_ties(engine: clew.Clew) -> None:
    question = new_session(engine, ASKED["neighbour"])
    [seed] = expand_query(question).seeds
    graph = engine.state.entity_graph
    others, edges = graph.row(int(np.flatnonzero(graph.entity_ids == seed)[0]))
    by_strength = sorted(
        zip(graph.strengths[edges].tolist(), graph.entity_ids[others].tolist(), strict=True),
        key=lambda edge: -edge[0],
    )
    names = engine.store.entity_names(graph.entity_ids.tolist())

    found = expand_query(question).neighbours

    assert list(found) == [names[entity] for _, entity in by_strength[:NAMES_A_SEED]]


def test_nothing_is_said_twice(engine: clew.Clew) -> None:
    found = expand_query(
        new_session(engine, "Does the Skerrow Lighthouse Trust, SLT, know Ada Morn's clock?")
    )

    assert "SLT" not in found.names
    assert "Skerrow Lighthouse Trust" not in found.names
    assert len(set(found.names)) == len(found.names)
    assert len(set(found.terms)) == len(found.terms)


@pytest.mark.parametrize("question", ["What is known of nobody at all?", "", "?"])
def test_a_question_without_names_is_left_alone(engine: clew.Clew, question: str) -> None:
    assert expand_query(new_session(engine, question)) == QueryExpansion()
    assert expansion_ranking(new_session(engine, question)).ids.tolist() == []


def test_an_empty_store(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as empty:
        assert expansion_ranking(new_session(empty, ASKED["alias"])).ids.tolist() == []


def test_widening_keeps_to_the_filters(engine: clew.Clew) -> None:
    gold = Condition(name="gold", operator="=", value="true")

    found = expansion_ranking(new_session(engine, ASKED["alias"], gold))

    assert sources(engine, found) == ["alias"]


# --- embeddings of names -------------------------------------------------------------------------


def test_names_are_embedded_in_one_batch_and_kept(
    engine: clew.Clew, embedder: AlikeEmbedder
) -> None:
    kept: RecentlyUsed[str, Vector] = RecentlyUsed(100)
    embedder.batches.clear()

    first = expand_query(new_session(engine, ASKED["synonym"]), kept)
    [batch] = embedder.batches
    again = expand_query(new_session(engine, ASKED["synonym"]), kept)

    assert {"Quellin Mill", "Grindhouse Nine"} <= set(batch)
    assert len(batch) <= 65
    assert embedder.batches == [batch]
    assert again == first


def test_a_cache_that_keeps_nothing_changes_nothing(engine: clew.Clew) -> None:
    nothing: RecentlyUsed[str, Vector] = RecentlyUsed(0)

    assert expand_query(new_session(engine, ASKED["synonym"]), nothing) == expand_query(
        new_session(engine, ASKED["synonym"])
    )
