"""A few words that ask nothing: passages that hold every one of them go first."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.search.strategies.look_up import holding_all_first
from clew.testing.fakes import HashEmbedder
from clew.text import terms
from tests.unit.asked import add, new_session, titles

TEXTS = {
    "Weaving": "Weaving is done at a loom. Looms of oak last longest.",
    "Register": "Oda McBride, weaver. Ivo Kern, dyer.",
    "Letter": "Oda wrote: the loom stands again. McBride signed below.",
    "Oak": "Oda Kern planted oaks, and oaks, and oaks, at Oda and at Kern.",
    "Kern": "Kern is a hamlet; the mill of Kern burnt down.",
}


@pytest.fixture
def engine(tmp_path: Path) -> clew.Clew:
    engine = clew.open(tmp_path, embedder=HashEmbedder())
    add(engine, TEXTS)
    return engine


@pytest.mark.parametrize("question", ["Oda McBride", "oda kern", "oak looms", "Kern mill"])
def test_what_holds_every_word_goes_first_and_nothing_is_lost(
    engine: clew.Clew, question: str
) -> None:
    session = new_session(engine, question)
    wanted = set(terms(question))
    holding = {title for title, text in TEXTS.items() if wanted <= set(terms(f"{title} {text}"))}
    before = session.channels.by_vector()

    ranking = holding_all_first(session, before)

    assert holding
    assert set(titles(session, ranking)[: len(holding)]) == holding
    assert set(ranking.ids.tolist()) == set(before.ids.tolist())
    assert (ranking.scores[: len(holding)] == before.scores.max()).all()


@pytest.mark.parametrize("question", ["Oda Marlowe", "the of", "", "Oda weaver dyer hamlet"])
def test_without_a_passage_that_holds_all_the_order_stays(engine: clew.Clew, question: str) -> None:
    session = new_session(engine, question)
    before = session.channels.by_vector()

    assert holding_all_first(session, before) == before


def test_hybrid_and_auto_look_up_names(engine: clew.Clew) -> None:
    for strategy in ("hybrid", "auto"):
        hits = engine.search("Oda McBride", strategy=strategy).hits
        assert {hit.chunk.title for hit in hits[:2]} == {"Register", "Letter"}


@pytest.mark.parametrize("strategy", ["auto", "graph"])
def test_a_passage_that_holds_all_that_is_looked_up_surely_answers(
    engine: clew.Clew, strategy: str
) -> None:
    found = engine.search("Oda McBride", strategy=strategy)
    sure = {hit.chunk.title: hit.confidence or 0 for hit in found.hits}
    assert (found.confidence or 0) >= 0.9
    assert min(sure.pop("Register"), sure.pop("Letter")) >= 0.6
    assert max(sure.values(), default=0) < 0.6
    assert (engine.search("Oda Marlowe", strategy=strategy).confidence or 0) < 0.6


def test_a_question_in_words_is_judged_by_what_was_learned(engine: clew.Clew) -> None:
    (hit, *_) = engine.search("Where does the loom of Oda McBride stand?").hits
    assert hit.confidence not in (0.9, 0.6)
