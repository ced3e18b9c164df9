from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation, Triplet
from llama_index.core.indices.property_graph import SimpleLLMPathExtractor
from llama_index.core.llms import MockLLM
from llama_index.core.schema import Document
from llama_index.core.vector_stores.types import VectorStoreQuery

import clew
from clew.integrations.llama_index import ClewRetriever, open_store
from clew.integrations.llama_index_graph import ClewPropertyGraphStore
from tests.integrations.llama import HashEmbedding


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with open_store(tmp_path_factory.mktemp("store"), HashEmbedding()) as store:
        yield store


@pytest.fixture
def store(shared: clew.Clew) -> clew.Clew:
    shared.entities.memory.delete_entities([one.name for one in shared.entities])
    shared.delete([one.id for one in shared])
    return shared


NAMES = ["Vasko", "Brumel", "Tindra", "Okello", "Yareli", "Quenby", "Zoltan", "Ingrith"]
LABELS = ["KNOWS", "WORKS_FOR", "is part of"]


def generated(seed: int) -> tuple[list[EntityNode], list[Relation]]:
    chance = random.Random(seed)
    nodes = [
        EntityNode(
            name=name,
            label=chance.choice(["person", "PLACE"]),
            properties={"year": chance.randint(2019, 2022), "kind": chance.choice("ab")},
        )
        for name in NAMES
    ]
    relations = [
        Relation(
            label=chance.choice(LABELS),
            source_id=source,
            target_id=target,
            properties={"year": chance.randint(2019, 2022)},
        )
        for source, target in (chance.sample(NAMES, 2) for _ in range(20))
    ]
    once = {(one.source_id, one.label, one.target_id): one for one in relations}
    return nodes, list(once.values())


def shown(triplets: list[Triplet]) -> set[str]:
    return {
        f"{start.model_dump()} {relation.model_dump()} {end.model_dump()}"
        for start, relation, end in triplets
    }


def by_name(nodes: list[Any]) -> dict[str, Any]:
    return {node.id: node.model_dump() for node in nodes}


def test_as_the_simple_property_graph_store(store: clew.Clew) -> None:
    ours, theirs = ClewPropertyGraphStore(store), SimplePropertyGraphStore()
    nodes, relations = generated(seed=5)
    for each in (ours, theirs):
        each.upsert_nodes(nodes)
        each.upsert_relations(relations)

    chance = random.Random(6)
    found = 0
    for _ in range(150):
        asked: dict[str, Any] = {
            "ids": chance.sample(NAMES, chance.randint(1, 3)),
            "properties": {"year": chance.randint(2019, 2022), "kind": chance.choice("ab")},
            "entity_names": chance.sample(NAMES, chance.randint(1, 3)),
            "relation_names": chance.sample(LABELS, chance.randint(1, 2)),
        }
        asked = {name: value for name, value in asked.items() if chance.random() < 0.4}
        got, expected = ours.get_triplets(**asked), theirs.get_triplets(**asked)
        assert shown(got) == shown(expected), asked
        found += len(got)
        asked = {name: value for name, value in asked.items() if name in ("ids", "properties")}
        assert by_name(ours.get(**asked)) == by_name(theirs.get(**asked)), asked
        around = theirs.get(ids=chance.sample(NAMES, 2))
        near = [each.get_rel_map(around, depth=1, limit=100) for each in (ours, theirs)]
        assert shown(near[0]) == shown(near[1])
        far = [each.get_rel_map(around, depth=2, limit=100) for each in (ours, theirs)]
        assert shown(far[0]) >= shown(far[1])
        ignored = ours.get_rel_map(around, limit=100, ignore_rels=["KNOWS"])
        assert shown(ignored) == {one for one in shown(far[0]) if "'label': 'KNOWS'" not in one}
    assert found > 300, "most of what is asked is answered"


def test_nodes_are_brought_up_to_date(store: clew.Clew) -> None:
    ours = ClewPropertyGraphStore(store)
    changed = EntityNode(name="Vasko", label="city", properties={"year": 2})

    ours.upsert_nodes([EntityNode(name="Vasko", properties={"year": 1, "old": True})])
    ours.upsert_nodes([changed])
    ours.upsert_relations([Relation(label="KNOWS", source_id="Vasko", target_id="Brumel")])
    again = Relation(label="KNOWS", source_id="Vasko", target_id="Brumel", properties={"sure": 1})
    ours.upsert_relations([again])

    assert ours.get(ids=["Vasko"]) == [changed]
    assert [relation for _, relation, _ in ours.get_triplets(ids=["Vasko"])] == [again]
    assert [node.id for node in ours.get(ids=["Brumel"])] == ["Brumel"], "made by the relation"


def test_deleting(store: clew.Clew) -> None:
    ours = ClewPropertyGraphStore(store)
    nodes, relations = generated(seed=7)
    chunk = ChunkNode(id_="text", text="nothing to name here", properties={"of": "that"})
    ours.upsert_nodes([*nodes, chunk])
    ours.upsert_relations(relations)

    def names() -> set[str]:
        return {node.id for node in ours.get(ids=[*NAMES, "text"])}

    ours.delete(relation_names=["KNOWS"])
    assert {one[1].label for one in ours.get_triplets(ids=NAMES)} == {"WORKS_FOR", "is part of"}
    ours.delete(entity_names=["Vasko"])
    ours.delete(ids=["Brumel", "text"])
    assert names() == {*NAMES} - {"Vasko", "Brumel"}
    ours.delete(properties={"kind": "a"})
    assert names() == {
        node.name
        for node in nodes
        if node.properties["kind"] == "b" and node.name not in ("Vasko", "Brumel")
    }
    ours.delete()
    assert names()


def test_nodes_with_a_text(store: clew.Clew) -> None:
    ours = ClewPropertyGraphStore(store)
    node = Document(id_="clock", text="Ada Marsh built the clock of Ostrava.", metadata={"a": 1})

    ours.upsert_llama_nodes([node])
    ours.upsert_relations([Relation(label="SOURCE", source_id="clock", target_id="book")])

    (got,) = ours.get_llama_nodes(["clock"])
    assert (got.node_id, got.get_content(), got.metadata) == ("clock", node.text, {"a": 1})
    assert ours.get_triplets(relation_names=["SOURCE"]) == [], "nodes know their neighbours"
    ours.delete_llama_nodes(["clock"])
    assert store.count() == 0
    with pytest.raises(ValueError, match=r"\('blank', 'empty'\)"):
        ours.upsert_nodes([ChunkNode(id_="blank", text=" ")])


def test_entities_found_in_texts(store: clew.Clew) -> None:
    ours = ClewPropertyGraphStore(store)
    store.add("Ada Marsh was taught by Ivo Quill in Lund.", source="teacher")

    (ada,) = ours.get(ids=["ada marsh"])
    ((start, relation, end),) = ours.get_triplets(entity_names=["Ada Marsh"])

    assert (ada.id, ada.label) == ("Ada Marsh", "person")
    assert (start.id, relation.label, end.id) == ("Ada Marsh", "taught_by", "Ivo Quill")


def test_nearest_entities(store: clew.Clew) -> None:
    ours = ClewPropertyGraphStore(store)
    store.add("Ada Marsh built the clock of Ostrava.", source="clock")
    store.add("Rye bread is sold by Bo Lind.", source="bakery")
    embedded = HashEmbedding().get_query_embedding("the clock of Ostrava")

    found, scores = ours.vector_query(VectorStoreQuery(embedded, similarity_top_k=2))

    assert "Ada Marsh" in [node.id for node in found]
    assert len(found) == len(scores) <= 2
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(NotImplementedError):
        ours.structured_query("MATCH (n) RETURN n")


class PathLLM(MockLLM):
    """Finds one path in a text, and names one entity of a question."""

    def complete(
        self,
        prompt: str,
        formatted: bool = False,
        **kwargs: Any,  # noqa: ANN401 - as there
    ) -> CompletionResponse:
        done = super().complete(prompt, formatted, **kwargs)
        if "synonyms" in prompt:
            done.text = "Ada marsh^Ostrava"
        elif "knowledge triplets" in prompt:
            done.text = "(Ada Marsh, built, Clock)" if "clock" in prompt else ""
        return done


def test_property_graph_index_answers(store: clew.Clew) -> None:
    ours, llm = ClewPropertyGraphStore(store), PathLLM(max_tokens=None)
    texts = {
        "clock": "Ada Marsh built the clock of the Ostrava tower.",
        "teacher": "Ada Marsh was taught by Ivo Quill in Lund.",
    }
    index = PropertyGraphIndex.from_documents(
        [Document(id_=id_, text=text) for id_, text in texts.items()],
        property_graph_store=ours,
        embed_model=HashEmbedding(),
        llm=llm,
        kg_extractors=[SimpleLLMPathExtractor(llm=llm, num_workers=1)],
        use_async=False,
    )

    answer = index.as_query_engine(llm=llm).query("Who built the clock?")

    # LlamaIndex writes what a model found with one capital.
    assert "Ada marsh -> Built -> Clock" in str(answer), "the model found it"
    assert "Ada marsh -> taught_by -> Ivo Quill" in str(answer), "Clew found it in the text"
    assert texts["clock"] in str(answer)
    found = ClewRetriever(store, similarity_top_k=2).retrieve("Who taught the clock's builder?")
    assert {one.node.get_content() for one in found} == set(texts.values())


def test_without_llama_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.core.graph_stores", None)
    monkeypatch.delitem(sys.modules, "clew.integrations.llama_index_graph")

    with pytest.raises(clew.errors.MissingExtraError, match=r"pip install 'clew\[llama-index\]'"):
        importlib.import_module("clew.integrations.llama_index_graph")
