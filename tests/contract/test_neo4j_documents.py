from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError, StoreMismatchError
from clew.settings import Neo4jSettings
from clew.stores.neo4j.store import Neo4jStore
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.testing.conformance import DocumentStoreSuite
from clew.testing.entries import EMBEDDER, FUNCTIONAL, make_entry, make_link
from clew.types import Condition, IndexedDocument, Period
from tests.contract.filter_suite import FilterSuite
from tests.contract.neo4j_stores import OnNeo4j, Place, new_place
from tests.contract.suites.lineage import LineageSuite
from tests.contract.suites.names import NamesSuite
from tests.contract.suites.times import TimeIndexSuite, UsageLogSuite


class TestDocuments(OnNeo4j, DocumentStoreSuite):
    pass


class TestFilters(OnNeo4j, FilterSuite):
    pass


class TestLineage(OnNeo4j, LineageSuite):
    pass


class TestNames(OnNeo4j, NamesSuite):
    pass


class TestTimes(OnNeo4j, TimeIndexSuite):
    pass


class TestUsage(OnNeo4j, UsageLogSuite):
    pass


# --- what the two stores show of the same documents ---------------------------------------


def some_entry(chance: random.Random) -> IndexedDocument:
    """A document of a few sources, with none to three chunks; sometimes the same text as before."""
    source, year = f"source {chance.randrange(5)}", 2000 + chance.randrange(3)
    texts = [f"Paragraph {chance.randrange(3)} of {year}. Ünïcode 😀." for _ in range(year % 4)]
    entry = make_entry(
        source,
        *texts,
        title=chance.choice(["", "Title"]),
        names={str(year): "date", f"Paragraph {year % 2}": "work"},
        metadata=chance.choice([{}, {"year": year, "author": ["Ann", "Bo"]}]),
        chunk_metadata=chance.choice([(), ({"date": f"{year}-05-07", "speaker": "Cy"},)]),
        origin=chance.choice(["", "archive.zip"]),
        created_at=chance.choice([None, datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=3)))]),
    )
    chunks = tuple(replace(chunk, page=1, key=f"k{chunk.ordinal}") for chunk in entry.split.chunks)
    return replace(
        entry, split=replace(entry.split, chunks=chunks), pipeline_fingerprint='{"extractor": "x"}'
    )


def shown(store: Store) -> object:
    """All that is shown of documents, chunks and times, but for the moments of indexing."""
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    documents = store.documents()
    chunks = store.chunk_ids().tolist()
    ids, vectors = store.embeddings()
    origins = store.provenance(chunks)
    where = [Condition(name="year", operator=">", value="2000")]
    some_time = Period(start=datetime(2001, 1, 1), end=datetime(2001, 6, 1))
    return (
        [replace(document, indexed_at=moment) for document in documents],
        [replace(d, indexed_at=moment) for d in store.documents(where=where, origin="archive.zip")],
        [[(v.version, v.sha256, v.derived_from) for v in store.lineage(d.id)] for d in documents],
        [store.document_sections(d.id) for d in documents],
        [store.document_chunks(d.id) for d in documents],
        {chunk: replace(origin, indexed_at=moment) for chunk, origin in origins.items()},
        store.sentence_ranges(chunks),
        store.sketches(chunks),
        store.chunk_times(chunks),
        store.published_at(chunks),
        store.matching_chunks(where).tolist(),
        store.chunks_within(some_time).tolist(),
        store.chunks_as_of(datetime(2001, 5, 7)).tolist(),
        (ids.tolist(), vectors.tolist()),
        (store.generation(), store.newest_date(datetime(2100, 1, 1))),
    )


class TestBeside(OnNeo4j):
    """Neo4j beside SQLite, which is the reference."""

    def test_any_documents_show_what_they_show_in_sqlite(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        reference = SqliteStore(tmp_path / "file", embedder=EMBEDDER, functional=FUNCTIONAL)
        chance = random.Random(3)
        for step in range(40):
            if chance.random() < 0.2:
                gone = [d.id for d in reference.documents() if chance.random() < 0.4]
                assert neo4j_store.delete(gone) == reference.delete(gone)
            else:
                entry = some_entry(chance)
                reference.save(entry)
                neo4j_store.save(entry)
            if step % 4 == 3:
                assert shown(neo4j_store) == shown(reference), step
        reference.close()


# --- saving ------------------------------------------------------------------------------


def queries_of(caplog: pytest.LogCaptureFixture, store: Neo4jStore, entry: IndexedDocument) -> int:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="clew"):
        store.save(entry)
    return sum(record.message.startswith("neo4j rows=") for record in caplog.records)


class TestSaving(OnNeo4j):
    def test_a_batch_is_one_commit_of_which_each_save_is_whole(
        self, neo4j_store: Neo4jStore, neo4j_place: Place, tmp_path: Path
    ) -> None:
        with neo4j_place.store(tmp_path) as other:
            with pytest.raises(InputError, match="half a character"):
                self._save_three(neo4j_store, other)
            assert [d.source for d in other.documents()] == ["a", "b"]
            assert [c.text for c in other.chunks(other.chunk_ids().tolist())] == ["Ulm.", "Vienna."]
            assert sorted(alias.key for alias in other.aliases()) == ["ulm", "vienna"]

    @staticmethod
    def _save_three(store: Neo4jStore, other: Neo4jStore) -> None:
        store.save(make_entry("b", "Ulm.", names=["Ulm"]))
        broken = make_entry("b", "Paris.", names=["Paris"])
        text = replace(broken.document, text="Par\ud800.")
        with store.batch():
            store.save(make_entry("a", "Vienna.", names=["Vienna"]))
            assert [d.source for d in store.documents()] == ["a", "b"]  # seen at once, here
            assert [d.source for d in other.documents()] == ["b"]  # but not elsewhere
            store.save(replace(broken, document=text))

    def test_vectors_come_back_as_they_were(self, neo4j_store: Neo4jStore) -> None:
        entry = make_entry("a", *(f"Text {number}." for number in range(50)))
        neo4j_store.save(entry)
        assert np.array_equal(neo4j_store.embeddings()[1], entry.vectors)

    def test_a_document_of_any_length_is_one_commit(self, neo4j_store: Neo4jStore) -> None:
        before = neo4j_store.generation()
        texts = [f"Paragraph {number} of 1999 is about Vienna." for number in range(1100)]
        entry = make_entry("a", *texts, names={"Vienna": "place", "1999": "date"})
        neo4j_store.save(entry)
        assert neo4j_store.generation() == before + 1
        chunks = neo4j_store.document_chunks(entry.document.id)
        assert [chunk.text for chunk in chunks] == texts
        assert len(neo4j_store.mention_rows()) == 2 * len(texts)
        assert len(neo4j_store.chunk_times([chunk.id for chunk in chunks])) == len(texts)

    def test_a_new_document_takes_few_round_trips(
        self, neo4j_store: Neo4jStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        names = {f"Person {number}x": "person" for number in range(8)}
        relations = [("Person 1x", "met", "Person 2x"), ("Person 3x", "knows", "Person 4x")]
        for number in range(3):
            text = f"{number}: {', '.join(names)}."
            entry = make_entry(f"document {number}", text, names=names, relations=relations)
            # A lock, what there is, what comes; beginning and commit go with them.
            assert queries_of(caplog, neo4j_store, entry) == 3
        changed = make_entry("document 0", "Person 1x met Ann.", names=[*names, "Ann"])
        assert queries_of(caplog, neo4j_store, changed) <= 12

    def test_texts_that_cannot_be_looked_up_are_refused(self, neo4j_store: Neo4jStore) -> None:
        long = "N" * 9000
        for entry in (make_entry(long, "Text."), make_entry("a", long, names=[long])):
            with pytest.raises(InputError, match="9000 bytes long; expected names and sources"):
                neo4j_store.save(entry)
        assert neo4j_store.documents() == []

    def test_vectors_of_another_embedder_are_refused(
        self, neo4j_store: Neo4jStore, neo4j_place: Place
    ) -> None:
        neo4j_store.save(make_entry("a", "One."))
        with neo4j_place.database() as database:
            query = "MATCH (s:ClewStore {namespace: $namespace}) SET s.dimension = 9"
            database.write(lambda: database.rows(query))
            with pytest.raises(
                StoreMismatchError, match="9 dimensions by now, those of 'a' have 8"
            ):
                neo4j_store.save(make_entry("a", "Two."))
            database.write(lambda: database.rows(query.replace("= 9", "= 8")))
        assert [c.text for c in neo4j_store.chunks([1])] == ["One."]

    def test_filters_see_what_others_commit(
        self, neo4j_store: Neo4jStore, neo4j_place: Place, tmp_path: Path
    ) -> None:
        where = [Condition(name="year", operator="=", value="2020")]
        neo4j_store.save(make_entry("a", "One.", metadata={"year": 2020}))
        assert neo4j_store.matching_chunks(where).tolist() == [1]
        with neo4j_place.store(tmp_path) as other:
            other.save(make_entry("b", "Two.", metadata={"year": 2020}))
            other.save(make_entry("a", "Three.", metadata={"year": 2021}))
        assert neo4j_store.matching_chunks(where).tolist() == [2]
        with neo4j_store.batch():
            neo4j_store.delete([make_entry("b").document.id])
            assert neo4j_store.matching_chunks(where).tolist() == []
        unknown = Condition(name="year", operator="~=", value="1")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="unknown operator '~='"):
            neo4j_store.matching_chunks([unknown])


# --- namespaces --------------------------------------------------------------------------


@pytest.fixture
def two_stores(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path
) -> Iterator[tuple[Neo4jStore, Neo4jStore]]:
    with (
        new_place(neo4j_address, neo4j_settings) as one,
        new_place(neo4j_address, neo4j_settings) as other,
        one.store(tmp_path / "one") as first,
        other.store(tmp_path / "other") as second,
    ):
        yield first, second


def test_namespaces_never_meet(two_stores: tuple[Neo4jStore, Neo4jStore]) -> None:
    first, second = two_stores
    dated = datetime(2020, 1, 1, tzinfo=UTC)
    text, names = "Ann lives in Ulm since 1999.", {"Ann": "person", "Ulm": "place", "1999": "date"}
    relations = [("Ann", "lives_in", "Ulm")]
    entry = make_entry(
        "a", text, names=names, relations=relations, created_at=dated, metadata={"year": 2020}
    )
    first.save(entry)
    second.save(entry)
    before = shown(first), first.aliases(), first.relation_rows().ids.tolist(), first.usage([1])
    second.record_use([1], dated)
    linked = make_entry("b", "Anna, Ann.", names=["Anna", "Ann"], links=[make_link("Ann", "Anna")])
    second.save(linked)
    second.save(make_entry("a", "Bea lives in Ulm.", names=["Bea", "Ulm"]))
    second.delete([linked.document.id, entry.document.id])
    after = shown(first), first.aliases(), first.relation_rows().ids.tolist(), first.usage([1])
    assert after == before
    assert second.aliases() == []
    assert second.check().problems == first.check().problems == ()


def test_a_store_has_an_identity_for_good(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path
) -> None:
    def identity(place: Place) -> object:
        with place.store(tmp_path / place.namespace), place.database() as database:
            return database.value("MATCH (s:ClewStore {namespace: $namespace}) RETURN s.store_id")

    with (
        new_place(neo4j_address, neo4j_settings) as one,
        new_place(neo4j_address, neo4j_settings) as other,
    ):
        assert identity(one) == identity(one) != identity(other)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ("{name: 'clew', version: 14}", "version 14 of an earlier layout, "),
        ("{name: 'store', version: 2}", "version 2, "),
    ],
)
def test_another_schema_is_refused(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path, node: str, found: str
) -> None:
    with new_place(neo4j_address, neo4j_settings) as place, place.database() as database:
        with place.store(tmp_path):
            pass
        database.define(f"MERGE (s:ClewSchema {{name: 'store'}}) SET s = {node}")
        try:
            with (
                pytest.raises(StoreMismatchError, match=found),
                place.store(tmp_path),
            ):
                pass
        finally:
            database.define("MATCH (s:ClewSchema) SET s = {name: 'store', version: 1}")
