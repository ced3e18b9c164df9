from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.search.answer.blocks import RetrievalResult
from clew.search.options import Hierarchy, HierarchyStep, parse_hierarchy
from clew.search.strategies.hierarchy import (
    by_hierarchy,
    by_outline,
)
from clew.testing.fakes import HashEmbedder
from tests.contexts import parts_of
from tests.unit.asked import add, day, new_session, titles


@pytest.mark.parametrize(
    "text",
    [
        "person -works_at-> organisation <-owns- organisation",
        "person-works_at->organisation<-owns-organisation",
        "  person  - works_at ->  organisation <- owns -  organisation  ",
    ],
)
def test_a_hierarchy_is_types_and_the_relations_between_them(text: str) -> None:
    assert parse_hierarchy(text) == Hierarchy(
        ("person", "organisation", "organisation"),
        (HierarchyStep("works_at", True), HierarchyStep("owns", False)),
    )


@pytest.mark.parametrize(
    "text",
    ["", "person", "person -works_at->", "person works_at organisation", "-> a", "a -b-> c d"],
)
def test_what_is_no_hierarchy_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot read the hierarchy"):
        parse_hierarchy(text)


# --- the outline

BOOK = """# The book of Vell

## Clocks

### Towers

The clock of the tower was built by Ada Morn.

## Bells

In 2012 the bell was cast again.

## Eels

In 2019 the eels came back to the river.
"""
OTHERS = {"Clocks": "A clock, a clock, a clock.", "Bread": "Bread is baked at four."}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    settings = clew.load_settings(
        store=tmp_path_factory.mktemp("books"),
        split={"chunk_tokens": 16, "section_tokens": 16, "overlap": 0.0},
    )
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        add(engine, {"The book of Vell": BOOK}, media_type="text/markdown")
        add(engine, OTHERS)
        yield engine


def context(engine: clew.Clew, question: str, **options: object) -> str:
    given = {"strategy": "hierarchical", "limit": 1, **options}
    found = engine.search(question, **given)  # type: ignore[arg-type]
    return "\n\n".join(part.text for part in parts_of(found.context.text))


def test_a_passage_comes_with_the_outline_above_and_below_it(books: clew.Clew) -> None:
    text = context(books, "the bell that was cast again", layer="passage")
    outline = text[text.index("Outline of") :].split("\n\n")[0].split("\n")
    assert outline[0] == "Outline of The book of Vell:"
    assert [line for line in outline if line.startswith("→")] == ["→ The book of Vell › Bells"]
    assert "- The book of Vell › Eels" in outline
    assert "In 2012 the bell was cast again." in text


def test_an_outline_names_no_section_that_a_filter_forbids(books: clew.Clew) -> None:
    text = context(books, "bell", layer="passage", since="2012", until="2013")
    assert "→ The book of Vell › Bells" in text
    for forbidden in ("Towers", "Eels", "2019"):
        assert forbidden not in text


def test_where_the_outline_does_not_fit_the_passage_stands_alone(books: clew.Clew) -> None:
    text = context(books, "the bell that was cast again", layer="passage", max_tokens=25)
    assert "Outline of" not in text
    assert "the bell was cast again" in text


@pytest.mark.parametrize("layer", ["document", "section"])
def test_a_whole_is_as_near_as_the_mean_of_its_passages(books: clew.Clew, layer: str) -> None:
    asked = new_session(books, "clock bell eels river", layer=layer)
    found = by_outline(asked)
    chunks = books.store.chunks(found.ranking.ids.tolist())
    for chunk, score in zip(chunks, found.ranking.scores.tolist(), strict=True):
        inside = [
            other.id
            for other in books.documents.chunks(chunk.source)
            if layer == "document" or other.section_id == chunk.section_id
        ]
        mean = books.state.vectors.vectors(inside).mean(axis=0)
        expected = float(mean @ asked.vector / np.linalg.norm(mean))
        assert score == pytest.approx(expected, abs=1e-5)
    assert (np.diff(found.ranking.scores) <= 0).all()


def test_an_unknown_layer_lists_those_there_are(books: clew.Clew) -> None:
    with pytest.raises(InputError, match=r"unknown layer 'page'.* document, section, passage"):
        context(books, "bell", layer="page")


# --- declared hierarchies

CHAIN = "person -works_for-> organisation -part_of-> organisation"
LEAVES = {
    "1": "Ilse Marn works for Torvald Shipping Company.",
    "2": "Torvald Shipping Company is part of Northgate Group.",
    "3": "Jorid Falk works for Torvald Shipping Company.",
    "4": "Brida Kall works for Kestrel Insurance Company.",
    "5": "Torvald Shipping Company was founded by Ilse Marn.",
}
LEAF_DATES = {"2": "2020-01-01", "1": "2015-01-01", "3": "2021-01-01"}


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("register"), embedder=HashEmbedder()) as engine:
        add(engine, LEAVES, LEAF_DATES)
        yield engine


def chain(engine: clew.Clew, question: str, **options: object) -> tuple[RetrievalResult, list[str]]:
    """What is found, and the lines of the chain."""
    asked = new_session(engine, question, hierarchy=CHAIN, **options)
    found = by_hierarchy(asked, parse_hierarchy(CHAIN))
    blocks = found.arrange(asked, ())
    return found, blocks[0].forms[0].text.split("\n") if blocks else asked.notes


def test_the_chain_leads_down_from_the_first_layer(register: clew.Clew) -> None:
    found, lines = chain(register, "Where is Ilse Marn?", layer="person")
    assert lines == [
        "- Ilse Marn — works_for → Torvald Shipping Company",
        "- Torvald Shipping Company — part_of → Northgate Group",
    ]
    chunks = register.store.chunks(found.ranking.ids.tolist())
    assert [chunk.title for chunk in chunks][:2] == ["1", "2"]


def test_and_up_and_down_from_one_within(register: clew.Clew) -> None:
    _, lines = chain(register, "Torvald Shipping Company", layer="organisation")
    assert set(lines) == {
        "- Ilse Marn — works_for → Torvald Shipping Company",
        "- Jorid Falk — works_for → Torvald Shipping Company",
        "- Torvald Shipping Company — part_of → Northgate Group",
    }


def test_a_question_that_names_none_starts_from_near_passages(register: clew.Clew) -> None:
    _, lines = chain(register, "an insurance company", layer="person")
    assert "- Brida Kall — works_for → Kestrel Insurance Company" in lines


def test_relations_that_a_filter_forbids_are_not_followed(register: clew.Clew) -> None:
    _, lines = chain(
        register, "Torvald Shipping Company", layer="organisation", until=day("2020-06-01")
    )
    assert set(lines) == {
        "- Ilse Marn — works_for → Torvald Shipping Company",
        "- Torvald Shipping Company — part_of → Northgate Group",
    }


def test_a_relation_type_that_there_is_not_is_refused(register: clew.Clew) -> None:
    wrong = "person -worksfor-> organisation"
    with pytest.raises(InputError, match=r"of the type 'worksfor'; there are .*works_for"):
        register.search("Where is Ilse Marn?", strategy="hierarchical", hierarchy=wrong)


def test_where_no_chain_is_found_meaning_decides_and_that_is_said(register: clew.Clew) -> None:
    asked = new_session(register, "Ilse Marn", layer="place")
    hierarchy = parse_hierarchy("place -capital_of-> place")

    assert titles(asked, by_hierarchy(asked, hierarchy).ranking)
    assert asked.notes == [
        "no entity of type 'place' near the question has the relations of the hierarchy; passages"
        " were found by meaning alone"
    ]


def test_a_layer_that_the_hierarchy_lacks_is_refused(register: clew.Clew) -> None:
    with pytest.raises(InputError, match="no layer 'boat'; expected one of person, organisation"):
        chain(register, "Ilse Marn", layer="boat")
