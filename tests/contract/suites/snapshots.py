"""What derived structures and questions must be able to read of a store."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from threading import Thread

import numpy as np
import pytest

from clew.ports import NearbyQuery
from clew.stores.store import Store
from clew.testing.conformance import (
    RIVERS,
    StoreSuite,
    chunk_ids_of,
    entity_of,
    make_entry,
    make_vector,
    moment_between,
)
from clew.types import ChunkExtraction, Mention


def _fill(store: Store) -> None:
    store.save(
        make_entry(
            "letters",
            "Ada met Karel in Wien in 1843. They wrote.",
            "Nothing else — but “ünïcødé”.",
            title="Letters",
            names={"Ada": "person", "Karel": "person", "Wien": "place", "1843": "date"},
            relations=[("Ada", "met", "Karel"), ("Karel", "lives_in", "Wien")],
            metadata={"author": "Mara", "tags": ["a", "b"]},
            chunk_metadata=[{"speaker": "Ada"}],
            created_at=datetime(1844, 5, 1, tzinfo=UTC),
        )
    )
    store.save(
        make_entry(
            "later",
            "Karel is in Praha.",
            names=["Karel", "Praha"],
            relations=[("Karel", "lives_in", "Praha")],
            valid_from=datetime(1850, 1, 1, tzinfo=UTC),
        )
    )


class PassageRecordsSuite(StoreSuite):
    """`ports.PassageStore.passage_records`."""

    def test_one_look_shows_what_single_looks_show(self, store: Store) -> None:
        _fill(store)
        ids = store.chunk_ids().tolist()
        found = store.passage_records(ids).passages
        assert sorted(found) == ids
        chunks = {chunk.id: chunk for chunk in store.chunks(ids)}
        sections = {s.id: s for s in store.sections([c.section_id for c in chunks.values()])}
        origins, times = store.provenance(ids), store.chunk_times(ids)
        sentences, ranges = store.sentences(ids), store.sentence_ranges(ids)
        for id_, passage in found.items():
            assert passage.chunk == chunks[id_]
            assert passage.section == sections[chunks[id_].section_id]
            assert passage.provenance == origins[id_]
            assert passage.times == tuple(times.get(id_, ()))
            assert passage.sentences == tuple(sentences[id_])
            assert passage.sentence_ranges == tuple(ranges[id_])
            assert list(passage.relations) == store.chunk_relations([id_])

    def test_names_are_those_asked_for_and_the_ends_of_relations(self, store: Store) -> None:
        _fill(store)
        wien, praha = entity_of(store, "Wien").id, entity_of(store, "Praha").id
        later = chunk_ids_of(store, "later")
        names = store.passage_records(later, [wien, 999_999]).names
        karel = entity_of(store, "Karel").id
        assert names == {wien: "Wien", praha: "Praha", karel: "Karel"}
        assert store.passage_records([], [wien]).names == {wien: "Wien"}

    def test_unknown_ids_are_left_out(self, store: Store) -> None:
        _fill(store)
        known = store.chunk_ids().tolist()[:1]
        assert list(store.passage_records([999_999, *known]).passages) == known
        nothing = store.passage_records([])
        assert (dict(nothing.passages), dict(nothing.names)) == ({}, {})

    def test_relations_are_those_of_the_moment(self, store: Store) -> None:
        _fill(store)
        ids = store.chunk_ids().tolist()
        before = moment_between()
        (met, *_) = store.chunk_relations(chunk_ids_of(store, "letters"))
        store.retract([met.id])
        for moment in (None, before, datetime(1847, 1, 1, tzinfo=UTC), moment_between()):
            found = store.passage_records(ids, as_of=moment).passages
            for id_ in ids:
                expected = store.chunk_relations([id_], as_of=moment)
                assert list(found[id_].relations) == expected
        assert met.id in [
            r.id
            for p in store.passage_records(ids, as_of=before).passages.values()
            for r in p.relations
        ]


class NeighbourhoodSourceSuite(StoreSuite):
    """`ports.NeighbourhoodSource`."""

    @pytest.fixture
    def river(self, store: Store) -> str:
        """A name in three documents of two, one and one chunks; and one that stands in between."""
        names = ["Danube", "Vienna", "Rhine"]
        store.save(make_entry("a", *RIVERS, names=names, about=[("Rivers", "work")]))
        store.save(make_entry("b", "Nothing of note.", names=names))
        store.save(make_entry("c", "The Danube, the Danube. Danube!", names=names))
        store.save(make_entry("d", "Ships.", about=[("Danube", "work")]))
        return "danube"

    def test_a_chunk_comes_with_those_beside_it_in_its_document(self, store: Store) -> None:
        store.save(make_entry("a", "One.", "Two.", "Three.", "Four."))
        store.save(make_entry("b", "Five."))
        first, second, third, fourth = chunk_ids_of(store, "a")
        found = store.nearby(NearbyQuery(chunk_ids=[second, fourth, 999], most=5, known=[third]))
        assert [row.chunk_id for row in found.passages] == [first, second, fourth]
        whole = {row.chunk_id: row for row in store.passages()}
        assert [whole[row.chunk_id] for row in found.passages] == list(found.passages)
        assert found.chunks == 5

    def test_entities_are_followed_by_id_and_by_name(self, store: Store, river: str) -> None:
        id_ = store.resolve([river])[river]
        passing = chunk_ids_of(store, "a")[:1]
        naming = [*passing, *chunk_ids_of(store, "c"), *chunk_ids_of(store, "d")]
        for query in (
            NearbyQuery(entity_ids=[id_], most=10),
            NearbyQuery(keys=[river, "nobody"], most=10),
        ):
            found = store.nearby(query)
            assert [row.chunk_id for row in found.passages] == naming
        assert found.entities == {river: id_}
        subject = store.nearby(NearbyQuery(subjects=[id_], most=10))
        assert [row.chunk_id for row in subject.passages] == chunk_ids_of(store, "d")

    def test_an_entity_of_too_many_mentions_is_not_followed(self, store: Store, river: str) -> None:
        mentions = store.mention_rows()
        id_ = store.resolve([river])[river]
        rows = int((mentions[:, 2] == id_).sum())
        assert store.nearby(NearbyQuery(entity_ids=[id_], most=rows)).passages
        found = store.nearby(NearbyQuery(entity_ids=[id_], keys=[river], most=rows - 1))
        assert not found.passages
        assert found.entities == {river: id_}

    def test_all_mentions_of_the_passages_are_there(self, store: Store, river: str) -> None:
        query = NearbyQuery(chunk_ids=store.chunk_ids().tolist(), most=0)
        assert store.nearby(query).mentions.tolist() == store.mention_rows().tolist()

    def test_entities_are_counted_over_the_whole_store(self, store: Store, river: str) -> None:
        ids = store.resolve([river, "vienna", "rivers"])
        query = NearbyQuery(counted=[ids["vienna"], ids["rivers"]], keys=[river], most=0)
        rows = store.mention_rows().tolist()
        expected = []
        for id_ in ids.values():
            times = Counter[int]()
            for chunk, sentence, entity, count in rows:
                if entity == id_:
                    times[chunk] += count if sentence >= 0 else 0
            about = {
                chunk for chunk, sentence, entity, _ in rows if (sentence, entity) == (-1, id_)
            }
            twice = sum(min(2, number) for number in times.values())
            expected.append([id_, len(times), twice, len(about)])
        found = store.nearby(query).entity_counts.tolist()
        assert sorted(found) == sorted(expected)

    def test_terms_are_counted_in_chunks(self, store: Store, river: str) -> None:
        found = store.nearby(NearbyQuery(terms=["danub", "ship", 'un"known', ""], most=0))
        assert found.term_counts == {"danub": 2, "ship": 1}

    def test_an_empty_store_has_nothing_near(self, store: Store) -> None:
        found = store.nearby(NearbyQuery(chunk_ids=[1], keys=["vienna"], terms=["river"], most=9))
        assert (found.chunks, store.last_chunk()) == (0, 0)
        assert not found.passages
        assert not found.entities
        assert found.mentions.shape == found.entity_counts.shape == (0, 4)


def _mentions_by_chunk(store: Store) -> dict[int, list[list[int]]]:
    found: dict[int, list[list[int]]] = {}
    for chunk, *mention in store.mention_rows().tolist():
        found.setdefault(chunk, []).append(mention)
    return found


class SnapshotSourceSuite(StoreSuite):
    """`ports.SnapshotSource`."""

    def test_rows_say_who_is_named_where(self, store: Store) -> None:
        names = ["Danube", "Vienna"]
        store.save(make_entry("a", *RIVERS, names=names, about=[("Rivers", "work")]))
        first, second = chunk_ids_of(store, "a")
        ids = store.resolve(["danube", "vienna", "rivers"])
        assert store.mention_rows().tolist() == sorted(
            [
                [first, -1, ids["rivers"], 1],
                [second, -1, ids["rivers"], 1],
                [first, 0, ids["danube"], 1],
                [first, 0, ids["vienna"], 1],
                [first, 1, ids["vienna"], 1],
            ]
        )

    def test_two_names_of_one_entity_in_a_sentence_are_one_row(self, store: Store) -> None:
        names = ["Vienna", "Wien", "VIENNA"]
        store.save(make_entry("a", "Vienna, VIENNA or Wien.", names=names))
        vienna, wien = store.resolve(["vienna", "wien"]).values()
        store.merge(wien, vienna, "translation")
        assert store.mention_rows().tolist() == [[*chunk_ids_of(store, "a"), 0, vienna, 3]]

    def test_chunks_whose_mentions_changed_since_are_known(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS, names=["Danube", "Vienna"]))
        store.save(make_entry("b", "Wien.", "Vienna.", names=["Wien", "Vienna"]))
        found = Mention(name="Black Sea", entity_type="place", sentence=0, start=0, end=4)
        ids, start = store.resolve(["vienna", "wien"]), store.mentions_version()
        first, every = chunk_ids_of(store, "a")[0], set[int]()
        for change in (
            lambda: store.merge(ids["wien"], ids["vienna"], "translation"),
            lambda: store.record_readings({first: ChunkExtraction(mentions=(found,))}),
            lambda: store.split(ids["vienna"], ["wien"]),
            lambda: store.prune_entities([ids["vienna"]]),
        ):
            version, before = store.mentions_version(), _mentions_by_chunk(store)
            change()
            after, moved = _mentions_by_chunk(store), store.moved_since(version)
            changed = {chunk for chunk in before | after if before.get(chunk) != after.get(chunk)}
            every |= changed
            assert changed
            assert moved is not None
            assert set(moved.tolist()) == changed
            some = store.chunk_ids()[::2]
            rows = store.mention_rows()
            assert store.mentions_of(some).tolist() == rows[np.isin(rows[:, 0], some)].tolist()
        moved = store.moved_since(start)
        assert moved is not None
        assert moved.tolist() == sorted(every)
        assert store.moved_since(-1) is None

    def test_rows_say_who_is_related_and_where_it_stands(self, store: Store) -> None:
        assert len(store.relation_rows().ids) == 0
        names = ["Danube", "Vienna", "Wien"]
        relations = [("Danube", "flows_through", "Vienna"), ("Danube", "flows_through", "Wien")]
        text = "Rivers. The Danube flows through Vienna.", "The Danube flows through Wien."
        store.save(make_entry("a", *text, names=names, relations=relations))
        danube, vienna, wien = store.resolve(["danube", "vienna", "wien"]).values()
        store.merge(wien, vienna, "translation")
        found = sorted(store.relations([danube]), key=lambda relation: relation.id)
        rows = store.relation_rows()
        columns = (rows.ids, rows.heads, rows.tails, rows.weights, rows.chunks, rows.sentences)
        first, second = chunk_ids_of(store, "a")
        assert [tuple(row) for row in zip(*(c.tolist() for c in columns), strict=True)] == [
            (found[0].id, danube, vienna, found[0].weight, first, 1),
            (found[1].id, danube, vienna, found[1].weight, second, 0),
        ]
        assert rows.weights.dtype == np.float32
        store.retract([found[0].id])
        assert store.relation_rows().ids.tolist() == [found[1].id]

    def test_entities_are_listed_by_type(self, store: Store) -> None:
        names = {"1990": "date", "Vienna": "place", "May 1991": "date"}
        store.save(make_entry("a", "Vienna in 1990. Vienna in May 1991.", names=names))
        dates = store.resolve(["1990", "may 1991"]).values()
        assert store.entities_of_type("date").tolist() == sorted(dates)
        assert store.entities_of_type("person").tolist() == []

    def test_all_is_read_from_any_id_on(self, store: Store) -> None:
        for i in range(5):
            store.save(make_entry(f"{i}", f"Vienna {i}. More.", names=["Vienna"], title="T"))
        ids = store.chunk_ids().tolist()
        assert ids == sorted(ids)
        assert len(ids) == 5
        after = ids[2]
        passages = list(store.passages(after))
        assert [p.chunk_id for p in passages] == ids[3:]
        assert (passages[0].text, passages[0].context) == ("Vienna 3. More.", "T")
        assert passages[0].sentences == ((0, 9), (10, 15))
        assert store.mention_rows(after)[:, 0].tolist() == ids[3:]
        found, vectors = store.embeddings(after)
        assert found.tolist() == ids[3:]
        assert np.array_equal(vectors[1], make_vector("Vienna 4. More."))
        first, *_ = store.aliases()
        assert store.aliases(after=first.id) == []

    def test_the_generation_grows_with_every_change_and_ids_are_not_used_again(
        self, store: Store
    ) -> None:
        seen, entry, ids = [store.generation()], make_entry("a", "Text."), list[int]()
        for _ in range(2):
            store.save(entry)
            seen.append(store.generation())
            ids += store.chunk_ids().tolist()
            store.delete([entry.document.id])
            seen.append(store.generation())
        assert seen == sorted(set(seen))
        assert ids[0] < ids[1]

    def test_reading_sees_one_state_while_another_thread_saves(self, store: Store) -> None:
        store.save(make_entry("a", "Text."))
        with store.reading():
            before = store.generation(), store.chunk_ids().tolist()
            other = Thread(target=store.save, args=(make_entry("b", "More."),))
            other.start()
            other.join(timeout=1.0)  # a store may let it wait until the reading has ended
            assert (store.generation(), store.chunk_ids().tolist()) == before
            assert [d.source for d in store.documents()] == ["a"]
        other.join()
        assert store.generation() > before[0]
        assert [d.source for d in store.documents()] == ["a", "b"]
