"""What the best passage leaves open, and another says of a name in both, stands before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import clew
from clew.search.ask.pipeline import answer
from clew.settings import LlmSettings
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add

if TYPE_CHECKING:
    from pathlib import Path

TRIP = {
    "trip": "The hotel in Tallinn was booked by Kersti Tamm, who works for the agency Baltiq.",
    "agency": "Baltiq is a travel agency in Riga. Its invoices go to Juris Ozols.",
}
MINUTES = {
    "minutes": "Present: Olga, Ben, Farid.\n\nThe migration of billing is given to Farid Noury.",
    "team": "Farid Noury is in the office on Mondays. Olga Petrenko works from Kyiv.",
}
CODE = {
    "checkout": "The checkout service stores carts in CartVault. It is deployed twice a week.",
    "storage": "CartVault is a layer over PostgreSQL 15. Backups run every night at 02:30.",
}
OTHERS = {
    "recipe": "Boil the lentils for twenty minutes, then add cumin and a little vinegar.",
    "bike": "The chain of the red bike was changed in May. New tyres are in the cellar.",
}
# (texts, question, both titles: the one that leads there and the one that answers, the answer)
PAIRS = [
    (TRIP, "Who gets the invoice for the hotel in Tallinn?", ["trip", "agency"], "Juris Ozols"),
    (MINUTES, "On which days is the one in the office who was given the migration of billing?",
     ["minutes", "team"], "Mondays"),
    (CODE, "When do the backups run of what the checkout service stores carts in?",
     ["checkout", "storage"], "02:30"),
]  # fmt: skip


@pytest.mark.parametrize("others", [{}, OTHERS], ids=["two passages", "more"])
@pytest.mark.parametrize(("texts", "question", "titles", "said"), PAIRS)
def test_what_answers_comes_first_with_the_thread_to_it(
    tmp_path: Path,
    texts: dict[str, str],
    others: dict[str, str],
    question: str,
    titles: list[str],
    said: str,
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts | others)
        result = engine.search(question)

    best, second = result.hits[:2]
    assert [second.chunk.title, best.chunk.title] == titles
    assert [step.document for step in best.path] == titles
    assert {hit.chunk.title for hit in result.hits} <= set(texts | others)
    assert best.score >= second.score
    assert (best.confidence or 0) >= (second.confidence or 1) / 2
    statements = answer(result, None, LlmSettings(), lambda _: None).statements
    assert any(said in statement.text for statement in statements)


@pytest.mark.parametrize(
    ("texts", "question", "title"),
    [
        (TRIP, "Who booked the hotel in Tallinn?", "trip"),
        (TRIP, "Which agency does Kersti Tamm work for?", "trip"),
        (CODE, "How often is the checkout service deployed?", "checkout"),
        (CODE, "Which backups run every night?", "storage"),
    ],
)
def test_what_answers_by_itself_stays_first(
    tmp_path: Path, texts: dict[str, str], question: str, title: str
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts)
        assert engine.search(question).hits[0].chunk.title == title
