"""Documents by the folder that they lie in, asked in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import clew
from clew.search.retrieval.exact import asked_folder
from clew.testing.fakes import HashEmbedder

FILES = {
    "minutes/2021-03-09.md": "# Board, 9 March 2021\nThe board bought an oven.",
    "minutes/2024-04-15.md": "# Board, 15 April 2024\nThe board raised the price of rye.",
    "minutes/2022-02-14.md": "# Board, 14 February 2022\nThe lease runs out.",
    "Recipes/rye.md": "# Rye loaf\nProof 55 minutes, bake 62 minutes.",
    "Recipes/rolls.md": "# Rolls\nBake 17 minutes.",
    "notes/overview.md": "# Mill\nThe latest minutes of grinding are loud. A list of recipes.",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    store = tmp_path_factory.mktemp("store")
    with clew.open(store, embedder=HashEmbedder()) as engine:
        engine.index([folder])
        yield engine


def names(engine: clew.Clew, question: str, where: Sequence[str] = ()) -> list[str]:
    return [Path(hit.chunk.source).name for hit in engine.search(question, where=where).hits]


@pytest.mark.parametrize("question", ["latest minutes", "What are the most recent minutes?"])
def test_the_newest_of_a_folder_comes_first(engine: clew.Clew, question: str) -> None:
    assert names(engine, question)[:3] == ["2024-04-15.md", "2022-02-14.md", "2021-03-09.md"]
    assert engine.search(question).answered


@pytest.mark.parametrize(
    "question", ["Give me an overview of the recipes", "list all recipes", "Summarize my recipes."]
)
def test_what_lies_in_a_folder_is_what_it_is_called(engine: clew.Clew, question: str) -> None:
    assert set(names(engine, question)[:2]) == {"rye.md", "rolls.md"}


def test_a_filter_holds_for_them_too(engine: clew.Clew) -> None:
    assert names(engine, "latest minutes", where=["path~minutes/2021*"]) == ["2021-03-09.md"]


@pytest.mark.parametrize(
    ("question", "folder"),
    [
        ("latest board minutes", "board minutes"),
        ("What did the latest minutes say about rye?", ""),
        ("How many minutes does it bake?", ""),
        ("the last one who left the house", ""),
        ("latest [a-z]*", ""),
        ("", ""),
    ],
)
def test_which_folder_may_be_asked_for(question: str, folder: str) -> None:
    assert asked_folder(question) == folder


def test_a_name_of_no_folder_leads_nothing(engine: clew.Clew) -> None:
    for question in ("latest rye", "overview of the board", "latest minute hand"):
        assert not any(
            Path(hit.chunk.source).parent.name == "minutes" and "exact" in hit.scores
            for hit in engine.search(question).hits
        )


def test_what_is_asked_for_by_its_folder_is_quoted_without_a_model(engine: clew.Clew) -> None:
    answer = engine.ask("latest minutes")
    assert answer.statements[0].text == "The board raised the price of rye."
    assert answer.sources[0].title == "Board, 15 April 2024"
