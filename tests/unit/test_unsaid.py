"""A name alone is no answer: what is asked about it must be said."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from tests.unit.asked import add

TEXTS = {
    "Minutes": "Ottilie Brenk chairs the choir. The choir of Ottilie Brenk rehearses on Mondays.",
    "Letter": "Dear Ottilie Brenk, your piano was repaired by Samir Qadri and costs 90 euros.",
    "Rota": "Samir Qadri opens the workshop at eight. Lena Oduya closes it at six.",
    "Garden": "The pond was dug in spring. Frogs came in summer, and the reeds are cut in winter.",
}


@pytest.fixture
def engine(tmp_path: Path) -> clew.Clew:
    engine = clew.open(tmp_path)
    add(engine, TEXTS)
    return engine


def sure(engine: clew.Clew, question: str) -> float:
    return engine.search(question).confidence or 0.0


@pytest.mark.parametrize(
    "asked",
    [
        "What is the salary of Ottilie Brenk?",
        "What is the blood type of Samir Qadri?",
        "Which password does Lena Oduya use?",
    ],
)
def test_a_name_without_what_is_asked_about_it_is_less_sure_than_what_is_said(
    engine: clew.Clew, asked: str
) -> None:
    said = [
        sure(engine, "Who chairs the choir of Ottilie Brenk?"),
        sure(engine, "When does Samir Qadri open the workshop?"),
    ]
    assert sure(engine, asked) < min(said) / 2


def test_the_order_and_the_passages_stay(engine: clew.Clew) -> None:
    found = engine.search("What is the salary of Ottilie Brenk?", limit=4)
    by_graph = engine.search("What is the salary of Ottilie Brenk?", strategy=found.strategy)
    assert found.hits
    assert [h.chunk.id for h in found.hits] == [h.chunk.id for h in by_graph.hits][:4]
    assert all(0 <= (hit.confidence or 0) <= 1 for hit in found.hits)


def test_another_form_of_the_word_says_it(engine: clew.Clew) -> None:
    repaired = sure(engine, "Who did the repairs for Ottilie Brenk?")
    assert repaired > 2 * sure(engine, "Who did the pedicure for Ottilie Brenk?")


def test_what_is_unlikely_is_not_called_answered_and_is_given_all_the_same(
    engine: clew.Clew,
) -> None:
    found = engine.search("Which enzyme splits lactose in the gut of calves?")
    assert found.hits
    assert not found.answered
    assert found.reached
    assert found.notes[0].startswith("nothing here is likely to answer")
