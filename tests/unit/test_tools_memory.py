"""The memory tools, and what an assistant extracts by hand."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.operations.spec import input_schema
from clew.operations.toolbox import OPERATIONS, Outcome, Toolbox
from clew.plugins.llm.reading import graph_upsert
from clew.request_end import request
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Vectors
from tests.unit.called import call, pages, refusal

# --- The nine tools of the reference memory server, called as a client calls them.


ANNA = {"name": "Anna_Morn", "entityType": "person", "observations": ["Likes tea", "Paints boats"]}
VELL = {"name": "Vell", "entityType": "place", "observations": []}
LIVES = {"from": "Anna_Morn", "to": "Vell", "relationType": "lives in"}
KNOWS = {"from": "Vell", "to": "Anna_Morn", "relationType": "knows_of"}


class Client:
    """Calls tools by name."""

    def __init__(self, engine: clew.Clew, toolbox: Toolbox | None = None) -> None:
        self.toolbox = toolbox or Toolbox(engine, OPERATIONS, profile="memory")

    def outcome(self, name: str, **arguments: object) -> Outcome:
        return self.toolbox.call(name, arguments)

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        """The result without `success`."""
        content = call(self.toolbox, name, **arguments)
        return {key: value for key, value in content.items() if key != "success"}

    def error(self, name: str, **arguments: object) -> str:
        return refusal(self.toolbox, name, **arguments)


class CountingEmbedder(HashEmbedder):
    """Counts the texts that it embeds; the caller may be gone after so many."""

    texts = 0
    most = math.inf
    end: Callable[[], None]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        if self.texts >= self.most:
            self.end()
        return super().embed_documents(texts)


@pytest.mark.parametrize("tool", ["add_observations", "create_entities"])
def test_what_nobody_waits_for_ends_and_writes_nothing(tmp_path: Path, tool: str) -> None:
    """Indexing thousands of texts would go on long after the client was refused."""
    embedder, facts = CountingEmbedder(), [f"Rows the boat {i}." for i in range(200)]
    with clew.open(tmp_path, embedder=embedder) as engine:
        client = Client(engine)
        client("create_entities", entities=[ANNA])
        before, documents = embedder.texts, engine.documents.list()
        given: dict[str, Any] = {
            "add_observations": {"observations": [{"entityName": "Anna_Morn", "contents": facts}]},
            "create_entities": {"entities": [{**VELL, "observations": facts}]},
        }[tool]
        with request() as embedder.end:
            embedder.most = before + 20
            outcome = Toolbox(engine, OPERATIONS, profile="memory").call(tool, given)

        assert outcome.is_error
        assert "nothing was written" in outcome.text
        assert embedder.texts - before < 60
        assert engine.documents.list() == documents
        assert len(client("read_graph")["entities"]) == 1
        assert engine.maintenance.check().problems == ()


@pytest.fixture
def client(engine: clew.Clew) -> Client:
    return Client(engine)


@pytest.fixture
def filled(client: Client) -> Client:
    client("create_entities", entities=[ANNA, VELL])
    client("create_relations", relations=[LIVES, KNOWS])
    return client


def test_the_tools_are_those_of_the_reference_server() -> None:
    expected = {
        "create_entities": ["entities"],
        "create_relations": ["relations"],
        "add_observations": ["observations"],
        "delete_entities": ["entityNames"],
        "delete_observations": ["deletions"],
        "delete_relations": ["relations"],
        "read_graph": [],
        "search_nodes": ["query"],
        "open_nodes": ["names"],
    }
    tools = [t for t in OPERATIONS if "memory" in t.profiles]
    required = {t.name: [p.name for p in t.parameters if p.required] for t in tools}
    assert required == expected
    fields = {f.name for f in tools[0].parameters[0].fields}
    assert fields == {"name", "entityType", "observations"}


def test_a_small_graph_has_the_shape_of_the_reference_server(client: Client) -> None:
    assert client("read_graph") == {"entities": [], "relations": []}
    known = {"addedObservations": [], "knownObservations": ANNA["observations"]}
    there = [{"name": "Anna_Morn", **known}]
    made = client("create_entities", entities=[ANNA, VELL, ANNA])
    assert made == {"entities": [ANNA, VELL], "existing": there}
    assert client("create_entities", entities=[ANNA]) == {"entities": [], "existing": there}
    made = client("create_relations", relations=[LIVES, KNOWS, LIVES])
    assert made == {"relations": [LIVES, KNOWS], "existing": [LIVES]}
    again = client("create_relations", relations=[KNOWS])
    assert again == {"relations": [], "existing": [KNOWS]}
    graph = untimed(client("read_graph"))
    assert graph["entities"] == [ANNA, VELL]
    assert sorted(graph["relations"], key=str) == sorted([LIVES, KNOWS], key=str)
    assert set(graph) == {"entities", "relations"}


def test_what_texts_say_is_not_in_the_graph(client: Client, engine: clew.Clew) -> None:
    engine.add("Piet Oss lives in Lisse. Piet Oss met Anna Morn.", source="a")
    client("create_entities", entities=[{**ANNA, "observations": ["Anna Morn met Ilse Marr."]}])
    assert [e["name"] for e in client("read_graph")["entities"]] == ["Anna_Morn"]
    assert client("open_nodes", names=["Piet Oss"])["entities"] == []
    assert client("search_nodes", query="Piet")["entities"] == []


def test_a_relation_that_is_there_is_left_as_it_is(filled: Client, engine: clew.Clew) -> None:
    anna, vell = (engine.entities.get(name).id for name in ("Anna_Morn", "Vell"))
    engine.entities.add_relation(anna, vell, "lives_in", weight=0.25)
    again = filled("create_relations", relations=[LIVES])
    assert again == {"relations": [], "existing": [LIVES]}
    assert [r.weight for r in engine.store.unstated_relations([anna])] == [0.25, 1.0]


def test_open_nodes_shows_relations_of_one_end(filled: Client) -> None:
    opened = untimed(filled("open_nodes", names=["Vell", "nobody"]))
    assert opened["entities"] == [VELL]
    assert sorted(opened["relations"], key=str) == sorted([LIVES, KNOWS], key=str)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ANNA", ["Anna_Morn"]),
        ("place", ["Vell"]),
        ("kes te", ["Anna_Morn"]),
        ("who paints a boat", ["Anna_Morn"]),
        ("who paints a horse", []),
        ("painting tea", ["Anna_Morn"]),
        ("the", []),
        ("", ["Anna_Morn", "Vell"]),
    ],
)
def test_nodes_are_found_by_a_part_or_by_all_words(
    filled: Client, query: str, expected: list[str]
) -> None:
    assert [e["name"] for e in filled("search_nodes", query=query)["entities"]] == expected


def test_deleting_says_what_was_not_there(filled: Client) -> None:
    deletions = [
        {"entityName": "Anna_Morn", "observations": ["Likes tea", "Unknown"]},
        {"entityName": "Nobody", "observations": ["X"]},
    ]
    assert filled("delete_observations", deletions=deletions) == {
        "message": "Deleted 1 of 3 observations. Entities not found: Nobody",
        "not_found": [
            {"entityName": "Anna_Morn", "observations": ["Unknown"]},
            {"entityName": "Nobody", "observations": ["X"]},
        ],
    }
    assert filled("delete_relations", relations=[LIVES, {**LIVES, "to": "Nobody"}]) == {
        "message": "Deleted 1 of 2 relations. The rest matched nothing.",
        "not_found": [{**LIVES, "to": "Nobody"}],
    }
    assert untimed(filled("read_graph"))["relations"] == [KNOWS]
    assert filled("delete_entities", entityNames=["Vell", "Nobody"]) == {
        "message": "Deleted 1 of 2 entities. Not found: Nobody",
        "not_found": ["Nobody"],
    }
    left = {"entities": [{**ANNA, "observations": ["Paints boats"]}], "relations": []}
    assert untimed(filled("read_graph")) == left


def test_deleting_all_that_is_there_says_so(filled: Client) -> None:
    told = [{"entityName": "Anna_Morn", "observations": ["Likes tea"]}]
    for name, arguments in (
        ("delete_observations", {"deletions": told}),
        ("delete_relations", {"relations": [LIVES]}),
        ("delete_entities", {"entityNames": ["Anna_Morn", "Vell"]}),
    ):
        assert filled(name, **arguments)["message"].endswith("deleted successfully")
    assert filled("read_graph") == {"entities": [], "relations": []}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("create_relations", {"relations": [{**LIVES, "to": "Bob"}]}, "name Bob not found; create"),
        (
            "create_relations",
            {"relations": [{**LIVES, "relationType": "?"}]},
            "relation_type '?' cannot be; expected a snake_case name",
        ),
        (
            "add_observations",
            {"observations": [{"entityName": "Bob", "contents": ["x"]}]},
            "Entity with name Bob not found; create it with create_entities",
        ),
        (
            "create_entities",
            {"entities": [{**VELL, "name": "?"}]},
            "an entity cannot be named '?'; expected a name with letters or digits",
        ),
        ("read_graph", {"cursor": "x"}, "cursor cannot be 'x'; expected next_cursor"),
        ("search_nodes", {"query": "x" * 2049}, "at most 2048 are read"),
        ("open_nodes", {}, "open_nodes needs 'names'"),
    ],
)
def test_errors_say_how_to_go_on(
    filled: Client, name: str, arguments: Mapping[str, object], expected: str
) -> None:
    before = filled("read_graph")
    assert expected in filled.error(name, **arguments)
    assert filled("read_graph") == before


# --- pages


def untimed(graph: dict[str, Any]) -> dict[str, Any]:
    """A graph as the reference server has it; each statement says when it was told and holds."""
    entities, relations = (
        [dict(e) for e in graph["entities"]],
        [dict(r) for r in graph["relations"]],
    )
    for one in entities:
        times = one.pop("told_at")
        assert len(times) == len(one["observations"])
        assert all(map(datetime.fromisoformat, times))
    for one in relations:
        assert one.pop("state") == "current"
        assert datetime.fromisoformat(one.pop("told_at"))
    return {**graph, "entities": entities, "relations": relations}


def joined(parts: list[dict[str, Any]]) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """Observations by name, and all relations, of some pages."""
    told: dict[str, list[str]] = {}
    for part in parts:
        for entity in part["entities"]:
            told.setdefault(entity["name"], []).extend(entity["observations"])
    return told, [relation for part in parts for relation in part["relations"]]


graphs = st.lists(st.lists(st.integers(1, 120), max_size=12), min_size=1, max_size=8)


@given(lengths=graphs, limit=st.integers(1, 9), tokens=st.integers(500, 900))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pages_hold_everything_once_and_keep_their_budget(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[list[int]], limit: int, tokens: int
) -> None:
    entities = [
        {
            "name": f"Node {i}",
            "entityType": "thing",
            "observations": [f"{j} " + "word " * n for j, n in enumerate(told)],
        }
        for i, told in enumerate(lengths)
    ]
    relations = [
        {"from": f"Node {i}", "to": f"Node {j}", "relationType": "uses"}
        for i in range(len(lengths))
        for j in range(i)
    ]
    embedder = HashEmbedder(dimension=8)
    with clew.open(tmp_path_factory.mktemp("store"), embedder=embedder) as engine:
        client = Client(engine)
        client("create_entities", entities=entities)
        client("create_relations", relations=relations)
        parts = []
        for part in pages(client.toolbox, "read_graph", limit=limit, max_tokens=tokens):
            assert embedder.count_tokens(json.dumps(part)) <= tokens
            assert len(part["entities"]) <= limit
            parts.append(untimed(part))
        told, tied = joined(parts)
    assert told == {e["name"]: e["observations"] for e in entities}
    assert sorted(tied, key=str) == sorted(relations, key=str)


def test_a_text_larger_than_any_page_is_shown_in_part(client: Client) -> None:
    entity = {**VELL, "observations": ["word " * 3000, "short"]}
    client("create_entities", entities=[entity])
    told, _ = joined(list(pages(client.toolbox, "read_graph", max_tokens=500)))
    long, short = told["Vell"]
    assert short == "short"
    assert long.endswith("…")
    assert entity["observations"][0].startswith(long[:-1])


def test_a_call_that_writes_syncs_once(engine: clew.Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit log and what the tool writes become durable together: one FULL commit."""
    levels: list[str] = []
    database = engine.state.journal
    begin = database._patiently

    def listen(connection: sqlite3.Connection, *statements: str) -> None:
        levels.extend(one for one in statements if one.startswith("PRAGMA synchronous"))
        begin(connection, *statements)

    monkeypatch.setattr(database, "_patiently", listen)
    entities = [{"name": "Anna", "entityType": "person", "observations": ["Sings."]}]
    assert not engine.tools.call("create_entities", {"entities": entities}).is_error
    assert len(engine.maintenance.audit()) == 1
    assert levels.count("PRAGMA synchronous = FULL") == 1
    assert levels[-1] == "PRAGMA synchronous = FULL"


def test_the_profile_full_finds_what_is_told_beside_what_documents_say(engine: clew.Clew) -> None:
    engine.add("The quay of Morn was built by Ada Quill.", source="quay")
    toolbox = Toolbox(engine, OPERATIONS, profile="full")
    told = {
        "name": "Ada Quill",
        "entityType": "person",
        "observations": ["Ada Quill keeps bees."],
    }
    assert not toolbox.call("create_entities", {"entities": [told]}).is_error
    found = toolbox.call("query_documents", {"query": "Ada Quill"}).content["results"]
    texts = " ".join(hit["text"] for hit in found)
    assert "built by Ada Quill" in texts
    assert "keeps bees" in texts


# --- Any calls of the memory tools come to what plain lists and dictionaries come to.


Record: TypeAlias = dict[str, Any]

NAMES = ("Anna Morn", "Vell", "C_3", "東京", "Piet's Mill")
KINDS = ("lives in", "knows", "worksAt")
FACTS = ("Sings.", "Anna Morn lives in Vell.", "Likes 東京!", "Knows Piet Oss, too.")

names, facts = st.sampled_from(NAMES), st.lists(st.sampled_from(FACTS), max_size=3)
entity = st.fixed_dictionaries(
    {"name": names, "entityType": st.sampled_from(("person", "place")), "observations": facts}
)
relation = st.fixed_dictionaries(
    {"from": names, "to": names, "relationType": st.sampled_from(KINDS)}
)
told = st.fixed_dictionaries({"entityName": names, "contents": facts})
untold = st.fixed_dictionaries({"entityName": names, "observations": facts})


def calls_of(name: str, argument: str, items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.fixed_dictionaries({argument: st.lists(items, max_size=3)}))


calls = st.lists(
    st.one_of(
        calls_of("create_entities", "entities", entity),
        calls_of("create_relations", "relations", relation),
        calls_of("add_observations", "observations", told),
        calls_of("delete_entities", "entityNames", names),
        calls_of("delete_observations", "deletions", untold),
        calls_of("delete_relations", "relations", relation),
    ),
    max_size=10,
)


class Model:
    """The reference server's rules on a dictionary and a list."""

    def __init__(self) -> None:
        self.entities: dict[str, Record] = {}
        self.relations: list[Record] = []

    def create_entities(self, entities: list[Record]) -> None:
        for one in entities:
            known = self.entities.setdefault(one["name"], {**one, "observations": []})
            observations = [*known["observations"], *one["observations"]]
            known["observations"] = list(dict.fromkeys(observations))

    def create_relations(self, relations: list[Record]) -> None:
        ends = {name for one in relations for name in (one["from"], one["to"])}
        if ends <= self.entities.keys():
            for one in relations:
                if one not in self.relations:
                    self.relations.append(one)

    def add_observations(self, observations: list[Record]) -> None:
        if all(one["entityName"] in self.entities for one in observations):
            for one in observations:
                known = self.entities[one["entityName"]]["observations"]
                known += [c for c in dict.fromkeys(one["contents"]) if c not in known]

    def delete_entities(self, entityNames: list[str]) -> None:
        for name in entityNames:
            self.entities.pop(name, None)
        gone = set(entityNames)
        self.relations = [r for r in self.relations if not {r["from"], r["to"]} & gone]

    def delete_observations(self, deletions: list[Record]) -> None:
        for one in deletions:
            if one["entityName"] in self.entities:
                kept = self.entities[one["entityName"]]
                gone = one["observations"]
                kept["observations"] = [o for o in kept["observations"] if o not in gone]

    def delete_relations(self, relations: list[Record]) -> None:
        self.relations = [r for r in self.relations if r not in relations]


def triple(relation: Record) -> tuple[str, str, str]:
    return relation["from"], relation["relationType"], relation["to"]


@given(script=calls)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_tools_do_as_a_plain_model(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[str, Record]]
) -> None:
    model = Model()
    folder = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder(dimension=8)) as engine:
        toolbox = Toolbox(engine, OPERATIONS, profile="memory")
        for name, arguments in script:
            toolbox.call(name, arguments)
            rule: Callable[..., None] = getattr(model, name)
            rule(**arguments)
        graph = untimed(toolbox.call("read_graph").content)
        assert engine.maintenance.check().problems == ()
        assert {one["name"]: one for one in graph["entities"]} == model.entities
        assert len(graph["entities"]) == len(model.entities)
        assert sorted(map(triple, graph["relations"])) == sorted(map(triple, model.relations))
        # What nobody names any more is gone: no entity is left behind.
        toolbox.call("delete_entities", {"entityNames": list(NAMES)})
        assert engine.store.aliases() == []


# --- Reading by the assistant: passages out, entities and relations back.


TOWER = "Ada Morn built the great clock. The quiet smith taught her."
CANAL = "She came from the old town by the canal. The Quiet Smith lived there, the quiet smith."


@pytest.fixture
def extraction_engine(engine: clew.Clew) -> clew.Clew:
    engine.add(TOWER, source="tower", title="Tower of Vell")
    engine.add(CANAL, source="canal", title="Notes")
    return engine


@pytest.fixture
def extraction_client(extraction_engine: clew.Clew) -> Client:
    return Client(extraction_engine, extraction_engine.tools)


def ids(client: Client) -> list[str]:
    return [passage["id"] for passage in client("extraction_next")["passages"]]


def test_passages_come_with_instructions_and_the_schema_of_the_answer(
    extraction_client: Client,
) -> None:
    handed = extraction_client("extraction_next")
    shown = [(p["title"], p["text"]) for p in handed["passages"]]
    assert shown == [("Tower of Vell", TOWER), ("Notes", CANAL)]
    assert handed["schema"] == input_schema(graph_upsert.parameters)
    assert "graph_upsert" in handed["instructions"]
    # Texts are data: no word of theirs is where an assistant looks for what to do.
    assert "Ada" not in handed["instructions"]
    assert (handed["remaining"], handed["next_cursor"]) == (2, None)


def test_the_cursor_leads_through_all_that_is_unread(extraction_client: Client) -> None:
    first = extraction_client("extraction_next", limit=1)
    second = extraction_client("extraction_next", limit=1, cursor=first["next_cursor"])
    assert [p["text"] for p in first["passages"] + second["passages"]] == [TOWER, CANAL]
    assert second["next_cursor"] is None
    extraction_client("graph_upsert", passage_ids=[first["passages"][0]["id"]])
    assert [p["text"] for p in extraction_client("extraction_next")["passages"]] == [CANAL]


def test_a_passage_over_the_budget_is_shown_up_to_it(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, split={"chunk_tokens": 4000, "section_tokens": 8000})
    with clew.Clew(settings, embedder=HashEmbedder(max_tokens=8000)) as engine:
        engine.add("word " * 3000, source="long")
        (passage,) = Client(engine, engine.tools)("extraction_next", max_tokens=1000)["passages"]
    assert passage["cut"] is True
    assert passage["text"].startswith("word word")
    assert passage["text"].endswith("…")


def test_what_is_given_back_is_tied_to_passage_and_sentence(
    extraction_client: Client, extraction_engine: clew.Clew
) -> None:
    answer = extraction_client(
        "graph_upsert",
        passage_ids=ids(extraction_client),
        entities=[
            {"name": "quiet smith", "entity_type": "person", "description": "A smith of Vell."},
            {"name": "old town"},
        ],
        relations=[
            {"source": "quiet smith", "target": "Ada Morn", "relation_type": "taught"},
            {
                "source": "Ada Morn",
                "target": "old town",
                "relation_type": "came from",
                "confidence": 0.6,
            },
        ],
    )
    told = {"passages": 2, "entities": 2, "relations": 2, "new_relations": 2, "remaining": 0}
    assert answer.items() >= {**told, "rejected": []}.items()
    smith = extraction_engine.entities.get("The Quiet Smith")
    known = smith.entity_type, smith.content, smith.mentions, smith.documents
    assert known == ("person", "A smith of Vell.", 3, 2)
    stated = {r.relation: r for r in extraction_engine.graph.relations("Ada Morn")}
    assert stated["taught"].evidence == "The quiet smith taught her."
    assert stated["came_from"].evidence == "She came from the old town by the canal."
    origin = stated["came_from"].provenance
    assert origin is not None
    assert (origin.extractor, origin.confidence) == ("assistant", 0.6)
    # And the graph leads there.
    assert {stated["taught"].head, stated["came_from"].tail} == {"Quiet Smith", "old town"}


def test_names_are_resolved_against_those_that_are_known(
    extraction_client: Client, extraction_engine: clew.Clew
) -> None:
    extraction_engine.add("Countess Adamorn likes boats. Countess Adamorn is old.", source="alias")
    extraction_engine.entities.merge("Countess Adamorn", "Ada Morn")
    answer = extraction_client(
        "graph_upsert",
        passage_ids=ids(extraction_client),
        relations=[
            {"source": "Countess Adamorn", "target": "quiet smith", "relation_type": "knows"}
        ],
    )
    assert (answer["relations"], answer["rejected"]) == (1, [])
    assert [r.head for r in extraction_engine.graph.relations("quiet smith")] == ["Ada Morn"]


def test_what_does_not_hold_is_told_and_the_rest_is_taken(
    extraction_client: Client, extraction_engine: clew.Clew
) -> None:
    passages = ids(extraction_client)
    extraction_engine.add("Ilse Marr met Piet Oss.", source="other")
    answer = extraction_client(
        "graph_upsert",
        passage_ids=passages,
        entities=[{"name": "Atlantis"}, {"name": "quiet smith"}, {"name": "?"}],
        relations=[
            {"source": "Ada Morn", "target": "Atlantis", "relation_type": "left"},
            {"source": "Ada Morn", "target": "quiet smith", "relation_type": "!"},
            {"source": "Ada Morn", "target": "ada morn", "relation_type": "knows"},
            {"source": "Ilse Marr", "target": "Piet Oss", "relation_type": "knows"},
            {"source": "Ada Morn", "target": "quiet smith", "relation_type": "knows"},
        ],
    )
    assert (answer["entities"], answer["relations"], answer["rejected_count"]) == (1, 1, 6)
    reasons = {r["item"]: r["reason"] for r in answer["rejected"]}
    for item, reason in {
        "Atlantis": "in none of the passages, and not known",
        "Ada Morn -left-> Atlantis": "in none of the passages",
        "?": "needs letters or digits",
        "Ada Morn -!-> quiet smith": "snake_case name",
        "Ada Morn -knows-> ada morn": "both ends are the same entity",
        "Ilse Marr -knows-> Piet Oss": "no passage names one of its ends",
    }.items():
        assert reason in reasons[item]
    assert extraction_engine.entities.find("Atlantis") == []


def test_without_passages_it_is_what_the_assistant_knows(
    extraction_client: Client, extraction_engine: clew.Clew
) -> None:
    arguments: dict[str, Any] = {
        "entities": [{"name": "Zoe Vale", "entity_type": "person", "description": "A pilot."}],
        "relations": [
            {"source": "Zoe Vale", "target": "Ada Morn", "relation_type": "causes"},
        ],
    }
    assert extraction_client("graph_upsert", **arguments)["new_relations"] == 1
    assert extraction_client("graph_upsert", **arguments)["new_relations"] == 0
    arguments["entities"][0]["description"] = "A captain."
    extraction_client("graph_upsert", **arguments)
    assert extraction_engine.entities.get("Zoe Vale").content == "A captain."
    (relation,) = extraction_engine.store.unstated_relations(
        [extraction_engine.entities.get("Zoe Vale").id]
    )
    assert (relation.is_causal, relation.weight) == (True, 0.8)


def test_what_is_wrong_without_passages_writes_nothing(
    extraction_client: Client, extraction_engine: clew.Clew
) -> None:
    entities = [{"name": "Zoe Vale"}]
    for relation, reason in (
        (
            {"source": "zoe vale", "target": "Qqq", "relation_type": "knows"},
            r"no entity 'Qqq'.*give it in entities, too",
        ),
        ({"source": "zoe vale", "target": "Ada Morn", "relation_type": "?"}, r"'\?' cannot be"),
    ):
        arguments = {"entities": entities, "relations": [relation]}
        assert re.search(reason, extraction_client.error("graph_upsert", **arguments))
        assert extraction_engine.store.made_by_hand() == []
