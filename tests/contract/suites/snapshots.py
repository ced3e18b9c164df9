"""What derived structures must be able to read."""

from __future__ import annotations

from threading import Thread

import numpy as np

from clew.stores.store import Store
from clew.testing.conformance import RIVERS, StoreSuite, chunk_ids_of, make_entry, make_vector
from clew.types import ChunkExtraction, Mention


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
