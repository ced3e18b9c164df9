"""Filters through search: what is found is what brute force lets through, wherever vectors lie."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import NamedStrategy
from tests.filter_cases import Tree, as_data, as_text, meets, some_metadata, trees

DOCUMENTS = 30
QUESTION = "Who wound the clock of Vell?"


@pytest.fixture(scope="module", params=["store", "qdrant", "chroma"])
def searched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[clew.Clew, dict[str, dict[str, Any]]]]:
    """An engine over vectors of that kind, and the metadata of its documents by source."""
    chance = random.Random(2028)
    documents = {f"note {number}": some_metadata(chance) for number in range(DOCUMENTS)}
    chosen = clew.load_settings(
        store=tmp_path_factory.mktemp("store"), vectors=request.param, search={"cache": 0}
    )
    with clew.open(settings=chosen, embedder=HashEmbedder()) as engine:
        for source, about in documents.items():
            text = f"Somebody wound the clock of Vell on day {source}."
            engine.add(text, source=source, metadata=about)
        yield engine, documents


@pytest.mark.parametrize("strategy", ["vector", "hybrid"])
def test_search_finds_what_brute_force_lets_through(
    searched: tuple[clew.Clew, dict[str, dict[str, Any]]], strategy: str
) -> None:
    engine, documents = searched

    @given(trees)
    @settings(max_examples=40)
    def agrees(tree: Tree) -> None:
        expected = {source for source, values in documents.items() if meets(tree, values)}
        for where in (as_text(tree), as_data(tree)):
            result = engine.search(
                QUESTION,
                strategy=NamedStrategy(strategy),
                limit=DOCUMENTS,
                where=where,
                context=False,
            )
            assert {hit.chunk.source for hit in result.hits} == expected
            assert {document.source for document in engine.documents.list(where)} == expected
            assert any("'yeer'" in note for note in result.notes) is ("yeer" in str(tree))

    agrees()
