"""How a store gives names to entities: links by evidence, by hand, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence

from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, make_entry, make_link
from clew.text import block_of
from clew.types import AliasEvidence


def _add(store: Store, source: str, *names: str, links: Sequence[AliasEvidence] = ()) -> None:
    """Save a document that mentions the names."""
    store.save(make_entry(source, ", ".join(names) + ".", names=names, links=links))


def _drop(store: Store, source: str) -> None:
    assert store.delete([make_entry(source, "").document.id]) == 1


def _groups(store: Store) -> list[list[str]]:
    """Keys by entity, in order."""
    found: dict[int, list[str]] = {}
    for alias in store.aliases():
        found.setdefault(alias.entity_id, []).append(alias.key)
    return sorted(found.values())


def _entity_id(store: Store, key: str) -> int:
    return store.resolve([key])[key]


class NamesSuite(StoreSuite):
    """`ports.DocumentStore.save` and `ports.GraphStore`: which names are one entity."""

    def test_names_of_one_document_are_linked_to_each_other_in_any_order(
        self, store: Store
    ) -> None:
        links = [make_link("EU", "European Union"), make_link("The Union", "EU")]
        _add(store, "a", "The Union", "EU", "European Union", links=links)
        assert _groups(store) == [["european union", "eu", "union"]]
        (entity,) = store.find_entities("eu")
        assert entity.name == "European Union"

    def test_links_that_point_at_each_other_or_at_nothing_make_one_entity_each(
        self, store: Store
    ) -> None:
        links = [make_link(*pair) for pair in (("A", "B"), ("B", "A"), ("C", "Gone"), ("D", "D"))]
        _add(store, "a", "A", "B", "C", "D", links=links)
        assert _groups(store) == [["b", "a"], ["c"], ["d"]]
        told = [("?!", "is", "…")]
        store.save(make_entry("a", "?! and …", names=["?!", "…"], relations=told))
        assert store.aliases() == [], "names without letters are no entities"

    def test_a_late_link_moves_a_lone_name_alone(self, store: Store) -> None:
        _add(store, "a", "EU")
        _add(store, "b", "WB", "W. Bank", links=[make_link("W. Bank", "WB")])
        version = store.mentions_version()
        links = [make_link("EU", "European Union"), make_link("WB", "World Bank")]
        _add(store, "c", "European Union", "World Bank", "EU", "WB", links=links)
        # WB has a second name by then: moving it alone would tear the two apart.
        assert _groups(store) == [["eu", "european union"], ["wb", "w bank"], ["world bank"]]
        assert store.mentions_version() == version + 1

    def test_the_first_type_that_says_something_stays(self, store: Store) -> None:
        for source, entity_type in [("a", "name"), ("b", "place"), ("c", "person"), ("d", "name")]:
            store.save(make_entry(source, "Paris.", names={"Paris": entity_type}))
            expected = "name" if source == "a" else "place"
            assert [e.entity_type for e in store.find_entities("Paris")] == [expected]

    def test_an_entity_takes_another_of_its_names_when_the_one_it_shows_is_gone(
        self, store: Store
    ) -> None:
        _add(store, "a", "European Union")
        _add(store, "b", "EU", links=[make_link("EU", "European Union")])
        _drop(store, "a")
        (entity,) = store.find_entities("EU")
        assert (entity.name, entity.key) == ("EU", "eu")

    def test_merging_twice_keeps_all_names_together_even_when_all_documents_are_gone(
        self, store: Store
    ) -> None:
        for name in ("A", "B", "C"):
            _add(store, name, name)
        store.merge(_entity_id(store, "a"), _entity_id(store, "b"), "same")
        store.merge(_entity_id(store, "b"), _entity_id(store, "c"), "same")
        assert store.link_rules() == {"a": "c", "b": "c", "c": "c"}
        for name in ("A", "B", "C"):
            _drop(store, name)
        assert _groups(store) == []
        for name in ("B", "A", "C"):
            _add(store, name, name)
        assert _groups(store) == [["b", "a", "c"]]
        methods = {alias.key: alias.method for alias in store.aliases()}
        assert methods == {"b": "exact", "a": "manual", "c": "manual"}

    def test_names_follow_rules_that_were_there_before_them(self, store: Store) -> None:
        rules = {"a": "b", "b": "b", "c": "c"}
        store.add_link_rules(rules, {"b": "Bee"})
        assert (store.link_rules(), store.given_names()) == (rules, {"b": "Bee"})
        for name in ("A", "B", "C"):
            _add(store, name, name)
        assert [sorted(keys) for keys in _groups(store)] == [["a", "b"], ["c"]]
        assert store.entity_names([_entity_id(store, "a")]) == {_entity_id(store, "b"): "Bee"}

    def test_a_merge_that_is_taken_back_leaves_ids_names_and_rules(self, store: Store) -> None:
        for name in ("A", "B", "C"):
            _add(store, name, name)
        ids = [_entity_id(store, name) for name in ("a", "b", "c")]
        store.merge(ids[1], ids[2], "same")
        before = store.aliases(), store.entities([ids[0], ids[2]]), store.link_rules()
        known = store.before_merge(ids[0], ids[2])
        store.merge(ids[0], ids[2], "same")
        _add(store, "D", "D")
        store.unmerge(known)
        aliases = [alias for alias in store.aliases() if alias.key != "d"]
        assert (aliases, store.entities([ids[0], ids[2]]), store.link_rules()) == before
        _add(store, "E", "E")
        assert len({_entity_id(store, name) for name in ("a", "c", "d", "e")}) == 4

    def test_splitting_the_name_that_others_were_merged_into_leaves_them_together(
        self, store: Store
    ) -> None:
        for name in ("A", "B", "C"):
            _add(store, name, name)
        for name in ("a", "b"):
            store.merge(_entity_id(store, name), _entity_id(store, "c"), "same")
        store.split(_entity_id(store, "c"), ["c"])
        assert _groups(store) == [["a", "b"], ["c"]]
        for name in ("A", "B", "C"):
            _drop(store, name)
        for name in ("C", "B", "A"):
            _add(store, name, name)
        assert _groups(store) == [["b", "a"], ["c"]]
        assert [entity.name for entity in store.find_entities("c")] == ["C"]

    def test_a_name_given_by_hand_survives_merging_and_renaming_again(self, store: Store) -> None:
        _add(store, "a", "IBM")
        _add(store, "b", "Red Hat")
        store.rename(_entity_id(store, "ibm"), "Big Blue")
        store.rename(_entity_id(store, "ibm"), "The Blue One")
        store.merge(_entity_id(store, "ibm"), _entity_id(store, "red hat"), "bought")
        assert _groups(store) == [["ibm", "red hat", "big blue", "blue one"]]
        _drop(store, "a")
        assert _groups(store) == [["red hat", "big blue", "blue one"]]
        _drop(store, "b")
        assert _groups(store) == []

    def test_renaming_to_a_name_it_has_shows_that_one(self, store: Store) -> None:
        _add(store, "a", "European Union", "EU", links=[make_link("EU", "European Union")])
        store.rename(_entity_id(store, "eu"), "EU")
        assert [e.name for e in store.find_entities("european union")] == ["EU"]
        assert _groups(store) == [["european union", "eu"]]

    def test_relations_follow_their_names_when_these_are_merged(self, store: Store) -> None:
        relations = [("Eco", "wrote", "Baudolino")]
        names = ["Eco", "Baudolino"]
        store.save(make_entry("a", "Eco wrote Baudolino.", names=names, relations=relations))
        _add(store, "b", "Umberto Eco")
        target = _entity_id(store, "umberto eco")
        store.merge(_entity_id(store, "eco"), target, "surname")
        (relation,) = store.relations([target])
        assert relation.from_entity_id == target
        assert store.entity_chunks(target).tolist() == store.chunk_ids().tolist()

    def test_names_are_looked_up_by_their_spelling_and_by_their_words(self, store: Store) -> None:
        links = [
            AliasEvidence(
                alias="Mohamad Ali", name="Muhammad Ali", method="fuzzy", score=0.97, evidence="a"
            )
        ]
        _add(store, "a", "Muhammad Ali", "Mohamad Ali", "Quay-Cranes", "Ulm", links=links)
        store.merge(_entity_id(store, "ulm"), _entity_id(store, "quay cranes"), "same")
        block = block_of("mohammad ali")
        assert block is not None

        found = store.link_candidates(["muhammad ali", "mohammad ali", "ulm"], [block, "none"])

        assert (found.known, found.ruled) == ({"muhammad ali", "ulm"}, {"ulm", "quay cranes"})
        assert found.names == {block: [("muhammad ali", "Muhammad Ali")]}
        assert [known.name for known in store.known_terms(["quay crane", "crane"])] == [
            "Quay-Cranes"
        ]
        store.rename(_entity_id(store, "muhammad ali"), "Cassius Clay")
        assert [known.name for known in store.known_terms(["cassius clay"])] == ["Cassius Clay"]

    def test_what_is_pruned_is_gone_and_remembered(self, store: Store) -> None:
        _add(store, "a", "EU", "WB")
        _add(store, "b", "WB", "Rome", links=[make_link("Rome", "EU")])
        pruned, kept = _entity_id(store, "eu"), _entity_id(store, "wb")
        version = store.mentions_version()
        assert store.prune_entities([pruned]) == 1
        assert store.mentions_version() > version
        assert _groups(store) == [["wb"]]
        assert set(store.mention_rows()[:, 2].tolist()) == {kept}
        assert store.pruned_names() == {"eu": "EU", "rome": "Rome"}
        assert store.restore_names(["rome", "unknown"]) == 1
        assert store.pruned_names() == {"eu": "EU"}
        assert store.prune_entities([pruned]) == 0
