"""An option has its effect, or is refused by name with what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import clew
from clew import Clew
from clew.errors import InputError
from clew.search.strategies import STRATEGIES
from clew.testing.fakes import HashEmbedder

VALUES: dict[str, Any] = {
    "max_hops": 3,
    "fusion": "weighted",
    "alpha": 0.4,
    "weights": (1.0, 0.0, 0.0),
    "layer": "document",
    "hierarchy": "person -lives_in-> place",
    "level": 0,
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    folder: Path = tmp_path_factory.mktemp("options")
    with clew.open(folder, embedder=HashEmbedder()) as opened:
        opened.add("The mill at Harrow Ford was built by Jonas Reed of Veldt County.", title="Mill")
        yield opened


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_is_taken_by_its_strategies_alone(
    engine: Clew, option: str, strategy: str
) -> None:
    given = {option: VALUES[option]} | ({"fusion": "weighted"} if option == "alpha" else {})
    if option in STRATEGIES[strategy].options:
        engine.search("Who built the mill?", strategy=strategy, **given)
        return
    with pytest.raises(InputError) as refused:
        engine.search("Who built the mill?", strategy=strategy, **given)
    assert option in str(refused.value) or "fusion" in str(refused.value)
    assert strategy in str(refused.value)


def test_a_share_of_words_needs_the_fusion_that_has_one(engine: Clew) -> None:
    with pytest.raises(InputError, match="alpha has no effect on the fusion rrf; it is for weigh"):
        engine.search("Who built the mill?", strategy="hybrid", alpha=0.4)


def test_an_unknown_fusion_is_refused_with_those_that_there_are(engine: Clew) -> None:
    with pytest.raises(InputError, match="unknown fusion 'foo'; expected rrf or weighted"):
        engine.search("Who built the mill?", strategy="hybrid", fusion=cast("Any", "foo"))


def test_the_router_says_what_had_no_effect(engine: Clew) -> None:
    found = engine.search("Who built the mill at Harrow Ford?", strategy="auto", layer="document")
    assert found.strategy != "hierarchical"
    assert any("layer has no effect on the strategy" in note for note in found.notes)
