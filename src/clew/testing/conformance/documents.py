"""What a store of documents must do."""

# ruff: noqa: D102 - tests are read by their names

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.errors import InputError
from clew.filters import read_where
from clew.stores.store import Store
from clew.testing.conformance.base import RIVERS, StoreSuite, chunk_ids_of, entity_of
from clew.testing.entries import make_entry
from clew.text import terms
from clew.types import Condition, Metadata

_TASK = Condition(name="entity_type", operator="=", value="task")


class DocumentStoreSuite(StoreSuite):
    """`ports.DocumentStore`."""

    def test_what_is_saved_comes_back_equal(self, store: Store) -> None:
        entry = make_entry("a", *RIVERS, title="Rivers", metadata={"year": 2020}, origin="o")
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

    def test_documents_are_found_by_the_keys_of_title_and_file(self, store: Store) -> None:
        store.save(make_entry("docs/rfc-0077.txt", *RIVERS, title="Rivers of Europe"))
        store.save(make_entry("more/RFC77.md", "Other."))
        store.save(make_entry("more/RFC777.md", "Another.", title="RFC 78"))
        first, second, third = (
            store.documents(ids=[make_entry(source, "").document.id])[0]
            for source in ("docs/rfc-0077.txt", "more/RFC77.md", "more/RFC777.md")
        )
        both = store.named_documents(["rfc 77", "rfc 77", "", "rfc"])
        assert [d.id for d in both] == [first.id, second.id]
        assert list(both[0].chunk_ids) == chunk_ids_of(store, "docs/rfc-0077.txt")
        assert [d.id for d in store.named_documents(["rivers of europe"])] == [first.id]
        (named,) = store.named_documents(["rfc 78"])
        assert (named.source, named.title_key, named.file_key) == (
            third.source,
            "rfc 78",
            "rfc 777",
        )
        store.delete([first.id])
        assert [d.id for d in store.named_documents(["rfc 77"])] == [second.id]
        assert store.named_documents(["rivers of europe"]) == store.named_documents([]) == []

    def test_documents_are_found_by_what_they_describe_and_when_it_holds(
        self, store: Store
    ) -> None:
        times = {"week": ("2024-05-13", "2024-05-18"), "hour": ("2024-05-14T09:00:00+00:00", "")}
        for source, (start, last) in times.items():
            event = {"entity_type": "event", "start": start, **({"last": last} if last else {})}
            store.save(make_entry(source, "Met.", metadata=event))
        store.save(make_entry("card", "Ada.", metadata={"entity_type": "person"}))
        store.save(make_entry("plain", "Met.", metadata={"start": "2024-05-14"}))

        def found(*asked: str) -> list[str]:
            return [one.source for one in store.described(*asked)]

        assert found("event") == ["hour", "week"]
        assert found("event", "2024-05-14", "2024-05-15") == ["hour", "week"]
        assert found("event", "2024-05-15", "2024-05-16") == ["week"]
        assert found("event", "2024-05-12", "2024-05-13") == found("event", "2024-05-19") == []
        assert found("person") == ["card"]
        assert found("place") == []
        store.save(make_entry("week", "Met.", metadata={"entity_type": "task"}))
        assert (found("event"), found("task")) == (["hour"], ["week"])
        assert store.described("task")[0] == store.documents(where=[_TASK])[0]

    def test_ids_are_answered_in_the_order_asked_and_unknown_ones_left_out(
        self, store: Store
    ) -> None:
        store.save(make_entry("a", *RIVERS))
        first, second = chunk_ids_of(store, "a")
        assert [c.id for c in store.chunks([second, 999_999, first])] == [second, first]
        sections = [c.section_id for c in store.chunks([second, first])]
        assert [s.id for s in store.sections([sections[0], 999_999, sections[1]])] == sections

    def test_sentences_come_by_chunk(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS, ""))
        first, second, empty = chunk_ids_of(store, "a")
        found = store.sentences([second, 999_999, first, empty])
        assert {chunk_id: list(texts) for chunk_id, texts in found.items()} == {
            first: ["The Danube passes Vienna.", "Vienna likes it."],
            second: ["The Rhine passes Basel."],
            empty: [],
        }

    def test_saving_again_replaces_the_former_version(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS, names=["Danube", "Vienna"]))
        old = chunk_ids_of(store, "a")
        store.save(make_entry("a", "The Seine passes Paris.", names=["Paris"]))
        assert [d.source for d in store.documents()] == ["a"]
        assert store.chunks(old) == []
        assert set(old).isdisjoint(chunk_ids_of(store, "a"))
        assert set(store.resolve(["danube", "vienna", "paris"])) == {"paris"}

    def test_deleting_leaves_nothing_without_a_source(self, store: Store) -> None:
        relations = [("Danube", "passes", "Vienna")]
        names = ["Danube", "Vienna"]
        store.save(make_entry("a", *RIVERS, names=names, relations=relations))
        store.save(make_entry("b", "Vienna is a city.", names=["Vienna"]))
        ids = {d.source: d.id for d in store.documents()}
        assert store.delete([ids["a"], "unknown"]) == 1
        assert set(store.resolve(["danube", "vienna"])) == {"vienna"}
        assert store.relations([entity_of(store, "Vienna").id]) == []
        assert store.search_keywords(terms("Danube"), 10)[0].tolist() == []
        assert store.chunk_ids().tolist() == chunk_ids_of(store, "b")
        assert store.delete([ids["b"]]) == 1
        assert store.aliases() == []
        assert len(store.mention_rows()) == len(store.embeddings()[0]) == 0

    def test_what_was_deleted_since_is_known(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS))
        store.save(make_entry("b", "One.", "Two."))
        start, first, second = (
            store.generation(),
            chunk_ids_of(store, "a"),
            chunk_ids_of(store, "b"),
        )
        ids = {d.source: d.id for d in store.documents()}
        store.delete([ids["a"], "unknown"])
        between = store.generation()
        store.save(make_entry("b", "Three."))  # in place of what it said
        for since, gone in [(start, {*first, *second}), (between, set(second))]:
            found = store.deleted_since(since)
            assert found is not None
            assert found.tolist() == sorted(found.tolist())
            assert gone <= set(found.tolist())
            assert set(found.tolist()).isdisjoint(store.chunk_ids().tolist())
        assert store.deleted_since(-1) is None

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
            ("year", "<", 2020.5, {"a", "b"}),
            ("year", "<", 2019, {"b"}),
            ("day", ">", "2024-01-31T12:00:00+01:00", {"a"}),
            ("day", "<=", "2024-02-01", {"a"}),
            ("author", "=", "Ann", {"a", "b"}),
            ("author", "=", "Bo", {"a"}),
            ("author", "=", "Ann, Bo", set()),
            ("draft", "=", "true", {"b"}),
            ("null", "!=", "x", set()),
            ("title", "=", "First", {"a"}),
            ("source", "!=", "a", {"b"}),
            ("with \"quotes' and ]", "=", "yes", {"a"}),
            ("source", "~", "A", {"a"}),
            ("author", "~", "b*", {"a"}),
            ("author", "!~", "b*", {"b"}),
            ("path", "=", "notes/a.md", {"a"}),
            ("path", "~", "notes/", {"a", "b"}),
            ("path", "~", "*.md", {"a"}),
            ("path", "!~", "*.md", {"b"}),
            ("type", "=", "markdown", {"a"}),
            ("type", "=", "md", {"a"}),
            ("type", "!=", "md", {"b"}),
            ("type", "~", "text/*", {"a", "b"}),
            ("date", ">=", "2019-03", {"a"}),
            ("date", "=", "2019-03-02", {"a"}),
            ("created_at", "=", "2019", {"a"}),
            ("created_at", "<", "2019", set()),
        ],
    )
    def test_conditions(
        self, store: Store, name: str, operator: str, value: str | float, expected: set[str]
    ) -> None:
        first = {"year": 2020, "day": "2024-02-01", "author": ["Ann", "Bo"], "null": None}
        first["with \"quotes' and ]"] = "yes"
        second = {"year": "99", "author": "Ann", "draft": True}
        marked = make_entry("a", "One.", title="First", metadata=first, origin="/my/notes/a.md")
        march = replace(
            marked.document,
            media_type="text/markdown",
            created_at=datetime(2019, 3, 1, tzinfo=UTC),
            date_precision="month",
        )
        store.save(replace(marked, document=march))
        store.save(make_entry("b", "Two.", metadata=second, origin="/my/notes/b.txt"))
        where = [Condition(name=name, operator=operator, value=value)]  # type: ignore[arg-type]
        found = store.matching_chunks(where)
        assert {c.source for c in store.chunks(found.tolist())} == expected
        assert found.tolist() == sorted(found.tolist())
        assert {d.source for d in store.documents(where=where)} == expected

    @pytest.mark.parametrize("name", ["yearr", "nothing", "year' OR 1=1 --"])
    def test_a_field_that_no_document_has_finds_nothing_and_is_named(
        self, store: Store, name: str
    ) -> None:
        where = [Condition(name, "!=", "x")]
        assert store.matching_chunks(where).tolist() == store.documents(where=where) == []
        own = [{"speaker": "Bo"}]
        store.save(make_entry("a", "One.", metadata={"year": 2020}, chunk_metadata=own))
        assert store.matching_chunks(where).tolist() == store.documents(where=where) == []
        (note,) = store.unknown_fields([*where, Condition("year", "=", 1999)])
        assert f"no document has the field {name!r}" in note
        near = name == "yearr"
        assert ("did you mean 'year'?" in note) is near
        assert ("speaker, title, type, updated_at, year" in note) is not near
        assert store.unknown_fields([Condition("speaker", "is null")]) == []
        year = Condition("year", "=", 1999)
        assert store.matching_chunks([year]).tolist() == store.documents(where=[year]) == []

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("year >= 2019 and year <= 2021", {"a", "b"}),
            ("year > 2020 or author = Ann", {"b", "c"}),
            ("not (year < 2021)", {"b", "c", "d"}),
            ("author in (Ann, Bo)", {"c", "d"}),
            ("author is null and not title = a", {"b"}),
            ("author contains N", {"c"}),
            ("year between 2020 and 2021 and path ~ *ote*", {"a"}),
        ],
    )
    def test_filters_join_conditions(self, store: Store, text: str, expected: set[str]) -> None:
        documents: dict[str, Metadata] = {
            "a": {"year": 2020},
            "b": {"year": 2021},
            "c": {"year": "2022", "author": "Ann"},
            "d": {"author": ["Bo", "Cy"]},
        }
        for name, about in documents.items():
            origin = "/my/notes/a.md" if name == "a" else "/my/b.md"
            store.save(make_entry(name, "One.", "Two.", title=name, metadata=about, origin=origin))
        where = read_where(text)
        found = store.chunks(store.matching_chunks(where).tolist())
        assert [c.source for c in found] == sorted([*expected, *expected])
        assert {d.source for d in store.documents(where=where)} == expected

    def test_a_chunks_own_metadata_goes_before_its_documents(self, store: Store) -> None:
        own = [{"speaker": "Bo"}, {}]
        store.save(make_entry("a", "One.", "Two.", metadata={"speaker": "Ann"}, chunk_metadata=own))
        first, second = chunk_ids_of(store, "a")
        bo = Condition(name="speaker", operator="=", value="Bo")
        ann = Condition(name="speaker", operator="=", value="Ann")
        assert store.matching_chunks([bo]).tolist() == [first]
        assert store.matching_chunks([ann]).tolist() == [second]
        assert store.matching_chunks([ann, bo]).tolist() == []
        assert store.matching_chunks([]).tolist() == [first, second]
        assert [c.metadata["speaker"] for c in store.chunks([first, second])] == ["Bo", "Ann"]

    def test_an_empty_store_answers_with_nothing(self, store: Store) -> None:
        assert store.documents() == []
        assert not store.chunks([1])
        assert not store.sections([1])
        assert not store.document_chunks("x")
        assert not store.document_sections("x")
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
        assert [c.text for c in store.chunks(chunk_ids_of(store, "a"))] == ["One."]
        assert store.generation() == before
