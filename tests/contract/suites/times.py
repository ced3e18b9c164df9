"""What a store must know of when chunks were said, what times they speak of, and their use."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clew.stores.store import Store
from clew.testing.conformance import (
    FUNCTIONAL,
    RIVERS,
    StoreSuite,
    chunk_ids_of,
    entity_of,
    make_entry,
    make_link,
    moment_between,
)
from clew.types import AliasEvidence, Condition, Metadata, Period, Relation


class LineageSuite(StoreSuite):
    """`ports.DocumentStore`: versions, provenance and the places of sentences."""

    def test_another_text_is_another_version(self, store: Store) -> None:
        texts = ["One.", "Two.", "One."]
        entries = [make_entry("a", text) for text in texts]
        for entry in entries:
            store.save(entry)
        (info,) = store.documents()
        digests = [entry.document.sha256 for entry in entries]
        assert (info.version, info.sha256, info.derived_from) == (3, digests[2], digests[1])
        lineage = store.lineage(info.id)
        assert [(v.version, v.sha256, v.derived_from) for v in lineage] == [
            (1, digests[0], ""),
            (2, digests[1], digests[0]),
            (3, digests[2], digests[1]),
        ]
        assert [v.replaced_at for v in lineage] == [*(v.indexed_at for v in lineage[1:]), None]
        assert [v.indexed_at for v in lineage] == sorted(v.indexed_at for v in lineage)

    @pytest.mark.parametrize(
        ("change", "version"),
        [({}, 1), ({"title": "Title"}, 1), ({"sha256": "0f"}, 2), ({"text": "Also One."}, 2)],
    )
    def test_a_version_is_a_digest_and_a_text(
        self, store: Store, change: dict[str, str], version: int
    ) -> None:
        entry = make_entry("a", "The One.")
        store.save(replace(entry, pipeline_fingerprint="old"))
        again = make_entry("a", change.get("text", "The One."))
        changed = {"text": again.document.text, "sha256": entry.document.sha256, **change}
        document = replace(again.document, **changed)  # type: ignore[arg-type]
        store.save(replace(again, document=document, pipeline_fingerprint="new"))
        (info,) = store.documents()
        assert (info.version, info.pipeline_fingerprint) == (version, "new")
        assert len(store.lineage(info.id)) == version

    def test_deleting_a_document_deletes_its_lineage(self, store: Store) -> None:
        entry = make_entry("a", "One.")
        for saved in (entry, make_entry("a", "Two."), make_entry("b", "Three.")):
            store.save(saved)
        store.delete([entry.document.id])
        assert store.lineage(entry.document.id) == []
        store.save(entry)
        (version,) = store.lineage(entry.document.id)
        assert (version.version, version.derived_from, version.replaced_at) == (1, "", None)
        assert len(store.lineage(make_entry("b").document.id)) == 1

    def test_a_text_that_was_replaced_is_as_it_was_stored(self, store: Store) -> None:
        first = make_entry(
            "a",
            "The bell of Vell.",
            "Cast in 1820.",
            title="Bells",
            names={"1820": "date"},
            metadata={"year": 1820},
            chunk_metadata=[{}, {"page": "x"}],
        )
        store.save(make_entry("b", "A mill."))
        store.save(first)
        stood = dict(store.passage_records(chunk_ids_of(store, "a")).passages)
        then = store.documents(ids=[first.document.id])[0].indexed_at
        store.save(make_entry("a", "The bell is gone."))
        (earlier,) = store.earlier_at(then)
        assert store.earlier_text(first.document.id, 1) == first.document.text
        assert earlier.vectors is not None
        assert earlier.vectors.tolist() == first.vectors.tolist()
        assert len(earlier.terms) == 2
        assert "bell" in earlier.terms[0].split()
        (now,) = [v.indexed_at for v in store.lineage(first.document.id) if not v.replaced_at]
        for passage in earlier.passages:
            chunk = replace(passage.chunk, version=0, replaced_at=None)
            assert replace(passage, chunk=chunk) == stood.pop(chunk.id)
            assert (passage.chunk.version, passage.chunk.replaced_at) == (1, now)
        assert not stood
        assert list(store.earlier_at(now)) == []
        assert (
            list(store.earlier_at(then, [Condition(name="year", operator="=", value="1821")])) == []
        )
        (page,) = store.earlier_at(then, [Condition(name="page", operator="=", value="x")])
        assert [p.chunk.ordinal for p in page.passages] == [1]
        assert page.vectors is not None
        assert page.vectors.tolist() == [first.vectors[1].tolist()]

    def test_earlier_texts_are_in_no_search(self, store: Store) -> None:
        store.save(make_entry("a", "Zinc."))
        store.save(make_entry("a", "Lead."))
        assert len(store.search_keywords(["zinc"], 9)[0]) == 0
        assert len(store.chunk_ids()) == len(store.embeddings()[0]) == 1

    def test_as_many_texts_are_kept_as_are_wished(self, store: Store) -> None:
        id_ = make_entry("a").document.id

        def kept() -> list[int]:
            return [v.version for v in store.lineage(id_) if v.is_kept]

        for number in range(1, 7):
            store.save(make_entry("a", f"Text {number}."))
        assert kept() == [3, 4, 5, 6]
        assert [store.earlier_text(id_, n) for n in (2, 3, 6)] == [None, "Text 3.", None]
        store.save(make_entry("a", "Text 6.", title="Only the title is new"))
        assert kept() == [3, 4, 5, 6]
        store.delete([id_])
        assert store.earlier_text(id_, 3) is None
        store.save(make_entry("a", "New."))
        assert kept() == [1]

    def test_dates_of_texts_say_which_stood(self, store: Store) -> None:
        """The store learned all of them later than the moments that are asked about."""
        for year in (2019, 2021, 2023):
            store.save(make_entry("a", f"Text of {year}.", created_at=datetime(year, 1, 1)))

        def stood(year: int) -> list[str]:
            return [
                p.chunk.text
                for version in store.earlier_at(datetime(year, 6, 1, tzinfo=UTC))
                for p in version.passages
            ]

        assert [stood(year) for year in (2018, 2019, 2020, 2022, 2023)] == [
            [],
            ["Text of 2019."],
            ["Text of 2019."],
            ["Text of 2021."],
            [],
        ]

    def test_a_chunk_says_where_it_comes_from(self, store: Store) -> None:
        entry = make_entry("a", *RIVERS, title="Rivers", created_at=datetime(2020, 1, 1, 12))
        chunks = (entry.split.chunks[0], replace(entry.split.chunks[1], page=7))
        entry = replace(
            entry,
            split=replace(entry.split, chunks=chunks),
            pipeline_fingerprint='{"extractor": "patterns-1"}',
        )
        store.save(make_entry("a", "Before."))
        store.save(entry)
        (info,) = store.documents()
        first, second = chunk_ids_of(store, "a")
        origin = store.provenance([second, 999_999, first])
        assert set(origin) == {first, second}
        found = origin[second]
        assert (found.document, found.title, found.source) == (info.id, "Rivers", "a")
        assert (found.version, found.sha256) == (2, entry.document.sha256)
        assert found.derived_from == info.derived_from == make_entry("a", "Before.").document.sha256
        assert (found.page, found.start, found.end) == (7, chunks[1].start, chunks[1].end)
        assert found.written_at == datetime(2020, 1, 1, 12, tzinfo=UTC)
        assert (found.indexed_at, found.extractor) == (info.indexed_at, "patterns-1")
        assert (found.author, found.confidence, origin[first].page) == ("", 1.0, None)

    @pytest.mark.parametrize(
        ("of_document", "own", "author"),
        [
            ({"author": "Ann"}, {}, "Ann"),
            ({"author": "Ann"}, {"speaker": "Bo"}, "Bo"),
            ({"authors": ["Ann", " Bo ", "", 7]}, {}, "Ann, Bo"),
            ({"by": "Bo", "Author": "Ann"}, {"creator": ""}, "Ann"),
            ({"from": "Bo", "author": None}, {"topic": "x"}, "Bo"),
            ({"author": {"name": "Ann"}}, {}, ""),
        ],
    )
    def test_the_author_is_the_chunks_own_or_else_the_documents(
        self, store: Store, of_document: Metadata, own: Metadata, author: str
    ) -> None:
        store.save(make_entry("a", "One.", metadata=of_document, chunk_metadata=[own]))
        (chunk,) = chunk_ids_of(store, "a")
        assert store.provenance([chunk])[chunk].author == author

    def test_sentences_are_found_in_the_document(self, store: Store) -> None:
        entry = make_entry("a", "Intro.", *RIVERS, "")
        store.save(entry)
        chunks = chunk_ids_of(store, "a")
        ranges, texts = store.sentence_ranges([*chunks, 999_999]), store.sentences(chunks)
        assert set(ranges) == set(chunks)
        for chunk in chunks:
            found = [entry.document.text[start:end] for start, end in ranges[chunk]]
            assert found == list(texts[chunk])


NOW = datetime.max.replace(tzinfo=UTC)


def ended(fact: Relation, others: Iterable[Relation]) -> datetime | None:
    """When a fact ends; its `valid_until` is what the text states."""
    ends = [fact.valid_until] if fact.valid_until else []
    if fact.relation_type in FUNCTIONAL:
        ends += [
            other.valid_from or other.recorded_at
            for other in others
            if (other.from_entity_id, other.relation_type)
            == (fact.from_entity_id, fact.relation_type)
            and other.to_entity_id != fact.to_entity_id
            and _place(other) > _place(fact)
        ]
    return min(ends, default=None)


def _place(fact: Relation) -> tuple[bool, datetime]:
    return fact.valid_from is not None, fact.valid_from or fact.recorded_at


def weight(fact: Relation, others: Iterable[Relation]) -> float:
    """0.5 from each document that states the fact, as noisy-or; half where a later fact ends it.

    `others` are all that is known, the fact among them, each from a document of its own.
    """
    known = list(others)
    documents = sum(_fact(other) == _fact(fact) for other in known)
    return (1.0 if ended(fact, known) == fact.valid_until else 0.5) * (1 - 0.5**documents)


def _fact(relation: Relation) -> tuple[int, str, int]:
    return relation.from_entity_id, relation.relation_type, relation.to_entity_id


def as_of(facts: Iterable[Relation], held: datetime, known: datetime) -> dict[int, Relation]:
    """Those that held at one moment, by what was known at another."""
    then = [
        fact
        for fact in facts
        if fact.recorded_at <= known and (fact.retracted_at is None or fact.retracted_at > known)
    ]
    with_ends = [replace(fact, valid_until=ended(fact, then)) for fact in then]
    return by_id(
        fact
        for fact in with_ends
        if (fact.valid_from is None or fact.valid_from <= held)
        and (fact.valid_until is None or fact.valid_until > held)
    )


def by_id(relations: Iterable[Relation]) -> dict[int, Relation]:
    """Without the moment of retraction, which the store alone knows, and the weight of today."""
    found = list(relations)
    assert len({r.id for r in found}) == len(found)
    return {r.id: replace(r, retracted_at=None, weight=0.0) for r in found}


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
    said: int | None = None,
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
            created_at=_year(said),
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
            _state(store, source, "Anna", tail, said=year)
        _state(store, "d", "Anna", "Bern", 2017)
        assert _ends(store, "a", "b", "c", "d") == [2015, 2017, None, 2020]
        stated = store.chunk_relations([id_ for a in "abc" for id_ in chunk_ids_of(store, a)])
        assert [one.valid_from for one in stated] == [None] * 3
        known = store.relations([entity_of(store, "Anna").id], 10, as_of=_year(2012))
        assert [one.chunk_id for one in known] == list(chunk_ids_of(store, "a"))
        # Told later with an earlier date of its own: it ends what was said before.
        _state(store, "e", "Anna", "Kiel", 2019, said=2021)
        assert _ends(store, "a", "b", "c", "d", "e") == [2015, 2017, 2019, 2019, None]

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


_DATES = ("7 May 2023", "May 2023", "2023", "the 1990s", "1990", "2021-02-28", "31 December 1999")
_EVER = Period(start=None, end=None)


def _at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def _within(times: Mapping[int, tuple[Period, ...]], period: Period) -> list[int]:
    """Ids of the chunks of which a time overlaps the period, one by one."""
    return sorted(i for i, own in times.items() if any(time.overlaps(period) for time in own))


class TimeIndexSuite(StoreSuite):
    """`ports.TimeIndex`."""

    @pytest.fixture
    def diary(self, store: Store) -> Store:
        """40 documents of two chunks; some dated as a whole, some by chunk, all naming dates."""
        chance = random.Random(5)
        for number in range(40):
            named = chance.sample(_DATES, chance.randint(0, 2))
            texts = [f"Entry {number}. {' and '.join(named)}.", "No date here."]
            created_at = _at(1985 + number, 3, 8) if number % 2 else None
            own = [{"date": f"{2025 - number}-06-15"}] if number % 3 else []
            names = dict.fromkeys(named, "date")
            store.save(
                make_entry(
                    f"{number:02}", *texts, names=names, created_at=created_at, chunk_metadata=own
                )
            )
        return store

    def test_a_chunk_was_said_at_its_own_date_or_else_its_documents(self, store: Store) -> None:
        own = [{"date": "2023-05-08T13:56:00"}, {}]
        store.save(make_entry("a", "One.", "Two.", chunk_metadata=own, created_at=_at(2020, 2, 29)))
        store.save(make_entry("b", "Three.", metadata={"date": "2019"}))
        store.save(make_entry("c", "Four."))
        first, second = chunk_ids_of(store, "a")
        (third,), (undated,) = chunk_ids_of(store, "b"), chunk_ids_of(store, "c")
        said = {
            first: datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
            second: _at(2020, 2, 29),
            third: _at(2019),
        }
        assert store.published_at([third, undated, 999_999, first, second]) == said
        (period,) = store.chunk_times([first])[first]
        moment = said[first]
        assert period == Period(start=moment, end=moment + timedelta(seconds=1), text="2023-05-08")

    def test_a_date_is_the_period_that_it_states_and_no_day_of_it(self, store: Store) -> None:
        dates = {"year": "2019", "month": "2019-03", "day": "2019-03-02", "other": "2019-05-06"}
        for name, date in dates.items():
            store.save(make_entry(name, "Text.", metadata={"date": date}))
        said = {info.source: (info.date_precision, info.date_source) for info in store.documents()}
        precisions = {"year": "year", "month": "month", "day": "day", "other": "day"}
        assert said == {name: (unit, "metadata") for name, unit in precisions.items()}
        march = Period(start=_at(2019, 3), end=_at(2019, 4))
        within = [i for name in ("year", "month", "day") for i in chunk_ids_of(store, name)]
        assert store.chunks_within(march).tolist() == sorted(within)
        (origin,) = store.provenance(chunk_ids_of(store, "month")).values()
        assert (origin.date, origin.written_at) == ("2019-03", _at(2019, 3))

    def test_what_says_a_date_is_kept(self, store: Store) -> None:
        entry = make_entry("a", "One.", created_at=_at(2019))
        document = replace(entry.document, date_source="title", date_precision="month")
        store.save(replace(entry, document=document))
        (info,) = store.documents()
        assert (info.date, info.date_source) == (document.date, "title")
        (origin,) = store.provenance(chunk_ids_of(store, "a")).values()
        assert (origin.date, origin.date_source) == ("2019-01", "title")

    def test_a_chunk_speaks_of_the_dates_that_it_names(self, store: Store) -> None:
        names = {"the 1990s": "date", "7 May 2023": "date", "1984": "work", "Easter": "date"}
        text = "On 7 May 2023 of the 1990s. She read 1984. Easter."
        store.save(make_entry("a", text, names=names, created_at=_at(2024)))
        (chunk,) = chunk_ids_of(store, "a")
        said, *spoken_of = store.chunk_times([chunk])[chunk]
        assert said.start == _at(2024)
        assert spoken_of == [
            Period(start=_at(1990), end=_at(2000), text="the 1990s"),
            Period(start=_at(2023, 5, 7), end=_at(2023, 5, 8), text="7 May 2023"),
        ]

    @pytest.mark.parametrize(
        ("text", "speaks_of_all_year"),
        [
            ("On 7 May 2023.", False),
            ("On 7 May 2023 and on 8 May 2023.", False),
            ("On 7 May 2023, of all 2023.", True),
            ("In 2023, on 7 May 2023.", True),
            ("On 7 May 2023. It was 2023.", True),
        ],
    )
    def test_the_year_of_a_day_is_no_time_of_its_own(
        self, store: Store, text: str, speaks_of_all_year: bool
    ) -> None:
        names = dict.fromkeys(["7 May 2023", "8 May 2023", "2023"], "date")
        store.save(make_entry("a", text, names=names))
        autumn = Period(start=_at(2023, 9), end=_at(2023, 12))
        assert (len(store.chunks_within(autumn)) == 1) is speaks_of_all_year
        assert len(store.chunks_within(Period(start=_at(2023, 5, 7), end=_at(2023, 5, 8)))) == 1

    def test_chunks_within_agrees_with_a_scan_of_all_times(self, diary: Store) -> None:
        times = diary.chunk_times(diary.chunk_ids().tolist())
        edges = [time for own in times.values() for p in own for time in (p.start, p.end)]
        edges += [None, None, None, _at(1), datetime(2023, 5, 7, 12, 0, 0, 1, tzinfo=UTC)]
        chance = random.Random(3)
        for _ in range(200):
            period = Period(start=chance.choice(edges), end=chance.choice(edges))
            assert diary.chunks_within(period).tolist() == _within(times, period), period
        assert diary.chunks_within(_EVER).tolist() == sorted(times)
        assert 0 < len(times) < len(diary.chunk_ids())

    def test_what_is_replaced_or_deleted_has_no_time(self, diary: Store) -> None:
        old = chunk_ids_of(diary, "07")
        period = Period(start=_at(1992, 3, 8), end=_at(1992, 3, 9))
        assert set(old) & set(diary.chunks_within(period).tolist())
        diary.save(make_entry("07", "Nothing."))
        assert diary.chunk_times([*old, *chunk_ids_of(diary, "07")]) == {}
        assert not set(old) & set(diary.chunks_within(period).tolist())
        diary.delete([document.id for document in diary.documents()])
        assert diary.chunks_within(_EVER).tolist() == []
        assert (diary.newest_date(_at(2100)), diary.first_recorded()) == (None, None)

    def test_a_store_is_dated_by_its_texts_and_not_by_what_they_speak_of(
        self, store: Store
    ) -> None:
        store.save(make_entry("a", "In 1990.", names={"1990": "date"}))
        assert store.newest_date(_at(2100)) is None
        store.save(make_entry("b", "Today.", created_at=_at(1990)))
        assert store.newest_date(_at(1990)) == _at(1990)

    def test_what_was_said_later_is_left_out_as_of_a_time(self, diary: Store) -> None:
        every = diary.chunk_ids().tolist()
        said = diary.published_at(every)
        for moment in (_at(1984), _at(1990, 6, 15), _at(2010), _at(2024)):
            until = [date for date in said.values() if date <= moment]
            assert diary.newest_date(moment) == max(until, default=None)
            expected = [i for i in every if i not in said or said[i] <= moment]
            assert diary.chunks_as_of(moment).tolist() == expected

    def test_as_of_a_time_of_the_store_leaves_out_what_it_learned_later(self, store: Store) -> None:
        store.save(make_entry("a", "One.", created_at=_at(2020)))
        moment = moment_between()
        store.save(make_entry("b", "Two.", created_at=_at(2020)))
        store.save(make_entry("c", "Three.", created_at=moment + timedelta(days=9)))
        assert store.chunks_as_of(moment).tolist() == chunk_ids_of(store, "a")
        later = moment + timedelta(days=10)
        assert store.chunks_as_of(later).tolist() == store.chunk_ids().tolist()

    def test_a_text_that_is_indexed_anew_was_known_since_it_came(self, store: Store) -> None:
        store.save(make_entry("a", "One."))
        moment = moment_between()
        first = store.first_recorded()
        assert first is not None
        assert first <= moment
        store.save(make_entry("a", "One.", names=["One"]))
        assert store.chunks_as_of(moment).tolist() == chunk_ids_of(store, "a")
        store.save(make_entry("a", "Another."))
        assert store.chunks_as_of(moment).tolist() == []
        assert store.first_recorded() == first

    def test_an_empty_store_has_no_times(self, store: Store) -> None:
        assert store.chunks_within(_EVER).tolist() == []
        assert store.chunks_as_of(_at(2020)).tolist() == []
        assert store.chunk_times([1]) == store.published_at([1]) == {}
        assert (store.newest_date(_at(2100)), store.first_recorded()) == (None, None)


class UsageLogSuite(StoreSuite):
    """`ports.UsageLog`."""

    def test_each_use_counts_once_and_the_last_is_known(self, store: Store) -> None:
        store.save(make_entry("a", "One.", "Two.", "Three."))
        first, second, unused = chunk_ids_of(store, "a")
        generation = store.generation()
        store.record_use([first, second, first, 999_999], _at(2020))
        store.record_use([first], _at(2022))
        store.record_use([first], _at(2021))
        used = {first: (3, _at(2022)), second: (1, _at(2020))}
        assert store.usage([first, second, unused, 999_999]) == used
        assert store.usage([second]) == {second: used[second]}
        assert store.usage([]) == {}
        assert store.generation() == generation
        store.delete([document.id for document in store.documents()])
        store.record_use([first], _at(2020))
        assert store.usage([first, second]) == {}, "what is deleted was not used"
