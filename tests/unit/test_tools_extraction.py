"""Reading by the assistant: passages out, entities and relations back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.extraction import graph_upsert
from clew.tools.spec import input_schema
from clew.tools.toolbox import TOOLS, Toolbox

TOWER = "Ada Morn built the great clock. The quiet smith taught her."
CANAL = "She came from the old town by the canal. The Quiet Smith lived there, the quiet smith."


class Client:
    """Calls tools by name."""

    def __init__(self, engine: clew.Clew) -> None:
        self.toolbox = Toolbox(engine, TOOLS)

    def __call__(self, name: str, **arguments: object) -> dict[str, Any]:
        outcome = self.toolbox.call(name, arguments)
        assert not outcome.is_error, outcome.text
        return outcome.content


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add(TOWER, source="tower", title="Tower of Vell")
        engine.add(CANAL, source="canal", title="Notes")
        yield engine
        assert engine.maintenance.check().problems == ()


@pytest.fixture
def client(engine: clew.Clew) -> Client:
    return Client(engine)


def ids(client: Client) -> list[str]:
    return [passage["id"] for passage in client("extraction_next")["passages"]]


def test_passages_come_with_instructions_and_the_schema_of_the_answer(client: Client) -> None:
    handed = client("extraction_next")
    assert [p["text"] for p in handed["passages"]] == [TOWER, CANAL]
    assert [p["title"] for p in handed["passages"]] == ["Tower of Vell", "Notes"]
    assert handed["schema"] == input_schema(graph_upsert.parameters)
    assert "graph_upsert" in handed["instructions"]
    # Texts are data: no word of theirs is where an assistant looks for what to do.
    assert "Ada" not in handed["instructions"]
    assert (handed["remaining"], handed["next_cursor"]) == (2, None)


def test_the_cursor_leads_through_all_that_is_unread(client: Client) -> None:
    first = client("extraction_next", limit=1)
    second = client("extraction_next", limit=1, cursor=first["next_cursor"])
    assert [p["text"] for p in first["passages"] + second["passages"]] == [TOWER, CANAL]
    assert second["next_cursor"] is None
    client("graph_upsert", passage_ids=[first["passages"][0]["id"]])
    assert [p["text"] for p in client("extraction_next")["passages"]] == [CANAL]


def test_a_result_keeps_its_budget(client: Client, engine: clew.Clew) -> None:
    engine.add("word " * 150, source="long", title="Long")
    for tokens in (1000, 1100, 2000):
        handed = client("extraction_next", limit=50, max_tokens=tokens)
        assert engine.state.embedder.count_tokens(json.dumps(handed)) <= tokens
        assert handed["passages"]


def test_a_passage_over_the_budget_is_shown_up_to_it(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path, split={"chunk_tokens": 4000, "section_tokens": 8000})
    with clew.Clew(settings, embedder=HashEmbedder(max_tokens=8000)) as engine:
        engine.add("word " * 3000, source="long")
        (passage,) = Client(engine)("extraction_next", max_tokens=1000)["passages"]
    assert passage["cut"] is True
    assert passage["text"].startswith("word word")
    assert passage["text"].endswith("…")


def test_what_is_given_back_is_tied_to_passage_and_sentence(
    client: Client, engine: clew.Clew
) -> None:
    answer = client(
        "graph_upsert",
        passage_ids=ids(client),
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
    assert (answer["passages"], answer["entities"], answer["relations"]) == (2, 2, 2)
    assert (answer["new_relations"], answer["rejected"], answer["remaining"]) == (2, [], 0)
    smith = engine.entities.get("The Quiet Smith")
    assert (smith.entity_type, smith.content) == ("person", "A smith of Vell.")
    assert (smith.mentions, smith.documents) == (3, 2)
    stated = {r.relation: r for r in engine.graph.relations("Ada Morn")}
    assert stated["taught"].evidence == "The quiet smith taught her."
    assert stated["came_from"].evidence == "She came from the old town by the canal."
    origin = stated["came_from"].provenance
    assert origin is not None
    assert (origin.extractor, origin.confidence) == ("assistant", 0.6)
    # And the graph leads there.
    assert {n.entity.name for n in engine.graph.neighbors("Ada Morn")} >= {
        "Quiet Smith",
        "old town",
    }


def test_giving_it_back_again_changes_nothing(client: Client, engine: clew.Clew) -> None:
    arguments = {
        "passage_ids": ids(client),
        "entities": [{"name": "quiet smith", "entity_type": "person"}],
        "relations": [{"source": "quiet smith", "target": "Ada Morn", "relation_type": "taught"}],
    }
    client("graph_upsert", **arguments)
    before = engine.store.mention_rows().tolist(), engine.maintenance.stats()["relations"]
    assert client("graph_upsert", **arguments)["new_relations"] == 0
    assert (engine.store.mention_rows().tolist(), engine.maintenance.stats()["relations"]) == before


def test_names_are_resolved_against_those_that_are_known(client: Client, engine: clew.Clew) -> None:
    engine.add("Countess Adamorn likes boats. Countess Adamorn is old.", source="alias")
    engine.entities.merge("Countess Adamorn", "Ada Morn")
    answer = client(
        "graph_upsert",
        passage_ids=ids(client),
        relations=[
            {"source": "Countess Adamorn", "target": "quiet smith", "relation_type": "knows"}
        ],
    )
    assert (answer["relations"], answer["rejected"]) == (1, [])
    assert [r.head for r in engine.graph.relations("quiet smith")] == ["Ada Morn"]


def test_what_does_not_hold_is_told_and_the_rest_is_taken(
    client: Client, engine: clew.Clew
) -> None:
    passages = ids(client)
    answer = client(
        "graph_upsert",
        passage_ids=passages,
        entities=[{"name": "Atlantis"}, {"name": "quiet smith"}, {"name": "?"}],
        relations=[
            {"source": "Ada Morn", "target": "Atlantis", "relation_type": "left"},
            {"source": "Ada Morn", "target": "quiet smith", "relation_type": "!"},
            {"source": "Ada Morn", "target": "ada morn", "relation_type": "knows"},
            {"source": "Ada Morn", "target": "quiet smith", "relation_type": "knows"},
        ],
    )
    assert (answer["entities"], answer["relations"], answer["rejected_count"]) == (1, 1, 5)
    reasons = {r["item"]: r["reason"] for r in answer["rejected"]}
    assert "in none of the passages, and not known" in reasons["Atlantis"]
    assert "in none of the passages" in reasons["Ada Morn -left-> Atlantis"]
    assert "needs letters or digits" in reasons["?"]
    assert "snake_case name" in reasons["Ada Morn -!-> quiet smith"]
    assert reasons["Ada Morn -knows-> ada morn"] == "both ends are the same entity"
    assert engine.entities.find("Atlantis") == []


def test_a_relation_needs_a_passage_that_names_an_end(client: Client, engine: clew.Clew) -> None:
    engine.add("Ilse Marr met Piet Oss.", source="other")
    (tower, *_) = ids(client)
    relation = {"source": "Ilse Marr", "target": "Piet Oss", "relation_type": "knows"}
    answer = client("graph_upsert", passage_ids=[tower], relations=[relation])
    assert answer["rejected"][0]["reason"] == "no passage names one of its ends"


def test_what_was_found_goes_with_its_passage(client: Client, engine: clew.Clew) -> None:
    client("graph_upsert", passage_ids=ids(client), entities=[{"name": "old town"}])
    engine.add("Nothing is left of it.", source="canal", title="Notes")
    assert engine.entities.find("old town") == []
    assert client("extraction_next")["remaining"] == 1


def test_a_passage_that_changed_is_refused(client: Client, engine: clew.Clew) -> None:
    (tower, canal) = ids(client)
    engine.delete(["canal"])
    outcome = client.toolbox.call("graph_upsert", {"passage_ids": [tower, canal]})
    assert outcome.is_error
    assert "take ids from extraction_next" in outcome.text
    assert client("extraction_next")["remaining"] == 1


def test_without_passages_it_is_what_the_assistant_knows(client: Client, engine: clew.Clew) -> None:
    arguments: dict[str, Any] = {
        "entities": [{"name": "Zoe Vale", "entity_type": "person", "description": "A pilot."}],
        "relations": [
            {"source": "Zoe Vale", "target": "Ada Morn", "relation_type": "causes"},
        ],
    }
    assert client("graph_upsert", **arguments)["new_relations"] == 1
    assert client("graph_upsert", **arguments)["new_relations"] == 0
    arguments["entities"][0]["description"] = "A captain."
    client("graph_upsert", **arguments)
    assert engine.entities.get("Zoe Vale").content == "A captain."
    (relation,) = engine.store.unstated_relations([engine.entities.get("Zoe Vale").id])
    assert (relation.is_causal, relation.weight) == (True, 0.8)
    unknown = {"source": "Zoe Vale", "target": "Qqq", "relation_type": "knows"}
    outcome = client.toolbox.call("graph_upsert", {"relations": [unknown]})
    assert outcome.is_error
    assert "no entity 'Qqq'" in outcome.text
    assert "give it in entities, too" in outcome.text


def test_what_is_wrong_without_passages_writes_nothing(client: Client, engine: clew.Clew) -> None:
    entities = [{"name": "Zoe Vale"}]
    for relation, reason in (
        ({"source": "zoe vale", "target": "Qqq", "relation_type": "knows"}, "no entity 'Qqq'"),
        ({"source": "zoe vale", "target": "Ada Morn", "relation_type": "?"}, "'?' cannot be"),
    ):
        arguments = {"entities": entities, "relations": [relation]}
        outcome = client.toolbox.call("graph_upsert", arguments)
        assert outcome.is_error
        assert reason in outcome.text
        assert engine.store.made_by_hand() == []
