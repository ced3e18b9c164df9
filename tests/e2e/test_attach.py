"""A graph that Clew did not make, on a real server: every answer against a scan of all of it."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.errors import InputError, ModelError, StoreError
from clew.library import Clew
from clew.operations.spec import Caller
from clew.plugins.llm.client import LanguageModelClient
from clew.plugins.neo4j.attached import LIMITS, AttachedGraph
from clew.plugins.neo4j.connection import Neo4jDatabase, Row
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
from clew.plugins.neo4j.mapping import (
    GraphMapping,
    GraphSchema,
    IndexInfo,
    LabelInfo,
    TypeInfo,
    check_mapping,
    read_schema,
)
from clew.ports import Reply, Request
from clew.settings import LlmSettings, Neo4jSettings, Settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from tests.contract.neo4j_stores import new_place
from tests.e2e.attached_graph import (
    EMBEDDER,
    TYPES,
    Town,
    bm25,
    by_score,
    cosines,
    graph_scores,
    make_world,
    seeds,
    town,
    votes,
)
from tests.e2e.conftest import Run
from tests.e2e.film_graph import ENDS, GOLDS

WORLD = make_world()
NAME = WORLD.names[0]
QUESTION = f"What did {NAME} build?"


@pytest.fixture(scope="module")
def made(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Town]:
    with town(neo4j_address, neo4j_settings, WORLD) as built:
        yield built


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch, neo4j_settings: Neo4jSettings) -> None:
    monkeypatch.setenv("CLEW_NEO4J__USER", neo4j_settings.user)
    monkeypatch.setenv("CLEW_NEO4J__PASSWORD", neo4j_settings.password.get_secret_value())


@pytest.fixture
def mapping(made: Town, tmp_path: Path) -> Path:
    """A file that maps the graph by words alone, so that no model is needed."""
    entries = made.entries()
    del entries["passages"]["vector_index"]
    return write_mapping(tmp_path / "mapping.toml", entries)


def test_a_query_is_estimated_before_a_model_is_asked(
    in_process: Run, made: Town, neo4j_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens there: whoever asked would say so.
    for name, value in {
        "PROVIDER": "ollama",
        "MODEL": "m",
        "BASE_URL": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(f"CLEW_LLM__{name}", value)

    done = in_process("cypher", QUESTION, "--dry-run", "--json", "--store", neo4j_address)
    asked = in_process("cypher", QUESTION, "--max-tokens-spent", "5", "--store", neo4j_address)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["calls"], said["cost"]) == (1, None)
    assert said["input_tokens"] > 300
    assert (asked.returncode, "cannot be reached" in asked.stderr) == (2, True)


def write_mapping(path: Path, entries: Mapping[str, Mapping[str, object]]) -> Path:
    # A list of texts is written in TOML as in JSON.
    parts = (
        "\n".join([f"[{part}]", *(f"{name} = {json.dumps(v)}" for name, v in values.items())])
        for part, values in entries.items()
    )
    path.write_text("\n\n".join(parts), encoding="utf-8")
    return path


def test_answers_as_json(in_process: Run, made: Town, mapping: Path, neo4j_address: str) -> None:
    done = in_process(
        "attach", neo4j_address, "--mapping", mapping, *QUESTION.split(), "--limit", "3", "--json"
    )

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    expected = by_score(WORLD, bm25(WORLD, QUESTION))[:3]
    assert [hit["id"] for hit in answer["hits"]] == expected
    assert answer["hits"][0]["path"] == [
        {"entity": NAME, "type": made.name("SPEAKS_OF"), "forward": False}
    ]
    assert answer["notes"] == ["the mapping names no vector index of the passages"]


def test_answers_for_a_reader(in_process: Run, mapping: Path, neo4j_address: str) -> None:
    done = in_process(
        "attach", neo4j_address, "--mapping", mapping, QUESTION, "--strategy", "multi_hop"
    )

    assert done.returncode == 0, done.stderr
    first = by_score(WORLD, bm25(WORLD, QUESTION))[0]
    assert done.stdout.startswith(f"from {NAME}")
    assert f"Page {first}, https://example.org/{first}, {first}\n    {WORLD.texts[first]}\n" in (
        done.stdout
    )
    assert " · keyword " in done.stdout
    assert f"    {NAME} ←SPEAKS_OF_" in done.stdout
    assert done.stderr == "Note: the mapping names no vector index of the passages\n"


def test_check_of_a_mapping_that_fits(in_process: Run, mapping: Path, neo4j_address: str) -> None:
    shown = in_process("attach", neo4j_address, "--mapping", mapping)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "passages.label" in shown.stdout
    assert f"nodes: {len(WORLD.texts)}" in shown.stdout


def test_schema_prints_what_there_is(in_process: Run, made: Town, neo4j_address: str) -> None:
    shown = in_process("schema", "--store", neo4j_address)
    found = json.loads(in_process("schema", "--store", neo4j_address, "--json").stdout)

    assert shown.returncode == 0
    assert "embedding (LIST<FLOAT>)" in shown.stdout
    assert f"{made.name('Passage')} to {made.name('Person')}" in shown.stdout
    assert made.name("Passage") in [label["name"] for label in found["labels"]]
    assert made.name("vectors") in [index["name"] for index in found["indexes"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("schema",), "is a folder; give the address of a Neo4j server"),
        (("schema", "--store", "neo4j://ada:secret@127.0.0.1"), "must not hold a password"),
        (("schema", "--store", "http://127.0.0.1:7474"), "address that begins with neo4j://"),
        (("schema", "--store", "neo4j://127.0.0.1:9"), "cannot be reached"),
        (("attach", "neo4j://127.0.0.1:9", "--mapping", "empty.toml"), "passages: Field required"),
        (("attach", "neo4j://127.0.0.1:9", "--mapping", "none.toml"), "does not exist"),
    ],
)
def test_wrong_use_is_named(
    in_process: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty.toml").touch()

    done = in_process(*arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


QUESTIONS = [
    f"Who painted the mill that {WORLD.names[3]} sold?",
    f"What did {WORLD.names[0]} and {WORLD.names[9]} leave in the harbour?",
    "Which choir burned the archive?",
]
ALL = len(WORLD.texts)


class CountingDatabase(Neo4jDatabase):
    """Counts its round trips."""

    queries = 0

    def rows(self, query: str, **parameters: object) -> list[Row]:
        self.queries += 1
        return super().rows(query, **parameters)


@pytest.fixture(scope="module")
def database(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[CountingDatabase]:
    opened = CountingDatabase(neo4j_address, neo4j_settings, "attached")
    yield opened
    opened.close()


@pytest.fixture
def graph(made: Town, database: CountingDatabase) -> AttachedGraph:
    return AttachedGraph(database, made.mapping, lambda: EMBEDDER)


def changed(made: Town, **parts: Mapping[str, object]) -> GraphMapping:
    """The mapping with some entries of some parts changed; None leaves an entry out."""
    mapping = made.entries()
    for part, entries in parts.items():
        merged = {**mapping[part], **entries}
        mapping[part] = {name: value for name, value in merged.items() if value is not None}
    return GraphMapping.model_validate(mapping)


def count_nodes(made: Town) -> object:
    return made.run("MATCH (n:Passage@|Person@) RETURN count(n), count{(n)--()}")


# --- what is found -----------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS)
def test_hybrid_is_the_reciprocal_ranks_of_both_scans(graph: AttachedGraph, question: str) -> None:
    near, worded = cosines(WORLD, question), bm25(WORLD, question)
    expected = by_score(WORLD, votes(WORLD, [near, worded]))

    answer = graph.ask(question, limit=ALL)

    assert [hit.id for hit in answer.hits] == expected
    for hit in answer.hits:
        assert hit.text == WORLD.texts[hit.id]
        assert (hit.title, hit.source) == (f"Page {hit.id}", f"https://example.org/{hit.id}")
        assert hit.scores["vector"] == pytest.approx(near[hit.id], abs=1e-5)
        assert hit.scores.get("keyword", 0) == pytest.approx(worded.get(hit.id, 0), abs=1e-4)
        assert set(hit.entities) == set(WORLD.mentions[hit.id])
    assert answer.notes == ()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("strategy", "hops"), [("local", 0), *(("multi_hop", n) for n in (1, 2, 3))]
)
def test_walks_reach_what_a_scan_reaches(
    graph: AttachedGraph, question: str, strategy: str, hops: int
) -> None:
    near, worded = cosines(WORLD, question), bm25(WORLD, question)
    weights = graph_scores(WORLD, question, hops)
    led = [{code: s[code] for code in s if code in weights} for s in (near, worded, weights)]
    rest = [{code: s[code] for code in s if code not in weights} for s in (near, worded)]
    expected = [*by_score(WORLD, votes(WORLD, led)), *by_score(WORLD, votes(WORLD, rest))]

    answer = graph.ask(question, strategy=strategy, limit=ALL, max_hops=max(hops, 1))

    found = {hit.id: hit.scores["graph"] for hit in answer.hits if "graph" in hit.scores}
    assert set(answer.seeds) == set(seeds(WORLD, question))
    assert found == pytest.approx(weights)
    assert [hit.id for hit in answer.hits] == expected
    assert [hit.score for hit in answer.hits] == sorted(
        (h.score for h in answer.hits), reverse=True
    )


@pytest.mark.parametrize("question", QUESTIONS)
def test_paths_are_in_the_graph(made: Town, graph: AttachedGraph, question: str) -> None:
    """Each step from an entity that was started from, over relationships that there are."""
    ties = {(a, made.name(type_), b) for a, type_, b in WORLD.relations}

    answer = graph.ask(question, strategy="multi_hop", limit=ALL, max_hops=3)

    walked = [hit for hit in answer.hits if hit.path]
    assert walked == [hit for hit in answer.hits if "graph" in hit.scores]
    assert max(len(hit.path) for hit in walked) > 1
    for hit in walked:
        last = hit.path[-1]
        assert hit.path[0].entity in answer.seeds
        assert last.entity in WORLD.mentions[hit.id]
        assert (last.type, last.forward) == (made.name("SPEAKS_OF"), False)
        for step, after in pairwise(hit.path):
            ends = (step.entity, after.entity) if step.forward else (after.entity, step.entity)
            assert (ends[0], step.type, ends[1]) in ties


def test_a_question_is_one_query(graph: AttachedGraph, database: CountingDatabase) -> None:
    graph.ask(QUESTIONS[0])
    before = database.queries
    for strategy in ("hybrid", "local", "multi_hop"):
        graph.ask(QUESTIONS[1], strategy=strategy, max_hops=3)
    assert database.queries - before == 3


def test_names_are_found_whatever_their_case_by_their_index(
    made: Town, database: CountingDatabase
) -> None:
    mapped = changed(made, passages={"fulltext_index": None})
    unmapped = changed(made, passages={"fulltext_index": None}, entities={"fulltext_index": None})
    with_index, without = (
        AttachedGraph(database, mapping, lambda: EMBEDDER) for mapping in (mapped, unmapped)
    )
    # Vectors of noise lead to some ten people; this one is found by name or not at all.
    name = next(name for name in WORLD.names if name not in _near_people(f"who is {name.lower()}?"))
    question = f"who is {name.lower()}?"

    assert with_index.ask(question, strategy="local").seeds[0] == name
    assert without.ask(f"Who is {name}?", strategy="local").seeds[0] == name
    assert name not in without.ask(question, strategy="local").seeds


def _near_people(question: str) -> set[str]:
    near = by_score(WORLD, cosines(WORLD, question))[: LIMITS["near"]]
    return {name for code in near for name in WORLD.mentions[code]}


def test_longer_names_hide_shorter_ones_within(made: Town, graph: AttachedGraph) -> None:
    name = WORLD.names[3]
    short = name.split()[0]
    made.run("CREATE (:Person@ {called: $short})", short=short)
    made.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    try:
        assert short not in graph.ask(f"Where is {name}?", strategy="local").seeds
        both = graph.ask(f"Where are {name} and {short}?", strategy="local")
        assert set(both.seeds[:2]) == {name, short}
    finally:
        made.run("MATCH (e:Person@ {called: $short}) DELETE e", short=short)


def test_hubs_are_read_within_bounds(neo4j_address: str, neo4j_settings: Neo4jSettings) -> None:
    crowd = make_world(passages=300)
    hub = crowd.names[0]
    for names in crowd.mentions.values():
        names[:] = list(dict.fromkeys([hub, *names]))
    others = [name for name in crowd.names if name != hub]
    crowd.relations[:] = [(hub, type_, other) for other in others for type_ in TYPES] * 20
    database = Neo4jDatabase(neo4j_address, neo4j_settings, "attached")
    with town(neo4j_address, neo4j_settings, crowd) as made:
        graph = AttachedGraph(database, made.mapping, lambda: EMBEDDER)
        answer = graph.ask(f"What of {hub}?", strategy="multi_hop", limit=1000, max_hops=3)
    database.close()

    walked = [hit for hit in answer.hits if "graph" in hit.scores]
    assert len(answer.seeds) <= LIMITS["seeds"]
    assert len(walked) == LIMITS["depth"]
    assert len(answer.hits) <= 3 * LIMITS["depth"]


# --- what is missing ---------------------------------------------------------------------


class LostEmbedder(HashEmbedder):
    @property
    def dimension(self) -> int:
        raise ModelError("no model here")


@pytest.mark.parametrize(
    ("index", "embedder", "note"),
    [
        (None, EMBEDDER, "names no vector index"),
        ("gone", EMBEDDER, "has no vector index 'gone'; it has .*vectors_"),
        (
            "vectors",
            HashEmbedder(64),
            "has 32 dimensions, the embedder 'hash-64' 64; set embed.model",
        ),
        ("vectors", LostEmbedder(), "no model here"),
    ],
)
def test_words_alone_answer_without_vectors(
    made: Town, database: CountingDatabase, index: str | None, embedder: HashEmbedder, note: str
) -> None:
    given = made.name(index) if index == "vectors" else index
    mapping = changed(made, passages={"vector_index": given})
    graph = AttachedGraph(database, mapping, lambda: embedder)
    worded = by_score(WORLD, bm25(WORLD, QUESTIONS[0]))
    for strategy, expected in (("hybrid", worded), ("multi_hop", [])):
        answer = graph.ask(QUESTIONS[0], strategy=strategy, limit=ALL)
        (remark,) = answer.notes
        assert re.search(note, remark)
        assert all("vector" not in hit.scores for hit in answer.hits)
        assert [hit.id for hit in answer.hits][: len(expected)] == expected


def test_without_any_index_there_is_nothing_to_ask(made: Town, database: CountingDatabase) -> None:
    mapping = changed(made, passages={"fulltext_index": "gone", "vector_index": "lost"})
    graph = AttachedGraph(database, mapping, lambda: EMBEDDER)

    with pytest.raises(InputError, match=r"cannot be asked .*'gone'.*'lost'"):
        graph.ask(QUESTIONS[0])


def test_walks_need_entities(made: Town, database: CountingDatabase) -> None:
    passages = {"passages": made.entries()["passages"]}
    graph = AttachedGraph(database, GraphMapping.model_validate(passages), lambda: EMBEDDER)

    answer = graph.ask(QUESTIONS[0], limit=ALL)

    assert len(answer.hits) == ALL
    assert {hit.entities for hit in answer.hits} == {()}
    with pytest.raises(InputError, match=r"'local' needs entities: add \[entities\]"):
        graph.ask(QUESTIONS[0], strategy="local")


def test_odd_questions_are_answered(graph: AttachedGraph) -> None:
    odd = ('"', "AND OR NOT", "a:b* ~[x TO y] \\ /re/ (", "東京タワー", "x" * 20_000, "🎈", " ")
    for question, strategy in product(odd, ("hybrid", "multi_hop")):
        assert graph.ask(question, strategy=strategy, limit=ALL).hits, (question, strategy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "magic"}, "unknown strategy 'magic'; expected one of hybrid, local"),
        ({"limit": 0}, "limit 0 cannot be"),
        ({"max_hops": 4}, "max_hops 4 cannot be; expected 1 to 3"),
    ],
)
def test_options_that_cannot_be(
    graph: AttachedGraph, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        graph.ask("who?", **options)


# --- nothing is written, nothing slips in ------------------------------------------------

BREAK_OUT = "x`) DETACH DELETE (n) //"


@pytest.mark.parametrize(
    ("part", "entry"),
    [
        *(("passages", entry) for entry in ("label", "text", "id", "title", "source")),
        *(("entities", entry) for entry in ("labels", "name")),
        *((part, "types") for part in ("mentions", "relations")),
    ],
)
def test_names_that_break_out_are_refused(
    made: Town, database: CountingDatabase, part: str, entry: str
) -> None:
    value = [BREAK_OUT] if entry in ("labels", "types") else BREAK_OUT
    graph = AttachedGraph(database, changed(made, **{part: {entry: value}}), lambda: EMBEDDER)
    before = count_nodes(made)

    with pytest.raises(InputError, match=r"the database has no .*DETACH DELETE"):
        graph.ask(QUESTIONS[0], strategy="multi_hop")

    assert count_nodes(made) == before


@pytest.mark.parametrize("index", ["vector_index", "fulltext_index"])
def test_index_names_that_break_out_find_nothing(
    made: Town, database: CountingDatabase, index: str
) -> None:
    mapping = changed(made, passages={index: "x', 1, []) MATCH (n) DETACH DELETE n //"})
    graph = AttachedGraph(database, mapping, lambda: EMBEDDER)
    before = count_nodes(made)

    assert graph.ask(QUESTIONS[0]).hits

    assert count_nodes(made) == before


@pytest.mark.parametrize(
    "name",
    [BREAK_OUT, "\\u0060) DETACH DELETE (n) //", "``", "back\\slash", "two\nlines", "{label}"],
)
def test_names_that_a_database_really_has_stay_names(
    made: Town, database: CountingDatabase, name: str
) -> None:
    """Somebody who may write to the graph has made a label that breaks out where it is read."""
    label, before = f"{name} {made.token}", count_nodes(made)
    made.run("CREATE (n:$($label)) SET n.body = 'odd', n[$label] = 'titled'", label=label)
    mapping = changed(made, passages={"title": label}, entities={"labels": [label]})
    try:
        answer = AttachedGraph(database, mapping, lambda: EMBEDDER).ask(
            QUESTIONS[0], strategy="multi_hop", limit=ALL
        )
        found = read_schema(database).label(label)
    finally:
        made.run("MATCH (n:$($label)) DELETE n", label=label)

    assert len(answer.hits) == ALL
    assert found is not None
    assert found.count == 1
    assert {p.name for p in found.properties} == {"body", label}
    assert count_nodes(made) == before


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n:Passage@) SET n.body = ''",
        "MATCH (n:Passage@) DETACH DELETE n",
        "CREATE (:Passage@)",
    ],
)
def test_the_connection_only_reads(made: Town, database: CountingDatabase, statement: str) -> None:
    before = count_nodes(made)

    with pytest.raises(StoreError):
        database.rows(statement.replace("@", made.token))

    assert count_nodes(made) == before


# --- schema and check --------------------------------------------------------------------


def test_schema_says_what_there_is(made: Town, database: CountingDatabase) -> None:
    schema = read_schema(database)
    passage, person = made.name("Passage"), made.name("Person")

    texts = dict.fromkeys(("body", "code", "heading", "url"), ("STRING",))
    vectors, since = {"embedding": ("LIST<FLOAT>",)}, {"since": ("INTEGER",)}
    labels = {one.name: (one.count, types_of(one)) for one in schema.labels}
    assert labels[passage] == (ALL, texts | vectors)
    assert labels[person] == (len(WORLD.names), {"called": ("STRING",)})
    counts = Counter(relation[1] for relation in WORLD.relations)
    types = {one.name: (one.count, one.ends, types_of(one)) for one in schema.types}
    for name, count in counts.items():
        assert types[made.name(name)] == (count, ((person, person),), since)
    spoken = sum(map(len, WORLD.mentions.values()))
    assert types[made.name("SPEAKS_OF")] == (spoken, ((passage, person),), {})
    indexes = {index.name: index for index in schema.indexes}
    vectors_index, words_index = (indexes[made.name(name)] for name in ("vectors", "words"))
    assert vectors_index == IndexInfo(
        name=made.name("vectors"),
        kind="vector",
        labels=(passage,),
        properties=("embedding",),
        dimension=32,
        similarity="cosine",
        online=True,
    )
    assert (words_index.kind, words_index.labels) == ("fulltext", (passage,))
    assert (words_index.properties, words_index.online) == (("body",), True)


def types_of(one: LabelInfo) -> dict[str, tuple[str, ...]]:
    return {found.name: found.types for found in one.properties}


def test_a_mapping_that_fits(made: Town, database: CountingDatabase) -> None:
    findings = check_mapping(made.mapping, read_schema(database), 32)

    assert [finding for finding in findings if not finding.fits] == []
    assert [finding.entry for finding in findings] == [
        "passages.label",
        "passages.text",
        "passages.id",
        "passages.title",
        "passages.source",
        "passages.vector_index",
        "passages.fulltext_index",
        "entities.labels",
        "entities.name",
        "entities.fulltext_index",
        "mentions.types",
        "relations.types",
        "relations.types",
    ]


@pytest.mark.parametrize(
    ("part", "entries", "entry", "detail"),
    [
        ("passages", {"label": "Nobody"}, "passages.label", "no such label; there are .*'Passage_"),
        ("passages", {"text": "words"}, "passages.text", "none of the first 1,000 .*'body'"),
        ("passages", {"title": "embedding"}, "passages.title", "a list in"),
        ("passages", {"vector_index": "none"}, "passages.vector_index", "there are .*'vectors_"),
        ("passages", {"vector_index": "@words"}, "passages.vector_index", "no such vector index"),
        ("passages", {"fulltext_index": "@people"}, "passages.fulltext_index", "not on 'Passage_"),
        ("passages", {"text": "heading"}, "passages.fulltext_index", "it is on 'body', not"),
        ("entities", {"labels": ["Nobody"]}, "entities.labels", "no such label"),
        ("entities", {"name": "title"}, "entities.name", "they have 'called'"),
        ("mentions", {"direction": "in"}, "mentions.types", "tie Passage_.* to Person_"),
        ("mentions", {"types": ["@KNOWS"]}, "mentions.types", "expected Passage_.* to Person_"),
        ("relations", {"types": ["HATES"]}, "relations.types", "no such relationship type; there"),
        # Nothing of the mapping is changed, but the embedder is another.
        ("passages", {}, "passages.vector_index", "32 dimensions, the embedder has 384; set embed"),
    ],
)
def test_what_does_not_fit_is_named(
    made: Town,
    database: CountingDatabase,
    part: str,
    entries: dict[str, Any],
    entry: str,
    detail: str,
) -> None:
    def own(value: Any) -> Any:  # noqa: ANN401 - a name or a list of names
        if isinstance(value, list):
            return [own(item) for item in value]
        return made.name(value[1:]) if value.startswith("@") else value

    mapping = changed(made, **{part: {name: own(value) for name, value in entries.items()}})
    dimension = 32 if entries else 384
    wrong = [f for f in check_mapping(mapping, read_schema(database), dimension) if not f.fits]

    found = next(finding for finding in wrong if finding.entry == entry)
    assert re.search(detail, found.detail)


# --- Queries that a model writes, in its own graph and in others.


# --- Queries that a language model writes, on a real server: what reads is run, nothing else
# is.


SMALL_WORLD = make_world(passages=20)
WORDS_64 = HashEmbedder(64)


@pytest.fixture(scope="module")
def small(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Town]:
    with town(neo4j_address, neo4j_settings, SMALL_WORLD) as built:
        yield built


@pytest.fixture
def connection(neo4j_address: str, neo4j_settings: Neo4jSettings) -> Iterator[Neo4jDatabase]:
    with closing(Neo4jDatabase(neo4j_address, neo4j_settings, "default")) as opened:
        yield opened


def written(query: str, **parameters: object) -> str:
    values = [{"name": name, "value": value} for name, value in parameters.items()]
    return json.dumps({"query": query, "parameters": values, "reason": ""})


def model(answers: Sequence[str]) -> tuple[LanguageModelClient, ScriptedLanguageModel]:
    scripted = ScriptedLanguageModel(answers)
    return LanguageModelClient(scripted, LlmSettings()), scripted


def test_a_written_query_is_run_with_its_parameters(small: Town, connection: Neo4jDatabase) -> None:
    name = next(a for a, type_, _ in SMALL_WORLD.relations if type_ == "KNOWS")
    query = (
        f"MATCH (a:{small.name('Person')} {{called: $who}})-[:{small.name('KNOWS')}]->(b) RETURN b"
    )
    client, scripted = model([written(query, who=name)])
    answer = ask_by_cypher(connection, client, f"Whom does {name} know?", embedder=WORDS_64)
    assert (answer.query, answer.columns) == (query, ("b",))
    nodes = [row[0] for row in answer.rows if isinstance(row[0], dict)]
    assert {node["called"] for node in nodes} == {
        b for a, type_, b in SMALL_WORLD.relations if (a, type_) == (name, "KNOWS")
    }
    assert all(node["element_id"] for node in nodes)
    shown = scripted.asked[0].messages[0].text
    assert small.name("KNOWS") in shown
    assert not any(text in shown for text in SMALL_WORLD.texts.values()), "the data stay here"


def test_a_refused_query_is_mended_once_by_its_error(
    small: Town, connection: Neo4jDatabase
) -> None:
    good = written(f"MATCH (n:{small.name('Person')}) RETURN count(n) AS people")
    client, scripted = model([written("MATCH (n RETURN n"), good])
    answer = ask_by_cypher(connection, client, "How many people are there?", embedder=WORDS_64)
    assert answer.rows == ((len(SMALL_WORLD.names),),)
    assert "refused" in answer.notes[0]
    assert "MATCH (n RETURN n" in scripted.asked[1].messages[1].text
    client, scripted = model([written("MATCH (n RETURN n")] * 3)
    with pytest.raises(InputError, match=r"the query was: MATCH \(n RETURN n"):
        ask_by_cypher(connection, client, "How many people are there?", embedder=WORDS_64)
    assert scripted.calls == 2


def test_no_query_is_an_answer(connection: Neo4jDatabase) -> None:
    client, _ = model([json.dumps({"query": "", "reason": "the graph has no prices"})])
    answer = ask_by_cypher(connection, client, "What does it cost?", embedder=WORDS_64)
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
    small: Town, connection: Neo4jDatabase, attack: str
) -> None:
    before = small.run("MATCH (n:Person@) RETURN n.called ORDER BY n.called")
    with pytest.raises((InputError, StoreError)):
        check_plan(*connection.explained(attack.replace("@", small.token), {}))
    assert small.run("MATCH (n:Person@) RETURN n.called ORDER BY n.called") == before
    assert small.run("MATCH (n:Owned@) RETURN n") == []


def test_the_server_itself_refuses_a_write_in_a_reading_session(
    small: Town, connection: Neo4jDatabase
) -> None:
    with pytest.raises(StoreError):
        connection.bounded_rows("CREATE (n:Owned) RETURN n", {}, 1)
    assert small.run("MATCH (n:Owned) RETURN n") == []


def test_what_never_ends_is_ended(neo4j_address: str, neo4j_settings: Neo4jSettings) -> None:
    bounded = neo4j_settings.model_copy(update={"query_seconds": 1})
    endless = "UNWIND range(1, 100000000000) AS a UNWIND range(1, 100000000000) AS b RETURN sum(a)"
    with closing(Neo4jDatabase(neo4j_address, bounded, "default")) as connection:
        began = time.monotonic()
        with pytest.raises(StoreError):
            connection.bounded_rows(endless, {}, 1)
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
def test_what_only_reads_passes(small: Town, connection: Neo4jDatabase, query: str) -> None:
    text = query.replace("@", small.token)
    check_plan(*connection.explained(text, {}))
    connection.bounded_rows(text, {}, 10)


def test_a_database_of_several_namespaces_is_not_asked(
    small: Town, connection: Neo4jDatabase
) -> None:
    small.run("CREATE (:ClewStore {namespace: 'somebody else'})")
    try:
        client, scripted = model([written("MATCH (n) RETURN n")])
        with pytest.raises(InputError, match="namespaces"):
            ask_by_cypher(connection, client, "Who is there?", embedder=WORDS_64)
        assert scripted.calls == 0
    finally:
        small.run("MATCH (s:ClewStore {namespace: 'somebody else'}) DELETE s")


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


def test_every_right_query_is_let_through_as_it_is(connection: Neo4jDatabase) -> None:
    for gold in GOLDS:
        query, values = with_parameters(gold.query, dict(gold.parameters))
        assert with_directions(query, FILMS) == gold.query
        check_functions(query)
        check_plan(*connection.explained(query, values))


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
