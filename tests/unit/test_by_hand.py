"""What is stated, merged and taken back by hand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.errors import ClewError, InputError, NotFoundError
from clew.indexing.linking import suggest_merges
from clew.indexing.manual_graph import Created, check_type, snake_case, written_relation
from clew.operations.spec import Caller
from clew.search.pipeline import STRATEGIES
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types import Document, KnownName, NamedStrategy, NewEntity

# --- Writing by hand as a user of the library meets it.


ANNA = NewEntity(name="Anna Morn", entity_type="person")
VELL = NewEntity(name="Vell", entity_type="place")


def texts(engine: clew.Clew, name: str) -> list[str]:
    (entity_id,) = engine.entities.memory.find([name]).values()
    return [told.text for told in engine.store.observations([entity_id]).get(entity_id, [])]


def state(engine: clew.Clew, told: dict[str, list[str]], *facts: tuple[str, str, str]) -> None:
    """Make entities with what is told of each, and relations between them."""
    made = engine.entities.memory.add_entities(
        [NewEntity(name=name, entity_type="thing") for name in told], list(told.values())
    )
    ids = {name: id_ for name, (id_, _) in zip(told, made, strict=True)}
    for head, kind, tail in facts:
        engine.entities.add_relation(ids[head], ids[tail], kind)


# --- relations


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
    told = ["Anna Morn keeps seven beehives behind the mill."], ["Vell lies on the river Lorne."]
    engine.entities.memory.add_entities([ANNA, VELL], told)
    for strategy in STRATEGIES:
        found = engine.search(
            "How many beehives does Anna Morn keep?", strategy=NamedStrategy(strategy)
        )
        assert "beehives" in found.context.text, strategy


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
    people = [f"Petra Voss {n}" for n in range(10)]
    kinds = [*["visited"] * 9, "designed"]
    reactor = "Quillon Reactor"
    facts = [(name, kind, reactor) for name, kind in zip(people, kinds, strict=True)]
    state(engine, {name: [] for name in (reactor, *people)}, *facts)
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


def test_entities_are_looked_up_at_once(engine: clew.Clew) -> None:
    ((anna, _), (vell, _)) = engine.entities.memory.add_entities([ANNA, VELL])
    known = engine.entities.known

    by_name = known(["anna morn", "Vell", "Nobody", "Anna Morn"])
    by_id = known([vell, anna, vell + anna])

    assert {name: one.id for name, one in by_name.items()} == {
        "anna morn": anna,
        "Vell": vell,
        "Anna Morn": anna,
    }
    assert {id_: one.name for id_, one in by_id.items()} == {vell: "Vell", anna: "Anna Morn"}
    assert known([]) == {}
    with pytest.raises(InputError, match="expected a list"):
        known("Vell")


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


def test_an_entity_that_exists_takes_what_it_lacks_and_says_the_rest(engine: clew.Clew) -> None:
    (first,) = engine.entities.memory.create([ANNA], [["Paints."]])
    again = NewEntity(name="anna morn", entity_type="x", content="A painter.")
    (there,) = engine.entities.memory.create([again], [["Sings.", "Paints."]])
    assert (first.is_new, first.joined, first.added) == (True, "", ("Paints.",))
    assert there == Created(
        entity_id=first.entity_id,
        name="Anna Morn",
        is_new=False,
        joined="Anna Morn",
        added=("Sings.",),
        known=("Paints.",),
        refused=("the type 'x': 'Anna Morn' keeps 'person'",),
    )
    anna = engine.entities.get("Anna Morn")
    assert (anna.entity_type, anna.content) == ("person", "A painter.")
    assert texts(engine, "Anna Morn") == ["Paints.", "Sings."]


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
    engine: clew.Clew, write: Callable[[Any], object], error: type[ClewError], match: str
) -> None:
    engine.entities.memory.add_entities([ANNA])
    before = engine.store.generation(), engine.documents.list()
    with pytest.raises(error, match=match):
        write(engine.entities.memory)
    assert (engine.store.generation(), engine.documents.list()) == before
    assert engine.entities.memory.find(["Vell"]) == {}


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
    facts = [("Piet Oss", "taught", "Anna Morn"), ("Anna Morn", "owes_money_to", "Piet Oss")]
    state(engine, {"Piet Oss": [], "Anna Morn": []}, *facts)
    return "Who taught Anna Morn?"


def test_an_answer_without_a_model_says_what_was_stated_by_hand(engine: clew.Clew) -> None:
    answer = engine.ask(taught_by_hand(engine))
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
            for r in engine.store.relations([id_of(engine, "Piet Oss")], 9)
            if r.relation_type == "taught"
        )
    )
    assert not (told(question) and least)


@pytest.mark.parametrize("said", ["Ottilie", "Brask", "Ottilie Brask"])
def test_one_word_of_a_name_asks_what_was_stated_of_it(engine: clew.Clew, said: str) -> None:
    """Persons are asked for by first names; a word that names something else means that alone."""
    told = {"Ottilie Brask": ["Sings."], "Jory Penhale": ["Paints."]}
    others: dict[str, list[str]] = {"Quarry Works": [], "Tin Yard": [], "Brasken": []}
    facts = [
        ("Ottilie Brask", "works_at", "Quarry Works"),
        ("Jory Penhale", "works_at", "Tin Yard"),
    ]
    state(engine, told | others, *facts)
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
    plan = [f"Leaves {second} at the end of next month."]
    told: dict[str, list[str]] = {"Ottilie Brask": [], "Jory Penhale": plan, first: [], second: []}
    places = [("Ottilie Brask", first), ("Ottilie Brask", second), ("Jory Penhale", second)]
    state(engine, told, *((who, "works_at", place) for who, place in places))
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


# --- Changes of the graph are taken back: afterwards all is as it was, as often as it is
# tried.


TEXTS = {
    "mill": "Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey.",
    "abbey": "J. Reed repaired the roof of Tarn Abbey. Tarn Abbey is part of the Lorne Estate.",
    "said": "We heard that Ada Keller said no.",
    "met": "They met A. Keller there.",
}


@pytest.fixture
def undo_engine(engine: clew.Clew) -> clew.Clew:
    engine.add_documents([Document(source=source, text=text) for source, text in TEXTS.items()])
    one = stated(engine)
    engine.entities.add_relation(
        one.from_entity_id, one.to_entity_id, "admires", weight=0.25, context={"since": 1958}
    )
    return engine


def stated(engine: clew.Clew) -> Any:  # noqa: ANN401 - a row
    reed = engine.entities.get("Jonas Reed").id
    return next(
        r for r in engine.store.relations([reed]) if r.chunk_id and r.relation_type != "admires"
    )


def id_of(engine: clew.Clew, name: str) -> int:
    return engine.entities.get(name).id


def picture(engine: clew.Clew) -> object:
    """All that a reader sees, ids of entities that were split off anew left out."""
    entities = engine.store.entities(sorted({a.entity_id for a in engine.store.aliases()}))
    names = {e.id: e.name for e in entities}
    return (
        sorted((e.name, e.entity_type, e.mentions) for e in entities),
        sorted(
            (
                *(names[r.from_entity_id], r.relation_type, names[r.to_entity_id], r.weight),
                *(str(r.context), str(r.valid_until), r.extractor),
            )
            for r in engine.store.relations([e.id for e in entities], 1000)
        ),
        sorted((s.source, s.target) for s in engine.entities.suggest()),
    )


CHANGES: dict[str, Callable[[clew.Clew], tuple[str, dict[str, Any]]]] = {
    "merge": lambda e: (
        "merge_entities",
        {"source_id": id_of(e, "Lorne Estate"), "target_id": id_of(e, "Harrow Ford")},
    ),
    "rename": lambda e: (
        "edit_entity",
        {"entity_id": id_of(e, "Tarn Abbey"), "name": "Abbey of Tarn"},
    ),
    "retype": lambda e: (
        "edit_entity",
        {"entity_id": id_of(e, "Tarn Abbey"), "entity_type": "monastery"},
    ),
    "refuse": lambda e: (
        "refuse_merge",
        {"entity_id": id_of(e, "Ada Keller"), "other_id": id_of(e, "A. Keller")},
    ),
    "delete what a text states": lambda e: (
        "delete_relation",
        {"relation_id": stated(e).id, "confirm": True},
    ),
    "delete what was stated by hand": lambda e: (
        "delete_relation",
        {
            "relation_id": e.store.unstated_relations([stated(e).from_entity_id])[0].id,
            "confirm": True,
        },
    ),
    "confirm": lambda e: (
        "add_entity_relationship",
        {
            "source_id": stated(e).from_entity_id,
            "target_id": stated(e).to_entity_id,
            "relation_type": stated(e).relation_type,
        },
    ),
    "state anew": lambda e: (
        "add_entity_relationship",
        {
            "source_id": stated(e).from_entity_id,
            "target_id": stated(e).to_entity_id,
            "relation_type": "admires",
            "weight": 0.75,
        },
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_taken_back_leaves_no_trace(undo_engine: clew.Clew, change: str) -> None:
    before = picture(undo_engine)
    tool, arguments = CHANGES[change](undo_engine)
    assert not undo_engine.tools.call(tool, arguments).is_error
    assert picture(undo_engine) != before
    newest = undo_engine.tools.call("audit", {"limit": 1}).content["entries"][0]
    assert (newest["tool"], newest["can_undo"]) == (tool, True)

    told = [
        undo_engine.tools.call("undo_change", given) for given in ({}, {"entry_id": newest["id"]})
    ]
    assert [one.is_error for one in told] == [False, True]
    assert "taken back already" in told[1].text
    assert picture(undo_engine) == before


def test_whoever_may_not_do_it_may_not_undo_it(undo_engine: clew.Clew) -> None:
    tool, arguments = CHANGES["rename"](undo_engine)
    undo_engine.tools.call(tool, arguments)
    entry = undo_engine.maintenance.audit(limit=1)[0].id
    caller = Caller(name="guest", tools=frozenset({"undo_change"}))

    told = undo_engine.tools.call("undo_change", {"entry_id": entry}, caller=caller)

    assert "edit_entity" in told.text
    assert undo_engine.entities.get("Tarn Abbey").name == "Abbey of Tarn"


# --- merges: any number of them, taken back in the reverse order

NAMES = ("Ann Lake", "Bo Field", "Cy Marsh", "Di Brook", "Ed Stone")
KINDS = ("admires", "owes", "lives_in")


def whole(engine: clew.Clew) -> object:
    """Each entity, name, relation, mention and rule, with its id.

    Whether an entity was made by hand aside: one that took in another that was stays so, since a
    person may have told more of it meanwhile.
    """
    store = engine.store
    aliases = store.aliases()
    ids = sorted({alias.entity_id for alias in aliases})
    with store.database.read() as connection:  # type: ignore[attr-defined]
        mentions = connection.execute("SELECT * FROM entity_mentions ORDER BY 1, 2, 4").fetchall()
    return (
        [replace(entity, tier="") for entity in store.entities(ids)],
        sorted(aliases, key=lambda alias: alias.id),
        sorted(store.relations(ids, 1000), key=lambda relation: relation.id),
        mentions,
        store.link_rules(),
        sorted((s.source, s.target) for s in engine.entities.suggest()),
    )


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    by_hand=st.sets(st.integers(0, 4)),
    facts=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=5),
    renamed=st.sets(st.integers(0, 4), max_size=1),
    merges=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=3),
)
def test_merges_that_are_taken_back_leave_every_id(
    texts: list[tuple[int, int]],
    by_hand: set[int],
    facts: list[tuple[int, int, int]],
    renamed: set[int],
    merges: list[tuple[int, int]],
) -> None:
    with TemporaryDirectory() as folder, clew.open(folder, embedder=HashEmbedder()) as engine:
        engine.add(f"{NAMES[0]} met {NAMES[1]} in Lorne.", source="first")
        for number, (one, other) in enumerate(texts):
            text = f"{NAMES[one]} works for {NAMES[other]}. We saw {NAMES[one]} again."
            engine.add(text, source=str(number))
        for number in sorted(by_hand):
            tool, about = "create_entities", {"name": NAMES[number], "entityType": "person"}
            written = engine.tools.call(
                tool, {"entities": [{**about, "observations": [f"No {number}."]}]}
            )
            assert not written.is_error, written.text
        known = {alias.name: alias.entity_id for alias in engine.store.aliases()}
        for head, kind, tail in facts:
            if NAMES[head] in known and NAMES[tail] in known and head != tail:
                ends = known[NAMES[head]], known[NAMES[tail]]
                engine.entities.add_relation(ends[0], ends[1], KINDS[kind])
        for number in renamed:
            if NAMES[number] in known:
                engine.entities.rename(NAMES[number], f"New {number} Hill")

        states, done = [], []
        for one, other in merges:
            ids = sorted({alias.entity_id for alias in engine.store.aliases()})
            given_ids = {"source_id": ids[one % len(ids)], "target_id": ids[other % len(ids)]}
            if given_ids["source_id"] == given_ids["target_id"]:
                continue
            states.append(whole(engine))
            merged = engine.tools.call("merge_entities", given_ids)
            assert not merged.is_error, merged.text
            assert len({a.entity_id for a in engine.store.aliases()}) == len(ids) - 1
            done.append(engine.maintenance.audit(limit=1)[0].id)
        for entry, before in zip(reversed(done), reversed(states), strict=True):
            undone = engine.tools.call("undo_change", {"entry_id": entry})
            assert not undone.is_error, undone.text
            assert whole(engine) == before
        assert engine.maintenance.check().problems == ()


# --- Entities that may be one are listed with reasons, and a refusal is remembered.


DOCUMENTS = [
    Document(source="1", text="We heard that Ada Keller said no."),
    Document(source="2", text="They met A. Keller there."),
]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([("Ada Keller", "person"), ("A. Keller", "person")], {("A. Keller", "Ada Keller")}),
        ([("Ada Keller", "person"), ("B. Keller", "person")], set()),
        ([("Ada Keller", "person"), ("Keller", "name")], {("Keller", "Ada Keller")}),
        ([("Ada Keller", "person"), ("Ada", "name")], {("Ada", "Ada Keller")}),
        ([("Ada Keller", "person"), ("Ada", "place")], set()),
        ([("Tidewater", "name"), ("Tidewater Corp", "name")], {("Tidewater", "Tidewater Corp")}),
        ([("Navegar", "name"), ("Navegar Lda", "name")], {("Navegar", "Navegar Lda")}),
        ([("Dekker", "name"), ("Dekker B.V.", "name")], {("Dekker", "Dekker B.V.")}),
        ([("Rossi", "name"), ("Rossi S.r.l.", "organisation")], {("Rossi", "Rossi S.r.l.")}),
        ([("Tidewater", "place"), ("Tidewater Corp", "organisation")], set()),
        ([("GTO", "name"), ("Great Tide Office", "name")], {("GTO", "Great Tide Office")}),
        ([("Net Harbour", "name"), ("Netharbour", "name")], {("Netharbour", "Net Harbour")}),
        ([("open_gate", "code"), ("open gate", "code")], set()),
    ],
)
def test_what_may_be_one(names: list[tuple[str, str]], expected: set[tuple[str, str]]) -> None:
    known = [
        KnownName(name=name, entity_id=i, entity_type=kind, tier="extracted")
        for i, (name, kind) in enumerate(names, 1)
    ]
    assert {(s.source, s.target) for s in suggest_merges(known, {})} == expected


def test_a_refusal_is_remembered(engine: clew.Clew) -> None:
    engine.add_documents(DOCUMENTS)
    assert [(s.source, s.target) for s in engine.entities.suggest()] == [
        ("A. Keller", "Ada Keller")
    ]
    engine.entities.refuse("A. Keller", "Ada Keller")
    assert engine.entities.suggest() == []
    engine.documents.delete([document.source for document in DOCUMENTS])
    engine.add_documents(DOCUMENTS)
    assert engine.entities.suggest() == []
    assert engine.entities.get("A. Keller").id != engine.entities.get("Ada Keller").id
