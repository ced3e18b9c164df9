"""What was stated by hand goes from one store into another by `clew export` and `clew import`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

TEXT = (
    "The Clockmaster of Lisse lives in Vell. Ada Morn built the tower of Vell."
    " Brida Kall met Ada Morn. Jon Vale sails."
)


def open_store(folder: Path) -> clew.Clew:
    return clew.open(folder, embedder=HashEmbedder())


def at(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC)


def state_things(engine: clew.Clew) -> None:
    """Something of every kind that is stated by hand, beside a text."""
    engine.add(TEXT, source="text")
    memory = engine.entities.memory
    olaf = NewEntity(
        name="Olaf Moe", entity_type="person", content="A sailor.", metadata={"importance": 0.5}
    )
    memory.create([olaf, NewEntity(name="Bergen", entity_type="place")], [["Sings.", "A\nb."], []])
    memory.add_observations([("Bergen", ["Wet."])], at={("Bergen", "Wet."): at(2020)})
    engine.entities.rename("Bergen", "Bergen am See")
    engine.entities.merge("Clockmaster of Lisse", "Ada Morn")
    engine.entities.refuse("Jon Vale", "Brida Kall")
    names = ("Olaf Moe", "Bergen", "Ada Morn", "Brida Kall")
    olaf_id, bergen, ada, brida = (engine.entities.get(name).id for name in names)
    add = engine.entities.add_relation
    add(olaf_id, bergen, "lives_in", weight=0.7, valid_from=at(2020), valid_until=at(2022))
    add(olaf_id, bergen, "lives_in", context={"a": [1]}, valid_from=at(2023))
    add(brida, ada, "causes")
    wrong = add(olaf_id, ada, "knows")
    engine.graph.delete_relation(wrong.id)


def stated(engine: clew.Clew) -> dict[str, object]:
    """What a store holds of that, without its ids."""
    store = engine.store
    names = dict(store.entity_names(sorted({alias.entity_id for alias in store.aliases()})))
    by_hand = [r for i in names for r in store.relations([i], limit=1000) if r.chunk_id is None]
    return {
        "observations": {
            (names[i], one.text, engine.documents.get(one.document_id).created_at)
            for i, told in store.observations(store.made_by_hand()).items()
            for one in told
        },
        "relations": {
            (
                *(names[r.from_entity_id], r.relation_type, names[r.to_entity_id]),
                *(r.weight, r.is_causal, json.dumps(r.context)),
                *(r.valid_from, r.valid_until, r.recorded_at),
            )
            for r in by_hand
        },
        "rules": (store.link_rules(), store.given_names()),
        "cards": {
            (d.title, engine.documents.text(d.source), json.dumps(d.metadata))
            for d in engine.documents.list()
            if d.title == "Olaf Moe"
        },
    }


def entity(engine: clew.Clew, name: str) -> tuple[object, ...]:
    found = engine.entities.get(name)
    names = {alias.name for alias in engine.entities.aliases(found)}
    return found.name, found.entity_type, found.content, names


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, object]]:
    """The lines of a store, and what it holds."""
    with open_store(tmp_path_factory.mktemp("first")) as engine:
        state_things(engine)
        return list(engine.maintenance.export("jsonl")), stated(engine)


@pytest.mark.parametrize("indexed_first", [False, True])
def test_what_was_stated_by_hand_is_in_the_new_store(
    exported: tuple[list[str], dict[str, object]], indexed_first: bool, tmp_path: Path
) -> None:
    lines, before = exported
    file = tmp_path / "all.jsonl"
    file.write_text("".join(lines), "utf-8")
    with open_store(tmp_path / "store") as engine:
        if indexed_first:
            engine.add(TEXT, source="text")
        report = engine.entities.import_memory(file)
        engine.add(TEXT, source="text")
        after = stated(engine)
        assert after | {"rules": ()} == before | {"rules": ()}
        assert report.documents == 1
        assert entity(engine, "Olaf Moe") == ("Olaf Moe", "person", "A sailor.", {"Olaf Moe"})
        assert engine.maintenance.check().problems == ()
        if indexed_first:
            # Whether names that texts have brought in are one is left as it is, and told.
            tied = " ".join(one.source for one in report.skipped)
            assert "'clockmaster of lisse'" in tied
            assert all("import before indexing" in one.reason for one in report.skipped)
        else:
            assert report.skipped == ()
            assert after == before
            assert engine.entities.get("Clockmaster of Lisse").name == "Ada Morn"
        assert entity(engine, "Bergen")[0] == "Bergen am See"
        again = engine.entities.import_memory(file)
        assert (again.entities, again.observations, again.relations) == (0, 0, 0)
        assert stated(engine) == after


def test_lines_of_before_there_were_rules_are_taken(
    exported: tuple[list[str], dict[str, object]], tmp_path: Path
) -> None:
    lines, before = exported
    file = tmp_path / "all.jsonl"
    kept = [line for line in lines if json.loads(line)["kind"] != "rule"]
    file.write_text("".join(kept), "utf-8")
    with open_store(tmp_path / "store") as engine:
        assert engine.entities.import_memory(file).skipped == ()
        after = stated(engine)
        for kind in ("observations", "relations"):
            assert after[kind] == before[kind]


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_line_keeps_the_others_from_being_taken(
    exported: tuple[list[str], dict[str, object]], data: st.DataObject, tmp_path: Path
) -> None:
    records: list[Mapping[str, Any]] = [json.loads(line) for line in exported[0]]
    spoilt = data.draw(st.sampled_from([one for one in records if one["kind"] != "chunk"]))
    field = data.draw(st.sampled_from(sorted(spoilt)))
    value = data.draw(junk)
    file = tmp_path / "all.jsonl"
    sound = {"type": "entity", "name": "Last", "entityType": "person", "observations": ["Sound."]}
    changed = [one | {field: value} if one is spoilt else one for one in records]
    file.write_text("\n".join(map(json.dumps, [*changed, sound])), "utf-8")
    with open_store(tmp_path / str(len(list(tmp_path.iterdir())))) as engine:
        engine.entities.import_memory(file)
        told = {text for _, text, _ in stated(engine)["observations"]}  # type: ignore[attr-defined]
        assert "Sound." in told
        assert engine.maintenance.check().problems == ()
