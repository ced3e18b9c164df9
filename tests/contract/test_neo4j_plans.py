"""How the server answers what documents, times and names ask of it: from indexes, never a scan."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from neo4j import GraphDatabase

from clew.stores.neo4j.connection import Neo4jDatabase, Row
from clew.stores.neo4j.store import Neo4jStore
from clew.testing.entries import make_entry, make_link
from clew.text import entity_key
from clew.types import Condition, IndexedDocument, Period
from tests.contract.neo4j_stores import OnNeo4j, Place

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
    store.document_digests(["a"])
    store.same_documents(["a"])
    store.known_terms(["a"])
    store.link_candidates(["a"], ["a"])
    store.document_chunks(document)
    store.document_sections(document)
    store.lineage(document)
    store.sections([section.section_id for section in store.chunks(chunks)])
    for look in (store.sentences, store.sentence_ranges, store.sketches, store.provenance):
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
