from __future__ import annotations

import os

import pytest

from clew.plugins.neo4j.connection import keyword_index, vector_index
from clew.plugins.neo4j.store import Neo4jStore
from clew.stores.vectors import VectorMatrix
from clew.testing.conformance import make_entry
from clew.text import terms
from clew.types import CheckReport, NewEntity
from tests.contract.neo4j_stores import OnNeo4j

_SECTION = "MATCH (n:ClewSection {namespace: $namespace, document_id: $a})"
_CHUNK = "MATCH (n:ClewChunk {namespace: $namespace, document_id: $a})"
_MENTION = f"{_CHUNK} MATCH (n)-[m:MENTIONS]->(e)"
_RELATION = "MATCH (h:ClewEntity {namespace: $namespace})-[r:RELATES]->(t)"
_STORE = "MATCH (s:ClewStore {namespace: $namespace})"


class TestCheck(OnNeo4j):
    @pytest.fixture
    def store(self, neo4j_store: Neo4jStore) -> Neo4jStore:
        for source in ("a", "b"):
            relations = [("Danube", "passes", "Vienna")]
            names = ["Danube", "Vienna", source * 5]
            text = f"The Danube passes Vienna. So says {source * 5}."
            entry = make_entry(source, text, "Water flows.", names=names, relations=relations)
            neo4j_store.save(entry)
        neo4j_store.add_entities([NewEntity(name="Graz")])
        neo4j_store.save(make_entry("told", "It is near.", origin="memory:graz"))
        return neo4j_store

    def break_it(self, store: Neo4jStore, statement: str) -> CheckReport:
        """Do by force what the store would never do, then check."""
        (document,) = [document for document in store.documents() if document.source == "a"]
        store.database.write(lambda: store.database.rows(statement, a=document.id))
        return store.check()

    @pytest.mark.parametrize(
        ("statement", "invariant", "detail"),
        [
            (
                f"{_SECTION} WHERE n.start > 0 DETACH DELETE n",
                "sections",
                "the sections of 'a' end at",
            ),
            (f"{_CHUNK} SET n.start = n.start + 1", "chunks", "is not the document's at 1:"),
            (f"{_MENTION} SET m.end = 999", "mentions", ":999 of sentence"),
            (
                f"{_MENTION} SET m.sentence = m.sentence + 7",
                "mentions",
                "1 times (and 2 more)",
            ),
            (f"{_RELATION} SET r.sentence = 2", "mentions", "is from sentence 2 of chunk"),
            (f"{_CHUNK} REMOVE n.vector", "vectors", "has no embedding"),
            (
                "MATCH (v:ClewVersion {namespace: $namespace, document_id: $a}) DELETE v",
                "versions",
                "of 'a' do not lead from 1 to the one held",
            ),
            (
                f"{_CHUNK} CREATE (n)-[:AT {{namespace: $namespace}}]->(:ClewTime {{"
                "namespace: $namespace, chunk_id: n.id, said: 0, start: 9, end: 9, text: 'never'})",
                "times",
                "has the time 'never', which ends before it starts",
            ),
            (
                f"{_CHUNK} UNWIND [8, 9] AS at CREATE (n)-[:AT {{namespace: $namespace}}]->"
                "(:ClewTime {namespace: $namespace, chunk_id: n.id, said: 1, start: at,"
                " end: at + 1, text: ''})",
                "times",
                "was said at more than one time",
            ),
        ],
    )
    def test_what_is_lost_or_wrong_is_found_and_cannot_be_mended(
        self, store: Neo4jStore, statement: str, invariant: str, detail: str
    ) -> None:
        found = {p.invariant: p for p in self.break_it(store, statement).problems}
        assert detail in found[invariant].detail
        assert not found[invariant].repairable
        left = {p.invariant: p for p in store.check(repair=True).problems}
        assert left[invariant] == found[invariant]

    @pytest.mark.parametrize(
        ("statement", "invariant", "detail"),
        [
            (
                "MATCH (d:ClewDocument {namespace: $namespace, id: $a}) DETACH DELETE d",
                "references",
                "is no part of its document",
            ),
            (f"{_CHUNK} MATCH (n)-[p:PART_OF]->() DELETE p", "references", "is no part of its"),
            (f"{_CHUNK} MATCH (n)-[p:IN_SECTION]->() DELETE p", "references", "in its section"),
            (
                "MATCH (e:ClewEntity {namespace: $namespace, key: 'danube'}) DETACH DELETE e",
                "references",
                "the alias 'Danube' names no entity",
            ),
            (
                "MATCH (a:ClewAlias {namespace: $namespace, key: 'vienna'}) DETACH DELETE a",
                "references",
                "is of an entity without that alias",
            ),
            (
                "MATCH (a:ClewAlias {namespace: $namespace, key: 'danube'})-[n:NAMES]->(),"
                " (e:ClewEntity {namespace: $namespace, key: 'vienna'})"
                " DELETE n CREATE (a)-[:NAMES {namespace: $namespace}]->(e)",
                "references",
                "is of an entity without that alias",
            ),
            (f"{_MENTION} SET m.chunk_id = 999", "references", "as one of another chunk"),
            (f"{_RELATION} SET r.chunk_id = 999", "references", "by chunk 999, which does not"),
            (f"{_MENTION} SET m.namespace = 'other'", "references", "is in another namespace"),
            (
                "CREATE (:ClewTime {namespace: $namespace, chunk_id: 99, said: 0, start: 8, end: 9,"
                " text: 'x'})",
                "references",
                "a time of chunk 99 belongs to no chunk",
            ),
            (
                "CREATE (:ClewVersion {namespace: $namespace, document_id: 'x', version: 1})",
                "references",
                "version 1 of x belongs to no document",
            ),
            (
                "CREATE (:ClewExtractionLog {namespace: $namespace, entity_id: 99})",
                "references",
                "a reading is of entity 99",
            ),
            (
                f"{_MENTION} WHERE e.key = 'aaaaa' DELETE m",
                "names",
                "the alias 'aaaaa' is in no mention",
            ),
            (
                "MATCH (e:ClewEntity {namespace: $namespace, key: 'danube'}) SET e.key = 'x'",
                "names",
                "the entity 'Danube' has no alias",
            ),
            (
                "CREATE (:ClewEntity {namespace: $namespace, id: 3000, name: 'x', key: 'x',"
                " entity_type: 'name'}) WITH * MATCH (s:ClewStore {namespace: $namespace})"
                " SET s.next_entity = 3001",
                "names",
                "the entity 'x' has no alias of that name",
            ),
            (
                "MATCH (e:ClewEntity {namespace: $namespace, key: 'graz'})"
                " SET e.tier = 'extracted'",
                "memory",
                "the observation 'told' is of no entity that was made by hand",
            ),
            (f"{_CHUNK} REMOVE n.terms", "keywords", "is not in the keyword index"),
            (f"{_STORE} SET s.next_chunk = 2", "ids", "next_chunk is 2, but the id 5 is used"),
            (
                f"{_RELATION} SET r.valid_until = '2020-01-01T00:00:00+00:00'",
                "validity",
                "does not end where the text or another relation says (and 1 more)",
            ),
        ],
    )
    def test_what_is_derived_is_mended(
        self, store: Neo4jStore, statement: str, invariant: str, detail: str
    ) -> None:
        found = {p.invariant: p for p in self.break_it(store, statement).problems}
        assert detail in found[invariant].detail
        assert found[invariant].repairable
        generation, mentions_version = store.generation(), store.mentions_version()
        report = store.check(repair=True)
        assert report.problems == ()
        assert any(line.startswith(f"{invariant}: ") for line in report.repaired)
        assert store.check().problems == ()
        assert (store.generation(), store.mentions_version()) > (generation, mentions_version)
        held = [document for document in store.documents() if document.source != "told"]
        assert len(store.search_keywords(terms("water"), 9)[0]) == len(held)

    def test_an_alias_that_was_moved_by_force_takes_along_what_was_said_of_it(
        self, store: Neo4jStore
    ) -> None:
        keys = ["danube", "vienna"]
        danube, vienna = (store.resolve(keys)[key] for key in keys)
        statement = (
            "MATCH (a:ClewAlias {namespace: $namespace, key: 'danube'})-[n:NAMES]->(),"
            " (e:ClewEntity {namespace: $namespace, key: 'vienna'})"
            " DELETE n CREATE (a)-[:NAMES {namespace: $namespace}]->(e)"
        )
        self.break_it(store, statement)
        assert store.check(repair=True).problems == ()
        assert store.entities([danube]) == []
        relations = store.relations([vienna])
        assert [(r.from_entity_id, r.to_entity_id) for r in relations] == [(vienna, vienna)] * 2
        assert store.mention_rows()[:, 2].tolist().count(vienna) == 2

    def test_indexes_are_made_anew(self, store: Neo4jStore) -> None:
        sound = store.check()
        assert (sound.problems, "indexes" in sound.checked) == ((), True)
        names = [index(store.database.namespace) for index in (keyword_index, vector_index)]
        for name in names:
            store.database.define(f"DROP INDEX `{name}`")
        (problem,) = store.check().problems
        assert problem.invariant == "indexes"
        assert problem.detail == f"the index {names[0]!r} is missing (and 1 more)"
        assert store.check(repair=True).problems == ()
        assert len(store.search_keywords(terms("water"), 9)[0]) == 2

    def test_derived_files_ahead_of_the_database_are_removed(self, store: Neo4jStore) -> None:
        VectorMatrix(store, store.folder).persist()
        generation = store.generation()
        ahead = store.folder / f"vectors-{generation + 1}.arrays"
        os.replace(store.folder / f"vectors-{generation}.arrays", ahead)
        (problem,) = store.check().problems
        assert problem.detail == f"{ahead.name} is ahead of the database, at {generation}"
        report = store.check(repair=True)
        assert (report.problems, report.repaired) == ((), (f"generation: {problem.detail}",))
        assert not list(store.folder.glob("*.arrays"))
