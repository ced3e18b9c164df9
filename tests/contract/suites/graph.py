"""What a store of entities and relations must do: names, relations, and what is stated by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.errors import ClewError, InputError, NotFoundError
from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, chunk_ids_of, entity_of, make_entry, make_link
from clew.text import block_of
from clew.types import (
    AliasEvidence,
    ChunkExtraction,
    ExtractedRelation,
    Mention,
    NewEntity,
    NewRelation,
)

ANNA = NewEntity(name="Anna", entity_type="person", content="A painter.")
ROME = NewEntity(name="Rome", entity_type="place")


def _make(store: Store, *entities: NewEntity) -> list[int]:
    return [entity_id for entity_id, _ in store.add_entities(entities)]


def _relate(
    store: Store,
    source: int,
    target: int,
    kind: str = "lives_in",
    *,
    weight: float = 1.0,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> int:
    ends = NewRelation(
        source_id=source,
        target_id=target,
        relation_type=kind,
        weight=weight,
        valid_from=valid_from,
        valid_until=valid_until,
    )
    return store.add_relations([ends])[0][0].id


def _tell(store: Store, name: str, *texts: str) -> None:
    """Observations as whoever writes them by hand saves them."""
    entity = entity_of(store, name)
    for text in texts:
        origin = f"memory:{entity.key}"
        about = [(name, "name")]
        store.save(make_entry(f"{origin}#{text}", text, title=name, about=about, origin=origin))


class ManualGraphSuite(StoreSuite):
    """Entities without a text, relations without a passage, observations."""

    def test_an_entity_needs_no_text_and_is_made_once(self, store: Store) -> None:
        before = store.generation()
        (anna, anna_is_new), (rome, _), (again, again_is_new) = store.add_entities(
            [ANNA, ROME, NewEntity(name="ANNA", entity_type="dog", content="Another.")]
        )
        assert (anna, anna_is_new, again_is_new) == (again, True, False)
        stored = entity_of(store, "anna")
        assert (stored.id, stored.name, stored.entity_type) == (anna, "Anna", "person")
        assert (stored.content, stored.mentions) == ("A painter.", 0)
        assert store.made_by_hand() == sorted([anna, rome])
        assert store.made_by_hand(after=anna, limit=1) == [rome]
        assert store.made_by_hand(ids=[rome, 999]) == [rome]
        assert store.generation() > before

    def test_a_name_without_letters_is_refused_and_nothing_is_made(self, store: Store) -> None:
        with pytest.raises(InputError, match=r"cannot be named '\?!'; expected a name with"):
            store.add_entities([ANNA, NewEntity(name="?!")])
        assert store.made_by_hand() == []
        assert store.aliases() == []

    def test_texts_are_tied_to_it_and_leave_it_when_they_go(self, store: Store) -> None:
        (anna,) = _make(store, ANNA)
        entry = make_entry("a", "Anna met Bob.", names={"Anna": "organisation", "Bob": "person"})
        store.save(entry)
        assert entity_of(store, "Anna").mentions == 1
        assert entity_of(store, "Anna").entity_type == "person"
        store.delete([entry.document.id])
        assert [entity_of(store, "Anna").id] == store.made_by_hand() == [anna]
        assert "bob" not in store.resolve(["bob"])

    def test_an_entity_that_a_text_names_becomes_one_made_by_hand(self, store: Store) -> None:
        link = make_link("WB", "World Bank")
        store.save(make_entry("a", "World Bank, or WB.", names=["World Bank", "WB"], links=[link]))
        bank = entity_of(store, "World Bank").id
        assert store.add_entities([NewEntity(name="WB")]) == [(bank, True)]
        assert entity_of(store, "World Bank").name == "WB"
        store.delete([d.id for d in store.documents()])
        assert [alias.key for alias in store.aliases()] == ["wb"]

    def test_making_an_entity_undoes_a_tie_by_likeness(self, store: Store) -> None:
        store.save(make_entry("a", "Jon Smith.", names=["Jon Smith"]))
        fuzzy = replace(make_link("Jon Smyth", "Jon Smith"), method="fuzzy")
        store.save(make_entry("b", "Jon Smyth.", names=["Jon Smyth"], links=[fuzzy]))
        smith, mentions_version = entity_of(store, "Jon Smith").id, store.mentions_version()
        assert entity_of(store, "Jon Smyth").id == smith
        ((made, is_new),) = store.add_entities([NewEntity(name="Jon Smyth")])
        assert is_new
        assert made != smith == entity_of(store, "Jon Smith").id
        assert store.mentions_version() > mentions_version

    def test_making_entities_undoes_ties_of_which_no_other_name_is_left(self, store: Store) -> None:
        first = make_entry("a", "Jon Smith.", names=["Jon Smith"])
        store.save(first)
        for name in ("Jon Smyth", "Jon Smythe"):
            tie = replace(make_link(name, "Jon Smith"), method="fuzzy")
            store.save(make_entry(name, f"{name}.", names=[name], links=[tie]))
        store.delete([first.document.id])
        made = _make(store, NewEntity(name="Jon Smyth"), NewEntity(name="Jon Smythe"))
        assert len(set(made)) == 2
        assert [entity_of(store, name).id for name in ("Jon Smyth", "Jon Smythe")] == made

    def test_type_and_description_can_be_changed(self, store: Store) -> None:
        (anna,) = _make(store, ANNA)
        store.update_entity(anna, content="A sculptor.")
        store.update_entity(anna, entity_type="artist")
        changed = entity_of(store, "Anna")
        assert (changed.entity_type, changed.content) == ("artist", "A sculptor.")
        with pytest.raises(NotFoundError, match="no entity with the id 999"):
            store.update_entity(999, content="x")

    def test_deleting_takes_all_that_was_written_and_nothing_that_texts_say(
        self, store: Store
    ) -> None:
        entry = make_entry(
            "a", "Anna lives in Rome.", names=["Anna", "Rome"], relations=[("Anna", "at", "Rome")]
        )
        store.save(entry)
        anna, bob = _make(store, ANNA, NewEntity(name="Bob"))
        _relate(store, anna, bob, "knows")
        _tell(store, "Anna", "Anna paints.")
        _tell(store, "Bob", "Bob sings.")
        rome = entity_of(store, "Rome").id
        assert store.delete_entities([anna, bob, rome, 999]) == 2
        assert store.made_by_hand() == []
        assert "bob" not in store.resolve(["bob"])
        assert (entity_of(store, "Anna").id, entity_of(store, "Anna").content) == (anna, "")
        assert [r.relation_type for r in store.relations([anna])] == ["at"]
        assert [d.source for d in store.documents()] == ["a"]
        store.delete([entry.document.id])
        assert store.aliases() == []

    def test_observations_follow_their_entity(self, store: Store) -> None:
        anna, bob = _make(store, ANNA, NewEntity(name="Bob"))
        _tell(store, "Anna", "First.", "Second.")
        _tell(store, "Bob", "Third.")
        _tell(store, "Anna", "First.")  # as after a change of recipe
        texts = {i: [o.text for o in told] for i, told in store.observations([anna, bob]).items()}
        assert texts == {anna: ["First.", "Second."], bob: ["Third."]}
        store.rename(anna, "Anna Morn")
        store.merge(bob, anna, "told so")
        assert [o.text for o in store.observations([anna])[anna]] == ["First.", "Second.", "Third."]
        assert store.made_by_hand() == [anna]
        store.delete([store.observations([anna])[anna][0].document_id])
        assert [o.text for o in store.observations([anna])[anna]] == ["Second.", "Third."]
        assert store.observations([999]) == {}

    def test_one_that_was_merged_into_a_found_one_stays_made_by_hand(self, store: Store) -> None:
        entry = make_entry("a", "Ann.", names=["Ann"])
        store.save(entry)
        (anna,) = _make(store, ANNA)
        ann = entity_of(store, "Ann").id
        store.merge(anna, ann, "")
        assert (store.made_by_hand(), entity_of(store, "Anna").content) == ([ann], "A painter.")
        store.delete([entry.document.id])
        assert entity_of(store, "Anna").id == ann

    def test_the_same_relation_again_is_brought_up_to_date(self, store: Store) -> None:
        anna, rome = _make(store, ANNA, ROME)
        first = _relate(store, anna, rome, weight=0.25)
        year = datetime(2020, 1, 1, tzinfo=UTC)
        assert _relate(store, anna, rome, weight=0.5, valid_from=year) == first
        assert _relate(store, anna, rome, weight=0.75) == first
        (relation,) = store.relations([anna])
        assert (relation.weight, relation.valid_from) == (0.75, year)
        assert (relation.chunk_id, relation.sentence, relation.extractor) == (None, None, "manual")
        later = _relate(store, anna, rome, valid_from=datetime(2024, 1, 1, tzinfo=UTC))
        assert later != first
        assert _relate(store, rome, anna) not in (first, later)
        assert [r.id for r in store.unstated_relations([anna])][:2] == [first, later]

    def test_what_ended_and_is_stated_again_begins_another_period(self, store: Store) -> None:
        anna, rome, oslo = _make(store, ANNA, ROME, NewEntity(name="Oslo"))
        first, second = _relate(store, anna, rome), _relate(store, anna, oslo)
        third = _relate(store, anna, rome, weight=0.5)
        assert (first, _relate(store, anna, rome, weight=0.5)) != (third, third)
        told = {r.id: r for r in store.relations([anna])}
        assert set(told) == {first, second, third}
        assert (told[first].valid_from, told[third].valid_until) == (None, None)
        for earlier, later in ((first, second), (second, third)):
            began = told[later].valid_from
            assert began is not None
            assert told[earlier].valid_until == began <= told[later].recorded_at
        assert sorted(store.relation_counts()) == [("lives_in", 2, 0)]
        # One period is taken back: the one before it goes on, the first stays as it was.
        assert store.delete_fact(third) == 1
        ends = {r.id: r.valid_until for r in store.relations([anna])}
        assert ends == {first: told[first].valid_until, second: None}

    def test_a_period_that_is_spoken_of_again_is_no_other_one(self, store: Store) -> None:
        anna, rome = _make(store, ANNA, ROME)
        years = [datetime(year, 1, 1, tzinfo=UTC) for year in (2010, 2012, 2015)]
        past = _relate(store, anna, rome, valid_from=years[0], valid_until=years[1])
        assert _relate(store, anna, rome, valid_until=years[1]) == past
        now = _relate(store, anna, rome)
        assert now != past
        assert _relate(store, anna, rome) == now
        assert _relate(store, anna, rome, valid_from=years[0]) == past
        between = _relate(store, anna, rome, valid_from=years[2])
        assert between not in (past, now)
        assert store.relation_counts() == [("lives_in", 1, 0)]

    def test_deleting_relations_leaves_what_texts_state(self, store: Store) -> None:
        relations = [("Anna", "knows", "Bob")]
        entry = make_entry("a", "Anna knows Bob.", names=["Anna", "Bob"], relations=relations)
        store.save(entry)
        anna, bob = (entity_of(store, name).id for name in ("Anna", "Bob"))
        (stated,) = store.relations([anna])
        written = _relate(store, anna, bob, "likes")
        store.delete([entry.document.id])
        assert {a.name for a in store.aliases()} == {"Anna", "Bob"}  # the relation holds them
        assert store.delete_relations([stated.id, written, 999]) == 1
        assert store.aliases() == []

    def test_an_unknown_end_is_refused_and_nothing_is_written(self, store: Store) -> None:
        (anna,) = _make(store, ANNA)
        good = NewRelation(source_id=anna, target_id=anna, relation_type="knows")
        bad = NewRelation(source_id=anna, target_id=999, relation_type="knows")
        with pytest.raises(NotFoundError, match="no entity with the id 999"):
            store.add_relations([good, bad])
        assert store.relations([anna]) == []


class ExtractionLogSuite(StoreSuite):
    """What assistants find in passages."""

    @pytest.fixture
    def chunks(self, store: Store) -> list[int]:
        store.save(make_entry("a", "Anna met the smith.", "Nobody came.", names=["Anna"]))
        return chunk_ids_of(store, "a")

    def test_passages_are_unread_until_they_are_read_or_gone(
        self, store: Store, chunks: Sequence[int]
    ) -> None:
        first, second = chunks
        assert store.unread(0, 10) == [first, second]
        assert (store.unread(first, 10), store.unread(0, 1)) == ([second], [first])
        store.record_readings({first: ChunkExtraction()})
        assert (store.unread(0, 10), store.count_unread()) == ([second], 1)
        store.save(make_entry("a", "Another text.", names=["Anna"]))
        assert store.count_unread() == 1

    def test_what_was_found_is_added_once(self, store: Store, chunks: Sequence[int]) -> None:
        mentions_version, reading = store.mentions_version(), _reading(0.75)
        smith = NewEntity(name="smith", entity_type="person", content="A smith.")
        assert store.record_readings({chunks[0]: reading}, [smith]) == 1
        once = store.mention_rows().tolist(), store.relation_rows().ids.tolist()
        assert store.record_readings({chunks[0]: reading}, [smith]) == 0
        assert (store.mention_rows().tolist(), store.relation_rows().ids.tolist()) == once
        entity = entity_of(store, "smith")
        assert (entity.entity_type, entity.content, entity.mentions) == ("person", "A smith.", 1)
        (relation,) = store.chunk_relations(chunks)
        assert (relation.to_entity_id, relation.sentence) == (entity.id, 0)
        assert (relation.extractor, relation.confidence) == ("assistant", 0.75)
        assert store.mentions_version() > mentions_version  # the chunk is an old one

    def test_what_its_passage_states_already_is_taken_over(self, store: Store) -> None:
        relations = [("Anna", "met", "smith")]
        store.save(make_entry("a", "Anna met the smith.", names=["Anna"], relations=relations))
        (chunk,) = chunk_ids_of(store, "a")
        assert store.record_readings({chunk: _reading(0.5)}) == 0
        (relation,) = store.chunk_relations([chunk])
        assert (relation.extractor, relation.confidence) == ("assistant", 0.5)
        store.retract([relation.id])
        assert store.record_readings({chunk: _reading(0.9)}) == 0
        assert store.chunk_relations([chunk]) == []

    def test_it_goes_with_its_passage(self, store: Store, chunks: Sequence[int]) -> None:
        store.record_readings({chunks[0]: _reading(0.75)})
        store.delete([d.id for d in store.documents()])
        assert (store.aliases(), store.count_unread()) == ([], 0)

    def test_a_passage_that_is_gone_is_refused(self, store: Store, chunks: Sequence[int]) -> None:
        before = store.generation()
        with pytest.raises(NotFoundError, match="1 of the passages were changed or deleted"):
            store.record_readings({chunks[0]: _reading(0.5), 999: ChunkExtraction()})
        assert (store.count_unread(), store.generation()) == (2, before)


def _reading(confidence: float) -> ChunkExtraction:
    """What there is to find in "Anna met the smith."."""
    return ChunkExtraction(
        mentions=(Mention(name="smith", entity_type="name", sentence=0, start=13, end=18),),
        relations=(
            ExtractedRelation(
                head="Anna", tail="smith", relation_type="met", sentence=0, confidence=confidence
            ),
        ),
    )


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


class GraphStoreSuite(StoreSuite):
    """`ports.GraphStore`."""

    @pytest.fixture
    def organisations(self, store: Store) -> Store:
        """WHO and its long name, apart; Geneva with both."""
        types = {"World Health Organization": "organisation", "Geneva": "place"}
        text = "The World Health Organization sits in Geneva."
        store.save(
            make_entry(
                "long",
                text,
                names=types,
                relations=[("World Health Organization", "sits_in", "Geneva")],
            )
        )
        store.save(make_entry("short", "WHO is in Geneva. WHO!", names=["WHO", "Geneva"]))
        return store

    def test_entities_are_counted_and_typed(self, organisations: Store) -> None:
        geneva, who = (entity_of(organisations, name) for name in ("Geneva", "WHO"))
        assert (geneva.name, geneva.entity_type) == ("Geneva", "place")
        assert (geneva.mentions, geneva.documents, geneva.salience_score) == (2, 2, 1.0)
        assert (who.mentions, who.documents, who.entity_type) == (2, 1, "name")
        order = [who.id, 999_999, geneva.id]
        assert [e.id for e in organisations.entities(order)] == [who.id, geneva.id]

    def test_names_are_found_exactly_then_by_beginning_then_by_part(self, store: Store) -> None:
        names = ["Old York", "York", "York Minster"]
        store.save(make_entry("a", "Old York. York. York Minster.", names=names))
        assert [e.name for e in store.find_entities("york")] == ["York", "York Minster", "Old York"]
        assert [e.name for e in store.find_entities("YORK", limit=1)] == ["York"]
        assert store.find_entities("…") == store.find_entities("%") == []

    def test_an_entity_knows_its_chunks_and_relations(self, organisations: Store) -> None:
        geneva = entity_of(organisations, "Geneva")
        everywhere = chunk_ids_of(organisations, "long") + chunk_ids_of(organisations, "short")
        assert organisations.entity_chunks(geneva.id).tolist() == sorted(everywhere)
        (relation,) = organisations.relations([geneva.id])
        head = entity_of(organisations, "World Health Organization")
        assert (relation.from_entity_id, relation.to_entity_id) == (head.id, geneva.id)
        assert (relation.relation_type, relation.weight, relation.confidence) == (
            "sits_in",
            0.5,
            0.8,
        )
        assert [relation.chunk_id] == chunk_ids_of(organisations, "long")
        assert organisations.relations([geneva.id], limit=0) == organisations.relations([]) == []

    def test_chunks_state_their_relations_in_the_order_asked(self, store: Store) -> None:
        for source, city in [("a", "Vienna"), ("b", "Paris")]:
            text, names = f"Anna left {city}. Anna likes {city}.", ["Anna", city]
            relations = [("Anna", "left", city), ("Anna", "likes", city)]
            store.save(make_entry(source, text, names=names, relations=relations[:1]))
            store.save(make_entry(source, text, names=names, relations=relations))
        (first,), (second,) = chunk_ids_of(store, "a"), chunk_ids_of(store, "b")
        found = store.chunk_relations([second, 999_999, first])
        assert [r.chunk_id for r in found] == [second] * 4 + [first] * 4
        assert [r.id for r in found[:4]] == sorted(r.id for r in found[:4])
        assert {r.from_entity_id for r in found} == {entity_of(store, "Anna").id}
        assert store.chunk_relations([]) == []

    def test_relations_come_by_id_unless_retracted(self, store: Store) -> None:
        relations = [("Anna", "left", "Vienna"), ("Anna", "likes", "Vienna")]
        text = "Anna left Vienna. Anna likes Vienna."
        store.save(make_entry("a", text, names=["Anna", "Vienna"], relations=relations))
        first, second, *_ = store.relations([entity_of(store, "Anna").id])
        assert store.relations_by_id([second.id, 999_999, first.id]) == [second, first]
        store.retract([second.id])
        assert store.relations_by_id([second.id, first.id]) == [first]
        assert store.relations_by_id([]) == []

    def test_a_link_ties_a_new_name_to_a_known_one(self, store: Store) -> None:
        store.save(make_entry("a", "The World Bank.", names=["World Bank"]))
        link = make_link("WB", "World Bank")
        store.save(make_entry("b", "The WB lends.", names=["WB"], links=[link]))
        entity = entity_of(store, "WB")
        assert entity == entity_of(store, "World Bank")
        _, alias = store.aliases(entity_id=entity.id)
        assert (alias.name, alias.method, alias.score) == ("WB", "acronym", 0.9)
        assert alias.evidence == "World Bank (WB)"

    def test_merging_can_be_undone_and_is_remembered(self, organisations: Store) -> None:
        long, short = (entity_of(organisations, n) for n in ("World Health Organization", "WHO"))
        rows = organisations.mention_rows().tolist()
        organisations.merge(short.id, long.id, "told so")
        assert organisations.entities([short.id]) == []
        assert entity_of(organisations, "WHO").id == long.id
        who = next(a for a in organisations.aliases(entity_id=long.id) if a.key == "who")
        assert (who.method, who.evidence) == ("manual", "told so")

        organisations.save(make_entry("short", "WHO again.", names=["WHO"]))
        assert entity_of(organisations, "WHO").id == long.id
        organisations.delete([d.id for d in organisations.documents(origin="short")])
        assert "who" not in organisations.resolve(["who"])
        organisations.save(make_entry("short", "WHO is in Geneva. WHO!", names=["WHO", "Geneva"]))
        assert entity_of(organisations, "WHO").id == long.id

        apart = organisations.split(long.id, ["who"])
        assert entity_of(organisations, "WHO").id == apart
        assert _counts(organisations.mention_rows().tolist()) == _counts(rows)
        link = make_link("WHO", "World Health Organization")
        organisations.save(make_entry("late", "WHO.", names=["WHO"], links=[link]))
        assert entity_of(organisations, "WHO").id == apart

    def test_a_renamed_entity_keeps_both_names_and_comes_back_under_the_new_one(
        self, store: Store
    ) -> None:
        entry = make_entry("a", "IBM.", names=["IBM"])
        store.save(entry)
        store.rename(entity_of(store, "IBM").id, "Big Blue")
        assert entity_of(store, "IBM").name == entity_of(store, "Big Blue").name == "Big Blue"
        store.delete([entry.document.id])
        assert store.aliases() == []
        store.save(entry)
        assert entity_of(store, "IBM").name == entity_of(store, "Big Blue").name == "Big Blue"

    def test_what_moves_no_mention_leaves_what_was_read_of_them(self, organisations: Store) -> None:
        version, rows = organisations.mentions_version(), organisations.mention_rows().tolist()
        geneva, who = (entity_of(organisations, name).id for name in ("Geneva", "WHO"))
        organisations.rename(geneva, "Genf")
        organisations.forget_rules(organisations.keep_apart(geneva, who))
        assert organisations.mention_rows().tolist() == rows
        assert organisations.mentions_version() == version

    @pytest.mark.parametrize(
        ("action", "error", "match"),
        [
            (lambda s, g, w: s.merge(999, g, ""), NotFoundError, "no entity with the id 999"),
            (lambda s, g, w: s.merge(g, 999, ""), NotFoundError, "no entity with the id 999"),
            (lambda s, g, w: s.merge(g, g, ""), InputError, "with itself"),
            (lambda s, g, w: s.split(999, ["who"]), NotFoundError, "no entity with the id 999"),
            (lambda s, g, w: s.split(g, ["who"]), NotFoundError, r"no alias of the keys \['who'\]"),
            (lambda s, g, w: s.split(g, ["geneva"]), InputError, "each half needs a name"),
            (lambda s, g, w: s.rename(g, "WHO"), InputError, "clew entity merge"),
            (lambda s, g, w: s.rename(g, "?!"), InputError, "expected letters or digits"),
            (lambda s, g, w: s.rename(999, "X"), NotFoundError, "no entity with the id 999"),
        ],
    )
    def test_what_cannot_be_mended_is_refused_and_changes_nothing(
        self, organisations: Store, action: object, error: type[ClewError], match: str
    ) -> None:
        before = organisations.aliases(), organisations.generation()
        geneva, who = (entity_of(organisations, name).id for name in ("Geneva", "WHO"))
        assert callable(action)
        with pytest.raises(error, match=match):
            action(organisations, geneva, who)
        assert (organisations.aliases(), organisations.generation()) == before

    def test_the_evidence_of_documents_adds_up(self, store: Store) -> None:
        expected: list[float] = []
        for source, weight in (("a", 0.5), ("b", 0.75), ("c", 0.875)):
            _state(store, source)
            expected.append(weight)
            anna = entity_of(store, "Anna").id
            assert [r.weight for r in store.relations([anna])] == [weight] * len(expected)
        store.delete([document.id for document in store.documents(origin="b")])
        assert [r.weight for r in store.relations([anna])] == [0.75, 0.75]

    def test_a_deleted_fact_stays_so_whatever_states_it(self, store: Store) -> None:
        _state(store, "a")
        _state(store, "b")
        anna = entity_of(store, "Anna").id
        assert store.delete_fact(store.relations([anna])[0].id) == 2
        assert store.delete_fact(999_999) == store.delete_fact(2**64) == 0
        _state(store, "a")
        _state(store, "c")
        assert store.relations([anna]) == []


def _state(store: Store, source: str) -> None:
    """Save a document that states one relation, the same whatever its source."""
    store.save(
        make_entry(
            source,
            f"Anna uses Rome, says {source}.",
            names=["Anna", "Rome"],
            relations=[("Anna", "uses", "Rome")],
        )
    )


def _counts(rows: Sequence[Sequence[int]]) -> Counter[int]:
    """Mentions by entity, whatever the entities' ids."""
    held: Counter[int] = Counter()
    for _, _, entity_id, count in rows:
        held[entity_id] += count
    return Counter(held.values())
