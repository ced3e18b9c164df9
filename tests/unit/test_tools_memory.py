"""The nine tools of the reference memory server, called as a client calls them."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.request_end import request
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Outcome, Toolbox

if TYPE_CHECKING:
    from clew.types import Vectors

ANNA = {"name": "Anna_Morn", "entityType": "person", "observations": ["Likes tea", "Paints boats"]}
VELL = {"name": "Vell", "entityType": "place", "observations": []}
LIVES = {"from": "Anna_Morn", "to": "Vell", "relationType": "lives in"}
KNOWS = {"from": "Vell", "to": "Anna_Morn", "relationType": "knows_of"}


class Client:
    """Calls tools by name."""

    def __init__(self, engine: clew.Clew) -> None:
        self._toolbox = Toolbox(engine, TOOLS, profile="memory")

    def outcome(self, name: str, **arguments: object) -> Outcome:
        return self._toolbox.call(name, arguments)

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        """The result without `success`."""
        outcome = self.outcome(name, **arguments)
        assert not outcome.is_error, outcome.text
        assert outcome.content["success"] is True
        assert json.loads(outcome.text) == outcome.content
        return {key: value for key, value in outcome.content.items() if key != "success"}

    def error(self, name: str, **arguments: object) -> str:
        outcome = self.outcome(name, **arguments)
        assert outcome.is_error, outcome.text
        return outcome.text


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
            outcome = Toolbox(engine, TOOLS, profile="memory").call(tool, given)

        assert outcome.is_error
        assert "nothing was written" in outcome.text
        assert embedder.texts - before < 60
        assert engine.documents.list() == documents
        assert len(client("read_graph")["entities"]) == 1
        assert engine.maintenance.check().problems == ()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        yield engine
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
    tools = [t for t in TOOLS if "memory" in t.profiles]
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
    graph = client("read_graph")
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


def test_observations_are_added_once(filled: Client) -> None:
    given = [
        {"entityName": "Anna_Morn", "contents": ["Likes tea", "Sings"]},
        {"entityName": "Vell", "contents": ["Has a mill"]},
    ]
    assert filled("add_observations", observations=given) == {
        "results": [
            {"entityName": "Anna_Morn", "addedObservations": ["Sings"]},
            {"entityName": "Vell", "addedObservations": ["Has a mill"]},
        ],
        "existing": [{"entityName": "Anna_Morn", "observations": ["Likes tea"]}],
    }
    (anna,) = filled("open_nodes", names=["Anna_Morn"])["entities"]
    assert anna["observations"] == ["Likes tea", "Paints boats", "Sings"]


def test_open_nodes_shows_relations_of_one_end(filled: Client) -> None:
    opened = filled("open_nodes", names=["Vell", "nobody"])
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
    assert filled("read_graph")["relations"] == [KNOWS]
    assert filled("delete_entities", entityNames=["Vell", "Nobody"]) == {
        "message": "Deleted 1 of 2 entities. Not found: Nobody",
        "not_found": ["Nobody"],
    }
    left = {"entities": [{**ANNA, "observations": ["Paints boats"]}], "relations": []}
    assert filled("read_graph") == left


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


def test_any_text_is_taken_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    embedder = HashEmbedder(dimension=8)
    with clew.open(tmp_path_factory.mktemp("store"), embedder=embedder) as engine:
        client = Client(engine)

        @given(name=st.text(max_size=12), kind=st.text(max_size=12), fact=st.text(max_size=40))
        @settings(max_examples=60, deadline=None)
        def check(name: str, kind: str, fact: str) -> None:
            entity = {"name": name, "entityType": kind, "observations": [fact]}
            relation = {"from": name, "to": name, "relationType": kind}
            for tool, items in (
                ("create_entities", {"entities": [entity]}),
                ("create_relations", {"relations": [relation]}),
                ("search_nodes", {"query": fact}),
                ("open_nodes", {"names": [name, kind]}),
                ("delete_entities", {"entityNames": [name]}),
            ):
                assert "failed inside" not in client.outcome(tool, **items).text
            assert client("read_graph") == {"entities": [], "relations": []}

        check()
        assert engine.maintenance.check().problems == ()


# --- pages


def pages(client: Client, name: str, **arguments: object) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = client(name, cursor=cursor, **arguments)
        yield page
        cursor = page.get("next_cursor")
        if cursor is None:
            return


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
        for part in pages(client, "read_graph", limit=limit, max_tokens=tokens):
            assert embedder.count_tokens(json.dumps(part)) <= tokens
            assert len(part["entities"]) <= limit
            parts.append(part)
        told, tied = joined(parts)
    assert told == {e["name"]: e["observations"] for e in entities}
    assert sorted(tied, key=str) == sorted(relations, key=str)


def test_a_text_larger_than_any_page_is_shown_in_part(client: Client) -> None:
    entity = {**VELL, "observations": ["word " * 3000, "short"]}
    client("create_entities", entities=[entity])
    told, _ = joined(list(pages(client, "read_graph", max_tokens=500)))
    long, short = told["Vell"]
    assert short == "short"
    assert long.endswith("…")
    assert entity["observations"][0].startswith(long[:-1])


def test_a_call_that_writes_syncs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit log and what the tool writes become durable together: one FULL commit."""
    levels: list[str] = []
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
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


def test_the_profile_full_finds_what_is_told_beside_what_documents_say(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add("The quay of Morn was built by Ada Quill.", source="quay")
        toolbox = Toolbox(engine, TOOLS, profile="full")
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
