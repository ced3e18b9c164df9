"""What a question must be able to read of a graph that is not in memory."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.ports import NearbyQuery
from clew.stores.store import Store
from clew.testing.conformance import RIVERS, StoreSuite, chunk_ids_of, make_entry


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
