from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.document_stores.types import DocumentStore
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as async_suites

import clew
from clew.integrations.haystack import ClewDocumentStore, ClewRetriever
from clew.testing.fakes import HashEmbedder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClewDocumentStore]:
    """A store for all tests of the suites: its worker process starts once."""
    store = ClewDocumentStore(
        tmp_path_factory.mktemp("store"), embedding_dim=768, return_embedding=True
    )
    yield store
    store.close()


@pytest.fixture
def document_store(shared: ClewDocumentStore) -> ClewDocumentStore:
    shared.delete_all_documents()
    return shared


def same(received: list[Document], expected: list[Document]) -> None:
    """A store lists by id, and scales embeddings to length 1."""

    def parts(documents: list[Document]) -> list[dict[str, object]]:
        kept = [one.to_dict(flatten=False) for one in documents]
        for one in kept:
            if one["embedding"] is not None:
                one["embedding"] = (one["embedding"] / np.linalg.norm(one["embedding"])).tolist()
        return sorted(kept, key=lambda one: str(one["id"]))

    for ours, theirs in zip(parts(received), parts(expected), strict=True):
        assert ours.pop("embedding") == pytest.approx(theirs.pop("embedding"), abs=2e-5)
        assert ours == theirs


class TestStore(
    suites.DocumentStoreBaseExtendedTests,
    suites.CountDocumentsByFilterTest,
    suites.CountUniqueMetadataByFilterTest,
    suites.GetMetadataFieldsInfoTest,
    suites.GetMetadataFieldMinMaxTest,
    suites.GetMetadataFieldUniqueValuesTest,
):
    assert_documents_are_equal = staticmethod(same)

    @pytest.fixture
    def document_store(self, shared: ClewDocumentStore) -> ClewDocumentStore:
        shared.delete_all_documents()
        return shared

    def test_write_documents(self, document_store: DocumentStore) -> None:
        one, other = Document(content="a loom"), Document(content="a clock")

        assert document_store.write_documents([one]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([other, one])
        assert document_store.filter_documents() == [one]


class TestAwaited(
    async_suites.CountDocumentsAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
):
    assert_documents_are_equal = staticmethod(same)

    @pytest.mark.asyncio
    async def test_write_documents_async(self, document_store: ClewDocumentStore) -> None:
        one = Document(content="a loom")

        assert await document_store.write_documents_async([one]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([one])


# --- what Haystack's own suites do not ask

CLOCK = Document(
    id="clock",
    content="Ada Marsh built the clock of the Ostrava tower.",
    meta={"type": "craft", "date": 1881, "title": "The clock", "source": "archive"},
)
TEACHER = Document(
    id="teacher", content="Ada Marsh was taught by Ivo Quill in Lund.", meta={"type": "life"}
)
BAKERY = Document(id="bakery", content="The bakery in Lund sells rye bread on Sundays.")


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[ClewDocumentStore]:
    with clew.open(tmp_path / "filled", embedder=HashEmbedder()) as store:
        documents = ClewDocumentStore(store)
        documents.write_documents([CLOCK, TEACHER, BAKERY])
        yield documents


def ids(found: dict[str, list[Document]]) -> list[str]:
    return [one.id for one in found["documents"]]


def test_question_of_two_hops(filled: ClewDocumentStore) -> None:
    found = ClewRetriever(filled, top_k=2).run("Who taught the builder of the Ostrava clock?")

    assert set(ids(found)) == {"clock", "teacher"}
    first = found["documents"][0]
    assert first.score is not None
    start, end = first.meta["clew"]["passage"]
    assert (first.content or "")[start:end] == first.content
    assert any(one.meta["clew"]["path"] for one in found["documents"])


@pytest.mark.parametrize(
    ("field", "sign", "value", "expected"),
    [
        ("meta.type", "==", "craft", ["clock"]),
        ("meta.type", "!=", "craft", ["bakery", "teacher"]),
        ("meta.source", "==", "archive", ["clock"]),
        ("meta.source", "in", ["archive", None], ["bakery", "clock", "teacher"]),
        ("meta.type", "not in", ["life", None], ["clock"]),
        ("meta.date", ">=", 1880, ["clock"]),
        ("title", "==", "The clock", ["clock"]),
        ("id", "in", ["clock", "bakery", "none"], ["bakery", "clock"]),
        ("meta.language", "==", None, ["bakery", "clock", "teacher"]),
    ],
)
def test_metadata_called_as_fields(
    filled: ClewDocumentStore, field: str, sign: str, value: object, expected: list[str]
) -> None:
    filters = {"field": field, "operator": sign, "value": value}

    assert [one.id for one in filled.filter_documents(filters)] == expected
    assert sorted(ids(ClewRetriever(filled).run("Lund clock", filters=filters))) == expected


def test_documents_come_back_as_they_were(filled: ClewDocumentStore) -> None:
    blob = ByteStream(b"\x00\x01", mime_type="audio/wav", meta={"seconds": 2})
    sparse = SparseEmbedding(indices=[1, 5], values=[0.5, 0.25])
    given = Document(
        content="a recording", blob=blob, sparse_embedding=sparse, meta={"a": {"b": [1, None]}}
    )

    filled.write_documents([given])

    assert filled.filter_documents() == sorted(
        [CLOCK, TEACHER, BAKERY, given], key=lambda one: one.id
    )


def test_without_text(filled: ClewDocumentStore) -> None:
    with pytest.raises(DocumentStoreError, match=r"\('none', 'empty'\)"):
        filled.write_documents([Document(id="none"), Document(id="new", content="new")])

    assert filled.count_documents() == 4, "the others are written"


def test_long_document_comes_once(filled: ClewDocumentStore) -> None:
    text = "\n\n".join(f"The weaver of row {n} wove the red cloth at the loom." for n in range(300))
    filled.write_documents(
        [Document(id="long", content=text), Document(id="loom", content="A loom")]
    )
    assert len(filled.client.chunks("long")) > 3

    found = ClewRetriever(filled, top_k=2).run("red cloth of the loom")

    assert sorted(ids(found)) == ["long", "loom"]


def test_nearest_embeddings(document_store: ClewDocumentStore) -> None:
    vectors = np.eye(768)[:3]
    document_store.write_documents(
        [
            Document(id=str(n), content=f"text {n}", embedding=v.tolist())
            for n, v in enumerate(vectors)
        ]
    )
    document_store.update_by_filter({"field": "id", "operator": "!=", "value": "0"}, {"seen": 1})

    asked = (vectors[1] + vectors[2] / 2).tolist()
    found = ClewRetriever(document_store, top_k=1).run(query_embedding=asked)

    assert ids(found) == ["1"]
    assert found["documents"][0].score == pytest.approx(2 / 5**0.5)


def test_pipeline(filled: ClewDocumentStore) -> None:
    filters = {"field": "meta.type", "operator": "==", "value": "life"}
    made = Pipeline()
    made.add_component("retriever", ClewRetriever(filled, filters=filters, top_k=1))
    made.add_component("prompt", PromptBuilder("{{ documents[0].content }}"))
    made.connect("retriever.documents", "prompt.documents")

    again = Pipeline.from_dict(made.to_dict(), allowed_modules=["clew.integrations.haystack"])
    retriever = again.get_component("retriever")
    assert isinstance(retriever, ClewRetriever)
    retriever.document_store = filled  # its model is the program's

    for pipeline in (made, again):
        done = pipeline.run({"retriever": {"query": "Who taught Ada Marsh?"}})
        assert done["prompt"]["prompt"] == TEACHER.content
    assert again.to_dict() == made.to_dict()


def test_written_and_read(tmp_path: Path) -> None:
    given = ClewDocumentStore(tmp_path, namespace="anna", embedding_dim=2)

    again = ClewDocumentStore.from_dict(given.to_dict())

    assert given.to_dict()["init_parameters"] == {
        "store": str(tmp_path),
        "namespace": "anna",
        "embedding_dim": 2,
        "return_embedding": False,
    }
    assert again.to_dict() == given.to_dict()
    assert not list(tmp_path.iterdir()), "nothing is opened before it is asked for"


@pytest.mark.asyncio
async def test_awaited(filled: ClewDocumentStore) -> None:
    found = await ClewRetriever(filled, top_k=1).run_async("Who sells rye bread?")

    assert ids(found) == ["bakery"]


def test_tenants(tmp_path: Path) -> None:
    anna, ben = (
        ClewDocumentStore(tmp_path, namespace=name, embedding_dim=2) for name in ("anna", "ben")
    )
    anna.write_documents([CLOCK])

    assert ben.count_documents() == 0
    assert ids(ClewRetriever(ben).run("clock")) == []
    ben.delete_documents(["clock"])
    ben.delete_all_documents()
    assert ids(ClewRetriever(anna).run("clock")) == ["clock"]
    anna.close()
    ben.close()


def test_own_model(tmp_path: Path) -> None:
    documents = ClewDocumentStore(tmp_path)
    documents.write_documents([CLOCK, TEACHER, BAKERY])

    found = ClewRetriever(documents, top_k=1).run("Where can one buy something baked?")

    assert ids(found) == ["bakery"]
    documents.close()


def test_without_haystack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "haystack", None)
    monkeypatch.delitem(sys.modules, "clew.integrations.haystack")

    with pytest.raises(clew.errors.MissingExtraError, match=r"pip install 'clew\[haystack\]'"):
        importlib.import_module("clew.integrations.haystack")
