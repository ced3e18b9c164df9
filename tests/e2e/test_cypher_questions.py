"""Questions to a graph of films, answered by queries of a scripted model on a real server.

The answers are counted from the data, not by Cypher. What is shown is what becomes of a query once
it is written: that good ones are let through, and which bad ones are mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import pytest

from clew.attach.cypher import NEAREST, CypherAnswer, Example, ask_by_cypher, nearest_examples
from clew.models.llm.client import LanguageModelClient
from clew.settings import LlmSettings, Neo4jSettings
from clew.stores.neo4j.connection import Neo4jDatabase
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.e2e.film_graph import Cinema, Gold, cinema, make_films, make_golds

FILMS = make_films()
GOLDS = make_golds(FILMS)
ONE_OF_EACH = list({gold.form: gold for gold in GOLDS}.values())
EMBEDDER = HashEmbedder(512)
DIRECTED = re.compile(r"-(\[\w*:(?!FOLLOWS)[^\]*]+\])->|<-(\[\w*:(?!FOLLOWS)[^\]*]+\])-")
"""Relationships whose ends have different labels: those of FOLLOWS could be meant either way."""


@pytest.fixture(scope="module")
def made(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Cinema]:
    with cinema(neo4j_address, neo4j_settings, FILMS) as built:
        yield built


@pytest.fixture(scope="module")
def database(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Neo4jDatabase]:
    with closing(Neo4jDatabase(neo4j_address, neo4j_settings, "default")) as opened:
        yield opened


def written(query: str, parameters: Mapping[str, object]) -> str:
    values = [{"name": name, "value": value} for name, value in parameters.items()]
    return json.dumps({"query": query, "parameters": values, "reason": ""})


def ask(
    database: Neo4jDatabase, gold: Gold, replies: Sequence[str]
) -> tuple[CypherAnswer, ScriptedLanguageModel]:
    scripted = ScriptedLanguageModel(replies)
    client = LanguageModelClient(scripted, LlmSettings())
    return ask_by_cypher(database, client, gold.question, embedder=EMBEDDER), scripted


def check(answer: CypherAnswer, gold: Gold) -> None:
    assert sorted(answer.rows, key=repr) == sorted(gold.answer, key=repr), gold.question


def test_the_questions_are_many_and_most_have_answers() -> None:
    assert len(GOLDS) >= 60
    assert len({gold.question for gold in GOLDS}) == len(GOLDS)
    assert sum(bool(gold.answer) for gold in GOLDS) > 0.8 * len(GOLDS)


def test_every_right_query_is_let_through_and_answers(
    made: Cinema, database: Neo4jDatabase
) -> None:
    for gold in GOLDS:
        answer, scripted = ask(database, gold, [written(made.text(gold.query), gold.parameters)])
        check(answer, gold)
        assert answer.query == made.text(gold.query), "a right query stays as it is"
        assert scripted.calls == 1


def test_relationships_the_wrong_way_round_are_turned(
    made: Cinema, database: Neo4jDatabase
) -> None:
    turned = 0
    for gold in ONE_OF_EACH:
        wrong = DIRECTED.sub(lambda m: f"<-{m[1]}-" if m[1] else f"-{m[2]}->", gold.query)
        if wrong == gold.query or "EXISTS" in gold.query:
            continue
        turned += 1
        answer, scripted = ask(database, gold, [written(made.text(wrong), gold.parameters)])
        check(answer, gold)
        assert scripted.calls == 1
    assert turned >= 18


def test_a_broken_query_is_mended_by_its_error(made: Cinema, database: Neo4jDatabase) -> None:
    for gold in ONE_OF_EACH:
        good = made.text(gold.query)
        broken = good.replace("MATCH", "MATHC", 1)
        replies = [written(broken, gold.parameters), written(good, gold.parameters)]
        answer, scripted = ask(database, gold, replies)
        check(answer, gold)
        assert "MATHC" in scripted.asked[1].messages[-2].text
        assert "Invalid input" in scripted.asked[1].messages[-1].text


def test_texts_in_a_query_become_parameters(made: Cinema, database: Neo4jDatabase) -> None:
    for gold in ONE_OF_EACH:
        literal = gold.query
        for name, value in gold.parameters.items():
            literal = literal.replace(f"${name}", json.dumps(value))
        answer, _ = ask(database, gold, [written(made.text(literal), {})])
        check(answer, gold)
        texts = {value for value in gold.parameters.values() if isinstance(value, str)}
        assert '"' not in answer.query
        assert set(answer.parameters.values()) == texts


def test_a_model_is_shown_questions_of_the_same_form(database: Neo4jDatabase) -> None:
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
        near = nearest_examples(gold.question, others, EMBEDDER)
        assert len(near) == NEAREST
        found += any(kinds[example.question] == gold.form for example in near)
    assert found >= 0.95 * len(several)


def test_examples_are_shown_with_the_schema(made: Cinema, database: Neo4jDatabase) -> None:
    gold, *others = ONE_OF_EACH
    examples = [
        Example(question=one.question, query=made.text(one.query), parameters=dict(one.parameters))
        for one in others
    ]
    scripted = ScriptedLanguageModel([written(made.text(gold.query), {})])
    client = LanguageModelClient(scripted, LlmSettings())
    ask_by_cypher(database, client, gold.question, embedder=EMBEDDER, examples=examples)
    shown = scripted.asked[0].messages[0].text
    assert shown.count("Example question:") == NEAREST
    assert shown.rstrip().endswith(gold.question)
