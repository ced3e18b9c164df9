"""What a `ManualGraph` and a `ExtractionLog` promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.errors import InputError, NotFoundError
from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, chunk_ids_of, entity_of, make_entry, make_link
from clew.types import ChunkExtraction, ExtractedRelation, Mention, NewEntity, NewRelation

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
