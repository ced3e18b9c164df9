"""What the keyword and the vector index must find."""

# ruff: noqa: D102 - tests are read by their names

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import StoreError
from clew.ports import VectorIndex
from clew.stores.store import Store
from clew.testing.conformance.base import StoreSuite, chunk_ids_of
from clew.testing.entries import make_entry, make_vector
from clew.text import question_terms, terms
from clew.types import Condition

if TYPE_CHECKING:
    from clew.types import Vector


class KeywordIndexSuite(StoreSuite):
    """`ports.KeywordIndex`."""

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("Река Волга впадает в Каспийское море.", "волги"),
            ("Η Αθήνα είναι πρωτεύουσα.", "ΑΘΗΝΑ"),  # noqa: RUF001
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
        assert store.search_keywords(terms(question), 10)[0].tolist() == chunk_ids_of(store, "a")

    @pytest.mark.parametrize(
        ("language", "text", "questions"),
        [
            ("de", "Die Häuser der Städte.", ("Haus", "wo steht das Hauses", "STADT Häuser")),
            ("fr", "L'installation des paquets est terminée.", ("installations", "quel paquet")),
            ("es", "Las canciones de la región.", ("canción", "regiones")),
            ("it", "Gli alberi dell'isola.", ("albero", "quali isole")),
            ("ru", "Книги лежат на столах.", ("книга", "стола")),
            ("sv", "Hundarna sover i husen.", ("hund", "vilka hus")),
            ("", "The houses of towns.", ("house", "a town")),
        ],
    )
    def test_words_are_found_across_the_inflection_of_their_language(
        self, store: Store, language: str, text: str, questions: tuple[str, ...]
    ) -> None:
        for name, code, words in (("en", "en", "Nothing of it."), ("a", language, text)):
            entry = make_entry(name, words)
            store.save(replace(entry, document=replace(entry.document, language=code)))
        assert store.languages() == {"en", language} - {""}
        for question in questions:
            found, _ = store.search_keywords(question_terms(question, store.languages()), 10)
            assert found.tolist() == chunk_ids_of(store, "a"), question
        assert store.check().problems == ()
        where = [Condition(name="language", operator="=", value=language or "unknown")]
        assert store.matching_chunks(where).tolist() == chunk_ids_of(store, "a")

    def test_only_holders_of_a_term_are_found_and_context_counts(self, store: Store) -> None:
        store.save(make_entry("a", "A quiet town.", title="Basel"))
        store.save(make_entry("b", "Nothing."))
        ids, scores = store.search_keywords(terms("Basel quiet unheard"), 10)
        assert ids.tolist() == chunk_ids_of(store, "a")
        assert scores[0] > 0

    def test_rare_terms_weigh_more_and_repeated_ones_too(self, store: Store) -> None:
        for i in range(6):
            store.save(make_entry(f"common {i}", "alpha beta gamma"))
        store.save(make_entry("rare", "alpha beta delta"))
        store.save(make_entry("twice", "alpha delta delta"))
        ids, scores = store.search_keywords(terms("alpha delta"), 3)
        assert ids.tolist()[:2] == chunk_ids_of(store, "twice") + chunk_ids_of(store, "rare")
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

    def test_several_words_of_a_term_must_stand_in_a_row(self, store: Store) -> None:
        store.save(make_entry("a", "alpha beta gamma"))
        store.save(make_entry("b", "beta alpha gamma"))
        assert store.search_keywords(["alpha beta"], 5)[0].tolist() == chunk_ids_of(store, "a")
        assert store.search_keywords(["alpha gamma"], 5)[0].tolist() == chunk_ids_of(store, "b")
        assert store.search_keywords(["gamma alpha"], 5)[0].tolist() == []

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
        assert ids.dtype == np.int64
        assert scores.dtype == np.float32


class VectorIndexSuite(StoreSuite):
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
        assert index.search_vector(query, 1)[0].tolist() == chunk_ids_of(store, "003")
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
        assert ids.dtype == np.int64
        assert scores.dtype == np.float32

    def test_vectors_come_in_the_order_asked(self, store: Store, index: VectorIndex) -> None:
        held = self.fill(store, 10)
        wanted = sorted(held, reverse=True)[:4]
        expected = np.array([held[i] for i in wanted])
        assert index.vectors(wanted) == pytest.approx(expected, rel=0, abs=1e-6)
        with pytest.raises(StoreError, match="no embedding of the chunks"):
            index.vectors([wanted[0], 999_999])
