"""Searching on Neo4j, and what it is asked for all else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from neo4j import GraphDatabase

import clew
from clew.engine import Engine
from clew.errors import InputError
from clew.jobs import make_runner
from clew.plugins.neo4j.connection import Neo4jDatabase, Row
from clew.plugins.neo4j.store import Neo4jStore, Neo4jVectors
from clew.ports import VectorIndex
from clew.search.pipeline import STRATEGIES
from clew.settings import Neo4jSettings, load_settings
from clew.stores.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import (
    EMBEDDER,
    FUNCTIONAL,
    KeywordIndexSuite,
    VectorIndexSuite,
    make_entry,
    make_link,
    make_vector,
)
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from clew.types import Condition, IndexedDocument, NamedStrategy, Period
from tests.contract.neo4j_stores import OnNeo4j, Place, new_place
from tests.contract.suites.communities import CommunityWriterSuite
from tests.contract.suites.snapshots import NeighbourhoodSourceSuite, SnapshotSourceSuite

# A class of tests for each suite that asks for nothing but a store.
for _suite in (KeywordIndexSuite, SnapshotSourceSuite, NeighbourhoodSourceSuite):
    globals()[f"Test{_suite.__name__}"] = type(_suite.__name__, (OnNeo4j, _suite), {})


class TestVectors(OnNeo4j, VectorIndexSuite):
    @pytest.fixture
    def index(self, store: Neo4jStore, tmp_path: Path) -> VectorIndex:
        return Neo4jVectors(store, tmp_path)


class TestVectorsOfTheServer(OnNeo4j, VectorIndexSuite):
    """Candidates come from the server's index, however few chunks there are."""

    @pytest.fixture
    def index(self, store: Neo4jStore, tmp_path: Path) -> VectorIndex:
        return Neo4jVectors(store, tmp_path, small=0)


class TestCommunities(OnNeo4j, CommunityWriterSuite):
    @pytest.fixture
    def keeper(self, neo4j_store: Neo4jStore) -> Communities:
        return Communities(neo4j_store.backend)


PARAGRAPHS = tuple(f"The Danube passes Town{i:03}. Water number {i} flows." for i in range(150))


class TestServersIndex(OnNeo4j):
    def test_above_a_size_the_server_is_asked_for_candidates(
        self, neo4j_store: Neo4jStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        neo4j_store.save(make_entry("a", *PARAGRAPHS))
        vector = make_vector(PARAGRAPHS[7])
        for small, allowed in ((0, None), (0, np.arange(5, 25)), (1000, None)):
            index = Neo4jVectors(neo4j_store, tmp_path, small=small)
            index.refresh()
            caplog.clear()
            with caplog.at_level(logging.DEBUG, logger="clew"):
                ids, scores = index.search_vector(vector, 10, allowed)
            assert ("vector.queryNodes" in caplog.text) == (small == 0 and allowed is None)
            expected = VectorMatrix(neo4j_store, tmp_path).search_vector(vector, 10, allowed)
            assert (ids.tolist(), scores.tolist()) == tuple(column.tolist() for column in expected)

    def test_a_tie_that_goes_on_beyond_the_candidates_goes_to_the_smaller_ids(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        neo4j_store.save(make_entry("a", *["one and the same"] * 150))
        ids, _ = Neo4jVectors(neo4j_store, tmp_path, small=0).search_vector(make_vector("q"), 4)
        assert ids.tolist() == neo4j_store.chunk_ids().tolist()[:4]

    def test_a_batch_finds_what_it_saved(self, neo4j_store: Neo4jStore, tmp_path: Path) -> None:
        neo4j_store.save(make_entry("a", *PARAGRAPHS))
        index = Neo4jVectors(neo4j_store, tmp_path, small=0)
        with neo4j_store.batch():
            neo4j_store.save(make_entry("b", "something new"))
            ids, scores = index.search_vector(make_vector("something new"), 1)
        assert ids.tolist() == neo4j_store.chunk_ids().tolist()[-1:]
        assert scores[0] == pytest.approx(1)

    def test_its_state_is_told(self, neo4j_store: Neo4jStore, tmp_path: Path) -> None:
        neo4j_store.save(make_entry("a", "One.", "Two."))
        index = Neo4jVectors(neo4j_store, tmp_path)
        state = index.state()
        assert state.pop("version")[:1].isdigit()
        told = {"backend": "neo4j", "available": True}
        assert state == {**told, "connected": True, "points": 2, "problem": ""}
        neo4j_store.close()
        state = index.state()
        assert "is closed" in state.pop("problem")
        assert state == {**told, "connected": False, "version": "", "points": None}


class TestWhole(OnNeo4j):
    def test_it_counts_what_the_embedded_store_counts(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        embedded = SqliteStore(tmp_path / "embedded", embedder=EMBEDDER, functional=FUNCTIONAL)
        then = datetime(2020, 1, 1, tzinfo=UTC)
        stated = [("Ann", "lives_in", "Rome"), ("Ann", "knows", "Bob"), ("Bob", "knows", "Ann")]
        text = "Ann lives in Rome. Ann and Bob."
        for store in (neo4j_store, embedded):
            store.save(
                make_entry(
                    "b", text, names=["Ann", "Bob", "Rome"], relations=stated, valid_until=then
                )
            )
            store.save(make_entry("c", ""))
            store.retract(store.relation_rows().ids[:1].tolist())
        counted, expected = neo4j_store.statistics(), embedded.statistics()
        embedded.close()
        # Opening with functional types counts one change in the one and two in the other.
        for counts in (counted, expected):
            del counts["bytes"], counts["generation"]
        assert counted == expected
        assert counted["relations_ended"] == 3


# --- How the server answers what documents, times and names ask of it: from indexes, never a
# scan.


NOW = datetime.now(UTC)
SCANS = (
    "IndexScan",
    "NodesScan",
    "LabelScan",
    "LabelsScan",
    "RelationshipsScan",
    "TypeScan",
    "TypesScan",
)
Asked = dict[str, dict[str, Any]]
"""Parameters by query."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Every query that is sent from now on."""
    queries: Asked = {}
    send = Neo4jDatabase.rows

    def rows(self: Neo4jDatabase, query: str, **parameters: object) -> list[Row]:
        queries[query] = {"namespace": self.namespace, **parameters}
        return send(self, query, **parameters)

    monkeypatch.setattr(Neo4jDatabase, "rows", rows)
    return queries


def letter(source: str, *names: str, link: bool = False) -> IndexedDocument:
    return make_entry(
        source,
        f"Ann Lee lives in Ulm since 7 May 2023. {', '.join(names)}.",
        names={
            "Ann Lee": "person",
            "Ulm": "place",
            "7 May 2023": "date",
            **dict.fromkeys(names, "name"),
        },
        about=[("Letter", "work")],
        relations=[("Ann Lee", "lives_in", "Ulm")],
        links=[make_link("AL", "Ann Lee")] if link else [],
        metadata={"year": 1},
        created_at=NOW,
    )


def write(store: Neo4jStore) -> None:
    """Save anew and in place of another, with late links, rules and functional relations."""
    store.save(letter("a", "AL"))
    store.save(letter("b", "AL", link=True))
    store.save(letter("b", "Bo"))
    ids = store.resolve([entity_key("Ann Lee"), entity_key("Bo")])
    store.merge(ids[entity_key("Bo")], ids[entity_key("Ann Lee")], "a nickname")
    store.save(letter("c", "Bo"))
    store.record_use([1, 2, 3], NOW)


def read(store: Neo4jStore) -> None:
    """Ask for documents, chunks and times in every way."""
    chunks = store.matching_chunks([Condition(name="year", operator="=", value="1")]).tolist()
    chunks = store.matching_chunks([]).tolist()
    document = store.documents()[0].id
    store.documents(ids=[document])
    store.documents(origin="a")
    store.document_digests()
    store.document_digests(["a"], ["b"])
    store.same_documents(["a"])
    store.known_terms(["a"])
    store.link_candidates(["a"], ["a"])
    store.document_chunks(document)
    store.document_sections(document)
    store.lineage(document)
    store.sections([section.section_id for section in store.chunks(chunks)])
    for look in (store.sentences, store.sentence_ranges, store.provenance):
        look(chunks)
    store.chunks_within(Period(start=NOW, end=None))
    store.chunks_as_of(datetime.now(UTC))
    for ask in (store.chunk_times, store.published_at, store.usage):
        ask(chunks)
    store.newest_date(datetime.now(UTC))
    store.first_recorded()


def steps(plan: dict[str, Any]) -> Iterator[str]:
    yield str(plan["operatorType"])
    for child in plan.get("children", ()):
        yield from steps(child)


class TestPlans(OnNeo4j):
    def test_every_lookup_starts_from_an_index(
        self, neo4j_store: Neo4jStore, neo4j_place: Place, asked: Asked
    ) -> None:
        write(neo4j_store)
        read(neo4j_store)
        neo4j_store.delete([document.id for document in neo4j_store.documents()])
        assert len(asked) > 30
        login = neo4j_place.settings.user, neo4j_place.settings.password.get_secret_value()
        with (
            GraphDatabase.driver(neo4j_place.address, auth=login if login[1] else None) as driver,
            driver.session() as session,
        ):
            for query, parameters in asked.items():
                plan = session.run(f"EXPLAIN {query}", parameters).consume().plan
                assert plan is not None
                scans = [step for step in steps(plan) if any(scan in step for scan in SCANS)]
                assert not scans, query


# --- How often a question asks the server: a few times, whatever it finds.


QUESTION = "Where does Jonas Reed work, and who built the mill of Harrow Ford?"
# The state of the store, the words of the channels, names, what the reader reads, all that is shown
# of the passages, and what was stated by hand of the names.
AT_MOST = {"vector": 2, "keyword": 3, "hybrid": 3, "graph": 6, "auto": 7}
WITHOUT_SNAPSHOT = AT_MOST["graph"] - 1 + 3
"""Of `graph`, whose three looks at what is near tell what the names mean, too."""
FURTHER = 21
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
    engine.search("Who is Ada Morn?", strategy=NamedStrategy(strategy), limit=20)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="clew"):
        found = engine.search(QUESTION, strategy=NamedStrategy(strategy), limit=20)
    assert found.hits
    return sum(record.message.startswith("neo4j rows=") for record in caplog.records)


def test_round_trips_are_few_and_do_not_grow_with_what_is_found(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    fill(engine, 0, 4)
    strategies = ["auto", *STRATEGIES]
    few = {strategy: round_trips(engine, strategy, caplog) for strategy in strategies}
    fill(engine, 4, 10)
    many = {strategy: round_trips(engine, strategy, caplog) for strategy in strategies}
    for strategy in strategies:
        assert many[strategy] <= AT_MOST.get(strategy, FURTHER), (strategy, few, many)
        # A neighbourhood may take a step more where there is more of it.
        assert many[strategy] <= few[strategy] + 4, (strategy, few, many)


@pytest.mark.parametrize("engine", ["never"], indirect=True)
def test_without_a_snapshot_a_question_takes_a_few_round_trips_more(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    for first, number in ((0, 4), (4, 20)):
        fill(engine, first, number)
        assert round_trips(engine, "graph", caplog) <= WITHOUT_SNAPSHOT
    assert engine.state._snapshot is None


# --- What copies and indexing again do with a store on a server.


Open: TypeAlias = Callable[..., Engine]


@pytest.fixture
def place(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Place]:
    with new_place(neo4j_address, neo4j_settings) as place:
        yield place


@pytest.fixture
def opened(place: Place, tmp_path: Path) -> Iterator[Open]:
    engines: list[Engine] = []

    def open(dimension: int = 64, **split: int) -> Engine:
        login = {**place.settings.model_dump(), "local": tmp_path / "local"}
        settings = clew.load_settings(
            store=place.address, namespace=place.namespace, neo4j=login, split=split
        )
        engines.append(clew.open(settings=settings, embedder=HashEmbedder(dimension)))
        return engines[-1]

    yield open
    for engine in engines:
        engine.close()


def test_a_store_on_a_server_is_indexed_again_document_by_document(opened: Open) -> None:
    engine = opened()
    for number in range(3):
        engine.add("Ada Morn was taught by Piet Oss in Delft. " * 10, source=f"{number}")
    assert engine.maintenance.outdated() == []
    smaller = opened(chunk_tokens=20, section_tokens=40)
    assert smaller.maintenance.outdated() == ["0", "1", "2"]
    smaller.maintenance.reprocess(["1"])
    assert smaller.maintenance.outdated() == ["0", "2"]

    steps: list[tuple[str, int, int | None]] = []
    report = smaller.maintenance.reindex(progress=lambda *step: steps.append(step))

    assert report.changed == 2
    assert steps == [("reindex", done, 2) for done in range(3)]
    assert smaller.maintenance.outdated() == []
    assert (
        len(smaller.documents.chunks("0"))
        == len(smaller.documents.chunks("1"))
        > len(engine.documents.text("0")) // 200
    )
    assert smaller.search("Who taught Ada Morn?", strategy="vector").hits
    job = make_runner(smaller).submit("reindex", {}, description="", at_once=True)
    assert (job.status, job.total) == ("completed", 0)


def test_what_a_store_on_a_server_cannot_do_says_what_to_do(opened: Open, tmp_path: Path) -> None:
    engine = opened()
    engine.add("Ada Morn was taught by Piet Oss.", source="a")
    for copy in (engine.maintenance.backup, engine.maintenance.restore):
        with pytest.raises(
            InputError, match=r"(bolt|neo4j)://.* server's own backup, or `clew copy`"
        ):
            copy(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    with pytest.raises(InputError, match=r"'hash-128' .*'hash-64'.*another namespace"):
        opened(128).maintenance.reindex()
