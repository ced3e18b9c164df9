"""Writing by hand as a user of the library meets it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.errors import ClewError, InputError, NotFoundError
from clew.indexing.manual_graph import check_type, snake_case, written_relation
from clew.search.strategies import STRATEGIES
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import NewEntity, NewRelation

ANNA = NewEntity(name="Anna Morn", entity_type="person")
VELL = NewEntity(name="Vell", entity_type="place")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        yield engine
        assert engine.maintenance.check().problems == ()


def texts(engine: clew.Clew, name: str) -> list[str]:
    (entity_id,) = engine.entities.memory.find([name]).values()
    return [told.text for told in engine.store.observations([entity_id]).get(entity_id, [])]


# --- relations


def test_a_relation_by_hand_ties_its_ends_in_all_that_is_derived(engine: clew.Clew) -> None:
    engine.add("Anna Morn painted the old bridge of Vell.", source="a")
    engine.add("Piet Oss kept a workshop by the canal.", source="b")
    anna, piet = engine.entities.get("Anna Morn"), engine.entities.get("Piet Oss")
    assert engine.graph.neighbors("Piet Oss") == []
    before = engine.store.generation()
    relation = engine.entities.add_relation(
        piet.id, anna.id, "taught", weight=0.5, context={"by": "me"}
    )
    assert engine.store.generation() > before
    assert (relation.chunk_id, relation.extractor) == (None, "manual")
    assert (relation.weight, relation.context) == (0.5, {"by": "me"})
    assert [n.entity.name for n in engine.graph.neighbors("Piet Oss")] == ["Anna Morn"]
    paths, _ = engine.graph.paths("Piet Oss", "Anna Morn")
    assert [[step.relation for step in path] for path in paths] == [["taught"]]


def test_said_again_it_is_no_second_one(engine: clew.Clew) -> None:
    anna, vell = (i for i, _ in engine.entities.memory.add_entities([ANNA, VELL]))
    first = engine.entities.add_relation(anna, vell, "lives_in", weight=0.5, context={"a": 1})
    again = engine.entities.add_relation(anna, vell, "lives_in", weight=0.25)
    assert (again.id, again.weight, again.context) == (first.id, 0.25, {"a": 1})
    assert again.recorded_at == first.recorded_at
    assert len(engine.graph.relations("Anna Morn")) == 1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"relation_type": "Lives In"}, "'Lives In' cannot be; .* such as 'lives_in'"),
        ({"relation_type": ""}, "'' cannot be; .* such as 'relates_to'"),
        ({"relation_type": "a" * 61}, "of at most 60 characters"),
        ({"weight": 1.5}, "weight 1.5 cannot be; expected a number from 0 to 1"),
        ({"weight": float("nan")}, "weight nan cannot be"),
        ({"context": {"x": {1, 2}}}, "is no JSON"),
        (
            {
                "valid_from": datetime(2020, 1, 1, tzinfo=UTC),
                "valid_until": datetime(2019, 1, 1, tzinfo=UTC),
            },
            "valid_until .* is not after valid_from",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    engine: clew.Clew, change: dict[str, object], match: str
) -> None:
    anna, vell = (i for i, _ in engine.entities.memory.add_entities([ANNA, VELL]))
    values: dict[str, object] = {"relation_type": "lives_in", **change}
    with pytest.raises(InputError, match=match):
        engine.entities.add_relation(anna, vell, **values)  # type: ignore[arg-type]
    assert engine.graph.relations("Anna Morn") == []


def test_an_unknown_end_is_refused(engine: clew.Clew) -> None:
    with pytest.raises(NotFoundError, match="no entity with the id 7, 8; look its id up"):
        engine.entities.add_relation(7, 8, "knows")


@given(st.text(max_size=80))
def test_any_wording_becomes_a_type_or_is_refused(wording: str) -> None:
    try:
        relation = written_relation(1, 2, wording)
    except InputError:
        return
    check_type(relation.relation_type)
    assert snake_case(relation.relation_type) == relation.relation_type
    kept = (relation.context or {}).get("wording", relation.relation_type)
    assert kept == wording


@pytest.mark.parametrize(
    ("wording", "expected"),
    [
        ("worksAt", "works_at"),
        ("Works at", "works_at"),
        ("WORKS_AT", "works_at"),
        ("is-friend-of!", "is_friend_of"),
        ("работает в", "работает_в"),
        ("?!", ""),
    ],
)
def test_types_are_written_one_way(wording: str, expected: str) -> None:
    assert snake_case(wording) == expected


# --- observations


def test_every_way_of_asking_finds_an_observation(engine: clew.Clew) -> None:
    engine.entities.memory.add_entities(
        [ANNA], [["Anna Morn keeps seven beehives behind the mill."]]
    )
    engine.entities.memory.add_entities([VELL], [["Vell lies on the river Lorne."]])
    for strategy in STRATEGIES:
        found = engine.search("How many beehives does Anna Morn keep?", strategy=strategy)
        assert "beehives" in found.context.text, strategy


def test_the_one_who_is_told_of_need_not_be_named(engine: clew.Clew) -> None:
    engine.entities.memory.add_entities([ANNA], [["Prefers green tea."]])
    (hit, *_) = engine.search("What does Anna Morn prefer?").hits
    assert (hit.chunk.text, hit.chunk.title) == ("Prefers green tea.", "Anna Morn")
    assert "Anna Morn" in hit.entities


def test_an_observation_is_dated_by_when_it_was_told(engine: clew.Clew) -> None:
    engine.entities.memory.add_entities([ANNA, VELL], [["Went to the market yesterday."], []])
    engine.entities.memory.add_observations([("Vell", ["Had a flood yesterday."])], dated=False)
    asked = engine.search("What did Anna Morn do yesterday?", temporal=True)
    assert [hit.chunk.text for hit in asked.hits] == ["Went to the market yesterday."]
    (vell,) = engine.entities.memory.find(["Vell"]).values()
    (told,) = engine.store.observations([vell])[vell]
    (undated,) = engine.store.document_chunks(told.document_id)
    assert engine.store.chunk_times([undated.id]) == {}


KEEPER = NewEntity(
    name="Ilse Marrable", entity_type="person", content="tended the lamp of the lighthouse"
)


def test_an_entity_that_no_text_names_is_found_at_once(engine: clew.Clew) -> None:
    engine.add("The harbour of Vell was dredged in 1850.", source="harbour")
    engine.entities.memory.add_entities([KEEPER])
    for question in ("Ilse Marrable", "Who tended the lamp?"):
        for strategy in ("vector", "keyword", "hybrid", "graph", "local", "multi_hop"):
            hit = engine.search(question, strategy=strategy).hits[0]
            assert hit.chunk.title == "Ilse Marrable", (question, strategy)
        entities, _ = engine.entities.search(question)
        assert entities[0].entity.name == "Ilse Marrable"
        assert entities[0].vector_score > 0
    # Texts that are indexed later are tied to it.
    engine.add("At dusk Ilse Marrable climbed the stairs.", source="stairs")
    (later,) = engine.documents.chunks("stairs")
    (id_,) = engine.entities.memory.find(["Ilse Marrable"]).values()
    assert later.id in engine.store.entity_chunks(id_).tolist()


def test_a_relation_by_hand_is_told_to_who_asks_for_an_end_of_it(engine: clew.Clew) -> None:
    reactor = NewEntity(name="Quillon Reactor", entity_type="machine", content="makes water")
    others = [NewEntity(name=f"Petra Voss {n}", entity_type="person") for n in range(10)]
    first, *people = [id_ for id_, _ in engine.entities.memory.add_entities([reactor, *others])]
    for person in people[:-1]:
        engine.entities.add_relation(person, first, "visited")
    engine.entities.add_relation(people[-1], first, "designed", weight=0.5)
    for strategy in ("auto", "graph", "temporal", "local", "multi_hop"):
        found = engine.search("Who designed the Quillon Reactor?", strategy=strategy)
        assert "Petra Voss 9 — designed → Quillon Reactor" in found.context.text, strategy
    part = engine.search("Who designed the Quillon Reactor?").context.parts[0]
    heading, first_line = part.text.splitlines()[:2]
    assert heading == "Stated by hand"
    assert first_line.startswith("> - Petra Voss 9 — designed → Quillon Reactor (told 20")
    # Of a filter's passages none says it.
    engine.add("The Quillon Reactor was shut down.", metadata={"year": 2020})
    filtered = engine.search("Who designed the Quillon Reactor?", where=["year=2020"])
    assert "Petra Voss" not in filtered.context.text


def test_a_hierarchy_leads_over_what_is_made_by_hand(engine: clew.Clew) -> None:
    mill = NewEntity(name="Weir Mill", entity_type="place", content="grinds corn")
    trust = NewEntity(name="Sole Trust", entity_type="organisation")
    ids = [id_ for id_, _ in engine.entities.memory.add_entities([mill, trust])]
    engine.entities.add_relation(ids[0], ids[1], "part_of")
    found = engine.search(
        "Which trust is the Weir Mill part of?",
        strategy="hierarchical",
        hierarchy="place -part_of-> organisation",
    )
    assert "Sole Trust" in found.context.text


def test_what_an_entity_is_said_to_be_changes_and_goes_with_it(engine: clew.Clew) -> None:
    memory = engine.entities.memory
    memory.add_entities([KEEPER])
    memory.update_entity("Ilse Marrable", content="sold eels")
    assert engine.search("lamp", strategy="keyword").hits == ()
    assert engine.search("eels", strategy="keyword").hits
    engine.entities.rename("Ilse Marrable", "Ilse Fenn")
    memory.update_entity("Ilse Fenn", content="sold shrimps")
    assert engine.search("eels", strategy="keyword").hits == ()
    assert memory.delete_entities(["Ilse Fenn"]) == ["Ilse Fenn"]
    assert engine.documents.list() == []


def test_observations_come_and_go_one_by_one(engine: clew.Clew) -> None:
    memory = engine.entities.memory
    memory.add_entities([ANNA, VELL], [["One.", "Two.", "One."], []])
    assert memory.add_observations(
        [("anna morn", ["Two.", "Three."]), ("Vell", ["One."]), ("Anna Morn", ["Three.", "Four."])]
    ) == [["Three."], ["One."], ["Four."]]
    assert texts(engine, "Anna Morn") == ["One.", "Two.", "Three.", "Four."]
    chunks = engine.store.chunk_ids().tolist()
    assert memory.delete_observations([("Anna Morn", ["Two.", "Nine."]), ("Vell", [])]) == [1, 0]
    assert texts(engine, "Anna Morn") == ["One.", "Three.", "Four."]
    # Nothing else was written anew.
    assert set(engine.store.chunk_ids().tolist()) < set(chunks)
    assert texts(engine, "Vell") == ["One."]


def test_a_renamed_entity_keeps_what_was_told_and_is_told_nothing_twice(engine: clew.Clew) -> None:
    engine.entities.memory.add_entities([ANNA], [["Paints."]])
    engine.entities.rename("Anna Morn", "Anna Oss")
    assert engine.entities.memory.add_observations([("Anna Oss", ["Paints.", "Sings."])]) == [
        ["Sings."]
    ]
    assert texts(engine, "Anna Morn") == ["Paints.", "Sings."]
    assert engine.entities.memory.delete_observations([("Anna Morn", ["Paints.", "Sings."])]) == [2]


def test_an_entity_that_exists_takes_what_it_lacks_and_says_the_rest(engine: clew.Clew) -> None:
    (first,) = engine.entities.memory.create([ANNA], [["Paints."]])
    assert (first.is_new, first.joined, first.added) == (True, "", ("Paints.",))
    again = NewEntity(name="anna morn", entity_type="x", content="A painter.")
    (there,) = engine.entities.memory.create([again], [["Sings.", "Paints."]])
    assert (there.entity_id, there.is_new, there.joined) == (first.entity_id, False, "Anna Morn")
    assert (there.added, there.known) == (("Sings.",), ("Paints.",))
    assert there.refused == ("the type 'x': 'Anna Morn' keeps 'person'",)
    anna = engine.entities.get("Anna Morn")
    assert (anna.entity_type, anna.content) == ("person", "A painter.")
    assert texts(engine, "Anna Morn") == ["Paints.", "Sings."]


def test_documents_that_name_it_are_tied_to_it(engine: clew.Clew) -> None:
    engine.add("Anna Morn painted the old bridge.", source="a")
    engine.entities.memory.add_entities([ANNA])
    engine.add("Anna Morn painted the old bridge, and a boat.", source="a")
    alone = engine.entities.get("Anna Morn").mentions
    engine.delete(["a"])
    assert engine.entities.get("Anna Morn").mentions == alone - 1
    assert engine.entities.memory.delete_entities(["Anna Morn", "nobody"]) == ["Anna Morn"]
    with pytest.raises(NotFoundError, match="no entity 'Anna Morn'"):
        engine.entities.get("Anna Morn")


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (
            lambda m: m.add_observations([("Anna Morn", ["A."]), ("Bob", ["B."])]),
            NotFoundError,
            "no entity made by hand is named 'Bob'",
        ),
        (lambda m: m.add_observations([("Anna Morn", ["A.", " "])]), InputError, "cannot be ' '"),
        (lambda m: m.delete_observations([("Bob", ["B."])]), NotFoundError, "named 'Bob'"),
        (lambda m: m.update_entity("Bob", content="x"), NotFoundError, "named 'Bob'"),
        (
            lambda m: m.add_entities([VELL, NewEntity(name="…")], [["V."], []]),
            InputError,
            "cannot be named '…'",
        ),
    ],
)
def test_a_call_that_fails_writes_nothing(
    engine: clew.Clew, write: object, error: type[ClewError], match: str
) -> None:
    engine.entities.memory.add_entities([ANNA])
    before = engine.store.generation(), engine.documents.list()
    assert callable(write)
    with pytest.raises(error, match=match):
        write(engine.entities.memory)
    assert (engine.store.generation(), engine.documents.list()) == before
    assert engine.entities.memory.find(["Vell"]) == {}


def test_relations_are_checked_before_any_is_written(engine: clew.Clew) -> None:
    anna, vell = (i for i, _ in engine.entities.memory.add_entities([ANNA, VELL]))
    good = NewRelation(source_id=anna, target_id=vell, relation_type="lives_in")
    bad = NewRelation(source_id=anna, target_id=vell, relation_type="lives in")
    with pytest.raises(InputError, match="'lives in' cannot be"):
        engine.entities.memory.add_relations([good, bad])
    assert engine.graph.relations("Vell") == []


def test_check_finds_and_mends_an_observation_of_nobody(engine: clew.Clew) -> None:
    engine.entities.memory.add_entities([ANNA], [["Paints."]])
    with closing(sqlite3.connect(engine.store.folder / "clew.db")) as connection:
        connection.execute("UPDATE entities SET tier = 'extracted'")
        connection.commit()
    (problem,) = engine.maintenance.check().problems
    assert (problem.invariant, problem.repairable) == ("memory", True)
    assert "is of no entity that was made by hand" in problem.detail
    assert engine.maintenance.check(repair=True).problems == ()
    assert texts(engine, "Anna Morn") == ["Paints."]


def taught_by_hand(engine: clew.Clew) -> str:
    """A store whose text names the pupil, and a question that only the graph answers."""
    engine.add("Anna Morn learnt the trade at the mill of Vell.", title="Anna Morn")
    anna = engine.entities.get("Anna Morn").id
    ((piet, _),) = engine.entities.memory.add_entities(
        [NewEntity(name="Piet Oss", entity_type="person")]
    )
    engine.entities.add_relation(piet, anna, "taught")
    engine.entities.add_relation(anna, piet, "owes_money_to")
    return "Who taught Anna Morn?"


def test_an_answer_without_a_model_says_what_was_stated_by_hand(engine: clew.Clew) -> None:
    question = taught_by_hand(engine)
    answer = engine.ask(question)
    first = answer.statements[0]
    assert first.supported
    assert first.text.startswith("Piet Oss — taught → Anna Morn (told 20")
    (source,) = [s for s in answer.sources if s.number == first.quotations[0].source]
    assert (source.title, source.id) == ("Stated by hand", "")
    assert all("owes_money_to" not in said.text for said in answer.statements), "nobody asked"
    other = engine.ask("At which mill did Anna Morn learn the trade?")
    assert all("→" not in said.text for said in other.statements)


@pytest.mark.parametrize("least", [0.0, 1.0])
def test_what_was_stated_by_hand_answers_whatever_the_passages_say(
    engine: clew.Clew, least: float
) -> None:
    question = taught_by_hand(engine)

    def told(asked: str) -> bool:
        given = {"query": asked, "min_confidence": least}
        return bool(engine.tools.call("query_documents", given).content["answered"])

    assert told(question)
    assert engine.search(question, min_confidence=least).answered
    assert not (told("Who ever painted Anna Morn in Lisbon?") and least)
    engine.graph.delete_relation(
        next(
            r.id
            for r in engine.store.relations([engine.entities.get("Piet Oss").id], 9)
            if r.relation_type == "taught"
        )
    )
    assert not (told(question) and least)


@pytest.mark.parametrize("said", ["Ottilie", "Brask", "Ottilie Brask"])
def test_one_word_of_a_name_asks_what_was_stated_of_it(engine: clew.Clew, said: str) -> None:
    """Persons are asked for by first names; a word that names something else means that alone."""
    names = ["Ottilie Brask", "Jory Penhale", "Quarry Works", "Tin Yard", "Brasken"]
    new = [NewEntity(name=name, entity_type="thing") for name in names]
    ottilie, jory, quarry, yard, _ = (
        id_
        for id_, _ in engine.entities.memory.add_entities(new, [["Sings."], ["Paints."], *[[]] * 3])
    )
    engine.entities.add_relation(ottilie, quarry, "works_at")
    engine.entities.add_relation(jory, yard, "works_at")
    question = f"Where does {said} work?"
    found = engine.search(question)
    assert found.entities == ("Ottilie Brask",)
    assert found.stated[0].startswith("Ottilie Brask — works_at → Quarry Works (")
    assert not any(line.startswith("Jory") for line in found.stated)
    assert not [note for note in found.notes if "likely" in note or "answer" in note]
    assert engine.ask(question).statements[0].text == found.stated[0]
    assert engine.search("Where does everybody sing?").stated == ()


@pytest.mark.parametrize(("first", "second"), [("Ostra", "Mistral"), ("Tannhof", "Kelpworks")])
def test_before_a_thing_is_what_held_before_it(engine: clew.Clew, first: str, second: str) -> None:
    """A plan that names the thing dates no event: its periods say when it held."""
    names = ["Ottilie Brask", "Jory Penhale", first, second]
    ottilie, jory, one, other = (
        id_
        for id_, _ in engine.entities.memory.add_entities(
            [NewEntity(name=name) for name in names],
            [[], [f"Leaves {second} at the end of next month."], [], []],
        )
    )
    engine.entities.add_relation(ottilie, one, "works_at")
    engine.entities.add_relation(ottilie, other, "works_at")
    engine.entities.add_relation(jory, other, "works_at")
    found = engine.search(f"Where did Ottilie Brask work before {second}?")
    assert found.stated[0].startswith(f"Ottilie Brask — works_at → {first} (ended")
    assert found.temporal is None or found.temporal.since is found.temporal.until is None
    assert not any("was taken to be of" in note for note in found.notes)


def test_a_model_may_quote_what_was_stated_by_hand(tmp_path: Path) -> None:
    words = "Piet Oss — taught → Anna Morn"
    reply = {
        "statements": [{"quotes": [{"passage": 1, "words": words}], "statement": "Piet Oss did."}]
    }
    model = ScriptedLanguageModel([json.dumps(reply)])
    with clew.open(tmp_path, embedder=HashEmbedder(), language_model=model) as engine:
        answer = engine.ask(taught_by_hand(engine))
    assert words in model.asked[0].messages[0].text
    assert [said.text for said in answer.statements] == ["Piet Oss did."]
    assert answer.sources[0].title == "Stated by hand"
