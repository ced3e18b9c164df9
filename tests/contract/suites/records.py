"""What one look at passages must show."""

from __future__ import annotations

from datetime import UTC, datetime

from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, chunk_ids_of, entity_of, make_entry, moment_between


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
