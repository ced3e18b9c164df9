from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from clew.stores.sqlite import SqliteStore
from clew.testing.entries import EMBEDDER, make_entry, make_link
from clew.types import AliasEvidence


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path, embedder=EMBEDDER)
    yield store
    assert store.check().problems == ()
    store.close()


def add(store: SqliteStore, source: str, *names: str, links: Sequence[AliasEvidence] = ()) -> None:
    """Save a document that mentions the names."""
    store.save(make_entry(source, ", ".join(names) + ".", names=names, links=links))


def drop(store: SqliteStore, source: str) -> None:
    assert store.delete([make_entry(source, "").document.id]) == 1


def groups(store: SqliteStore) -> list[list[str]]:
    """Keys by entity, in order."""
    found: dict[int, list[str]] = {}
    for alias in store.aliases():
        found.setdefault(alias.entity_id, []).append(alias.key)
    return sorted(found.values())


def entity_id(store: SqliteStore, key: str) -> int:
    return store.resolve([key])[key]


def test_names_of_one_document_are_linked_to_each_other_in_any_order(store: SqliteStore) -> None:
    links = [make_link("EU", "European Union"), make_link("The Union", "EU")]
    add(store, "a", "The Union", "EU", "European Union", links=links)
    assert groups(store) == [["european union", "eu", "union"]]
    (entity,) = store.find_entities("eu")
    assert entity.name == "European Union"


def test_links_that_point_at_each_other_or_at_nothing_make_one_entity_each(
    store: SqliteStore,
) -> None:
    links = [make_link("A", "B"), make_link("B", "A"), make_link("C", "Gone"), make_link("D", "D")]
    add(store, "a", "A", "B", "C", "D", links=links)
    assert groups(store) == [["b", "a"], ["c"], ["d"]]


def test_a_late_link_moves_a_lone_name_alone(store: SqliteStore) -> None:
    add(store, "a", "EU")
    add(store, "b", "WB", "W. Bank", links=[make_link("W. Bank", "WB")])
    epoch = store.epoch()
    add(
        store,
        "c",
        "European Union",
        "World Bank",
        "EU",
        "WB",
        links=[make_link("EU", "European Union"), make_link("WB", "World Bank")],
    )
    # WB has a second name by then: moving it alone would tear the two apart.
    assert groups(store) == [["eu", "european union"], ["wb", "w bank"], ["world bank"]]
    assert store.epoch() == epoch + 1


def test_the_first_type_that_says_something_stays(store: SqliteStore) -> None:
    for source, entity_type in [("a", "name"), ("b", "place"), ("c", "person"), ("d", "name")]:
        store.save(make_entry(source, "Paris.", names={"Paris": entity_type}))
        expected = "name" if source == "a" else "place"
        assert [e.entity_type for e in store.find_entities("Paris")] == [expected]


def test_an_entity_takes_another_of_its_names_when_the_one_it_shows_is_gone(
    store: SqliteStore,
) -> None:
    add(store, "a", "European Union")
    add(store, "b", "EU", links=[make_link("EU", "European Union")])
    drop(store, "a")
    (entity,) = store.find_entities("EU")
    assert (entity.name, entity.key) == ("EU", "eu")


def test_names_without_letters_are_no_entities(store: SqliteStore) -> None:
    entry = make_entry("a", "?! and …", names=["?!", "…"], relations=[("?!", "is", "…")])
    store.save(entry)
    assert store.aliases() == []


def test_merging_twice_keeps_all_names_together_even_when_all_documents_are_gone(
    store: SqliteStore,
) -> None:
    for name in ("A", "B", "C"):
        add(store, name, name)
    store.merge(entity_id(store, "a"), entity_id(store, "b"), "same")
    store.merge(entity_id(store, "b"), entity_id(store, "c"), "same")
    assert store.link_rules() == {"a": "c", "b": "c", "c": "c"}
    for name in ("A", "B", "C"):
        drop(store, name)
    assert groups(store) == []
    for name in ("B", "A", "C"):
        add(store, name, name)
    assert groups(store) == [["b", "a", "c"]]
    methods = {alias.key: alias.method for alias in store.aliases()}
    assert methods == {"b": "exact", "a": "manual", "c": "manual"}


def test_splitting_the_name_that_others_were_merged_into_leaves_them_together(
    store: SqliteStore,
) -> None:
    for name in ("A", "B", "C"):
        add(store, name, name)
    store.merge(entity_id(store, "a"), entity_id(store, "c"), "same")
    store.merge(entity_id(store, "b"), entity_id(store, "c"), "same")
    store.split(entity_id(store, "c"), ["c"])
    assert groups(store) == [["a", "b"], ["c"]]
    for name in ("A", "B", "C"):
        drop(store, name)
        add(store, name, name)
    for name in ("A", "B", "C"):
        drop(store, name)
    for name in ("C", "B", "A"):
        add(store, name, name)
    assert groups(store) == [["b", "a"], ["c"]]
    (entity,) = store.find_entities("c")
    assert entity.name == "C"


def test_a_name_given_by_hand_survives_merging_and_renaming_again(store: SqliteStore) -> None:
    add(store, "a", "IBM")
    add(store, "b", "Red Hat")
    store.rename(entity_id(store, "ibm"), "Big Blue")
    store.rename(entity_id(store, "ibm"), "The Blue One")
    store.merge(entity_id(store, "ibm"), entity_id(store, "red hat"), "bought")
    assert groups(store) == [["ibm", "red hat", "big blue", "blue one"]]
    drop(store, "a")
    assert groups(store) == [["red hat", "big blue", "blue one"]]
    drop(store, "b")
    assert groups(store) == []


def test_renaming_to_a_name_it_has_shows_that_one(store: SqliteStore) -> None:
    add(store, "a", "European Union", "EU", links=[make_link("EU", "European Union")])
    store.rename(entity_id(store, "eu"), "EU")
    assert [e.name for e in store.find_entities("european union")] == ["EU"]
    assert groups(store) == [["european union", "eu"]]


def test_relations_follow_their_names_when_these_are_merged(store: SqliteStore) -> None:
    relations = [("Eco", "wrote", "Baudolino")]
    names = ["Eco", "Baudolino"]
    store.save(make_entry("a", "Eco wrote Baudolino.", names=names, relations=relations))
    add(store, "b", "Umberto Eco")
    target = entity_id(store, "umberto eco")
    store.merge(entity_id(store, "eco"), target, "surname")
    (relation,) = store.relations([target])
    assert relation.from_entity_id == target
    assert store.entity_chunks(target).tolist() == store.chunk_ids().tolist()
