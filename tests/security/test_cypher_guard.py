"""A written query calls no function of a plugin, however the call is spelled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.errors import ClewError, InputError
from clew.plugins.llm.client import LanguageModelClient
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.plugins.neo4j.cypher import ask_by_cypher, check_functions, check_plan
from clew.settings import LlmSettings, Neo4jSettings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel

PLUGINS = (
    "apoc.cypher.runFirstColumnMany",
    "apoc.cypher.runFirstColumnSingle",
    "apoc.load.json",
    "custom.f",
)
READS_A_FILE = (
    "apoc.cypher.runFirstColumnMany('LOAD CSV FROM \"file:///etc/passwd\" AS l RETURN l', {})"
)
READS_SETTINGS = (
    "apoc.cypher.runFirstColumnMany('CALL dbms.listConfig() YIELD name RETURN name', {})"
)
OWN = ("date.truncate", "duration.inDays", "point.distance", "vector.similarity.cosine", "toLower")
PLACES = (
    "RETURN @ AS x",
    "MATCH (n) WHERE n.name IN [@] RETURN n",
    "MATCH (n {name: @}) RETURN n",
    "MATCH (n) RETURN n ORDER BY @",
    "UNWIND @ AS x RETURN x",
    "CALL () { RETURN @ AS x } RETURN x",
    "MATCH (n) WHERE EXISTS { MATCH (n)--(m) WHERE m.name = @ } RETURN n",
    "MATCH (n) RETURN COUNT { (n)--(m) WHERE m.name = @ } AS c",
    "MATCH (n) RETURN [x IN n.names WHERE x = @ | x] AS xs",
    "MATCH (n) RETURN CASE WHEN n.name = @ THEN 1 ELSE 2 END AS x",
    "MATCH (n) RETURN n {.name, x: @} AS x",
    "WITH 'it''s' AS a RETURN 'a text with ( and . ' + toString(@) AS x",
    "RETURN reduce(all = '', x IN ['(', \"'\"] | all + @) AS x",
)


@st.composite
def _spelled(draw: st.DrawFn, names: tuple[str, ...], *, hidden: bool = True) -> str:
    """A call of one of the functions in any spelling that servers read as that call."""
    gap = st.text(st.sampled_from(" \t\n\u00a0\u2003"), max_size=2)
    if hidden:
        gap = gap | st.sampled_from(["/* ( */", "/**/", "// '\n", "/* ' */"])
    parts = []
    for part in draw(st.sampled_from(names)).split("."):
        if draw(st.booleans()):
            part = f"`{part}`"
        elif hidden and draw(st.booleans()):
            place = draw(st.integers(0, len(part) - 1))
            part = f"{part[:place]}\\u{ord(part[place]):04x}{part[place + 1 :]}"
        parts.append(part)
    called = parts[0]
    for part in parts[1:]:
        called += draw(gap) + "." + draw(gap) + part
    return f"{called}{draw(gap)}('RETURN 1', {{}})"


@given(_spelled(PLUGINS), st.sampled_from(PLACES))
@example(READS_A_FILE, PLACES[0])
@example(READS_SETTINGS, PLACES[0])
@example("'\\u0027 + apoc.cypher.runFirstColumnMany(\"RETURN 1\", {}) + \\u0027'", PLACES[0])
def test_no_spelling_of_a_plugins_function_passes(call: str, place: str) -> None:
    with pytest.raises(InputError, match=r"function of Cypher's own|the query holds"):
        check_functions(place.replace("@", call))


@given(_spelled(OWN, hidden=False), st.sampled_from(PLACES), st.booleans())
def test_functions_of_cypher_pass_wherever_they_stand(call: str, place: str, upper: bool) -> None:
    spelled = call.partition("(")[0]
    query = place.replace("@", (spelled.upper() if upper else spelled) + "('apoc.f(1) // x', 1)")
    check_functions(query)


@pytest.fixture(scope="module")
def database(gds_address: str) -> Iterator[Neo4jDatabase]:
    with closing(Neo4jDatabase(gds_address, Neo4jSettings(), "default")) as opened:
        yield opened


def test_the_servers_own_reading_is_judged_too(database: Neo4jDatabase, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("the cellar key\n", encoding="utf-8")
    inner = f"LOAD CSV FROM \\'file://{secret}\\' AS l RETURN l"
    for call in (
        f"apoc.cypher.runFirstColumnMany('{inner}', {{}})",
        READS_SETTINGS.replace("apoc.cypher.", "`apoc`./* ( */cypher . "),
        "\\u0061poc.text.join(['a'], '')",
        '\'\\u0027 + apoc.text.join(["a"], "") + \\u0027\'',
    ):
        for place in PLACES[:9]:
            query = place.replace("@", call)
            plan = database.explained(query, {})
            with pytest.raises(InputError, match=r"calls apoc\.\w+\.\w+, which is no function"):
                check_plan(*plan)


def test_no_answer_comes_from_a_file_or_the_servers_settings(database: Neo4jDatabase) -> None:
    for query in (
        f"RETURN {READS_A_FILE} AS x",
        f"RETURN {READS_SETTINGS} AS x",
        "CALL apoc.cypher.run('RETURN 1', {}) YIELD value RETURN value",
        "CALL dbms.listConfig() YIELD name RETURN name",
    ):
        reply = json.dumps({"query": query, "parameters": [], "reason": ""})
        client = LanguageModelClient(ScriptedLanguageModel([reply] * 2), LlmSettings())
        with pytest.raises(ClewError, match="the query"):
            ask_by_cypher(database, client, "What is it?", embedder=HashEmbedder(64))


def test_functions_of_cypher_are_run(database: Neo4jDatabase) -> None:
    query = (
        "RETURN date.truncate('month', date('2024-05-17')) AS day,"
        " duration.inDays(date('2024-05-01'), date('2024-05-17')).days AS days,"
        " 'apoc.text.join(1)' AS text"
    )
    check_functions(query)
    check_plan(*database.explained(query, {}))
    ((day, days, text),) = database.bounded_rows(query, {}, 1)[1]
    assert (str(day), days, text) == ("2024-05-01", 16, "apoc.text.join(1)")
