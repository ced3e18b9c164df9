from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    Document,
    NodeRelationship,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.types import VectorStoreQueryMode

import clew
from clew.integrations.llama_index import ClewRetriever, ClewVectorStore, open_store
from tests.integrations.llama import HashEmbedding


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with open_store(tmp_path_factory.mktemp("store"), HashEmbedding()) as store:
        yield store


@pytest.fixture
def store(shared: clew.Clew) -> clew.Clew:
    ClewVectorStore(shared).clear()
    return shared


TEXTS = {
    "clock": "Ada Marsh built the clock of the Ostrava tower.",
    "teacher": "Ada Marsh was taught by Ivo Quill in Lund.",
    "bakery": "The bakery in Lund sells rye bread on Sundays.",
}


def documents() -> list[Document]:
    return [Document(id_=id_, text=text, metadata={"of": id_}) for id_, text in TEXTS.items()]


# --- the vector store, compared with the one that LlamaIndex keeps in memory


def nodes(number: int, seed: int) -> list[TextNode]:
    chance = random.Random(seed)
    made = []
    for place in range(number):
        possible: dict[str, Any] = {
            "year": chance.randint(2019, 2022),
            "weight": chance.choice([0.5, 1.5, 2.5]),
            "author": chance.choice(["Marta Quill", "Bo Lind", "Ada Marsh"]),
            "type": chance.choice(["article", "note"]),
            "tags": chance.sample(["loom", "clock", "tower"], chance.randint(0, 2)),
            "empty": chance.choice(["", "full"]),
        }
        metadata = {name: value for name, value in possible.items() if chance.random() < 0.8}
        node = TextNode(
            id_=f"node {place}",
            text=f"text of {place}",
            metadata=metadata,
            embedding=[chance.gauss(0, 1) for _ in range(64)],
        )
        source = RelatedNodeInfo(node_id=f"document {place % 3}")
        node.relationships[NodeRelationship.SOURCE] = source
        made.append(node)
    return made


def one_filter(chance: random.Random) -> MetadataFilter:
    authors, tags = ["Marta Quill", "Bo Lind", "Nobody"], ["loom", "clock", "none"]
    ordered = [FilterOperator(sign) for sign in ("==", "!=", ">", ">=", "<", "<=")]
    listed = [FilterOperator.IN, FilterOperator.NIN]
    kind = chance.randrange(6)
    if kind == 0:
        return MetadataFilter(
            key="year", operator=chance.choice(ordered), value=chance.randint(2018, 2023)
        )
    if kind == 1:
        return MetadataFilter(key="weight", operator=chance.choice(ordered), value=1.5)
    if kind == 2:
        several = chance.sample(authors, 2)
        return MetadataFilter(key="author", operator=chance.choice(listed), value=several)
    if kind == 3:
        sign = chance.choice([FilterOperator.ANY, FilterOperator.ALL])
        return MetadataFilter(key="tags", operator=sign, value=chance.sample(tags, 2))
    if kind == 4:
        signs = [FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE]
        return MetadataFilter(key="type", operator=chance.choice(signs), value="art")
    key, name = chance.choice([("tags", "is_empty"), ("empty", "is_empty"), ("tags", "contains")])
    return MetadataFilter(key=key, operator=FilterOperator(name), value="loom")


def test_as_the_simple_vector_store(store: clew.Clew) -> None:
    ours, theirs = ClewVectorStore(store), SimpleVectorStore()
    made = nodes(40, seed=7)
    assert ours.add(made) == theirs.add(made)

    chance = random.Random(8)
    found = 0
    for _ in range(300):
        filters = MetadataFilters(
            filters=[one_filter(chance) for _ in range(chance.randint(0, 3))],
            condition=chance.choice(list(FilterCondition)),
        )
        query = VectorStoreQuery(
            query_embedding=[chance.gauss(0, 1) for _ in range(64)],
            similarity_top_k=chance.choice([3, 100]),
            filters=filters,
            node_ids=chance.choice([None, [f"node {n}" for n in range(20)]]),
        )
        got, expected = ours.query(query), theirs.query(query)
        assert got.ids == expected.ids, filters
        assert got.similarities == pytest.approx(expected.similarities, abs=1e-5)
        found += len(got.ids or ())
    assert found > 1000, "most filters are met by some"


def test_deleting_as_the_simple_vector_store(store: clew.Clew) -> None:
    ours, theirs = ClewVectorStore(store), SimpleVectorStore()
    made = nodes(20, seed=9)
    by_year = MetadataFilters(filters=[MetadataFilter(key="year", value=2020)])

    def left(other: ClewVectorStore | SimpleVectorStore) -> set[str]:
        query = VectorStoreQuery(query_embedding=[1.0] * 64, similarity_top_k=100)
        return set(other.query(query).ids or ())

    for each in (ours, theirs):
        each.add(made)
        each.delete("document 1")
        each.delete("document")  # there is none
        each.delete_nodes(["node 0", "node 99"])
        each.delete_nodes(filters=by_year)
    assert left(ours) == left(theirs) != set()
    assert {node.node_id for node in ours.get_nodes()} == left(theirs)
    for each in (ours, theirs):
        each.clear()
    assert left(ours) == left(theirs) == set()


def test_nodes_come_back_as_they_were(store: clew.Clew) -> None:
    ours, (made, *_) = ClewVectorStore(store), nodes(1, seed=3)

    ours.add([made])

    (got,) = ours.get_nodes(["node 0"])
    assert got.model_copy(update={"embedding": made.embedding}) == made
    assert store.vectors(["node 0"])[0][0] == pytest.approx(
        np.array(made.embedding) / np.linalg.norm(made.get_embedding()), abs=1e-5
    )


def test_alternatives_within_alternatives(store: clew.Clew) -> None:
    ours = ClewVectorStore(store)
    made = nodes(20, seed=4)
    ours.add(made)
    both = MetadataFilters(
        filters=[
            MetadataFilter(key="year", value=2020),
            MetadataFilter(key="type", value="note"),
        ]
    )
    filters = MetadataFilters(
        filters=[both, MetadataFilter(key="author", value="Bo Lind")], condition=FilterCondition.OR
    )

    got = {node.node_id for node in ours.get_nodes(filters=filters)}

    assert got == {
        node.node_id
        for node in made
        if (node.metadata.get("year") == 2020 and node.metadata.get("type") == "note")
        or node.metadata.get("author") == "Bo Lind"
    }


def test_nodes_without_text(store: clew.Clew) -> None:
    with pytest.raises(ValueError, match=r"\('blank', 'empty'\)"):
        ClewVectorStore(store).add([TextNode(id_="blank", text=" "), TextNode(text="a text")])

    assert store.count() == 1, "the others are written"


@pytest.mark.parametrize("mode", ["text_search", "sparse", "hybrid", "semantic_hybrid"])
def test_modes(store: clew.Clew, mode: str) -> None:
    ours, embedding = ClewVectorStore(store), HashEmbedding()
    ours.add(documents())

    query = VectorStoreQuery(
        query_str="Who sells rye bread?",
        query_embedding=embedding.get_query_embedding("Who sells rye bread?"),
        similarity_top_k=1,
        mode=VectorStoreQueryMode(mode),
        alpha=0.5,
    )

    assert ours.query(query).ids == ["bakery"]


def test_mode_that_there_is_not(store: clew.Clew) -> None:
    with pytest.raises(ValueError, match="mmr"):
        ClewVectorStore(store).query(VectorStoreQuery(mode=VectorStoreQueryMode.MMR))


# --- indexes and engines


def test_vector_store_index_answers(store: clew.Clew) -> None:
    index = VectorStoreIndex.from_vector_store(ClewVectorStore(store), HashEmbedding())
    for one in documents():
        index.insert(one)

    answer = index.as_query_engine(llm=MockLLM(), similarity_top_k=1).query("Who sells rye bread?")

    assert TEXTS["bakery"] in str(answer)
    assert [one.node.ref_doc_id for one in answer.source_nodes] == ["bakery"]
    index.delete_ref_doc("bakery")
    assert store.count() == 2


def test_question_of_two_hops(store: clew.Clew) -> None:
    ClewVectorStore(store).add(documents())
    question = "Who taught the builder of the Ostrava clock?"

    answer = RetrieverQueryEngine.from_args(
        ClewRetriever(store, similarity_top_k=2), llm=MockLLM()
    ).query(question)

    found = answer.source_nodes
    assert {one.node.node_id for one in found} == {"clock", "teacher"}
    assert any(one.node.metadata["clew"]["path"] for one in found)
    assert "confidence" not in str(answer), "the model is not shown it"


def test_retriever_of_other_texts(store: clew.Clew) -> None:
    text = "\n\n".join(f"The weaver of row {n} wove the red cloth at the loom." for n in range(200))
    store.add(text, source="long", metadata={"kind": "craft"})
    store.add("A loom.", source="short")
    kept = MetadataFilters(filters=[MetadataFilter(key="kind", value="craft")])

    found = ClewRetriever(store, similarity_top_k=2, filters=kept).retrieve("the red cloth")

    assert len({one.node.node_id for one in found}) == 2
    for one in found:
        start, end = one.node.metadata["clew"]["passage"]
        assert one.node.metadata["clew"]["source"] == "long"
        assert one.node.get_content() == text[start:end]


def test_long_node_comes_once(store: clew.Clew) -> None:
    text = "\n\n".join(f"The weaver of row {n} wove the red cloth at the loom." for n in range(200))
    ours = ClewVectorStore(store)
    ours.add([TextNode(id_="long", text=text), TextNode(id_="short", text="A loom.")])

    query = VectorStoreQuery(
        query_embedding=HashEmbedding().get_query_embedding("red cloth at the loom"),
        similarity_top_k=2,
    )

    assert len(store.chunks("long")) > 3
    assert sorted(ours.query(query).ids or ()) == ["long", "short"]
    assert (ours.query(query).nodes or [])[0].get_content() in (text, "A loom.")


@pytest.mark.asyncio
async def test_awaited(store: clew.Clew) -> None:
    ours = ClewVectorStore(store)
    await ours.async_add(documents())
    embedded = HashEmbedding().get_query_embedding("rye bread")

    asked = await ours.aquery(VectorStoreQuery(query_embedding=embedded))
    found = await ClewRetriever(store, similarity_top_k=1).aretrieve(
        QueryBundle("rye bread", embedding=embedded)
    )

    assert asked.ids == [one.node.node_id for one in found] == ["bakery"]


def test_tenants(tmp_path: Path) -> None:
    model = MockEmbedding(4)
    with (
        open_store(tmp_path, model, namespace="anna") as anna,
        open_store(tmp_path, model, namespace="ben") as ben,
    ):
        ClewVectorStore(anna).add(documents())

        assert ClewRetriever(ben).retrieve("clock") == []
        ClewVectorStore(ben).delete("clock")
        ClewVectorStore(ben).clear()
        assert len(ClewVectorStore(anna).get_nodes()) == 3


def test_own_model(tmp_path: Path) -> None:
    with clew.open(tmp_path) as store:
        ClewVectorStore(store).add(documents())

        found = ClewRetriever(store, similarity_top_k=1).retrieve("Where is baked food sold?")

    assert [one.node.node_id for one in found] == ["bakery"]


def test_without_llama_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.core.schema", None)
    monkeypatch.delitem(sys.modules, "clew.integrations.llama_index")

    with pytest.raises(clew.errors.MissingExtraError, match=r"pip install 'clew\[llama-index\]'"):
        importlib.import_module("clew.integrations.llama_index")
