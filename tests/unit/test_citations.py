from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import clew
from clew.search.answer.citations import format_citations
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from tests.unit.asked import day

FORM_FEED = "The clock of Vell was built by Ada Morn.\n\fThe bell of Vell was cast in Lisse."


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        engine.add_documents(
            [
                Document(
                    source="letters/7.txt",
                    title="A letter",
                    text="Ada Morn wrote of the clock of Vell.",
                    created_at=day("1820-05-04"),
                    metadata={"author": "Ada Morn"},
                ),
                Document(source="note.txt", text="The clock of Vell stands still."),
                Document(
                    source="book.pdf",
                    title="Book",
                    text=FORM_FEED,
                    page_starts=(0, FORM_FEED.index("\f")),
                ),
            ]
        )
        engine.add("The clock of Vell, once.", source="again", title="Twice")
        engine.add("The clock of Vell, again.", source="again", title="Twice")
        yield engine


def test_a_source_has_its_number_title_place_author_day_version_and_name(
    engine: clew.Clew,
) -> None:
    result = engine.search("clock of Vell", strategy="keyword")
    lines = {line.split("] ", 1)[1] for line in format_citations(result).splitlines()}
    assert lines == {
        "A letter, characters 0–36, Ada Morn, 1820-05-04, letters/7.txt",
        "note.txt, characters 0–31",
        "Book, page 1, book.pdf",
        "Twice, characters 0–25, version 2, again",
    }


def test_numbers_are_those_of_the_context(engine: clew.Clew) -> None:
    for strategy in ("keyword", "local", "multi_hop"):
        result = engine.search("Ada Morn and the clock of Vell", strategy=strategy)
        numbers = re.findall(r"^\[(\d+)\] ", result.context.text, re.MULTILINE)
        listed = re.findall(r"^\[(\d+)\] ", format_citations(result), re.MULTILINE)
        assert set(listed) == set(numbers)
        assert listed == sorted(listed, key=int)


def test_a_source_of_one_part_is_listed_once(engine: clew.Clew) -> None:
    lines = format_citations(engine.search("Vell", strategy="local")).splitlines()
    assert len(lines) == len(set(lines))


def test_nothing_found_has_no_sources(engine: clew.Clew) -> None:
    assert format_citations(engine.search("", strategy="keyword")) == ""
