from __future__ import annotations

import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew import Clew
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.operations.spec import Progress
from clew.operations.toolbox import OPERATIONS, Outcome, Toolbox
from clew.request_end import request
from clew.search.entity_search import REACH
from clew.search.ranker import Ranker
from clew.testing.fakes import HashEmbedder
from clew.types import Chunk, ChunkExtraction, Document, Extraction
from clew.wiring import make_extractor
from tests.unit.asked import SlowEmbedder, add, engine_of
from tests.unit.called import call, pages, refusal

TEXTS = {
    "Harrow Ford": "The mill at Harrow Ford was built by Jonas Reed. Jonas Reed feared the Lorne.",
    "Tarn Abbey": "Tarn Abbey stands on the river Lorne. Tarn Abbey is part of the Lorne Estate.",
    "Lorne": "The Lorne is a slow river. The Lorne Estate is part of Veldt County.",
    "Ada Quill": "Ada Quill was born in Port Anselm. Ada Quill married Jonas Reed in 1958.",
    "Port Anselm": "Port Anselm is part of Veldt County. Heavy rain causes floods at Port Anselm.",
}


class Silent(PatternExtractor):
    """Reads names alone."""

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        read = super().extract(document, chunks)
        return Extraction(
            chunks=tuple(
                ChunkExtraction(sentences=chunk.sentences, mentions=chunk.mentions)
                for chunk in read.chunks
            ),
            about=read.about,
            aliases=read.aliases,
        )


@pytest.fixture
def store(engine: Clew) -> Clew:
    add(engine, TEXTS)
    return engine


def id_of(store: Clew, name: str) -> int:
    return store.entities.get(name).id


# --- graph_enhanced_search ---------------------------------------------------------------


def expected_scores(store: Clew, question: str) -> dict[int, tuple[float, float]]:
    """(cosine, prominence) by entity id, by the plainest way there is."""
    asked = store.state.embedder.embed_query(question)
    ids, vectors = store.store.embeddings()
    cosine = dict(zip(ids.tolist(), (vectors @ asked).tolist(), strict=True))
    counts: Counter[tuple[int, int]] = Counter()
    about, passages = set(), defaultdict[int, set[int]](set)
    for chunk, sentence, entity, count in store.store.mention_rows().tolist():
        passages[entity].add(chunk)
        if sentence < 0:
            about.add((chunk, entity))
        else:
            counts[chunk, entity] += count

    def weight(chunk: int, entity: int) -> float:
        idf = math.log1p(len(ids) / len(passages[entity]))
        return (min(counts[chunk, entity], 2) + 6 * ((chunk, entity) in about)) * idf**2

    found = {}
    for entity, chunks in passages.items():
        best = max(sorted(chunks), key=lambda chunk: round(cosine[chunk], 6))
        highest = max(weight(best, other) for other in passages if best in passages[other])
        found[entity] = (max(cosine[best], 0), weight(best, entity) / highest)
    return found


def hops_from(store: Clew, name: str, depth: int) -> dict[int, int]:
    graph = store.state.entity_graph
    ids = graph.entity_ids.tolist()
    start = id_of(store, name)
    hops, queue = {start: 0}, deque([start])
    while queue:
        entity = queue.popleft()
        for row in graph.row(ids.index(entity))[0].tolist():
            if hops[entity] < depth and ids[row] not in hops:
                hops[ids[row]] = hops[entity] + 1
                queue.append(ids[row])
    return hops


@pytest.mark.parametrize(
    ("question", "named", "depth", "reach"),
    [
        *(("Who was Jonas Reed?", "Jonas Reed", depth, REACH) for depth in (1, 2, 3)),
        # Without a known name there is no nearness; nor where an entity's passages are not among
        # the nearest of all.
        *(("slow water", "", 2, reach) for reach in (REACH, 1)),
    ],
)
def test_scores_are_cosine_prominence_centrality_and_nearness(
    store: Clew,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    named: str,
    depth: int,
    reach: int,
) -> None:
    monkeypatch.setattr("clew.search.entity_search.REACH", reach)
    expected = expected_scores(store, question)
    hops = hops_from(store, named, depth) if named else {}

    results = call(store.tools, "graph_enhanced_search", query=question, depth=depth, limit=50)[
        "results"
    ]

    assert results
    assert set(hops) <= {r["entity_id"] for r in results}
    for result in results:
        id_ = result["entity_id"]
        nearness = 1 / (1 + hops[id_]) if id_ in hops else 0
        # What something is called ("river") is no name, so that no passage is its.
        cosine, prominence = expected.get(id_, (0, 0))
        (entity,) = store.state.entity_ranks.applied(store.store.entities([id_]))
        assert result["vector_score"] == pytest.approx(cosine, abs=1e-6)
        assert result["graph_score"] == pytest.approx(
            nearness + (1 - nearness) * (2 * prominence + entity.salience_score) / 6, abs=1e-6
        )


@pytest.mark.parametrize(("vector", "graph"), [(0.6, 0.4), (1, 0), (0, 1), (0, 0)])
def test_results_are_ordered_by_the_weighted_sum(store: Clew, vector: float, graph: float) -> None:
    content = call(
        store.tools,
        "graph_enhanced_search",
        query="Where does the Lorne flow?",
        vector_weight=vector,
        graph_weight=graph,
        limit=4,
    )

    results = content["results"]
    for result in results:
        weighted = vector * result["vector_score"] + graph * result["graph_score"]
        assert result["combined_score"] == pytest.approx(weighted)
    combined = [r["combined_score"] for r in results]
    assert combined == sorted(combined, reverse=True)
    assert content["result_count"] == len(results) == 4
    assert content["search_params"] == {
        "depth": 2,
        "limit": 4,
        "vector_weight": vector,
        "graph_weight": graph,
        "include_neighbors": True,
    }


def test_results_have_the_keys_that_are_promised(store: Clew) -> None:
    content = call(store.tools, "graph_enhanced_search", query="Jonas Reed")
    first, reed = content["results"][0], store.entities.get("Jonas Reed")

    assert {"query", "result_count", "results", "search_params"} <= set(content)
    assert (first["entity_name"], first["entity_type"]) == ("Jonas Reed", reed.entity_type)
    assert "Jonas Reed" in first["content"]
    assert first["neighbor_count"] == len(first["neighbors"]) > 0
    for neighbor in first["neighbors"]:
        assert set(neighbor) == {"entity_id", "name", "relation", "weight", "depth"}
        assert 0 < neighbor["weight"] <= 1
        assert neighbor["name"] == store.entities.get(str(neighbor["entity_id"])).name


def test_before_the_model_is_there_words_and_ties_answer(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, TEXTS)
    with clew.open(tmp_path, embedder=(model := SlowEmbedder())) as engine:
        engine.state.warm(patience=0.0)
        meanwhile = call(engine.tools, "graph_enhanced_search", query="Who built the mill?")
        named = call(engine.tools, "graph_enhanced_search", query="Tarn Abbey")["results"]
        model.let.set()
        while not engine.state.ready:
            pass
        later = call(engine.tools, "graph_enhanced_search", query="Who built the mill?")

    assert "still being loaded" in meanwhile["notes"][0]
    assert {r["vector_score"] for r in meanwhile["results"]} == {0.0}
    assert "Harrow Ford" in {r["entity_name"] for r in meanwhile["results"]}
    assert named[0]["entity_name"] == "Tarn Abbey"
    assert later["notes"] == []
    assert later["results"][0]["vector_score"] > 0


def test_depth_out_of_range_is_moved_into_it(store: Clew) -> None:
    depths = [
        call(store.tools, "graph_enhanced_search", query="x", depth=depth)["search_params"]["depth"]
        for depth in (-5, 0, 3, 99)
    ]

    assert depths == [1, 1, 3, 3]


def test_nothing_is_found_in_an_empty_store(engine: Clew) -> None:
    content = call(engine.tools, "graph_enhanced_search", query="Jonas Reed")
    statistics = call(engine.tools, "get_graph_statistics")["statistics"]

    assert content["results"] == []
    assert (statistics["entities"], statistics["avg_relationships_per_entity"]) == (0, 0)


def test_a_description_goes_before_a_sentence(store: Clew) -> None:
    """Longer ones are cut."""
    described = id_of(store, "Jonas Reed")
    with store.state.journal.write() as connection:
        connection.execute("UPDATE entities SET content = ? WHERE id = ?", ("m" * 700, described))

    first = call(store.tools, "graph_enhanced_search", query="Jonas Reed")["results"][0]

    assert (first["entity_id"], first["content"]) == (described, "m" * 599 + "…")


def test_what_only_looks_leaves_no_row_in_the_audit_log(store: Clew) -> None:
    call(store.tools, "prune_graph", below=0.9)
    assert call(store.tools, "audit")["entries"] == []
    call(store.tools, "prune_graph", below=0.9, dry_run=False, confirm=True)
    (row,) = call(store.tools, "audit")["entries"]
    assert (row["tool"], row["subjects"]["below"]) == ("prune_graph", 0.9)


# --- get_entity_neighbors ----------------------------------------------------------------


def brute_neighbors(
    relations: Sequence[tuple[int, str, int, float]],
    start: int,
    depth: int,
    direction: str,
    relation_type: str | None,
    min_weight: float,
) -> set[tuple[int, str, str, int]]:
    """(neighbour, type, direction, depth), hop by hop over all relations."""
    seen, edge, found = {start}, {start}, set()
    for step in range(1, depth + 1):
        reached = set()
        for head, kind, tail, weight in relations:
            if weight < min_weight or relation_type not in (None, kind):
                continue
            if direction != "inbound" and head in edge and tail not in seen:
                reached.add((tail, kind, "outbound", step))
            if direction != "outbound" and tail in edge and head not in seen:
                reached.add((head, kind, "inbound", step))
        found |= reached
        edge = {neighbor for neighbor, *_ in reached}
        seen |= edge
    return found


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """A store with relations of several types, weights and directions."""
    rng = np.random.default_rng(4)
    with clew.open(tmp_path_factory.mktemp("tied"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS)
        ids = engine.state.entity_graph.entity_ids.tolist()
        for _ in range(25):
            head, tail = rng.choice(ids, 2, replace=False).tolist()
            kind = str(rng.choice(["uses", "causes", "near_to"]))
            weight = round(float(rng.uniform()), 2)
            engine.entities.add_relation(head, tail, kind, weight=weight)
        yield engine


@given(
    place=st.integers(0, 7),
    depth=st.integers(1, 3),
    direction=st.sampled_from(["outbound", "inbound", "both"]),
    relation_type=st.sampled_from([None, "uses", "part_of", "causes", "extends"]),
    min_weight=st.sampled_from([0.0, 0.3, 0.5, 0.9]),
)
def test_neighbours_are_those_of_a_plain_search(
    tied: Clew,
    place: int,
    depth: int,
    direction: str,
    relation_type: str | None,
    min_weight: float,
) -> None:
    start = int(tied.state.entity_graph.entity_ids[place])
    options = {"depth": depth, "direction": direction, "min_weight": min_weight}
    relations = [
        (r.from_entity_id, r.relation_type, r.to_entity_id, r.weight)
        for r in tied.store.relations(tied.state.entity_graph.entity_ids.tolist())
    ]

    content = call(
        tied.tools, "get_entity_neighbors", entity_id=start, relation_type=relation_type, **options
    )

    neighbors = [n for n in content["neighbors"] if n["relation_type"] != "co_occurs_with"]
    found = [(n["neighbor_id"], n["relation_type"], n["direction"], n["depth"]) for n in neighbors]
    expected = brute_neighbors(relations, start, depth, direction, relation_type, min_weight)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert [n["depth"] for n in neighbors] == sorted(depth for *_, depth in expected)
    # Those that are only named together come last, and where any direction and type will do.
    together = content["neighbors"][len(neighbors) :]
    assert content["neighbor_count"] == len(neighbors) + len(together)
    assert all(n["relation_type"] == "co_occurs_with" for n in together)
    assert not together or (direction == "both" and relation_type is None)


def test_names_of_one_sentence_are_neighbours_of_a_kind_of_their_own(engine: Clew) -> None:
    engine.add("With Anna Morn came Piet Oss and Cleo Vale. There Anna Morn married Piet Oss.")
    anna, piet, cleo = (id_of(engine, n) for n in ("Anna Morn", "Piet Oss", "Cleo Vale"))
    options = {"entity_id": anna, "relation_type": "co_occurs_with"}

    content = call(engine.tools, "get_entity_neighbors", **options)
    graph = call(engine.tools, "build_local_graph", entity_ids=[anna, piet, cleo])["graph"]
    above = call(engine.tools, "get_entity_neighbors", **options, min_weight=1.0)["neighbors"]

    # A relation ties the other two, and says more.
    (neighbor,) = content["neighbors"]
    assert (neighbor["neighbor_id"], neighbor["direction"]) == (cleo, "both")
    assert 0 < neighbor["weight"] < 1
    assert above == []
    edges = {(e["from_entity_id"], e["to_entity_id"]): e["relation_type"] for e in graph["edges"]}
    assert edges == {
        (anna, piet): "married",
        (min(anna, cleo), max(anna, cleo)): "co_occurs_with",
        (min(piet, cleo), max(piet, cleo)): "co_occurs_with",
    }


def test_pages_together_are_the_whole(tied: Clew) -> None:
    start = id_of(tied, "Jonas Reed")
    asked = {"entity_id": start, "depth": 3}
    whole = call(tied.tools, "get_entity_neighbors", **asked)
    parts = list(pages(tied.tools, "get_entity_neighbors", **asked, limit=2))

    assert len(parts) > 2
    assert [n for page in parts for n in page["neighbors"]] == whole["neighbors"]
    assert whole["next_cursor"] is None


@pytest.mark.parametrize("cursor", ["", "-1", "x", "٣", "99999999"])
def test_a_cursor_of_another_make_is_refused(tied: Clew, cursor: str) -> None:
    assert "expected next_cursor of the result before" in refusal(
        tied.tools, "get_entity_neighbors", entity_id=1, cursor=cursor
    )


def test_neighbours_are_asked_by_any_name(store: Clew) -> None:
    start = id_of(store, "Tarn Abbey")
    by_id = call(store.tools, "get_entity_neighbors", entity_id=start)

    assert call(store.tools, "get_entity_neighbors", entity_id="tarn abbey") == by_id
    assert "near it: 'Tarn Abbey'" in refusal(
        store.tools, "get_entity_neighbors", entity_id="Tarn Abey"
    )


def test_an_id_goes_before_a_name_of_digits(store: Clew) -> None:
    first, named = id_of(store, "Tarn Abbey"), id_of(store, "Jonas Reed")
    for name in (str(first), "1984"):
        store.entities.rename(store.entities.get("Jonas Reed"), name)

    given = (first, str(first), f" {first}", 1984, "1984")
    found = [call(store.tools, "get_entity_neighbors", entity_id=one)["entity_id"] for one in given]

    assert found == [first, first, named, named, named]


def test_a_relation_type_that_there_is_not_is_refused(store: Clew) -> None:
    start = id_of(store, "Tarn Abbey")

    told = refusal(store.tools, "get_entity_neighbors", entity_id=start, relation_type="partof")

    assert told.startswith("no relation is of the type 'partof'; there are ")
    for name, _, _ in store.store.relation_counts():
        assert name in told
    assert "co_occurs_with" in told
    # Every store knows these, whether or not it has any.
    assert (
        call(store.tools, "get_entity_neighbors", entity_id=start, relation_type="extends")["notes"]
        == []
    )


# --- add_entity_relationship -------------------------------------------------------------


def test_a_relation_is_added_once(store: Clew) -> None:
    source, target = id_of(store, "Ada Quill"), id_of(store, "Tarn Abbey")
    stated = {
        "source_id": str(source),
        "target_id": target,
        "relation_type": "depends_on",
        "weight": 0.25,
        "is_causal": True,
        "context": {"by": ["hand"]},
    }

    first, again = (call(store.tools, "add_entity_relationship", **stated) for _ in range(2))

    assert (
        first
        == again
        == {
            "success": True,
            "relationship_id": first["relationship_id"],
            "source_id": source,
            "target_id": target,
            "relation_type": "depends_on",
            "weight": 0.25,
            "is_causal": True,
        }
    )
    [kept] = store.store.relations_by_id([first["relationship_id"]])
    assert kept.context == {"by": ["hand"]}
    [neighbor] = call(
        store.tools, "get_entity_neighbors", entity_id=target, relation_type="depends_on"
    )["neighbors"]
    shown = neighbor["neighbor_id"], neighbor["direction"], neighbor["is_causal"]
    assert shown == (source, "inbound", True)


@pytest.mark.parametrize("name", ["Causes", "is part of", "_x", "x__y", "x_", "", "é", "1st"])
def test_relation_types_are_snake_case(store: Clew, name: str) -> None:
    told = refusal(
        store.tools, "add_entity_relationship", source_id=1, target_id=2, relation_type=name
    )

    assert f"relation_type cannot be {name!r}; expected relates_to, causes, part_of" in told


def test_wrong_ends_and_weights_change_nothing(store: Clew) -> None:
    before = store.store.generation()
    stated = {"source_id": 1, "target_id": 2, "relation_type": "uses"}

    assert "no entity 99" in refusal(
        store.tools, "add_entity_relationship", **{**stated, "target_id": 99}
    )
    assert "0 to 1" in refusal(store.tools, "add_entity_relationship", **stated, weight=1.5)
    assert "an object" in refusal(store.tools, "add_entity_relationship", **stated, context=[1])
    assert store.store.generation() == before


# --- get_graph_statistics ----------------------------------------------------------------


def test_statistics_count_what_is_not_retracted(store: Clew) -> None:
    source, target = id_of(store, "Ada Quill"), id_of(store, "Tarn Abbey")
    before = call(store.tools, "get_graph_statistics")["statistics"]
    for name, causal in (("causes", True), ("uses", False), ("wrong", True)):
        relation = store.entities.add_relation(source, target, name, is_causal=causal)
    store.store.retract([relation.id])

    statistics = call(store.tools, "get_graph_statistics")["statistics"]

    types = {t["relation_type"]: t["count"] for t in statistics["relationship_types"]}
    assert statistics["relationships"] == before["relationships"] + 2 == sum(types.values())
    assert statistics["causal_relationships"] == before["causal_relationships"] + 1
    assert "wrong" not in types
    assert statistics["entities"] == store.maintenance.stats()["entities"]
    mean = statistics["relationships"] / statistics["entities"]
    assert statistics["avg_relationships_per_entity"] == pytest.approx(mean, abs=1e-6)


# --- extracting again --------------------------------------------------------------------


def facts(engine: Clew) -> set[tuple[str, str, str]]:
    """But for what a thing is called: no passage names that, and only indexing states it."""
    relations = engine.store.relations(engine.state.entity_graph.entity_ids.tolist())
    names = engine.store.entity_names(engine.state.entity_graph.entity_ids.tolist())
    stated = {(names[r.from_entity_id], r.relation_type, names[r.to_entity_id]) for r in relations}
    return {fact for fact in stated if fact[1] != "is_a"}


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[Clew]:
    """Indexed by something that reads names alone, opened by something that reads relations."""
    folder = tmp_path / "unread"
    with clew.open(folder, embedder=HashEmbedder(), extractor=Silent()) as engine:
        add(engine, TEXTS)
    with clew.open(folder, embedder=HashEmbedder()) as engine:
        assert facts(engine) == set()
        yield engine


def test_reading_all_again_finds_what_indexing_finds(unread: Clew, store: Clew) -> None:
    first = call(unread.tools, "extract_all_relationships")
    second = call(unread.tools, "extract_all_relationships")

    assert facts(unread) == facts(store) != set()
    statistics = first["statistics"]
    assert statistics["total_processed"] == unread.maintenance.stats()["entities"]
    assert statistics["relationships_added"] == unread.maintenance.stats()["relations"]
    ends = {end for head, _, tail in facts(unread) for end in (head, tail)}
    assert statistics["entities_with_relationships"] == len(ends)
    assert statistics["total_relationships"] == 2 * len(facts(unread))
    assert str(statistics["relationships_added"]) in first["summary"]
    assert second["statistics"]["total_processed"] == 0
    assert unread.maintenance.check().problems == ()


def test_reading_one_entity_adds_its_relations_alone(unread: Clew) -> None:
    entity = id_of(unread, "Tarn Abbey")

    content = call(unread.tools, "extract_entity_relationships", entity_id=entity)

    assert facts(unread) == {("Tarn Abbey", "part_of", "Lorne Estate")}
    assert content["relationships_found"] == content["relationships_added"] == 1
    [relation] = unread.store.relations([entity])
    assert (relation.weight, relation.extractor) == (0.5, make_extractor().name)
    [evidence] = unread.graph.relations("Tarn Abbey")
    assert evidence.evidence == "Tarn Abbey is part of the Lorne Estate."
    assert entity not in unread.store.unread_entities()


def test_a_retracted_relation_does_not_come_back(store: Clew) -> None:
    entity = id_of(store, "Tarn Abbey")
    store.store.retract([r.id for r in store.store.relations([entity])])

    content = call(store.tools, "extract_entity_relationships", entity_id=entity)

    assert content["relationships_added"] == 0
    assert store.store.relations([entity]) == []


def test_some_entities_at_a_time(unread: Clew) -> None:
    size = unread.maintenance.stats()["entities"]

    steps = [
        call(unread.tools, "extract_all_relationships", limit=4)["statistics"]["total_processed"]
        for _ in range(size // 4 + 2)
    ]

    assert sum(steps) == size
    assert max(steps) == 4
    assert steps[-1] == 0


class Impatient(Progress):
    """Stops caring after some documents."""

    def __init__(self, documents: int, end: Callable[[], None]) -> None:
        self.left, self.end = documents, end
        self.told: list[tuple[float, float | None]] = []

    def report(self, done: float, total: float | None, message: str) -> None:
        self.told.append((done, total))
        if done == self.left:
            self.end()


def test_a_reading_cut_short_goes_on_later(unread: Clew, store: Clew) -> None:
    with request() as end:
        impatient = Impatient(2, end)
        cut: Outcome = unread.tools.call("extract_all_relationships", {}, progress=impatient)
    halfway = facts(unread)
    call(unread.tools, "extract_all_relationships")

    assert impatient.told == [(0, 5), (1, 5), (2, 5)]
    assert not cut.is_error
    assert cut.content["statistics"]["total_processed"] < unread.maintenance.stats()["entities"]
    assert halfway < facts(unread) == facts(store)


# --- build_local_graph -------------------------------------------------------------------


def test_the_graph_between_entities(tied: Clew) -> None:
    names = ["Jonas Reed", "Tarn Abbey", "Lorne Estate", "Veldt County"]
    ids = [id_of(tied, name) for name in names]

    content = call(tied.tools, "build_local_graph", entity_ids=[*map(str, ids), ids[0], 2**62])

    graph = content["graph"]
    inner = [
        r for r in tied.store.relations(ids) if r.from_entity_id in ids and r.to_entity_id in ids
    ]
    assert [(node["id"], node["name"]) for node in graph["nodes"]] == [
        *zip(ids, names, strict=True)
    ]
    for node in graph["nodes"]:
        entity = tied.entities.get(node["name"])
        assert (node["tier"], node["entity_type"]) == (entity.tier, entity.entity_type)
        assert node["salience_score"] == pytest.approx(entity.salience_score, abs=1e-6)
    stated = [edge for edge in graph["edges"] if edge["relation_type"] != "co_occurs_with"]
    assert [edge["id"] for edge in stated] == [r.id for r in inner]
    assert graph["edges"][: len(stated)] == stated
    assert (graph["node_count"], graph["edge_count"]) == (4, len(graph["edges"]))
    assert content["left_out"] == {"nodes": 0, "edges": 0, "unknown_ids": 1}


# --- budgets -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """One entity with dozens of neighbours."""
    names = [f"{a}{b}on Vale" for a in "BDFGKLMNPRST" for b in ["ar", "er", "il", "or", "un"]]
    with clew.open(tmp_path_factory.mktemp("crowded"), embedder=HashEmbedder()) as engine:
        engine.add("\n\n".join(f"Aldermere lies near {name}." for name in names), source="a")
        hub = engine.entities.get("Aldermere").id
        for name in names:
            engine.entities.add_relation(hub, engine.entities.get(name).id, "near_to")
        yield engine


@pytest.mark.parametrize("budget", [500, 700, 2000])
def test_results_keep_to_their_budget_and_say_what_is_left_out(crowded: Clew, budget: int) -> None:
    hub = id_of(crowded, "Aldermere")
    everything = crowded.state.entity_graph.entity_ids.tolist()
    count = crowded.state.embedder.count_tokens

    found = call(
        crowded.tools, "graph_enhanced_search", query="Aldermere", limit=50, max_tokens=budget
    )
    around = call(
        crowded.tools, "get_entity_neighbors", entity_id=hub, limit=200, max_tokens=budget
    )
    local = call(crowded.tools, "build_local_graph", entity_ids=everything, max_tokens=budget)

    for content in (found, around, local):
        assert count(json.dumps(content, ensure_ascii=False)) <= budget
    assert found["result_count"] + found["left_out"] == min(len(everything), 50)
    shown = around["neighbor_count"]
    edges = len(everything) - 1
    assert 0 < shown < edges or (budget, shown) == (2000, edges)
    assert around["next_cursor"] == (str(shown) if shown < edges else None)
    assert local["left_out"]["nodes"] + len(local["graph"]["nodes"]) == len(everything)
    assert local["left_out"]["edges"] + len(local["graph"]["edges"]) == edges
    ids = {node["id"] for node in local["graph"]["nodes"]}
    for edge in local["graph"]["edges"]:
        assert {edge["from_entity_id"], edge["to_entity_id"]} <= ids


# --- Tools that follow the graph, as a client calls them.


FOLLOWED = {
    "Harrow Ford": "The mill at Harrow Ford was built by Jonas Reed. Jonas Reed feared the Lorne.",
    "Tarn Abbey": "Tarn Abbey stands on the river Lorne. Tarn Abbey is part of the Lorne Estate.",
    "Ada Quill": "Ada Quill was born in Port Anselm. Ada Quill married Jonas Reed in 1958.",
    "Port Anselm": "In 1971 Ada Quill left Port Anselm. Port Anselm is part of Veldt County.",
}


ford = engine_of(FOLLOWED)


@pytest.mark.parametrize("target", ["Lorne", "Veldt County"])
def test_paths_lead_to_an_entity_by_sentences_that_say_so(ford: Clew, target: str) -> None:
    found = call(ford.tools, "find_paths", source="Ada Quill", target=target, limit=50)
    assert found["paths"]
    for path in found["paths"]:
        assert path["hops"] == len(path["ties"]) <= 3
        for one, other in pairwise(path["ties"]):
            assert {one["from"], one["to"]} & {other["from"], other["to"]}
            assert one["evidence"] != other["evidence"], "no detour within one sentence"
        for tie in path["ties"]:
            assert any(tie["evidence"] in text for text in FOLLOWED.values())
            place = tie["source"]
            text = FOLLOWED[place["title"]]
            assert text[place["char_start"] : place["char_end"]] == tie["evidence"]


def test_a_timeline_is_in_order_and_of_the_period_asked(ford: Clew) -> None:
    whole = call(ford.tools, "entity_timeline", entity="Ada Quill")["timeline"]
    years = [entry["from"][:4] for entry in whole]
    assert years == sorted(years)
    assert set(years) == {"1958", "1971"}
    later = [entry for entry in whole if not entry["until"] or entry["until"] > "1960"]
    asked = {"entity": "Ada Quill"}
    assert call(ford.tools, "entity_timeline", **asked, since="1960")["timeline"] == later != []
    assert call(ford.tools, "entity_timeline", **asked, until="1900")["timeline"] == []


def test_the_graph_of_given_entities_ties_these(ford: Clew) -> None:
    ids = [ford.entities.get(name).id for name in ("Ada Quill", "Jonas Reed")]
    found = call(ford.tools, "relevant_subgraph", entity_ids=ids, format="json")
    assert set(ids) <= {node["id"] for node in found["nodes"]}
    assert found["edges"]
    asked = call(ford.tools, "relevant_subgraph", entity_ids=ids)["text"]
    assert "Ada Quill" in asked


BACKWARDS = {"since": "2024", "until": "2023"}


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("relevant_subgraph", {}, "give a question"),
        ("relevant_subgraph", {"query": "x", "entity_ids": [1]}, "not both"),
        ("relevant_subgraph", {"entity_ids": [987_654]}, "no entity 987654"),
        ("build_local_graph", {"entity_ids": [5000]}, "there is no entity 5000"),
        ("build_local_graph", {"entity_ids": []}, "no entity is given"),
        *(
            (tool, {"entity_id": entity_id}, said)
            for tool in ("get_entity_neighbors", "extract_entity_relationships")
            for entity_id, said in (
                (2**62, f"there is no entity {2**62}; expected an entity_id"),
                (10**30, f"at most {2**63 - 1}"),
            )
        ),
        ("extract_entity_relationships", {"entity_id": "Lorne"}, "expected a whole number"),
        ("get_document", {"document": "x"}, "no document 'x'"),
        ("get_document", {"document": "Harrow Ford", "cursor": "x"}, "cursor cannot be 'x'"),
        ("fetch", {"id": "x#3"}, "no document 'x#3'"),
        ("audit", {"cursor": "-1"}, "next_cursor"),
        ("query_job_status", {"job_id": "x"}, "no job 'x'"),
        ("entity_timeline", {"entity": "Ada Qiull"}, "Ada Quill"),
        ("entity_timeline", {"entity": "Ada Quill", **BACKWARDS}, "nothing lies between them"),
        ("search_entities", {"query": "Ada Quill", **BACKWARDS}, "nothing lies between them"),
        ("search", {"query": " \n"}, "query"),
        ("query_documents", {"query": " \n"}, "query"),
        ("graph_enhanced_search", {"query": " \n"}, "query"),
        ("relevant_subgraph", {"query": " \n"}, "query"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_why(
    ford: Clew, name: str, arguments: dict[str, object], said: str
) -> None:
    assert said in refusal(ford.tools, name, **arguments)


def test_communities_nearest_to_a_query_come_first(ford: Clew) -> None:
    every = call(ford.tools, "list_communities")["communities"]
    assert every
    assert all(community["sources"] for community in every)
    for wanted in every:
        report = f"{wanted['title']}\n{wanted['summary']}"
        (first,) = call(ford.tools, "list_communities", query=report, limit=1)["communities"]
        assert first["id"] == wanted["id"]


@pytest.mark.parametrize(
    ("name", "near"),
    [("search_entities", "results"), ("list_communities", "communities"),
     ("graph_enhanced_search", "results")],
)  # fmt: skip
def test_what_is_nearest_is_told_from_what_was_asked(
    ford: Clew, monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    found = call(ford.tools, name, query="Ada Quill married Jonas Reed")
    assert found[near]
    assert not found.get("notes")

    # What a question of another world is judged by on a store of real files.
    monkeypatch.setattr(Ranker, "judge", _nothing_answers)
    found = call(ford.tools, name, query="quantum lattices")
    assert found[near]
    assert "likely" in found["notes"][0]
    if near == "results":
        assert not call(ford.tools, name, query="ada quill")["notes"], "it is there by its name"


def _nothing_answers(ranker: Ranker, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ranker.rank_second(matrix), np.zeros(len(matrix), np.float32)


def test_an_entity_is_told_by_what_says_something_of_it(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as ford:
        ford.add("# Quux Engine\n\n---\n\nIt grinds flour for the whole of Veldt.", title="mill")
        found = call(ford.tools, "search_entities", query="Quux Engine")
    assert (
        "grinds flour" in {e["entity_name"]: e["content"] for e in found["results"]}["Quux Engine"]
    )


def test_a_question_gets_the_paths_that_its_strategy_found(ford: Clew) -> None:
    found = call(
        ford.tools,
        "query_documents",
        query="How are Ada Quill and Jonas Reed tied?",
        strategy="multi_hop",
    )
    parts = found["context"]["parts"]
    assert parts
    assert {part["kind"] for part in parts} == {"path"}
    assert all(part["citations"] for part in parts)
    assert "Ada Quill" in parts[0]["text"]


def test_a_temporal_question_gets_its_timeline_once(ford: Clew) -> None:
    found = call(
        ford.tools, "query_documents", query="What happened to Ada Quill?", strategy="temporal"
    )
    (part,) = found["context"]["parts"]
    assert part["kind"] == "timeline"
    assert len(part["citations"]) == len(found["results"])


def test_the_answering_sentence_stands_where_it_says(ford: Clew) -> None:
    found = call(ford.tools, "query_documents", query="Whom did Ada Quill marry?")
    (hit,) = [hit for hit in found["results"] if hit["metadata"]["title"] == "Ada Quill"]
    answer = hit["answer"]
    assert answer["text"] == "Ada Quill married Jonas Reed in 1958."
    assert FOLLOWED["Ada Quill"][answer["char_start"] : answer["char_end"]] == answer["text"]


@pytest.mark.parametrize(
    ("tool", "begun", "whole"),
    [
        ("entity_timeline", {"entity": "Ada Q"}, {"entity": "Ada Quill"}),
        ("get_entity_neighbors", {"entity_id": "Tarn A"}, {"entity_id": "Tarn Abbey"}),
        (
            "find_paths",
            {"source": "Ada Q", "target": "Jonas R"},
            {"source": "Ada Quill", "target": "Jonas Reed"},
        ),
    ],
)
def test_the_beginning_of_one_name_is_taken_and_said(
    ford: Clew, tool: str, begun: dict[str, str], whole: dict[str, str]
) -> None:
    taken = [
        f"'{one}' is taken for '{other}'"
        for one, other in zip(begun.values(), whole.values(), strict=True)
    ]
    expected = call(ford.tools, tool, **whole)
    assert call(ford.tools, tool, **begun) == {**expected, "notes": taken}


def test_a_failure_names_a_tool_that_helps(ford: Clew) -> None:
    failures: dict[str, dict[str, object]] = {
        "relevant_subgraph": {"entity_ids": [999]},
        "delete_relation": {"relation_id": 999, "confirm": True},
        "get_entity_neighbors": {"entity_id": 999},
        "extract_entity_relationships": {"entity_id": 999},
        "delete_document": {"document": "nowhere", "confirm": True},
        "fetch": {"id": "nowhere"},
    }
    for name, arguments in failures.items():
        told = refusal(ford.tools, name, **arguments)
        assert any(tool.name in told for tool in OPERATIONS if tool.name != name)


def test_a_tool_of_another_profile_is_said_to_be_there(ford: Clew) -> None:
    toolbox = Toolbox(ford, OPERATIONS, profile="core")
    assert "the profile full or memory" in refusal(toolbox, "create_entities", entities=[])
    assert "the profile full" in refusal(toolbox, "find_paths")


@pytest.mark.parametrize("strategy", ["keyword", "graph", "multi_hop"])
def test_a_budget_too_small_for_a_passage_shows_its_beginning_and_says_so(
    ford: Clew, strategy: str
) -> None:
    text = " ".join(f"The weir number {n} of the Lorne was mended in stone." for n in range(60))
    metadata = {"abstract": "Weirs of stone. " * 300}
    ford.add(text, title="Weirs of the Lorne", source="weirs", metadata=metadata)
    try:
        found = call(
            ford.tools,
            "query_documents",
            query="weirs stone",
            strategy=strategy,
            max_tokens=500,
        )
    finally:
        ford.delete(["weirs"])
    (hit,) = found["results"]
    assert hit["text"].rstrip("…") in text
    assert len(hit["text"]) >= 80
    assert any("no room" in note for note in found["notes"])
    assert ford.state.embedder.count_tokens(json.dumps(found, ensure_ascii=False)) <= 500


@pytest.mark.parametrize(
    ("strategy", "question"),
    [("multi_hop", "How is Ada Quill tied to Harrow Ford?"), ("global", "What is this about?")],
)
def test_what_the_strategy_made_comes_first_in_little_room(
    ford: Clew, strategy: str, question: str
) -> None:
    asked = {"query": question, "strategy": strategy}
    whole = call(ford.tools, "query_documents", **asked, max_tokens=4000)["context"]["parts"]
    found = call(ford.tools, "query_documents", **asked, max_tokens=500)
    (first, *_) = found["context"]["parts"]
    assert first == whole[0]
    assert all(citation["ids"] for citation in first["citations"])
    assert found["results"] or any("no room" in note for note in found["notes"])
    assert ford.state.embedder.count_tokens(json.dumps(found, ensure_ascii=False)) <= 500


def test_a_context_too_small_for_the_best_passage_holds_its_beginning(ford: Clew) -> None:
    question = "Who built the mill at Harrow Ford?"
    best = ford.search(question).hits[0]
    found = ford.search(question, max_tokens=15)
    (part,) = found.context.parts
    assert part.citations[0].chunk_ids == (best.chunk.public_id,)
    assert found.context.is_cut
    assert any("is cut" in note for note in found.notes)
    assert found.context.tokens <= 15


def test_entities_are_found_by_type_and_time(ford: Clew) -> None:
    found = call(ford.tools, "search_entities", query="Who married Jonas Reed?", limit=50)[
        "results"
    ]
    types = {entity["entity_name"]: entity["entity_type"] for entity in found}
    assert len(set(types.values())) > 1
    people = call(
        ford.tools, "search_entities", query="Who married Jonas Reed?", node_types=["person"]
    )["results"]
    assert {one["entity_name"] for one in people} == {n for n, t in types.items() if t == "person"}
    late = call(ford.tools, "search_entities", query="Jonas Reed", since="1971", limit=50)[
        "results"
    ]
    assert {"Ada Quill", "Port Anselm"} <= {one["entity_name"] for one in late}
    assert "Tarn Abbey" not in {one["entity_name"] for one in late}
    assert all(one["content"] in FOLLOWED["Port Anselm"] for one in late)
    none = call(ford.tools, "search_entities", query="Jonas Reed", node_types=["dragon"])
    assert none["results"] == []
    assert "person" in none["notes"][0]


def test_a_fact_of_three_documents_is_one_edge_with_three_sources(ford: Clew) -> None:
    sources = ["first", "second", "third"]
    for source in sources:
        ford.add("Piet Oss married Brida Kall in 1960.", source=source, title=source)
    try:
        ids = [ford.entities.get(name).id for name in ("Piet Oss", "Brida Kall")]
        edges = call(ford.tools, "build_local_graph", entity_ids=ids)["graph"]["edges"]
        (edge,) = (one for one in edges if one["relation_type"] == "married")
        assert sorted(edge["sources"]) == sources
        assert edge["source_count"] == 3
        assert 0.5 < edge["weight"] < 1
    finally:
        ford.delete(sources)


def test_what_causes_is_causal(ford: Clew) -> None:
    ids = [ford.entities.get(name).id for name in ("Ada Quill", "Lorne")]
    ends = {"source_id": ids[0], "target_id": ids[1]}
    assert call(ford.tools, "add_entity_relationship", **ends, relation_type="causes")["is_causal"]
    assert not call(ford.tools, "add_entity_relationship", **ends, relation_type="uses")[
        "is_causal"
    ]


def test_neighbours_leave_room_for_the_entities_asked_for(ford: Clew) -> None:
    asked = {"query": "Ada Quill and Jonas Reed", "limit": 8}
    whole = call(ford.tools, "graph_enhanced_search", **asked, max_tokens=100_000)
    assert any(one["neighbors"] for one in whole["results"])
    bare = call(ford.tools, "graph_enhanced_search", **asked, include_neighbors=False)
    room = ford.state.embedder.count_tokens(json.dumps(bare, ensure_ascii=False)) + 60
    tight = call(ford.tools, "graph_enhanced_search", **asked, max_tokens=max(500, room))
    names = [one["entity_name"] for one in whole["results"]]
    assert [one["entity_name"] for one in tight["results"]] == names
    for one, other in zip(tight["results"], whole["results"], strict=True):
        assert one["neighbors"] == other["neighbors"][: one["neighbor_count"]]
        assert one["more_neighbors"] or one["neighbors"] == other["neighbors"]
