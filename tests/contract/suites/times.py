"""What a store must know of when chunks were said, what times they speak of, and their use."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, chunk_ids_of, make_entry, moment_between
from clew.types import Period

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
