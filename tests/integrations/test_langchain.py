"""The adapter to LangChain, judged by LangChain's own suites, and by what it means."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

import clew
from clew.errors import InputError, MissingExtraError
from clew.integrations.langchain import (
    ClewRetriever,
    ClewVectorStore,
    GraphDocument,
    Node,
    Relationship,
    add_graph_documents,
    clew_embedder,
    graph_documents,
)
from clew.testing.fakes import HashEmbedder

pytestmark = pytest.mark.anyio

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
    "bees": "The meadows by the river are full of bees in June.",
}
QUESTION = "Where did the teacher of the builder of the Tower of Vell's clock work?"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as store:
        for number, (source, text) in enumerate(TEXTS.items()):
            store.add(text, source=source, title=source.title(), metadata={"number": number})
        yield store


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _store(self, store: clew.Clew) -> None:
        self.store = store

    @property
    def retriever_constructor(self) -> type[ClewRetriever]:
        return ClewRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        made = ClewVectorStore(tmp_path / "store", self.get_embeddings())
        yield made
        made.store.close()


# --- the retriever


def test_a_question_of_two_hops_is_answered_and_says_how(store: clew.Clew) -> None:
    found = ClewRetriever(store=store, k=3, strategy="graph").invoke(QUESTION)

    (last,) = (one for one in found if one.metadata["source"] == "oss")
    assert "workshop by the canal" in last.page_content
    assert last.metadata["title"] == "Oss"
    assert last.metadata["number"] == 2
    assert last.metadata["path"].splitlines()[-1].startswith("Piet Oss: Piet Oss kept a workshop")
    assert 0 <= last.metadata["confidence"] <= 1


def test_a_retriever_opens_a_path_and_filters(store: clew.Clew, tmp_path: Path) -> None:
    own = ClewRetriever(store=str(tmp_path / "own"), where="number < 2")
    try:
        own.store.add(TEXTS["bees"], source="bees", metadata={"number": 1})
        assert [one.metadata["source"] for one in own.invoke("bees")] == ["bees"]
    finally:
        own.store.close()
    filtered = ClewRetriever(store=store, where="number < 2")

    assert {one.metadata["source"] for one in filtered.invoke("bees")} <= {"tower", "morn"}
    assert [one.metadata["source"] for one in filtered.invoke("bees", where="number = 3")] == [
        "bees"
    ]
    assert len(filtered.invoke("bees", strategy="vector", where=(), k=1)) == 1


# --- the vector store


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[ClewVectorStore]:
    made = ClewVectorStore.from_texts(
        list(TEXTS.values()),
        DeterministicFakeEmbedding(size=8),
        [{"number": number, "source": f"{name}.txt"} for number, name in enumerate(TEXTS)],
        ids=list(TEXTS),
        store=tmp_path / "vectors",
    )
    yield made
    made.store.close()


def test_scores_and_relevance(vectors: ClewVectorStore) -> None:
    (best, score), *_ = vectors.similarity_search_with_score(TEXTS["morn"])
    relevant = vectors.similarity_search_with_relevance_scores(TEXTS["morn"])

    assert (best.id, best.page_content) == ("morn", TEXTS["morn"])
    assert best.metadata == {"number": 1, "source": "morn.txt"}
    assert score == pytest.approx(1)
    assert all(0 <= one <= 1 for _, one in relevant)
    assert vectors.embeddings is not None
    assert clew_embedder(vectors.embeddings).name == "langchain:DeterministicFakeEmbedding"


def test_search_by_vector_and_by_filter(vectors: ClewVectorStore) -> None:
    embedding = DeterministicFakeEmbedding(size=8)
    nearest = vectors.similarity_search_by_vector(embedding.embed_query(TEXTS["oss"]), k=1)
    kept = vectors.similarity_search(
        "bees", filter={"field": "number", "operator": "<", "value": 2}
    )
    retriever = vectors.as_retriever(search_kwargs={"k": 2, "filter": "number in (0, 3)"})

    assert [one.id for one in nearest] == ["oss"]
    assert {one.id for one in kept} == {"tower", "morn"}
    assert {one.id for one in retriever.invoke("bees")} == {"tower", "bees"}


def test_metadata_may_be_named_as_fields_of_clew(vectors: ClewVectorStore) -> None:
    found = vectors.similarity_search("bees", filter="meta.source = oss.txt")

    assert [one.id for one in found] == ["oss"]


def test_marginal_relevance_leaves_repetitions_out(vectors: ClewVectorStore) -> None:
    vectors.add_texts([TEXTS["oss"]] * 2, ids=["again", "once more"])

    near = vectors.similarity_search(TEXTS["oss"], k=3)
    found = vectors.max_marginal_relevance_search(TEXTS["oss"], k=3)
    retriever = vectors.as_retriever(
        search_type="mmr", search_kwargs={"k": 2, "filter": "number < 2"}
    )

    assert {one.page_content for one in near} == {TEXTS["oss"]}
    assert len({one.page_content for one in found}) == 3
    assert {one.id for one in retriever.invoke("bees")} == {"tower", "morn"}


def test_an_open_store_has_its_own_embedder(store: clew.Clew) -> None:
    opened = ClewVectorStore(store, strategy="auto")

    assert opened.embeddings is None
    assert "oss" in {one.id for one in opened.similarity_search(QUESTION, k=3)}
    assert len(opened.max_marginal_relevance_search(QUESTION, k=2)) == 2


def test_a_vector_store_follows_entities_when_asked_to(vectors: ClewVectorStore) -> None:
    found = vectors.similarity_search(QUESTION, k=3, strategy="graph")

    assert "oss" in {one.id for one in found}


def test_a_long_document_comes_back_whole_and_once(vectors: ClewVectorStore) -> None:
    text = "  " + "The mill of Orrin grinds rye. " * 300 + "\n"
    vectors.add_documents([Document(id="mill", page_content=text)])

    found = vectors.similarity_search(text, k=3)

    assert len({one.id for one in found}) == 3
    assert [one.page_content for one in found if one.id == "mill"] == [text]


def test_what_is_deleted_is_not_found(vectors: ClewVectorStore) -> None:
    vectors.delete(["oss", "no such id"])
    left = {one.id for one in vectors.similarity_search("a workshop", k=9, strategy="hybrid")}
    vectors.delete([])
    still = len(vectors.store)
    vectors.delete()

    assert left == {"tower", "morn", "bees"}
    assert (still, len(vectors.store)) == (3, 0)


def test_blank_documents_and_wrong_ids_are_refused(vectors: ClewVectorStore) -> None:
    with pytest.raises(InputError, match=r"\['blank'\] are blank; nothing was added"):
        vectors.add_documents([Document(page_content="x"), Document(id="blank", page_content=" ")])
    with pytest.raises(InputError, match="1 ids were given for 2 documents"):
        vectors.add_documents([Document(page_content="x")] * 2, ids=["1"])
    with pytest.raises(InputError, match="has its own embedder"):
        ClewVectorStore(vectors.store, vectors.embeddings)

    assert len(vectors.store) == 4


def test_tenants_see_their_own(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=8)
    anna = ClewVectorStore(tmp_path / "store", embedding, namespace="anna")
    ben = ClewVectorStore(tmp_path / "store", embedding, namespace="ben")
    anna.add_texts(["Anna keeps bees."], ids=["same"])
    ben.add_texts(["Ben keeps goats."], ids=["same"])

    found = anna.similarity_search("goats"), ben.similarity_search("bees")
    anna.delete()
    left = ben.get_by_ids(["same"])
    anna.store.close()
    ben.store.close()

    assert [[one.page_content for one in of] for of in found] == [
        ["Anna keeps bees."],
        ["Ben keeps goats."],
    ]
    assert len(left) == 1


# --- graphs


def test_graph_documents_go_in_and_come_out(store: clew.Clew) -> None:
    ada = SimpleNamespace(id="Ada Morn", type="Person", properties={"born": 1781})
    guild = SimpleNamespace(id="Guild of Clocks", type="TradeGuild", properties={})
    tie = SimpleNamespace(source=ada, target=guild, type="MEMBER_OF", properties={"since": 1801})
    source = Document(page_content="Ada Morn joined the Guild of Clocks.", id="g")
    given = SimpleNamespace(nodes=[ada, guild], relationships=[tie], source=source)

    add_graph_documents(store, [given])
    add_graph_documents(store, [given])
    found = {one.source.id if one.source else None: one for one in graph_documents(store)}

    (by_hand,) = (tie for tie in found[None].relationships if tie.type == "member_of")
    assert (by_hand.source.id, by_hand.target.id) == ("Ada Morn", "Guild of Clocks")
    assert {node.id: node.type for node in found[None].nodes} == {
        "Ada Morn": "person",
        "Guild of Clocks": "trade_guild",
    }
    assert by_hand.source.properties == {"born": 1781}
    assert by_hand.properties == {"since": 1801, "evidence": "", "statements": 1}
    assert "apprentice_of" in {tie.type for tie in found["morn"].relationships}
    assert found["morn"].source is not None
    assert found["morn"].source.page_content == TEXTS["morn"]
    assert store.text("g") == source.page_content
    paths, _ = store.graph.paths("Guild of Clocks", "Piet Oss")
    assert [step.relation for step in paths[0]][1:] == ["apprentice_of"]


def test_pieces_of_one_source_are_kept_apart(store: clew.Clew) -> None:
    pieces = [
        GraphDocument(
            nodes=[], relationships=[], source=Document(page_content=text, metadata={"source": "f"})
        )
        for text in ("One piece.", "Another piece.")
    ]

    add_graph_documents(store, pieces)
    add_graph_documents(store, pieces)

    assert store.count("meta.source = f") == 2


def test_what_came_out_goes_into_another_store(store: clew.Clew, tmp_path: Path) -> None:
    lone = GraphDocument(nodes=[Node(id="Lone Oak")], relationships=[])
    tie = Relationship(source=Node(id="Lone Oak"), target=Node(id="Vell"), type="stands in")
    with clew.open(tmp_path / "other", embedder=HashEmbedder()) as other:
        add_graph_documents(other, graph_documents(store))
        add_graph_documents(other, [lone, GraphDocument(nodes=[], relationships=[tie])])

        assert other.text("morn") == TEXTS["morn"]
        assert "stands_in" in {fact.relation for fact in other.graph.relations("Lone Oak")}
        assert "apprentice_of" in {fact.relation for fact in other.graph.relations("Ada Morn")}


def test_without_langchain_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "clew.integrations.langchain")
    monkeypatch.setitem(sys.modules, "langchain_core.callbacks", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'clew\[langchain\]'"):
        import clew.integrations.langchain  # noqa: F401
