"""Queries that a language model writes, on a real server: what reads is run, nothing else is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

from clew.attach.cypher import ask_by_cypher, check_plan, cypher_requests
from clew.errors import InputError, StoreError
from clew.models.llm.client import LanguageModelClient
from clew.settings import LlmSettings, Neo4jSettings
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.e2e.attached_graph import Town, make_world, town

WORLD = make_world(passages=20)
EMBEDDER = HashEmbedder(64)


@pytest.fixture(scope="module")
def made(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Town]:
    with town(neo4j_address, neo4j_settings, WORLD) as built:
        yield built


@pytest.fixture
def database(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Neo4jDatabase]:
    with closing(Neo4jDatabase(neo4j_address, neo4j_settings, "default")) as opened:
        yield opened


def written(query: str, **parameters: object) -> str:
    values = [{"name": name, "value": value} for name, value in parameters.items()]
    return json.dumps({"query": query, "parameters": values, "reason": ""})


def model(answers: Sequence[str]) -> tuple[LanguageModelClient, ScriptedLanguageModel]:
    scripted = ScriptedLanguageModel(answers)
    return LanguageModelClient(scripted, LlmSettings()), scripted


def known_by(name: str) -> set[str]:
    return {b for a, type_, b in WORLD.relations if a == name and type_ == "KNOWS"}


def test_a_written_query_is_run_with_its_parameters(made: Town, database: Neo4jDatabase) -> None:
    name = next(a for a, type_, _ in WORLD.relations if type_ == "KNOWS")
    query = (
        f"MATCH (a:{made.name('Person')} {{called: $who}})-[:{made.name('KNOWS')}]->(b) RETURN b"
    )
    client, scripted = model([written(query, who=name)])
    answer = ask_by_cypher(database, client, f"Whom does {name} know?", embedder=EMBEDDER)
    assert answer.query == query
    assert answer.columns == ("b",)
    nodes = [row[0] for row in answer.rows]
    assert all(isinstance(node, dict) for node in nodes)
    assert {node["called"] for node in nodes if isinstance(node, dict)} == known_by(name)
    assert all(node["element_id"] for node in nodes if isinstance(node, dict))
    shown = scripted.asked[0].messages[0].text
    assert made.name("KNOWS") in shown
    assert not any(text in shown for text in WORLD.texts.values()), "the data stay here"


def test_a_refused_query_is_mended_once_by_its_error(made: Town, database: Neo4jDatabase) -> None:
    good = written(f"MATCH (n:{made.name('Person')}) RETURN count(n) AS people")
    client, scripted = model([written("MATCH (n RETURN n"), good])
    answer = ask_by_cypher(database, client, "How many people are there?", embedder=EMBEDDER)
    assert answer.rows == ((len(WORLD.names),),)
    assert "refused" in answer.notes[0]
    assert "MATCH (n RETURN n" in scripted.asked[1].messages[1].text
    client, scripted = model([written("MATCH (n RETURN n")] * 3)
    with pytest.raises(InputError, match=r"the query was: MATCH \(n RETURN n"):
        ask_by_cypher(database, client, "How many people are there?", embedder=EMBEDDER)
    assert scripted.calls == 2


def test_rows_beyond_the_limit_are_said(made: Town, database: Neo4jDatabase) -> None:
    client, _ = model([written(f"MATCH (n:{made.name('Person')}) RETURN n.called AS name")])
    answer = ask_by_cypher(database, client, "Who is there?", limit=3, embedder=EMBEDDER)
    assert len(answer.rows) == 3
    assert any("more than 3" in note for note in answer.notes)


def test_what_a_query_would_take_is_said_before_a_model_is_asked(
    made: Town, database: Neo4jDatabase
) -> None:
    client, scripted = model([written(f"MATCH (n:{made.name('Person')}) RETURN count(n) AS n")])
    question = "How many people are there?"

    (request,) = cypher_requests(database, question, embedder=EMBEDDER)

    assert scripted.calls == 0
    ask_by_cypher(database, client, question, embedder=EMBEDDER)
    assert [replace(one, parameters=None) for one in scripted.asked] == [request]


def test_no_query_is_an_answer(database: Neo4jDatabase) -> None:
    client, _ = model([json.dumps({"query": "", "reason": "the graph has no prices"})])
    answer = ask_by_cypher(database, client, "What does it cost?", embedder=EMBEDDER)
    assert answer.rows == ()
    assert answer.notes == ("the graph has no prices",)


ATTACKS = (
    "CREATE (n:Owned@) RETURN n",
    "MATCH (n:Person@) SET n.called = 'x' RETURN n",
    "MATCH (n:Person@) DETACH DELETE n",
    "MATCH (n:Person@) REMOVE n.called RETURN n",
    "MERGE (n:Person@ {called: 'nobody'}) RETURN n",
    "MATCH (n) FOREACH (x IN [1] | SET n.called = 'x')",
    "/* MATCH */ CR" + "EATE (n:Owned@)",
    "MATCH (n:Person@) // read only\nDELETE n",
    "\\u0043REATE (n:Owned@)",
    "CREATE\u00a0(n:Owned@)",
    "CALL { CREATE (n:Owned@) } RETURN 1",
    "CALL () { MATCH (n:Person@) SET n.called = 'x' } RETURN 1",
    "MATCH (n:Person@) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1 ROWS",
    "CALL db.labels() YIELD label RETURN label",
    "CALL dbms.components()",
    "CALL dbms.listConfig()",
    "CALL db.index.fulltext.queryNodes('words@', 'mill') YIELD node RETURN node",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD CSV FROM 'http://127.0.0.1:9/' AS line RETURN line",
    "SHOW USERS",
    "SHOW SETTINGS",
    "SHOW TRANSACTIONS",
    "CREATE INDEX owned FOR (n:Person@) ON (n.called)",
    "DROP INDEX words@",
    "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
    "RETURN 1; CREATE (n:Owned@)",
    "PROFILE CREATE (n:Owned@)",
    "EXPLAIN CREATE (n:Owned@)",
    "USE system SHOW USERS",
    "MATCH (a), (b), (c), (d), (e), (f) RETURN a.called + b.called AS both",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_does_not_only_read_is_not_run(
    made: Town, database: Neo4jDatabase, attack: str
) -> None:
    before = made.run("MATCH (n:Person@) RETURN n.called ORDER BY n.called")
    with pytest.raises((InputError, StoreError)):
        check_plan(*database.explained(attack.replace("@", made.token), {}))
    assert made.run("MATCH (n:Person@) RETURN n.called ORDER BY n.called") == before
    assert made.run("MATCH (n:Owned@) RETURN n") == []


def test_an_attack_twice_written_is_an_error_and_changes_nothing(
    made: Town, database: Neo4jDatabase
) -> None:
    client, _ = model([written("CREATE (n:Owned) RETURN n")] * 2)
    with pytest.raises(InputError, match="would change the database"):
        ask_by_cypher(database, client, "Do it", embedder=EMBEDDER)
    assert made.run("MATCH (n:Owned) RETURN n") == []


def test_the_server_itself_refuses_a_write_in_a_reading_session(
    made: Town, database: Neo4jDatabase
) -> None:
    with pytest.raises(StoreError):
        database.bounded_rows("CREATE (n:Owned) RETURN n", {}, 1)
    assert made.run("MATCH (n:Owned) RETURN n") == []


def test_what_never_ends_is_ended(neo4j_address: str, neo4j_settings: Neo4jSettings) -> None:
    bounded = neo4j_settings.model_copy(update={"query_seconds": 1})
    endless = "UNWIND range(1, 100000000000) AS a UNWIND range(1, 100000000000) AS b RETURN sum(a)"
    with closing(Neo4jDatabase(neo4j_address, bounded, "default")) as database:
        began = time.monotonic()
        with pytest.raises(StoreError):
            database.bounded_rows(endless, {}, 1)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:Person@)-[:KNOWS@|TAUGHT@*1..3]->(b) RETURN DISTINCT b.called ORDER BY b.called",
        "MATCH (a:Person@) OPTIONAL MATCH (a)-[:TAUGHT@]->(b) RETURN a.called, count(b) AS n"
        " ORDER BY n DESC LIMIT 5",
        "MATCH (a:Person@) WHERE NOT EXISTS { (a)-[:KNOWS@]->() } RETURN a.called",
        "MATCH (a:Person@), (b:Person@) WHERE a.called < b.called"
        " MATCH p = shortestPath((a)-[*..4]-(b)) RETURN length(p) LIMIT 1",
        "MATCH (a:Person@) CALL (a) { MATCH (a)--(b:Passage@) RETURN count(b) AS n }"
        " RETURN a.called, n",
        "MATCH (a:Person@) WITH a, COUNT { (a)--(:Passage@) } AS n WHERE n > 1 RETURN collect(a)",
        "MATCH (a:Person@) RETURN a.called AS x UNION MATCH (p:Passage@) RETURN p.code AS x",
        "MATCH (a:Person@) WHERE elementId(a) = 'x' RETURN a",
        "MATCH (a:Person@)((x)-[:KNOWS@]->(y)){1,3}(b) RETURN count(*)",
    ],
)
def test_what_only_reads_passes(made: Town, database: Neo4jDatabase, query: str) -> None:
    text = query.replace("@", made.token)
    check_plan(*database.explained(text, {}))
    database.bounded_rows(text, {}, 10)


def test_a_database_of_several_namespaces_is_not_asked(made: Town, database: Neo4jDatabase) -> None:
    made.run("CREATE (:ClewStore {namespace: 'somebody else'})")
    try:
        client, scripted = model([written("MATCH (n) RETURN n")])
        with pytest.raises(InputError, match="namespaces"):
            ask_by_cypher(database, client, "Who is there?", embedder=EMBEDDER)
        assert scripted.calls == 0
    finally:
        made.run("MATCH (s:ClewStore {namespace: 'somebody else'}) DELETE s")
