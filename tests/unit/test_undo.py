"""Changes of the graph are taken back: afterwards all is as it was, as often as it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew import Clew
from clew.testing.fakes import HashEmbedder
from clew.tools.spec import Caller

TEXTS = {
    "mill": "Jonas Reed built the mill at Harrow Ford. Jonas Reed works for Tarn Abbey.",
    "abbey": "J. Reed repaired the roof of Tarn Abbey. Tarn Abbey is part of the Lorne Estate.",
    "said": "We heard that Ada Keller said no.",
    "met": "They met A. Keller there.",
}
Change = tuple[str, dict[str, Any]]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as opened:
        for source, text in TEXTS.items():
            opened.add(text, source=source)
        relation = stated(opened)
        opened.entities.add_relation(
            relation.from_entity_id,
            relation.to_entity_id,
            "admires",
            weight=0.25,
            context={"since": 1958},
        )
        yield opened


def stated(engine: Clew) -> Any:  # noqa: ANN401 - a row
    reed = engine.entities.get("Jonas Reed").id
    return next(
        r for r in engine.store.relations([reed]) if r.chunk_id and r.relation_type != "admires"
    )


def id_of(engine: Clew, name: str) -> int:
    return engine.entities.get(name).id


def picture(engine: Clew) -> object:
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


CHANGES: dict[str, Callable[[Clew], Change]] = {
    "merge": lambda e: (
        "merge_entities",
        {"source_id": id_of(e, "Lorne Estate"), "target_id": id_of(e, "Harrow Ford")},
    ),
    "rename": lambda e: (
        "rename_entity",
        {"entity_id": id_of(e, "Tarn Abbey"), "name": "Abbey of Tarn"},
    ),
    "retype": lambda e: (
        "retype_entity",
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
def test_what_is_taken_back_leaves_no_trace(engine: Clew, change: str) -> None:
    before = picture(engine)
    tool, arguments = CHANGES[change](engine)
    done = engine.tools.call(tool, arguments)
    assert not done.is_error, done.text
    assert picture(engine) != before
    newest = engine.tools.call("audit", {"limit": 1}).content["entries"][0]
    assert (newest["tool"], newest["can_undo"]) == (tool, True)

    undone = engine.tools.call("undo_change", {"entry_id": newest["id"]})

    assert not undone.is_error, undone.text
    assert picture(engine) == before
    again = engine.tools.call("undo_change", {"entry_id": newest["id"]})
    assert "taken back already" in again.text
    assert picture(engine) == before


def test_a_split_is_joined_again(engine: Clew) -> None:
    merged = {"source_id": id_of(engine, "Lorne Estate"), "target_id": id_of(engine, "Harrow Ford")}
    engine.tools.call("merge_entities", merged)
    before = picture(engine)
    whole = id_of(engine, "Harrow Ford")
    engine.tools.call("split_entity", {"entity_id": whole, "names": ["Lorne Estate"]})
    assert picture(engine) != before
    newest = engine.maintenance.audit(limit=1)[0]
    assert not engine.tools.call("undo_change", {"entry_id": newest.id}).is_error
    assert picture(engine) == before


def test_what_no_text_states_any_more_is_told(engine: Clew) -> None:
    relation = stated(engine)
    engine.tools.call("delete_relation", {"relation_id": relation.id, "confirm": True})
    entry = engine.maintenance.audit(limit=1)[0].id
    engine.add("Another text altogether.", source="mill")

    told = engine.tools.call("undo_change", {"entry_id": entry})

    assert told.is_error
    assert "state the relation by hand" in told.text
    assert "no change 99999" in engine.tools.call("undo_change", {"entry_id": 99999}).text


def test_whoever_may_not_do_it_may_not_undo_it(engine: Clew) -> None:
    tool, arguments = CHANGES["rename"](engine)
    engine.tools.call(tool, arguments)
    entry = engine.maintenance.audit(limit=1)[0].id
    caller = Caller(name="guest", tools=frozenset({"undo_change"}))

    told = engine.tools.call("undo_change", {"entry_id": entry}, caller=caller)

    assert "rename_entity" in told.text
    assert engine.entities.get("Tarn Abbey").name == "Abbey of Tarn"


# --- merges: any number of them, taken back in the reverse order

NAMES = ("Ann Lake", "Bo Field", "Cy Marsh", "Di Brook", "Ed Stone")
KINDS = ("admires", "owes", "lives_in")


def whole(engine: Clew) -> object:
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


Facts = list[tuple[int, int, int]]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    facts: Facts,
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


def test_what_came_after_a_merge_stays(engine: Clew) -> None:
    """Taken back out of turn: what was ruled since, and another merge, hold on."""
    ids = {name: id_of(engine, name) for name in ("Lorne Estate", "Harrow Ford", "Tarn Abbey")}
    for source in ("Lorne Estate", "Tarn Abbey"):
        merged = {"source_id": ids[source], "target_id": ids["Harrow Ford"]}
        assert not engine.tools.call("merge_entities", merged).is_error
    first = engine.maintenance.audit(limit=2)[-1]

    assert not engine.tools.call("undo_change", {"entry_id": first.id}).is_error

    assert id_of(engine, "Lorne Estate") == ids["Lorne Estate"]
    assert id_of(engine, "Tarn Abbey") == id_of(engine, "Harrow Ford") == ids["Harrow Ford"]
    rules = engine.store.link_rules()
    assert rules["tarn abbey"] == rules["harrow ford"] == "harrow ford"
    assert "lorne estate" not in rules
    engine.add(TEXTS["abbey"], source="abbey again")
    assert id_of(engine, "Lorne Estate") == ids["Lorne Estate"]
    assert engine.maintenance.check().problems == ()
