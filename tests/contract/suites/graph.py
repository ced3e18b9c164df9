"""What a store of entities and relations must do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from clew.errors import ClewError, InputError, NotFoundError
from clew.stores.store import Store
from clew.testing.conformance import StoreSuite, chunk_ids_of, entity_of, make_entry, make_link


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
