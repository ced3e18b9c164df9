"""Questions about a section of a document, and what an entity is: these come first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import clew
from clew.search.analysis.question_patterns import section_name
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add

SAYS = "It says what is to be done about the boats, the nets and the fees of the harbour. " * 8
HANDBOOK = "\n\n".join(
    [
        "# Handbook of the harbour",
        f"## 4 Boats\n\n{SAYS}",
        f"### 4.2 Moorings\n\nA rope of hemp holds a boat. {SAYS}",
        f"### 4.21 Buoys\n\nA buoy is red. {SAYS}",
        f"## 14.2 Storms\n\nSection 4.2 is of no help in a storm. {SAYS}",
        f"## A.5 Drying of nets\n\nNets hang for a day. {SAYS}",
    ]
)
RULES = "\n\n".join(["# Rules of the mill", f"## 4.2 Sacks\n\nA sack weighs ten stone. {SAYS}"])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, {"Handbook": HANDBOOK, "Rules": RULES}, media_type="text/markdown")
        add(
            engine,
            {
                "Notes on Gearbox": "Gearbox was praised at the fair. Gearbox costs forty crowns.",
                "Gearbox": "Gearbox is a program for drawing wheels. It runs on small machines.",
                "Fair": "At the fair Gearbox, Gearbox and again Gearbox was shown to Nora Feld.",
            },
        )
        yield engine


@pytest.mark.parametrize(
    ("question", "number", "title"),
    [
        ("What does section 4.2 say?", "4.2", ""),
        ("what is said in § A.5.2 of the FAQ", "A.5.2", ""),
        ("Summarise chapter IV", "IV", ""),
        ("In the chapter on drying of nets, how long do they hang?", "", "drying of nets"),
        ("what does the section about moorings say", "", "moorings"),
        ("the chapter called “Storms at sea”", "", "Storms at sea"),
    ],
)
def test_sections_are_named_by_number_or_title(question: str, number: str, title: str) -> None:
    name = section_name(question)
    assert name is not None
    assert (name.number, name.title) == (number, title)


@pytest.mark.parametrize(
    "question", ["Who wrote the article?", "section heads of 1999", "a part of 3 boats", ""]
)
def test_others_name_none(question: str) -> None:
    assert section_name(question) is None


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("What does section 4.2 of the handbook of the harbour say?", "### 4.2 Moorings"),
        ("What does section 4.2 of the rules of the mill say?", "## 4.2 Sacks"),
        ("What is in section A.5?", "## A.5 Drying"),
        ("What does the chapter on drying of nets say?", "## A.5 Drying"),
        ("In the section about storms, what helps?", "## 14.2 Storms"),
    ],
)
def test_the_section_asked_for_comes_first(engine: clew.Clew, question: str, opening: str) -> None:
    result = engine.search(question)
    assert result.strategy == "parent_child"
    assert opening in result.hits[0].chunk.text


def test_a_section_that_there_is_not_leaves_the_order(engine: clew.Clew) -> None:
    plain = engine.search("What does it say of boats?", strategy="parent_child")
    asked = engine.search("What does section 77.3 say of boats?", strategy="parent_child")
    assert {hit.chunk.id for hit in plain.hits} == {hit.chunk.id for hit in asked.hits}


def test_what_an_entity_is_comes_first(engine: clew.Clew) -> None:
    for question in ("What is Gearbox?", "Tell me about Gearbox"):
        result = engine.search(question)
        assert result.strategy == "local"
        assert result.hits[0].chunk.title == "Gearbox", question
        assert len(result.hits) >= 3
