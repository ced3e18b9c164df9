"""What every back end must do, as test classes: derive from each, and give it your store.

    class TestMyDocuments(DocumentStoreSuite):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path, embedder=EMBEDDER)

Each test says one thing that `clew.ports` promises, checked against plain Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import ClewError, InputError, NotFoundError, StoreError
from clew.ports import Store, VectorIndex
from clew.testing.entries import make_entry, make_link, make_vector
from clew.text import entity_key, terms
from clew.types import Condition, Entity

if TYPE_CHECKING:
    from clew.types import Vector

_RIVERS = ("The Danube passes Vienna. Vienna likes it.", "The Rhine passes Basel.")


class _StoreSuite:
    @pytest.fixture
    def store(self) -> Store:
        """An empty store, opened with `clew.testing.entries.EMBEDDER`; to be overridden."""
        raise NotImplementedError


def _ids(store: Store, source: str) -> list[int]:
    found = [document.id for document in store.documents() if document.source == source]
    return [chunk.id for chunk in store.document_chunks(found[0])] if found else []


def _entity(store: Store, name: str) -> Entity:
    (entity,) = store.entities([store.resolve([entity_key(name)])[entity_key(name)]])
    return entity


class DocumentStoreSuite(_StoreSuite):
    """`ports.DocumentStore`."""

    def test_what_is_saved_comes_back_equal(self, store: Store) -> None:
        entry = make_entry("a", *_RIVERS, title="Rivers", metadata={"year": 2020}, origin="o")
        store.save(entry)
        (info,) = store.documents()
        assert (info.id, info.source, info.origin, info.title) == (
            entry.document.id,
            "a",
            "o",
            "Rivers",
        )
        assert (info.characters, info.sections, info.chunks) == (len(entry.document.text), 2, 2)
        assert info.metadata == {"year": 2020}
        assert info.sha256 == entry.document.sha256
        stored = store.document_chunks(info.id)
        assert [(c.text, c.context, c.start, c.end) for c in stored] == [
            (c.text, c.context, c.start, c.end) for c in entry.split.chunks
        ]
        assert "".join(s.text for s in store.document_sections(info.id)) == entry.document.text

    def test_ids_are_answered_in_the_order_asked_and_unknown_ones_left_out(
        self, store: Store
    ) -> None:
        store.save(make_entry("a", *_RIVERS))
        first, second = _ids(store, "a")
        assert [c.id for c in store.chunks([second, 999_999, first])] == [second, first]
        sections = [c.section_id for c in store.chunks([second, first])]
        assert [s.id for s in store.sections([sections[0], 999_999, sections[1]])] == sections

    def test_saving_again_replaces_the_former_version(self, store: Store) -> None:
        store.save(make_entry("a", *_RIVERS, names=["Danube", "Vienna"]))
        old = _ids(store, "a")
        store.save(make_entry("a", "The Seine passes Paris.", names=["Paris"]))
        assert [d.source for d in store.documents()] == ["a"]
        assert store.chunks(old) == []
        assert set(old).isdisjoint(_ids(store, "a"))
        assert set(store.resolve(["danube", "vienna", "paris"])) == {"paris"}

    def test_deleting_leaves_nothing_without_a_source(self, store: Store) -> None:
        relations = [("Danube", "passes", "Vienna")]
        names = ["Danube", "Vienna"]
        store.save(make_entry("a", *_RIVERS, names=names, relations=relations))
        store.save(make_entry("b", "Vienna is a city.", names=["Vienna"]))
        ids = {d.source: d.id for d in store.documents()}
        assert store.delete([ids["a"], "unknown"]) == 1
        assert set(store.resolve(["danube", "vienna"])) == {"vienna"}
        assert store.relations([_entity(store, "Vienna").id]) == []
        assert store.search_keywords(terms("Danube"), 10)[0].tolist() == []
        assert store.chunk_ids().tolist() == _ids(store, "b")
        assert store.delete([ids["b"]]) == 1
        assert store.aliases() == []
        assert len(store.mention_rows()) == len(store.embeddings()[0]) == 0

    def test_documents_are_asked_by_id_origin_and_metadata_and_ordered_by_source(
        self, store: Store
    ) -> None:
        for source, origin, year in [("b", "x", 1), ("a", "x", 2), ("c", "y", 3)]:
            store.save(make_entry(source, "Text.", origin=origin, metadata={"year": year}))
        ids = {d.source: d.id for d in store.documents()}
        assert list(ids) == ["a", "b", "c"]
        assert [d.source for d in store.documents(ids=[ids["c"], ids["b"]])] == ["b", "c"]
        assert [d.source for d in store.documents(origin="x")] == ["a", "b"]
        where = [Condition(name="year", operator=">", value="1")]
        assert [d.source for d in store.documents(origin="x", where=where)] == ["a"]

    @pytest.mark.parametrize(
        ("name", "operator", "value", "expected"),
        [
            ("year", "=", "2020", {"a"}),
            ("year", "!=", "2020", {"b"}),
            ("year", ">=", "20", {"a", "b"}),
            ("year", "<", "2020.5", {"a", "b"}),
            ("year", "<", "2019", {"b"}),
            ("day", ">", "2024-01-31T12:00:00+01:00", {"a"}),
            ("day", "<=", "2024-02-01", {"a"}),
            ("author", "=", "Ann", {"a", "b"}),
            ("author", "=", "Bo", {"a"}),
            ("author", "=", "Ann, Bo", set()),
            ("draft", "=", "true", {"b"}),
            ("nothing", "!=", "x", set()),
            ("null", "!=", "x", set()),
            ("title", "=", "First", {"a"}),
            ("source", "!=", "a", {"b"}),
            ("with \"quotes' and ]", "=", "yes", {"a"}),
            ("year' OR 1=1 --", "=", "2020", set()),
        ],
    )
    def test_conditions(
        self, store: Store, name: str, operator: str, value: str, expected: set[str]
    ) -> None:
        first = {"year": 2020, "day": "2024-02-01", "author": ["Ann", "Bo"], "null": None}
        first["with \"quotes' and ]"] = "yes"
        second = {"year": "99", "author": "Ann", "draft": True}
        store.save(make_entry("a", "One.", title="First", metadata=first))
        store.save(make_entry("b", "Two.", metadata=second))
        where = [Condition(name=name, operator=operator, value=value)]  # type: ignore[arg-type]
        found = store.matching_chunks(where)
        assert {c.source for c in store.chunks(found.tolist())} == expected
        assert found.tolist() == sorted(found.tolist())
        assert {d.source for d in store.documents(where=where)} == expected

    def test_a_chunks_own_metadata_goes_before_its_documents(self, store: Store) -> None:
        own = [{"speaker": "Bo"}, {}]
        store.save(make_entry("a", "One.", "Two.", metadata={"speaker": "Ann"}, chunk_metadata=own))
        first, second = _ids(store, "a")
        bo = Condition(name="speaker", operator="=", value="Bo")
        ann = Condition(name="speaker", operator="=", value="Ann")
        assert store.matching_chunks([bo]).tolist() == [first]
        assert store.matching_chunks([ann]).tolist() == [second]
        assert store.matching_chunks([ann, bo]).tolist() == []
        assert store.matching_chunks([]).tolist() == [first, second]
        assert [c.metadata["speaker"] for c in store.chunks([first, second])] == ["Bo", "Ann"]

    def test_an_empty_store_answers_with_nothing(self, store: Store) -> None:
        assert store.documents() == []
        assert store.chunks([1]) == store.sections([1]) == []
        assert store.document_chunks("x") == store.document_sections("x") == []
        assert store.matching_chunks([]).tolist() == []
        assert store.delete(["x"]) == 0

    def test_a_document_without_chunks_is_kept(self, store: Store) -> None:
        store.save(make_entry("a", about=[("Alpha", "work")]))
        (info,) = store.documents()
        assert (info.chunks, store.aliases()) == (0, [])

    def test_a_failed_save_changes_nothing(self, store: Store) -> None:
        store.save(make_entry("a", "One.", metadata={"n": 1}))
        before = store.generation()
        with pytest.raises(InputError, match="metadata of 'a' is no JSON"):
            store.save(make_entry("a", "Two.", metadata={"n": object()}))
        assert [c.text for c in store.chunks(_ids(store, "a"))] == ["One."]
        assert store.generation() == before


class KeywordIndexSuite(_StoreSuite):
    """`ports.KeywordIndex`."""

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("Река Волга впадает в Каспийское море.", "волги"),
            ("Η Αθήνα είναι πρωτεύουσα.", "ΑΘΗΝΑ"),
            ("القاهرة عاصمة مصر.", "القاهرة"),
            ("北京是中国的首都。", "首都"),
            ("東京タワーは港区にある。", "タワー"),
            ("서울은 한국의 수도이다.", "서울은"),
            ("मुंबई भारत में है।", "भारत"),
            ("กรุงเทพเป็นเมืองหลวง", "เมืองหลวง"),
            ("Im Jahr 1683 in Łódź.", "1683 łódź"),
            ("def parse_file_name(x): ...", "parse_file_name"),
        ],
    )
    def test_every_script_is_found(self, store: Store, text: str, question: str) -> None:
        store.save(make_entry("other", "Nothing of the kind."))
        store.save(make_entry("a", text))
        assert store.search_keywords(terms(question), 10)[0].tolist() == _ids(store, "a")

    def test_only_holders_of_a_term_are_found_and_context_counts(self, store: Store) -> None:
        store.save(make_entry("a", "A quiet town.", title="Basel"))
        store.save(make_entry("b", "Nothing."))
        ids, scores = store.search_keywords(terms("Basel quiet unheard"), 10)
        assert ids.tolist() == _ids(store, "a")
        assert scores[0] > 0

    def test_rare_terms_weigh_more_and_repeated_ones_too(self, store: Store) -> None:
        for i in range(6):
            store.save(make_entry(f"common {i}", "alpha beta gamma"))
        store.save(make_entry("rare", "alpha beta delta"))
        store.save(make_entry("twice", "alpha delta delta"))
        ids, scores = store.search_keywords(terms("alpha delta"), 3)
        assert ids.tolist()[:2] == _ids(store, "twice") + _ids(store, "rare")
        assert (np.diff(scores) <= 0).all()
        assert len(ids) == 3

    def test_ties_go_to_the_smaller_id_and_repeats_of_a_question_change_nothing(
        self, store: Store
    ) -> None:
        for i in range(5):
            store.save(make_entry(f"{i}", "twin words"))
        ids, _ = store.search_keywords(["twin"], 3)
        assert ids.tolist() == store.chunk_ids().tolist()[:3]
        once, twice = (store.search_keywords(["twin"] * n, 5)[1].tolist() for n in (1, 2))
        assert once == twice

    def test_allowed_restricts_the_search_itself(self, store: Store) -> None:
        for i in range(5):
            store.save(make_entry(f"{i}", "word " * (6 - i)))
        last = store.chunk_ids()[-1:]
        assert store.search_keywords(["word"], 1, last)[0].tolist() == last.tolist()
        assert store.search_keywords(["word"], 1, last[:0])[0].tolist() == []

    @pytest.mark.parametrize("words", [[], ['"', 'a" OR b'], ["AND", "NOT *"]])
    def test_no_terms_and_odd_ones_find_nothing(self, store: Store, words: list[str]) -> None:
        store.save(make_entry("a", "Some text."))
        ids, scores = store.search_keywords(words, 10)
        assert (ids.tolist(), scores.tolist()) == ([], [])
        assert (ids.dtype, scores.dtype) == (np.int64, np.float32)


class VectorIndexSuite(_StoreSuite):
    """`ports.VectorIndex`, over a store."""

    @pytest.fixture
    def index(self, store: Store) -> VectorIndex:
        """An index over `store`; to be overridden."""
        raise NotImplementedError

    @staticmethod
    def fill(store: Store, count: int) -> dict[int, Vector]:
        """Save documents of one chunk; embeddings by chunk id."""
        for i in range(count):
            store.save(make_entry(f"{i:03}", f"text {i}"))
        ids, vectors = store.embeddings()
        return dict(zip(ids.tolist(), vectors, strict=True))

    @staticmethod
    def brute_force(held: dict[int, Vector], query: Vector, limit: int) -> list[int]:
        """Ids by cosine, computed one by one in float64."""
        cosine = {i: float(np.dot(v.astype(float), query.astype(float))) for i, v in held.items()}
        return sorted(cosine, key=lambda i: (-cosine[i], i))[:limit]

    def test_agrees_with_a_scan_of_200_vectors(self, store: Store, index: VectorIndex) -> None:
        held = self.fill(store, 200)
        for text in ("one", "two", "three"):
            query = make_vector(text)
            ids, scores = index.search_vector(query, 20)
            assert ids.tolist() == self.brute_force(held, query, 20)
            assert scores == pytest.approx([held[i] @ query for i in ids.tolist()], abs=1e-6)
            assert scores.dtype == np.float32

    def test_sees_what_is_saved_and_deleted_later(self, store: Store, index: VectorIndex) -> None:
        self.fill(store, 20)
        query = make_vector("text 3")
        assert index.search_vector(query, 1)[0].tolist() == _ids(store, "003")
        store.delete([d.id for d in store.documents() if d.source == "003"])
        store.save(make_entry("new", "something new"))
        held = dict(zip(*(a.tolist() for a in store.embeddings()), strict=True))
        found, _ = index.search_vector(query, 50)
        arrays = {i: np.array(v, np.float32) for i, v in held.items()}
        assert found.tolist() == self.brute_force(arrays, query, 50)

    def test_saving_the_same_again_finds_the_same(self, store: Store, index: VectorIndex) -> None:
        self.fill(store, 10)
        before = index.search_vector(make_vector("q"), 10)[1].tolist()
        self.fill(store, 10)
        assert index.search_vector(make_vector("q"), 20)[1].tolist() == before

    def test_ties_go_to_the_smaller_id(self, store: Store, index: VectorIndex) -> None:
        for i in range(7):
            store.save(make_entry(f"{i}", "one and the same"))
        ids, _ = index.search_vector(make_vector("q"), 4)
        assert ids.tolist() == store.chunk_ids().tolist()[:4]

    def test_allowed_restricts_the_search_itself(self, store: Store, index: VectorIndex) -> None:
        held = self.fill(store, 50)
        query = make_vector("q")
        allowed = np.array(sorted(held)[::7], dtype=np.int64)
        expected = self.brute_force({i: held[i] for i in allowed.tolist()}, query, 5)
        assert index.search_vector(query, 5, allowed)[0].tolist() == expected
        assert index.search_vector(query, 5, allowed[:0])[0].tolist() == []

    def test_an_empty_store_answers_with_nothing(self, store: Store, index: VectorIndex) -> None:
        ids, scores = index.search_vector(make_vector("q"), 5)
        assert (ids.tolist(), scores.tolist()) == ([], [])
        assert (ids.dtype, scores.dtype) == (np.int64, np.float32)

    def test_vectors_come_in_the_order_asked(self, store: Store, index: VectorIndex) -> None:
        held = self.fill(store, 10)
        wanted = sorted(held, reverse=True)[:4]
        assert np.array_equal(index.vectors(wanted), np.array([held[i] for i in wanted]))
        with pytest.raises(StoreError, match="no embedding of the chunks"):
            index.vectors([wanted[0], 999_999])


class GraphStoreSuite(_StoreSuite):
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
        geneva, who = (_entity(organisations, name) for name in ("Geneva", "WHO"))
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
        geneva = _entity(organisations, "Geneva")
        everywhere = _ids(organisations, "long") + _ids(organisations, "short")
        assert organisations.entity_chunks(geneva.id).tolist() == sorted(everywhere)
        (relation,) = organisations.relations([geneva.id])
        head = _entity(organisations, "World Health Organization")
        assert (relation.from_entity_id, relation.to_entity_id) == (head.id, geneva.id)
        assert (relation.relation_type, relation.weight, relation.confidence) == (
            "sits_in",
            0.5,
            0.8,
        )
        assert [relation.chunk_id] == _ids(organisations, "long")
        assert organisations.relations([geneva.id], limit=0) == organisations.relations([]) == []

    def test_a_link_ties_a_new_name_to_a_known_one(self, store: Store) -> None:
        store.save(make_entry("a", "The World Bank.", names=["World Bank"]))
        link = make_link("WB", "World Bank")
        store.save(make_entry("b", "The WB lends.", names=["WB"], links=[link]))
        entity = _entity(store, "WB")
        assert entity == _entity(store, "World Bank")
        _, alias = store.aliases(entity_id=entity.id)
        assert (alias.name, alias.method, alias.score) == ("WB", "acronym", 0.9)
        assert alias.evidence == "World Bank (WB)"

    def test_a_late_link_moves_a_name_that_stood_alone(self, organisations: Store) -> None:
        epoch = organisations.epoch()
        entry = make_entry(
            "both",
            "World Health Organization (WHO).",
            names=["World Health Organization", "WHO"],
            links=[make_link("WHO", "World Health Organization")],
        )
        organisations.save(entry)
        assert _entity(organisations, "WHO") == _entity(organisations, "World Health Organization")
        assert organisations.epoch() > epoch

    def test_merging_can_be_undone_and_is_remembered(self, organisations: Store) -> None:
        long, short = (_entity(organisations, n) for n in ("World Health Organization", "WHO"))
        rows = organisations.mention_rows().tolist()
        organisations.merge(short.id, long.id, "told so")
        assert organisations.entities([short.id]) == []
        assert _entity(organisations, "WHO").id == long.id
        who = next(a for a in organisations.aliases(entity_id=long.id) if a.key == "who")
        assert (who.method, who.evidence) == ("manual", "told so")

        organisations.save(make_entry("short", "WHO again.", names=["WHO"]))
        assert _entity(organisations, "WHO").id == long.id
        organisations.delete([d.id for d in organisations.documents(origin="short")])
        assert "who" not in organisations.resolve(["who"])
        organisations.save(make_entry("short", "WHO is in Geneva. WHO!", names=["WHO", "Geneva"]))
        assert _entity(organisations, "WHO").id == long.id

        apart = organisations.split(long.id, ["who"])
        assert _entity(organisations, "WHO").id == apart
        assert _counts(organisations.mention_rows().tolist()) == _counts(rows)
        link = make_link("WHO", "World Health Organization")
        organisations.save(make_entry("late", "WHO.", names=["WHO"], links=[link]))
        assert _entity(organisations, "WHO").id == apart

    def test_a_renamed_entity_keeps_both_names_and_comes_back_under_the_new_one(
        self, store: Store
    ) -> None:
        entry = make_entry("a", "IBM.", names=["IBM"])
        store.save(entry)
        store.rename(_entity(store, "IBM").id, "Big Blue")
        assert _entity(store, "IBM").name == _entity(store, "Big Blue").name == "Big Blue"
        store.delete([entry.document.id])
        assert store.aliases() == []
        store.save(entry)
        assert _entity(store, "IBM").name == _entity(store, "Big Blue").name == "Big Blue"

    def test_mending_by_hand_moves_the_epoch(self, organisations: Store) -> None:
        seen = [organisations.epoch()]
        geneva, who = (_entity(organisations, name).id for name in ("Geneva", "WHO"))
        organisations.merge(who, geneva, "")
        seen.append(organisations.epoch())
        organisations.split(geneva, ["who"])
        seen.append(organisations.epoch())
        assert seen == sorted(set(seen))

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
        geneva, who = (_entity(organisations, name).id for name in ("Geneva", "WHO"))
        assert callable(action)
        with pytest.raises(error, match=match):
            action(organisations, geneva, who)
        assert (organisations.aliases(), organisations.generation()) == before


class SnapshotSourceSuite(_StoreSuite):
    """`ports.SnapshotSource`."""

    def test_rows_say_who_is_named_where(self, store: Store) -> None:
        names = ["Danube", "Vienna"]
        store.save(make_entry("a", *_RIVERS, names=names, about=[("Rivers", "work")]))
        first, second = _ids(store, "a")
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
        assert store.mention_rows().tolist() == [[*_ids(store, "a"), 0, vienna, 3]]

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
        seen = [store.generation()]
        entry = make_entry("a", "Text.")
        store.save(entry)
        seen.append(store.generation())
        (first,) = store.chunk_ids().tolist()
        store.delete([entry.document.id])
        seen.append(store.generation())
        store.save(entry)
        seen.append(store.generation())
        assert seen == sorted(set(seen))
        assert store.chunk_ids().tolist() > [first]

    def test_an_empty_store_has_no_rows(self, store: Store) -> None:
        assert store.mention_rows().shape == (0, 4)
        assert list(store.passages()) == store.aliases() == []
        ids, vectors = store.embeddings()
        assert len(ids) == len(vectors) == 0


def _counts(rows: Sequence[Sequence[int]]) -> Counter[int]:
    """Mentions by entity, whatever the entities' ids."""
    held: Counter[int] = Counter()
    for _, _, entity_id, count in rows:
        held[entity_id] += count
    return Counter(held.values())
