"""Comparisons: both sides are retrieved for."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.search.analysis.sub_questions import compared_sides
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("Compare the mill and the smithy", "the mill", "the smithy"),
        (
            "What is the difference between ReadError and ConnectError?",
            "What is the ReadError",
            "What is the ConnectError",
        ),
        ("How do the fees of Vell and Ostby differ?", "the fees of Vell", "the fees of Ostby"),
        ("How does a PEP differ from an EP?", "a PEP", "an EP"),
        ("sort() versus sorted() in Python", "sort()", "sorted() in Python"),
        (
            "the budget in 2020 compared with 2024, please",
            "the budget in 2020 please",
            "the budget in 2024 please",
        ),
    ],
)
def test_each_side_is_a_question(question: str, first: str, second: str) -> None:
    assert compared_sides(question) == (first, second)


@pytest.mark.parametrize(
    "question", ["Who built the mill and the smithy?", "What differs?", "Compare them", "", "vs"]
)
def test_others_have_no_sides(question: str) -> None:
    assert compared_sides(question) is None


def test_both_sides_are_among_the_first(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(
            engine,
            {
                **{
                    f"Vell {n}": f"The harbour fees of Vell, year {n}, by weight." for n in range(9)
                },
                "Ostby": "At Ostby boats pay by length.",
                "Lisse": "At Lisse nobody pays.",
            },
        )
        for question in (
            "Compare the harbour fees of Vell and Ostby",
            "How do the harbour fees of Vell and Ostby differ?",
        ):
            titles = [hit.chunk.title for hit in engine.search(question).hits[:5]]
            assert "Ostby" in titles
            assert any(title.startswith("Vell") for title in titles)
