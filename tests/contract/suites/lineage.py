"""What a store of documents must know of where things come from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.stores.store import Store
from clew.testing.conformance import RIVERS, StoreSuite, chunk_ids_of, make_entry
from clew.types import Condition, Metadata


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
            found = store.earlier_at(datetime(year, 6, 1, tzinfo=UTC))
            return [p.chunk.text for version in found for p in version.passages]

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
