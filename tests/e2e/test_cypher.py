"""Queries that a model writes, in its own graph and in others."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.errors import InputError, StoreError
from clew.library import Clew
from clew.operations.spec import Caller
from clew.plugins.llm.client import LanguageModelClient
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.plugins.neo4j.cypher import (
    NEAREST,
    Example,
    ask_by_cypher,
    check_functions,
    check_plan,
    nearest_examples,
    own_examples,
    with_directions,
    with_parameters,
)
from clew.plugins.neo4j.mapping import GraphSchema, TypeInfo
from clew.ports import Reply, Request
from clew.settings import LlmSettings, Neo4jSettings, Settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.contract.neo4j_stores import new_place
from tests.e2e.attached_graph import Town, make_world, town
from tests.e2e.film_graph import ENDS, GOLDS

# --- Queries that a language model writes, on a real server: what reads is run, nothing else
# is.


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


def test_a_written_query_is_run_with_its_parameters(made: Town, database: Neo4jDatabase) -> None:
    name = next(a for a, type_, _ in WORLD.relations if type_ == "KNOWS")
    query = (
        f"MATCH (a:{made.name('Person')} {{called: $who}})-[:{made.name('KNOWS')}]->(b) RETURN b"
    )
    client, scripted = model([written(query, who=name)])
    answer = ask_by_cypher(database, client, f"Whom does {name} know?", embedder=EMBEDDER)
    assert (answer.query, answer.columns) == (query, ("b",))
    nodes = [row[0] for row in answer.rows if isinstance(row[0], dict)]
    assert {node["called"] for node in nodes} == {
        b for a, type_, b in WORLD.relations if (a, type_) == (name, "KNOWS")
    }
    assert all(node["element_id"] for node in nodes)
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


# --- Queries that answer questions about films: right ones pass as they are, others are turned.


DIRECTED = re.compile(r"-(\[\w*:(?!FOLLOWS)[^\]*]+\])->|<-(\[\w*:(?!FOLLOWS)[^\]*]+\])-")
"""Relationships whose ends have different labels: those of FOLLOWS could be meant either way."""
FILMS = GraphSchema(
    labels=(),
    types=tuple(
        TypeInfo(name=name, count=1, properties=(), ends=(ends,)) for name, ends in ENDS.items()
    ),
    indexes=(),
    lookups=frozenset(),
)


def test_every_right_query_is_let_through_as_it_is(database: Neo4jDatabase) -> None:
    for gold in GOLDS:
        query, values = with_parameters(gold.query, dict(gold.parameters))
        assert with_directions(query, FILMS) == gold.query
        check_functions(query)
        check_plan(*database.explained(query, values))


def test_relationships_the_wrong_way_round_are_turned_and_texts_become_parameters() -> None:
    turned = 0
    for gold in GOLDS:
        wrong = gold.query
        if "EXISTS" not in wrong:
            wrong = DIRECTED.sub(lambda m: f"<-{m[1]}-" if m[1] else f"-{m[2]}->", wrong)
        turned += wrong != gold.query
        for name, value in gold.parameters.items():
            wrong = wrong.replace(f"${name}", json.dumps(value))
        query, values = with_parameters(with_directions(wrong, FILMS), {})
        for name, value in gold.parameters.items():
            places = [n for n, one in values.items() if one == value]
            query = query.replace(f"${places[0]}" if places else str(value), f"${name}")
        assert query == gold.query
    assert turned >= 50


def test_a_model_is_shown_questions_of_the_same_form() -> None:
    """Each question is asked with all the others as examples."""
    kinds = {gold.question: gold.form for gold in GOLDS}
    several = [g for g in GOLDS if sum(one.form == g.form for one in GOLDS) > 1]
    found = 0
    for gold in several:
        others = [
            Example(question=one.question, query=one.query, parameters=dict(one.parameters))
            for one in GOLDS
            if one is not gold
        ]
        near = nearest_examples(gold.question, others, HashEmbedder(512))
        assert len(near) == NEAREST
        found += any(kinds[example.question] == gold.form for example in near)
    assert found >= 0.95 * len(several)


# --- Clew's own graph on a real server, asked by Cypher: its examples, and the tool.


TEXTS = {
    "Vell": "Ada Morn built the great clock of Vell. Ada Morn works at Harrow Mill.",
    "Mill": "Tobias Fenn works at Harrow Mill. He met Ada Morn there.",
    "Bridge": "Mira Holt painted the bridge of Ostby.",
}
WRITTEN = {
    example.question: json.dumps(
        {
            "query": example.query,
            "parameters": [{"name": n, "value": v} for n, v in example.parameters.items()],
        }
    )
    for example in own_examples()
}


class Writer(ScriptedLanguageModel):
    """Writes the query of the example that is asked."""

    def reply(self, request: Request) -> Reply:
        return ScriptedLanguageModel([WRITTEN[request.subject]]).reply(request)


@pytest.fixture(scope="module")
def store(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    local = tmp_path_factory.mktemp("local")
    with new_place(neo4j_address, neo4j_settings) as place:
        settings = Settings(
            store=place.address,
            namespace=place.namespace,
            neo4j=place.settings.model_copy(update={"local": local}),
        )
        with Clew(settings, embedder=HashEmbedder(64), language_model=Writer()) as opened:
            for title, text in TEXTS.items():
                opened.add(text, title=title, source=f"{title}.md", metadata={"date": "2023-05-01"})
            yield opened


def test_every_example_about_the_own_graph_finds_what_the_store_holds(store: Clew) -> None:
    answers = {question: store.ask_by_cypher(question) for question in WRITTEN}
    assert [answer for answer in answers.values() if answer.notes or not answer.query] == []
    found = {question: answer.rows for question, answer in answers.items()}
    assert found["How many documents are there?"] == ((len(TEXTS),),)
    assert found["Which documents mention Ada Morn?"] == (("Mill", "Mill.md"), ("Vell", "Vell.md"))
    assert {row[0] for row in found["Which documents are of 2023?"]} == set(TEXTS)
    workers = [row[0] for row in found["Who works at Harrow Mill?"]]
    assert [node["name"] for node in workers if isinstance(node, dict)] == [
        "Ada Morn",
        "Tobias Fenn",
    ]
    assert ("Ada Morn", "works_at", "Harrow Mill") in found["What is Ada Morn tied to?"]


def test_the_tool_answers_whoever_may_read_all_of_the_database(store: Clew) -> None:
    asked = {"query": "Which documents mention Ada Morn?"}
    found = store.tools.call("ask_by_cypher", asked)
    assert not found.is_error, found.content
    assert found.content["rows"] == [
        {"title": "Mill", "source": "Mill.md"},
        {"title": "Vell", "source": "Vell.md"},
    ]
    assert found.content["parameters"] == {"name": "Ada Morn"}
    assert "MATCH" in found.content["cypher"]
    reader = Caller(name="reader", scopes=frozenset({"read"}))
    assert "there is no tool" in store.tools.call("ask_by_cypher", asked, caller=reader).text


def test_a_blank_question_asks_no_model(store: Clew) -> None:
    with pytest.raises(InputError, match="no question"):
        store.ask_by_cypher("  ")


def test_a_store_that_is_a_folder_is_named(tmp_path: Path) -> None:
    with clew.open(tmp_path / "s", embedder=HashEmbedder(64), language_model=Writer()) as opened:
        found = opened.tools.call("ask_by_cypher", {"query": "How many documents are there?"})
    assert found.is_error
    assert "is a folder" in found.content["error"]
