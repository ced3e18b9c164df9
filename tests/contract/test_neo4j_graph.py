from __future__ import annotations

import logging
from collections.abc import Iterator, Sized
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from clew.settings import Neo4jSettings
from clew.stores.neo4j.store import Neo4jStore
from clew.stores.sqlite.store import SqliteStore
from clew.testing.entries import EMBEDDER, FUNCTIONAL
from clew.types import NewEntity, NewRelation
from tests.contract.graph_steps import Step, any_steps, first_steps, seen, take
from tests.contract.neo4j_stores import OnNeo4j, new_place
from tests.contract.suites.graph import GraphStoreSuite
from tests.contract.suites.validity import RelationTimesSuite
from tests.contract.suites.writing import ExtractionLogSuite, ManualGraphSuite

_EMPTY = "MATCH (n) WHERE n.namespace = $namespace AND NOT n:ClewStore DETACH DELETE n"


class TestGraph(OnNeo4j, GraphStoreSuite):
    pass


class TestRelationTimes(OnNeo4j, RelationTimesSuite):
    pass


class TestWriting(OnNeo4j, ManualGraphSuite):
    pass


class TestReadings(OnNeo4j, ExtractionLogSuite):
    pass


class TestRoundTrips(OnNeo4j):
    def test_they_do_not_grow_with_what_is_written_or_read(
        self, store: Neo4jStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        few = [trips for _, trips in self.trips(store, caplog, "few", 1)]
        many = list(self.trips(store, caplog, "many", 100))
        assert [trips for _, trips in many] == few
        assert [count for count, _ in many] == [100, 100, 100, 100, 100, 100]

    def trips(
        self, store: Neo4jStore, caplog: pytest.LogCaptureFixture, name: str, count: int
    ) -> Iterator[tuple[int, int]]:
        """Of some writing and reading: how much it was, and its round trips."""

        def counted(found: Sized) -> tuple[int, int]:
            trips = sum(r.message.startswith("neo4j rows=") for r in caplog.records)
            caplog.clear()
            return len(found), trips

        with caplog.at_level(logging.DEBUG, logger="clew"):
            made = store.add_entities([NewEntity(name=f"{name} {i}") for i in range(count)])
            yield counted(made)
            ids = [entity_id for entity_id, _ in made]
            loops = [NewRelation(source_id=i, target_id=i, relation_type="lives_in") for i in ids]
            yield counted(store.add_relations(loops))
            yield counted(store.add_relations(loops))
            yield counted(store.entities(ids))
            relations = store.relations(ids, as_of=datetime(2020, 1, 1, tzinfo=UTC))
            yield counted(relations)
            yield counted(range(store.delete_entities(ids)))


@pytest.fixture(scope="module")
def shared_store(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neo4jStore]:
    """One for all examples, since making a store's indexes takes longer than a whole example."""
    folder = tmp_path_factory.mktemp("neo4j")
    with new_place(neo4j_address, neo4j_settings) as place, place.store(folder) as store:
        yield store


@given(steps=any_steps)
@settings(max_examples=12)
def test_any_steps_show_what_they_show_in_sqlite(
    shared_store: Neo4jStore, tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    database, folder = shared_store.database, tmp_path_factory.mktemp("sqlite")
    database.write(lambda: database.rows(_EMPTY))
    model = SqliteStore(folder, embedder=EMBEDDER, functional=FUNCTIONAL)
    try:
        for step in [*first_steps, *steps]:
            assert take(shared_store, step) == take(model, step)
            assert seen(shared_store) == seen(model)
        assert shared_store.check().problems == model.check().problems == ()
    finally:
        model.close()
