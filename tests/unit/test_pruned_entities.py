"""Entities that little speaks for are taken out, stay out, and can be restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.engine.maintenance import copy_store
from clew.errors import NotFoundError
from clew.graph.entity_confidence import Evidence
from clew.stores.copy import StoreCopy
from clew.stores.sqlite.store import open_for_copying
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

SURE = "Here Foobaria uses Barfood."
UNSURE = "There Quuxitis came again, and Foobaria."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "s", embedder=HashEmbedder()) as opened:
        opened.add(SURE, source="a", title="Harbours")
        opened.add(UNSURE, source="b", title="Ferries")
        yield opened


def unsure(engine: clew.Clew, below: float = 0.4) -> list[str]:
    return [one.name for one in engine.graph.prune(below=below, entities=True).entities]


def names(engine: clew.Clew) -> set[str]:
    return {known.name for known in engine.store.known_names()}


def test_more_evidence_is_more_sure() -> None:
    least = Evidence(documents=1, names=1, is_typed=False, relations=[])
    more = [
        least._replace(documents=2),
        least._replace(names=2),
        least._replace(is_typed=True),
        least._replace(relations=[0.5]),
    ]
    assert 0 < least.confidence < min(one.confidence for one in more) < 1
    everything = Evidence(documents=9, names=3, is_typed=True, relations=[0.9, 0.9])
    assert max(one.confidence for one in more) < everything.confidence < 1


def test_a_dry_run_names_the_unsure_with_reasons_and_changes_nothing(engine: clew.Clew) -> None:
    report = engine.graph.prune(below=0.4, entities=True)
    assert [one.name for one in report.entities] == ["Quuxitis"]
    assert report.entities[0].reason == "confidence 0.30: 1 document, no type, no relation"
    assert "Quuxitis" in names(engine)
    assert engine.graph.prune(below=0.4).entities == ()


def test_what_was_pruned_stays_out_until_it_is_restored(engine: clew.Clew) -> None:
    engine.graph.prune(below=0.4, entities=True, dry_run=False)
    assert "Quuxitis" not in names(engine)
    assert {"Foobaria", "Barfood", "Harbours"} <= names(engine)
    assert not engine.maintenance.check().problems
    engine.add(f"Now {UNSURE}", source="b")
    engine.add("Then Quuxitis uses Foobaria.", source="c")
    assert "Quuxitis" not in names(engine)
    assert engine.graph.pruned_names() == ["Quuxitis"]
    assert engine.graph.restore_names("quuxitis") == 1
    engine.add("Today Quuxitis uses Foobaria.", source="c")
    assert "Quuxitis" in names(engine)
    with pytest.raises(NotFoundError, match="not pruned"):
        engine.graph.restore_names("Quuxitis")


def test_reindexing_brings_restored_names_back_from_unchanged_texts(engine: clew.Clew) -> None:
    engine.graph.prune(below=0.4, entities=True, dry_run=False)
    engine.graph.restore_names("Quuxitis")
    assert engine.maintenance.reindex().changed == 1  # the text that has the name
    assert "Quuxitis" in names(engine)
    assert engine.maintenance.reindex().changed == 0
    assert not engine.maintenance.check().problems


def test_a_run_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it ends, the store is whole, and the work of earlier runs is not asked for again."""
    monkeypatch.setattr("clew.engine.graph.AT_A_TIME", 2)
    texts = [f"There {name}itis uses {name}oda." for name in ("Foo", "Bar", "Qux", "Zim")]
    with clew.open(tmp_path / "k", embedder=HashEmbedder()) as engine:
        for number, text in enumerate(texts):
            engine.add(text, source=str(number))
        left = engine.graph.prune(below=1.0, entities=True)
        first = (len(left.relations), len(left.entities))
        runs = 0
        while left.relations or left.entities:
            with monkeypatch.context() as patched:
                for name in ("retract", "prune_entities"):
                    kill_after_one(patched, engine, name)
                with pytest.raises(KeyboardInterrupt):
                    engine.graph.prune(below=1.0, entities=True, dry_run=False)
            before = len(left.relations) + len(left.entities)
            assert not engine.maintenance.check().problems
            left = engine.graph.prune(below=1.0, entities=True)
            assert len(left.relations) + len(left.entities) < before
            runs += 1
        assert min(first) > 2
        assert runs >= sum(first) // 2


def kill_after_one(patched: pytest.MonkeyPatch, engine: clew.Clew, name: str) -> None:
    """End a run behind the first batch that it has written."""
    write = getattr(engine.store, name)

    def once(*given: object, **more: object) -> None:
        write(*given, **more)
        raise KeyboardInterrupt

    patched.setattr(engine.store, name, once)


def test_what_was_stated_by_hand_and_what_documents_are_about_is_never_pruned(
    engine: clew.Clew,
) -> None:
    assert {"Harbours", "Ferries"}.isdisjoint(unsure(engine, 1.0))
    made = NewEntity(name="Quuxitis", entity_type="concept", content="")
    engine.entities.memory.add_entities([made])
    assert "Quuxitis" not in unsure(engine, 1.0)
    one, other = (engine.entities.get(name).id for name in ("Foobaria", "Barfood"))
    assert {"Foobaria", "Barfood"} <= set(unsure(engine, 1.0))
    engine.entities.add_relation(one, other, "serves")
    assert {"Foobaria", "Barfood"}.isdisjoint(unsure(engine, 1.0))


def test_the_tools_prune_and_restore(engine: clew.Clew) -> None:
    listed = engine.tools.call("prune_graph", {"below": 0.4, "entities": True}).content
    assert listed["total_entities"] == 1
    assert listed["entities"][0]["name"] == "Quuxitis"
    done = {"below": 0.4, "entities": True, "dry_run": False, "confirm": True}
    engine.tools.call("prune_graph", done)
    assert "Quuxitis" not in names(engine)
    restored = engine.tools.call("restore_pruned_names", {"names": ["Quuxitis"]}).content
    assert restored["restored"] == 1


def test_a_copy_remembers_what_was_pruned(engine: clew.Clew, tmp_path: Path) -> None:
    engine.graph.prune(below=0.4, entities=True, dry_run=False)
    engine.close()
    with (
        closing(StoreCopy(open_for_copying(tmp_path / "s" / "default"))) as source,
        closing(StoreCopy(open_for_copying(tmp_path / "t" / "default", make=True))) as target,
    ):
        copy_store(source, target)
    with clew.open(tmp_path / "t", embedder=HashEmbedder()) as copied:
        assert copied.graph.pruned_names() == ["Quuxitis"]
