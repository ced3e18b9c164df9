"""How often a question asks the server: a few times, whatever it finds."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.engine import Engine
from clew.search.strategies import STRATEGIES
from clew.settings import Neo4jSettings, load_settings
from clew.testing.fakes import HashEmbedder
from tests.contract.neo4j_stores import new_place

QUESTION = "Where does Jonas Reed work, and who built the mill of Harrow Ford?"
# The state of the store, the words of the channels, names, all that is shown of the passages, and
# what was stated by hand of the names.
AT_MOST = {"vector": 2, "keyword": 3, "hybrid": 3, "graph": 5, "auto": 6}
WITHOUT_SNAPSHOT = AT_MOST["graph"] - 1 + 3
"""Of `graph`, whose three looks at what is near tell what the names mean, too."""
FURTHER = 20
"""Of the others, which read neighbourhoods, outlines and the reports of each level."""


@pytest.fixture(params=["always"])
def engine(
    request: pytest.FixtureRequest,
    neo4j_address: str,
    neo4j_settings: Neo4jSettings,
    tmp_path: Path,
) -> Iterator[Engine]:
    """Of a store whose snapshot is kept as the parameter says."""
    with new_place(neo4j_address, neo4j_settings) as place:
        settings = load_settings(
            store=neo4j_address,
            namespace=place.namespace,
            search={"snapshot": request.param},
            neo4j={**neo4j_settings.model_dump(), "local": tmp_path},
        )
        with Engine(settings, embedder=HashEmbedder()) as engine:
            yield engine


def fill(engine: Engine, first: int, number: int) -> None:
    for i in range(first, first + number):
        engine.add(
            f"Jonas Reed {i} works at the mill of Harrow Ford. Ada Morn built mill {i} in 18{i:02}."
            f" Ada Morn lives in Vell {i}.",
            source=f"note {i}",
            title=f"Mill {i}",
        )


def round_trips(engine: Engine, strategy: str, caplog: pytest.LogCaptureFixture) -> int:
    """Queries that a warm question sends."""
    engine.search("Who is Ada Morn?", strategy=strategy, limit=20)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="clew"):
        found = engine.search(QUESTION, strategy=strategy, limit=20)
    assert found.hits
    return sum(record.message.startswith("neo4j rows=") for record in caplog.records)


def test_round_trips_are_few_and_do_not_grow_with_what_is_found(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    fill(engine, 0, 4)
    strategies = ["auto", *STRATEGIES]
    few = {strategy: round_trips(engine, strategy, caplog) for strategy in strategies}
    fill(engine, 4, 20)
    many = {strategy: round_trips(engine, strategy, caplog) for strategy in strategies}
    for strategy in strategies:
        assert many[strategy] <= AT_MOST.get(strategy, FURTHER), (strategy, few, many)
        # A neighbourhood may take a step more where there is more of it.
        assert many[strategy] <= few[strategy] + 4, (strategy, few, many)


@pytest.mark.parametrize("engine", ["never"], indirect=True)
def test_without_a_snapshot_a_question_takes_a_few_round_trips_more(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    for first, number in ((0, 4), (4, 40)):
        fill(engine, first, number)
        assert round_trips(engine, "graph", caplog) <= WITHOUT_SNAPSHOT
    assert engine.state._snapshot is None
