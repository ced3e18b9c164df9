"""When relations hold, when they were known, and how a later one ends an earlier one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.stores.store import Store
from clew.testing.conformance import (
    FUNCTIONAL,
    StoreSuite,
    chunk_ids_of,
    entity_of,
    make_entry,
    make_link,
    moment_between,
)
from clew.types import AliasEvidence, Relation
from tests.contract.suites.relation_times import NOW, as_of, by_id, ended, weight


def _year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def _state(
    store: Store,
    source: str,
    head: str,
    tail: str,
    since: int | None = None,
    until: int | None = None,
    *,
    kind: str = "lives_in",
    links: Sequence[AliasEvidence] = (),
) -> None:
    """Save a document that states one relation."""
    store.save(
        make_entry(
            source,
            f"{head} is in {tail}.",
            names=[head, tail],
            relations=[(head, kind, tail)],
            valid_from=_year(since),
            valid_until=_year(until),
            links=links,
        )
    )


def _drop(store: Store, source: str) -> None:
    store.delete([document.id for document in store.documents(origin=source)])


def _ends(store: Store, *sources: str) -> list[int | None]:
    """The year in which the relation of each document ends."""
    relations = [store.chunk_relations(chunk_ids_of(store, source)) for source in sources]
    return [r.valid_until.year if r.valid_until else None for (r,) in relations]


class RelationTimesSuite(StoreSuite):
    """`ports.GraphStore`: relations in time."""

    def test_a_later_fact_ends_an_earlier_one_in_whatever_order_they_come(
        self, store: Store
    ) -> None:
        _state(store, "b", "Anna", "Rome", 2015)
        _state(store, "c", "Anna", "Oslo", 2020)
        _state(store, "a", "Anna", "Paris", 2010)
        assert _ends(store, "a", "b", "c") == [2015, 2020, None]
        _drop(store, "b")
        assert _ends(store, "a", "c") == [2020, None]
        _state(store, "c", "Anna", "Paris", 2020)
        assert _ends(store, "a", "c") == [None, None]
        _drop(store, "a")
        assert _ends(store, "c") == [None]

    def test_what_no_sentence_dates_has_its_place_by_when_it_was_said(self, store: Store) -> None:
        for source, tail, year in (("a", "Paris", 2010), ("c", "Rome", 2020), ("b", "Oslo", 2015)):
            store.save(
                make_entry(
                    source,
                    f"Anna is in {tail}.",
                    names=["Anna", tail],
                    relations=[("Anna", "lives_in", tail)],
                    created_at=_year(year),
                )
            )
        _state(store, "d", "Anna", "Bern", 2017)
        assert _ends(store, "a", "b", "c", "d") == [2015, 2017, None, 2020]
        stated = store.chunk_relations([id_ for a in "abc" for id_ in chunk_ids_of(store, a)])
        assert [one.valid_from for one in stated] == [None] * 3
        known = store.relations([entity_of(store, "Anna").id], 10, as_of=_year(2012))
        assert [one.chunk_id for one in known] == list(chunk_ids_of(store, "a"))

    def test_merging_and_splitting_by_hand_derive_ends_anew(self, store: Store) -> None:
        _state(store, "a", "Anna", "Paris", 2010)
        _state(store, "b", "Ann", "Rome", 2015)
        _state(store, "c", "Ann", "Roma", 2020)
        assert _ends(store, "a", "b", "c") == [None, 2020, None]
        store.merge(entity_of(store, "Roma").id, entity_of(store, "Rome").id, "")
        assert _ends(store, "a", "b", "c") == [None, None, None]
        store.merge(entity_of(store, "Ann").id, entity_of(store, "Anna").id, "")
        assert _ends(store, "a", "b", "c") == [2015, None, None]
        store.split(entity_of(store, "Rome").id, ["roma"])
        assert _ends(store, "a", "b", "c") == [2015, 2020, None]
        store.split(entity_of(store, "Anna").id, ["ann"])
        assert _ends(store, "a", "b", "c") == [None, 2020, None]

    def test_a_late_link_derives_ends_anew(self, store: Store) -> None:
        _state(store, "a", "Anna", "Paris", 2010)
        _state(store, "b", "A. Ray", "Rome", 2015)
        assert _ends(store, "a", "b") == [None, None]
        link = make_link("A. Ray", "Anna")
        store.save(make_entry("c", "Anna (A. Ray).", names=["Anna", "A. Ray"], links=[link]))
        assert entity_of(store, "A. Ray") == entity_of(store, "Anna")
        assert _ends(store, "a", "b") == [2015, None]

    def test_what_is_retracted_is_counted_once_and_ends_nothing(self, store: Store) -> None:
        _state(store, "a", "Anna", "Paris", 2010)
        _state(store, "b", "Anna", "Rome", 2015)
        (wrong,) = store.chunk_relations(chunk_ids_of(store, "b"))
        generation = store.generation()
        counts = [store.retract(ids) for ids in ([wrong.id, wrong.id, 999_999], [wrong.id], [])]
        assert (counts, store.generation()) == ([1, 0, 0], generation + 1)
        assert _ends(store, "a") == [None]

    def test_what_is_retracted_stays_so_while_the_document_states_it(self, store: Store) -> None:
        _state(store, "a", "Anna", "Rome", 2015)
        store.retract([r.id for r in store.chunk_relations(chunk_ids_of(store, "a"))])
        _state(store, "a", "Anna", "Rome", 2015)
        assert store.chunk_relations(chunk_ids_of(store, "a")) == []
        _state(store, "a", "Anna", "Oslo", 2015)
        _state(store, "a", "Anna", "Rome", 2015)
        assert len(store.chunk_relations(chunk_ids_of(store, "a"))) == 1

    def test_what_was_pruned_is_restored_and_nothing_retracted_by_hand(self, store: Store) -> None:
        for document, place in (("a", "Rome"), ("b", "Oslo"), ("c", "Bern")):
            _state(store, document, "Anna", place, 2015)
        rome, oslo, bern = (
            one.id for d in "abc" for one in store.chunk_relations(chunk_ids_of(store, d))
        )
        store.retract([rome])
        assert store.retract([rome, oslo], by_hand=False) == 1
        _state(store, "b", "Anna", "Oslo", 2015)
        _state(store, "d", "Anna", "Oslo", 2015)
        shown = [store.chunk_relations(chunk_ids_of(store, document)) for document in "abd"]
        assert shown == [[], [], []]
        assert store.restore_pruned() == 2
        assert store.restore_pruned() == 0
        assert store.chunk_relations(chunk_ids_of(store, "a")) == []
        assert all(store.chunk_relations(chunk_ids_of(store, document)) for document in "bd")
        assert [one.id for one in store.relations_by_id([bern])] == [bern]

    def test_a_statement_that_is_indexed_anew_was_known_since_it_came(self, store: Store) -> None:
        _state(store, "a", "Anna", "Rome", 2015)
        (before,) = store.chunk_relations(chunk_ids_of(store, "a"))
        moment = moment_between()
        _state(store, "a", "Anna", "Rome", 2015)
        (after,) = store.chunk_relations(chunk_ids_of(store, "a"), as_of=moment)
        assert after.recorded_at == before.recorded_at

    def test_as_of_agrees_with_the_definition(self, store: Store) -> None:
        chance = random.Random(9)
        facts: dict[int, Relation] = {}
        stated: dict[tuple[str, str, str], list[int]] = {}
        moments: list[datetime] = []
        for step in range(60):
            if step % 7 == 6:
                moments.append(moment_between())
                _retract_one(store, facts, chance)
            years = [None, *range(2000, 2010)]
            since, until = chance.choice(years), chance.choice([None, None, 2005, 2030])
            kind = chance.choice([*FUNCTIONAL, "visited"])
            head, tail = chance.choice(["Anna", "Bob"]), chance.choice(["Paris", "Rome", "Oslo"])
            same = stated.setdefault((head, kind, tail), [])
            taken_back = bool(same) and all(facts[id_].retracted_at for id_ in same)
            _state(store, f"{step}", head, tail, since, until, kind=kind)
            new = store.chunk_relations(chunk_ids_of(store, f"{step}"))
            assert len(new) == (0 if taken_back else 1)
            facts |= {fact.id: replace(fact, valid_until=_year(until)) for fact in new}
            same += [fact.id for fact in new]
        people = [entity_of(store, name).id for name in ("Anna", "Bob")]
        known_now = [fact for fact in facts.values() if fact.retracted_at is None]
        assert by_id(store.relations(people)) == by_id(
            replace(fact, valid_until=ended(fact, known_now)) for fact in known_now
        )
        assert {fact.id: fact.weight for fact in store.relations(people)} == pytest.approx(
            {fact.id: weight(fact, known_now) for fact in known_now}
        )
        for year in range(1999, 2012):
            held = datetime(year, 7, 1, tzinfo=UTC)
            found = store.relations(people, as_of=held)
            assert by_id(found) == as_of(facts.values(), held, NOW)
            assert store.relations(people, 3, as_of=held) == found[:3]
        some = {entity_of(store, name).id for name in ("Anna", "Paris", "Oslo")}
        for when in (None, _year(2005)):
            found = store.relations(sorted(some), as_of=when)
            within = [r for r in found if {r.from_entity_id, r.to_entity_id} <= some]
            assert store.relations(sorted(some), as_of=when, among=True) == within != found
        for moment in moments:
            assert by_id(store.relations(people, as_of=moment)) == as_of(
                facts.values(), moment, moment
            )
            chunks = [id_ for step in range(60) for id_ in chunk_ids_of(store, f"{step}")]
            found = store.chunk_relations(chunks, as_of=moment)
            assert by_id(found) == as_of(facts.values(), moment, moment)
            assert [r.id for r in found] == sorted(r.id for r in found)


def _retract_one(store: Store, facts: dict[int, Relation], chance: random.Random) -> None:
    """Retract one of the facts, and note when."""
    wrong = chance.choice(sorted(i for i, fact in facts.items() if fact.retracted_at is None))
    store.retract([wrong])
    facts[wrong] = replace(facts[wrong], retracted_at=moment_between())
