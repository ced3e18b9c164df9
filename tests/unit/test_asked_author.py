"""Documents by who wrote them, asked in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.search.retrieval.exact import asked_author
from clew.testing.fakes import HashEmbedder

NOTES = {
    "Depot": ("The depot closes in June.", "Marta Kowal"),
    "Pumps": ("The Kestrel pump has a new valve.", ["Leo Farris", "Marta Kowal"]),
    "Lease": ("Marta Kowal read the lease, and Marta Kowal wrote to the bank.", "Ines Drummond"),
    "Party": ("Marta and Marthe sang.", "Marthe Kowalski"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        for title, (text, author) in NOTES.items():
            engine.add(text, title=title, metadata={"author": author})
        yield engine


@pytest.mark.parametrize(
    "question",
    [
        "Which files did Marta Kowal write?",
        "which notes has Marta written",
        "files written by Marta Kowal",
        "Which documents were written by marta kowal?",
        "documents by Marta",
        "everything that Marta Kowal wrote",
    ],
)
def test_the_documents_of_an_author_come_first(engine: clew.Clew, question: str) -> None:
    found = engine.search(question)
    titles = [hit.chunk.title for hit in found.hits]
    assert set(titles[:2]) == {"Depot", "Pumps"}
    assert found.answered
    assert all(hit.scores["exact"] == 1 for hit in found.hits[:2])
    assert not any("exact" in hit.scores for hit in found.hits[2:])


def test_what_they_wrote_on_something_comes_in_order_of_that(engine: clew.Clew) -> None:
    for about, title in (("the depot", "Depot"), ("the Kestrel pump", "Pumps")):
        found = engine.search(f"What did Marta Kowal write about {about}?")
        assert found.hits[0].chunk.title == title


def test_a_filter_holds_for_them_too(engine: clew.Clew) -> None:
    found = engine.search("files written by Marta Kowal", where=["title=Pumps"])
    assert [hit.chunk.title for hit in found.hits] == ["Pumps"]


@pytest.mark.parametrize(
    ("question", "author"),
    [
        ("What did Marta write about the depot?", "Marta"),
        ("mails sent by Ines Drummond since May", "Ines Drummond"),
        ("Who wrote the Alpha plan?", ""),
        ("What papers did he cite?", ""),
        ("Which reports were written in 2020?", ""),
        ("What did the board decide?", ""),
        ("", ""),
    ],
)
def test_whose_documents_are_asked_for(question: str, author: str) -> None:
    assert asked_author(question) == author


def test_a_name_is_no_pattern(engine: clew.Clew) -> None:
    for name in ("M*", "[M]arta", "Mart?", "art", "Kowal Kowal Nobody"):
        found = engine.search(f"files written by {name}")
        assert not any("exact" in hit.scores for hit in found.hits)


def test_where_no_document_has_an_author_the_question_is_asked_as_any_other(
    tmp_path: Path,
) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("Piet Oss wrote the lease.", title="Lease")
        assert engine.search("What did Piet Oss write?").hits[0].chunk.title == "Lease"
