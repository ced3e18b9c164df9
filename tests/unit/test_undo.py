"""Changes of the graph are taken back: afterwards all is as it was, as often as it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
