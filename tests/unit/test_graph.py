"""The graph of entities: ties, PageRank, communities, betweenness."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

import clew
from clew.graph import statistics
from clew.graph.entity_graph import (
    ABOUT_SHARE,
    CROWD,
    DAMPING,
    TIERS,
    EntityGraph,
    EntityRanks,
    build_entity_graph,
    current,
    degrees,
    entity_ranks,
    pagerank,
    salience,
    tiers,
)
from clew.graph.partition import leiden, weighted
from clew.graph.snapshot import Snapshot
from clew.graph.statistics import (
    EXACT,
    GraphStatistics,
    betweenness,
    components,
    cut_vertices,
    overview,
)
from clew.ports import RelationRows
from clew.search.walk import local_graph, walk
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from clew.testing.fakes import HashEmbedder
from tests.unit.graphs import edges_of, graph_of, graphs, snapshot_with

# --- What is said of a graph, against linear algebra and against trying everything.


def matrix_of(graph: EntityGraph) -> NDArray[np.float64]:
    """(E, E) strengths, symmetric."""
    matrix = np.zeros((len(graph.entity_ids),) * 2)
    for (one, other), strength in zip(edges_of(graph), graph.strengths.tolist(), strict=True):
        matrix[one, other] = matrix[other, one] = strength
    return matrix


def without(graph: EntityGraph, *, row: int = -1, edge: int = -1) -> EntityGraph:
    """The graph without the ties of an entity, or without one tie."""
    kept = [
        (one, other, 1.0)
        for number, (one, other) in enumerate(edges_of(graph))
        if number != edge and row not in (one, other)
    ]
    return graph_of(len(graph.entity_ids), kept)


def parts(graph: EntityGraph) -> list[set[int]]:
    _, labels = connected_components(csr_array(matrix_of(graph)), directed=False)
    return [set(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())]


# --- PageRank ----------------------------------------------------------------------------


@given(graphs(most=9))
def test_pagerank_solves_its_equations(graph: EntityGraph) -> None:
    matrix = matrix_of(graph)
    size = len(matrix)
    totals = matrix.sum(axis=0)
    moves = np.where(totals > 0, matrix / np.where(totals > 0, totals, 1), 1 / size)
    solved = np.linalg.solve(np.eye(size) - DAMPING * moves, np.full(size, (1 - DAMPING) / size))
    np.testing.assert_allclose(pagerank(graph), solved, atol=1e-8)


@given(graphs(most=9))
def test_salience_runs_from_nothing_tied_to_the_first(graph: EntityGraph) -> None:
    ranks, alone = pagerank(graph), degrees(graph) == 0
    found = salience(graph, ranks)
    assert not found[alone].any()
    assert alone.all() or found[np.argmax(ranks)] == 1
    assert (found[~alone] > 0).all()
    assert (np.diff(found[np.argsort(ranks, kind="stable")]) >= 0).all()


def test_tiers_are_shares_of_the_ranks() -> None:
    ranks = np.random.default_rng(3).permutation(np.arange(1.0, 251))
    found = tiers(ranks)
    named = [TIERS[tier] for tier in found[np.argsort(-ranks)]]
    assert named == ["core"] * 3 + ["notable"] * 22 + ["minor"] * 225
    assert [TIERS[tier] for tier in tiers(np.array([0.5, 0.5]))] == ["core", "minor"]


# --- betweenness -------------------------------------------------------------------------


def tried_betweenness(graph: EntityGraph) -> NDArray[np.float64]:
    """Share of shortest paths that go by each entity, over all pairs of others."""
    matrix = matrix_of(graph)
    size = len(matrix)
    hops = dijkstra(csr_array(matrix), unweighted=True)
    powers = [np.linalg.matrix_power((matrix > 0).astype(float), k) for k in range(size)]
    ways = np.array(
        [
            [powers[int(hops[a, b])][a, b] if np.isfinite(hops[a, b]) else 0 for b in range(size)]
            for a in range(size)
        ]
    )
    total = np.zeros(size)
    for one, middle, other in permutations(range(size), 3):
        if (
            np.isfinite(hops[one, other])
            and hops[one, middle] + hops[middle, other] == hops[one, other]
        ):
            total[middle] += ways[one, middle] * ways[middle, other] / ways[one, other]
    return total / max((size - 1) * (size - 2), 1)


@given(graphs(most=7))
def test_betweenness_counts_shortest_paths(graph: EntityGraph) -> None:
    np.testing.assert_allclose(betweenness(graph, samples=1), tried_betweenness(graph), atol=1e-12)


def test_sampled_betweenness_comes_near_the_exact_one() -> None:
    rng = np.random.default_rng(5)
    size = EXACT + 100
    ends = rng.integers(0, size, (3 * size, 2)) * (rng.random((3 * size, 2)) > 0.2)
    graph = graph_of(size, [(int(a), int(b), 1.0) for a, b in ends])
    exact = betweenness(graph, samples=size)
    found = betweenness(graph, samples=100, seed=1)
    assert np.array_equal(found, betweenness(graph, samples=100, seed=1))
    assert np.argmax(found) == np.argmax(exact) == 0
    assert found[0] == pytest.approx(exact[0], rel=0.05)
    assert found.sum() == pytest.approx(exact.sum(), rel=0.1)


# --- bridges -----------------------------------------------------------------------------


@given(graphs(most=9))
def test_bridges_are_what_the_graph_falls_apart_without(graph: EntityGraph) -> None:
    cut, bridges = cut_vertices(graph)
    assert [lost for _, lost in cut] == sorted((lost for _, lost in cut), reverse=True)
    assert [lost for _, lost in bridges] == sorted((lost for _, lost in bridges), reverse=True)
    for part in parts(graph):
        for row in part:
            rest = [p - {row} for p in parts(without(graph, row=row)) if (p - {row}) & part]
            assert dict(cut).get(row, 0) == len(part) - 1 - max(map(len, rest), default=0)
    for edge, ends in enumerate(edges_of(graph)):
        one, other = (next(p for p in parts(without(graph, edge=edge)) if end in p) for end in ends)
        assert dict(bridges).get(edge, 0) == (0 if one == other else min(len(one), len(other)))


def test_a_long_chain_is_one_component_and_all_bridges() -> None:
    order = np.random.default_rng(2).permutation(5_000).tolist()
    graph = graph_of(5_000, [(a, b, 1.0) for a, b in pairwise(order)])
    cut, bridges = cut_vertices(graph)
    assert not components(graph).any()
    assert {row for row, _ in cut[:2]} == set(order[2_499:2_501]), "the middle first"
    assert (len(bridges), bridges[0][1]) == (4_999, 2_500)


# --- how it hangs together ---------------------------------------------------------------


@given(graphs(most=20))
def test_components_are_those_of_scipy(graph: EntityGraph) -> None:
    names = components(graph)
    for part in parts(graph):
        assert set(names[sorted(part)].tolist()) == {min(part)}


# --- Leiden on arrays: what it maximises, also where part of a graph stands still.


TWO_TRIANGLES = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (3, 4, 1.0), (4, 5, 1.0), (3, 5, 1.0)]


@pytest.mark.parametrize(
    ("resolution", "found"),
    [(1.0, [0, 0, 0, 1, 1, 1]), (0.01, [0] * 6), (50.0, list(range(6)))],
)
def test_a_higher_resolution_finds_smaller_communities(resolution: float, found: list[int]) -> None:
    graph = weighted(graph_of(6, [*TWO_TRIANGLES, (2, 3, 0.5)]))
    assert leiden(graph, resolution).tolist() == found


# --- The walk, against the linear system that it solves.


Mentions = list[tuple[int, int, int]]
"""(chunk from 0, entity, count; 0 for what the chunk is about)."""


def _snapshot(size: int, mentions: Mentions) -> Snapshot:
    """Of chunks of one sentence each."""
    flat = sorted({(c + 1, 0 if n else -1, e, max(n, 1)) for c, e, n in mentions})
    return snapshot_with([1] * size, flat)


def _dense(
    snapshot: Snapshot, passages: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], list[int]]:
    """Transition matrix among passages, then entities, and the entities; columns are origins."""
    weights = np.zeros((snapshot.size, len(snapshot.entity_ids)))
    for chunk in range(snapshot.size):
        start, end = snapshot.passage_entities.starts[chunk : chunk + 2]
        entities = snapshot.passage_entities.items[start:end]
        weights[chunk, entities] = snapshot.weights(np.arange(start, end))
    here = np.flatnonzero(weights[passages].any(axis=0))
    ties = weights[np.ix_(passages, here)]
    of_passages, of_entities = weights[passages].sum(axis=1), weights[:, here].sum(axis=0)
    size, cut = len(passages) + len(here), len(passages)
    matrix = np.zeros((size, size))
    matrix[cut:, :cut] = (ties / np.where(of_passages > 0, of_passages, 1)[:, None]).T
    matrix[:cut, cut:] = ties / of_entities
    return matrix, here.tolist()


mention_lists = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(0, 3)), max_size=18
)


@given(mention_lists, st.sets(st.integers(0, 5), min_size=1), st.integers(0, 2**32 - 1))
def test_walks_spend_the_time_that_the_equations_say(
    mentions: Mentions, chosen: set[int], seed: int
) -> None:
    snapshot = _snapshot(6, mentions)
    passages = np.array(sorted(chosen), dtype=np.int64)
    matrix, entities = _dense(snapshot, passages)
    graph = local_graph(snapshot, passages)
    assert graph.entities.tolist() == entities
    rng = np.random.default_rng(seed)
    restart = rng.random((len(matrix), 3))
    damping = np.array([0.3, 0.5, 0.75])
    found = walk(graph, restart[: len(passages)], restart[len(passages) :], damping, rounds=60)
    for k, chance in enumerate(damping):
        home = (1 - chance) * restart[:, k] / restart[:, k].sum()
        solved = np.linalg.solve(np.eye(len(matrix)) - chance * matrix, home)
        np.testing.assert_allclose(found[:, k], solved[: len(passages)], atol=1e-9)


# --- The graph of entities: its ties against plain Python, and its file against damage and
# change.


Chunk = tuple[set[int], list[set[int]]]
"""What it is about, and the entities of each of its sentences; ids from 1."""
Stated = tuple[int, int, float, int]
"""Head, tail, weight, chunk (from 1; 0 for none; always its first sentence)."""
NONE: list[Stated] = []


def snapshot_of(chunks: list[Chunk]) -> Snapshot:
    mentions = [
        (number, ordinal, entity, 1)
        for number, (about, said) in enumerate(chunks, 1)
        for ordinal, named in enumerate([about, *said], -1)
        for entity in sorted(named)
    ]
    return snapshot_with([len(said) for _, said in chunks], mentions)


def rows_of(stated: list[Stated]) -> RelationRows:
    return RelationRows(
        ids=np.arange(1, len(stated) + 1),
        heads=np.array([head for head, *_ in stated], dtype=np.int64),
        tails=np.array([tail for _, tail, *_ in stated], dtype=np.int64),
        weights=np.array([weight for _, _, weight, _ in stated], dtype=np.float32),
        chunks=np.array([chunk for *_, chunk in stated], dtype=np.int64),
        sentences=np.array([0 if chunk else -1 for *_, chunk in stated], dtype=np.int64),
    )


def built(
    chunks: list[Chunk], stated: list[Stated] = NONE, left_out: set[int] | None = None
) -> EntityGraph:
    dropped = None if left_out is None else np.array(sorted(left_out), dtype=np.int64)
    return build_entity_graph(snapshot_of(chunks), rows_of(stated), dropped)


@dataclass
class Added:
    """What adds to a tie."""

    amount: float
    relation: int = 0
    chunk: int = 0
    sentence: int = -1


def rarities(chunks: list[Chunk]) -> dict[int, float]:
    """By entity: idf relative to that of an entity of one chunk."""
    within = Counter(e for about, said in chunks for e in set().union(about, *said))
    most = math.log1p(len(chunks))
    return {entity: math.log1p(len(chunks) / count) / most for entity, count in within.items()}


def counted(
    chunks: list[Chunk], stated: list[Stated], left_out: set[int]
) -> dict[tuple[int, int], list[Added]]:
    """What adds to each tie, by pairs of ids, in plain Python."""
    rarity = rarities(chunks)
    found: dict[tuple[int, int], list[Added]] = {}

    def add(one: int, other: int, added: Added) -> None:
        if one != other and added.amount > 0:
            found.setdefault((min(one, other), max(one, other)), []).append(added)

    for number, (about, said) in enumerate(chunks, 1):
        for ordinal, every in enumerate(said):
            named = every - left_out
            for one, other in combinations(sorted(named), 2):
                share = math.sqrt(rarity[one] * rarity[other]) / (len(named) - 1)
                add(one, other, Added(share, chunk=number, sentence=ordinal))
            for subject in about - left_out - named:
                for entity in named:
                    share = math.sqrt(rarity[subject] * rarity[entity]) * ABOUT_SHARE / len(named)
                    add(subject, entity, Added(share, chunk=number, sentence=ordinal))
    for number, (head, tail, weight, chunk) in enumerate(stated, 1):
        if not {head, tail} & left_out:
            add(head, tail, Added(weight, number, chunk, 0 if chunk else -1))
    return found


entities = st.sets(st.integers(1, 6), max_size=4)
chunk_lists = st.lists(
    st.tuples(st.sets(st.integers(1, 6), max_size=2), st.lists(entities, max_size=3)), max_size=5
)
stated_lists = st.lists(
    st.tuples(
        st.integers(1, 8), st.integers(1, 8), st.sampled_from([0, 0.5, 1]), st.integers(0, 3)
    ),
    max_size=6,
)


@given(chunk_lists, stated_lists, st.sets(st.integers(1, 8), max_size=2))
def test_ties_are_what_relations_and_sentences_add_up_to(
    chunks: list[Chunk], stated: list[Stated], left_out: set[int]
) -> None:
    graph = built(chunks, stated, left_out)
    expected = counted(chunks, stated, left_out)
    ids = graph.entity_ids.tolist()
    named = {e for about, said in chunks for some in [about, *said] for e in some}
    assert ids == sorted((named | {end for s in stated for end in s[:2]}) - left_out)
    found = [(ids[one], ids[other]) for one, other in edges_of(graph)]
    assert found == sorted(expected)
    for edge, pair in enumerate(found):
        parts = expected[pair]
        assert graph.strengths[edge] == pytest.approx(sum(p.amount for p in parts), rel=1e-5)
        relations = sorted((p for p in parts if p.relation), key=lambda p: (-p.amount, p.relation))
        assert graph.relations[edge] == (relations[0].relation if relations else 0)
        shown = int(graph.chunks[edge]), int(graph.sentences[edge])
        texts = [p for p in relations if p.chunk] or [p for p in parts if p.chunk] or relations
        best = max(p.amount for p in texts)
        assert shown in {(p.chunk, p.sentence) for p in texts if p.amount == pytest.approx(best)}


def test_a_crowd_ties_nobody() -> None:
    crowd = set(range(1, CROWD + 2))
    assert len(built([(set(), [crowd])]).strengths) == 0
    assert len(built([(set(), [crowd])], left_out={1}).strengths) == CROWD * (CROWD - 1) / 2
    assert len(built([({99}, [crowd])]).strengths) == 0


# --- on disk -----------------------------------------------------------------------------


@pytest.fixture
def engine(engine: clew.Clew) -> clew.Clew:
    engine.add("Ada Morn met Piet Oss in Vienna on 4 May 1990.", source="a", title="Ada Morn")
    engine.add("Piet Oss taught Brida Kall in Vienna in May 1990.", source="b")
    return engine


def same(one: EntityGraph | EntityRanks, other: EntityGraph | EntityRanks) -> bool:
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
    )


def graph_file(engine: clew.Clew) -> Path:
    [file] = engine.store.folder.glob("entities-*.arrays")
    return file


def anew(engine: clew.Clew) -> EntityGraph:
    dates = engine.store.entities_of_type("date")
    return build_entity_graph(engine.state.snapshot.whole, engine.store.relation_rows(), dates)


def test_the_graph_is_kept_and_read_again(engine: clew.Clew) -> None:
    store = engine.store
    first = current(EntityGraph, store, engine.state.snapshot, store.folder)
    assert graph_file(engine).name == f"entities-{store.generation()}.arrays"
    assert same(first, anew(engine))
    changed = graph_file(engine).stat().st_mtime_ns
    assert same(current(EntityGraph, store, None, store.folder), first)
    assert current(EntityGraph, store, None, store.folder, first) is first
    ranks = current(EntityRanks, store, None, store.folder)
    assert same(ranks, entity_ranks(first))
    assert current(EntityRanks, store, None, store.folder, ranks) is ranks
    assert graph_file(engine).stat().st_mtime_ns == changed


def test_a_graph_of_another_generation_is_built_anew(engine: clew.Clew) -> None:
    store = engine.store
    before = current(EntityGraph, store, engine.state.snapshot, store.folder)
    old_snapshot = engine.state.snapshot
    engine.add("Brida Kall met Ada Morn.", source="c")
    after = current(EntityGraph, store, old_snapshot, store.folder, before)
    assert after.generation == store.generation() > before.generation
    assert same(after, anew(engine))
    assert graph_file(engine).name == f"entities-{after.generation}.arrays", "the old file is gone"


def test_what_texts_say_of_a_crowd_is_shared_among_it() -> None:
    stated = [(leaf, 1, 0.8, 1) for leaf in range(2, 4 * CROWD + 1)]
    graph = built([(set(), [set()])], [*stated, (4 * CROWD + 1, 1, 0.8, 0)])
    assert graph.strengths.tolist() == pytest.approx([*[0.2] * len(stated), 0.8]), "by hand: whole"


# --- The graph at a glance, of a real store, against looking for each thing the plain way.


TIES = ["Ab Cd", "Cd Ef", "Ab Ef", "Ef Gh", "Gh Ij"]
"""A triangle, from which a chain hangs at Ef."""
NAMES = ["Ab", "Cd", "Ef", "Gh", "Ij", "Kl"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path_factory.mktemp("store"), embedder=EMBEDDER)) as store:
        for number, tie in enumerate([*TIES, "Kl"]):
            store.save(make_entry(str(number), f"{tie} were there.", names=NAMES))
        yield store


def test_the_graph_at_a_glance(store: SqliteStore) -> None:
    seen = overview(store, current(EntityGraph, store, None, store.folder))
    assert seen.statistics == GraphStatistics(
        entities=6,
        ties=5,
        isolated=1,
        components=2,
        largest_component=5,
        mean_degree=10 / 6,
        highest_degree=3,
    )
    assert {hub.entity.name: hub.degree for hub in seen.hubs} == {
        **{"Ab": 2, "Cd": 2, "Ef": 3},
        **{"Gh": 2, "Ij": 1},
    }
    assert all(one.pagerank >= other.pagerank for one, other in pairwise(seen.hubs))
    assert seen.hubs[0].entity.tier == "core"
    # Of the 10 pairs of others, Ef is passed by Ab and Cd towards Gh and Ij, Gh by all to Ij.
    passed = {entry.entity.name: entry.betweenness for entry in seen.between}
    assert passed == pytest.approx({"Ef": 4 / 10, "Gh": 3 / 10})
    assert {cut.name: cut.severed for cut in seen.cut_entities} == {"Ef": 2, "Gh": 1}
    assert {frozenset(b.ends): b.severed for b in seen.bridges} == {
        frozenset({"Ef", "Gh"}): 2,
        frozenset({"Gh", "Ij"}): 1,
    }


def test_every_list_is_bounded(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = current(EntityGraph, store, None, store.folder)
    seen = overview(store, graph, limit=1)
    lists = seen.hubs, seen.between, seen.cut_entities, seen.bridges
    assert [len(found) for found in lists] == [1] * 4
    monkeypatch.setattr(statistics, "MAX_EDGES", 4)
    seen = overview(store, graph)
    assert (seen.cut_entities, seen.bridges) == ((), ())
    assert seen.notes == ("bridges were not looked for: the graph has more than 4 ties",)


def test_an_empty_store_has_nothing_to_show(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        seen = engine.graph.statistics()
    assert (seen.statistics.entities, seen.hubs, seen.between, seen.bridges) == (0, (), (), ())
