"""What is said of a graph, against linear algebra and against trying everything."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from clew.errors import InputError
from clew.graph.entity_graph import (
    DAMPING,
    TIERS,
    EntityGraph,
    degrees,
    entity_ranks,
    pagerank,
    salience,
    tiers,
)
from clew.graph.statistics import (
    EXACT,
    GraphStatistics,
    betweenness,
    components,
    cut_vertices,
    hubs,
    summary,
)
from tests.unit.graphs import Edge, edges_of, graph_of, graphs

EMPTY = graph_of(0, [])
STAR: list[Edge] = [(0, leaf, 1.0) for leaf in range(1, 6)]


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
    ranks = pagerank(graph)
    found = salience(graph, ranks)
    alone = degrees(graph) == 0
    assert not found[alone].any()
    if not alone.all():
        assert found[np.argmax(ranks)] == 1
        assert (found[~alone] > 0).all()
    assert (np.diff(found[np.argsort(ranks, kind="stable")]) >= 0).all()


def test_tiers_are_shares_of_the_ranks() -> None:
    ranks = np.random.default_rng(3).permutation(np.arange(1.0, 251))
    found = tiers(ranks)
    named = [TIERS[tier] for tier in found[np.argsort(-ranks)]]
    assert named == ["core"] * 3 + ["notable"] * 22 + ["minor"] * 225
    assert [TIERS[tier] for tier in tiers(np.array([0.5, 0.5]))] == ["core", "minor"]


def test_ranks_are_looked_up_by_id() -> None:
    ranks = entity_ranks(graph_of(7, STAR))
    found = ranks.of([3, 99, 1, 7])
    assert found[1] == (1.0, "core")
    assert found[3] == (float(ranks.salience[2]), "minor")
    assert found[7] == (0.0, "minor")
    assert set(found) == {1, 3, 7}


def test_hubs_are_the_first_by_pagerank() -> None:
    graph = graph_of(7, [*STAR, (1, 2, 5.0)])
    first, second, third = hubs(graph, pagerank(graph), 3)
    assert (first, {second, third}) == (0, {1, 2})
    assert degrees(graph)[first] == 5
    assert pagerank(graph)[first] > pagerank(graph)[second]
    assert len(hubs(graph, pagerank(graph), 50)) == 6, "what is not tied is no hub"


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
    assert not np.array_equal(found, betweenness(graph, samples=100, seed=2))
    assert np.argmax(found) == np.argmax(exact) == 0
    assert found[0] == pytest.approx(exact[0], rel=0.05)
    assert found.sum() == pytest.approx(exact.sum(), rel=0.1)


# --- bridges -----------------------------------------------------------------------------


@given(graphs(most=9))
def test_bridges_are_what_the_graph_falls_apart_without(graph: EntityGraph) -> None:
    found = cut_vertices(graph)
    entities = dict(zip(found.entities.tolist(), found.severed.tolist(), strict=True))
    assert list(entities.values()) == sorted(entities.values(), reverse=True)
    for part in parts(graph):
        for row in part:
            rest = [p - {row} for p in parts(without(graph, row=row)) if (p - {row}) & part]
            lost = len(part) - 1 - max(map(len, rest), default=0)
            assert entities.get(row, 0) == lost
    edges = dict(zip(found.bridges.tolist(), found.bridge_severed.tolist(), strict=True))
    assert list(edges.values()) == sorted(edges.values(), reverse=True)
    for edge, ends in enumerate(edges_of(graph)):
        one, other = (next(p for p in parts(without(graph, edge=edge)) if end in p) for end in ends)
        assert edges.get(edge, 0) == (0 if one == other else min(len(one), len(other)))


def test_a_long_chain_is_all_bridges() -> None:
    graph = graph_of(20_000, [(i, i + 1, 1.0) for i in range(19_999)])
    found = cut_vertices(graph)
    assert len(found.bridges) == 19_999
    assert set(found.entities[:2].tolist()) == {9_999, 10_000}, "the middle first"
    assert found.bridge_severed[0] == 10_000


def test_a_graph_too_large_is_not_looked_at() -> None:
    found = cut_vertices(graph_of(6, STAR), max_edges=4)
    assert len(found.entities) == len(found.bridges) == 0
    assert found.notes == ("bridges were not looked for: the graph has more than 4 ties",)


# --- how it hangs together ---------------------------------------------------------------


@given(graphs(most=20))
def test_components_are_those_of_scipy(graph: EntityGraph) -> None:
    names = components(graph)
    for part in parts(graph):
        assert set(names[sorted(part)].tolist()) == {min(part)}


def test_a_long_chain_is_one_component() -> None:
    order = np.random.default_rng(2).permutation(5_000).tolist()
    graph = graph_of(5_000, [(a, b, 1.0) for a, b in pairwise(order)])
    assert not components(graph).any()


def test_the_summary_counts() -> None:
    assert summary(graph_of(9, [*STAR, (6, 7, 1.0)])) == GraphStatistics(
        entities=9,
        ties=6,
        isolated=1,
        components=3,
        largest_component=6,
        mean_degree=12 / 9,
        highest_degree=5,
    )


def test_an_empty_graph_is_no_error() -> None:
    assert summary(EMPTY).components == summary(EMPTY).mean_degree == 0
    assert len(pagerank(EMPTY)) == len(betweenness(EMPTY)) == len(components(EMPTY)) == 0
    assert len(entity_ranks(EMPTY).tiers) == len(cut_vertices(EMPTY).entities) == 0
    assert hubs(EMPTY, pagerank(EMPTY)) == []


def test_betweenness_needs_a_sample() -> None:
    with pytest.raises(InputError, match="samples 0 cannot be; expected at least 1"):
        betweenness(EMPTY, samples=0)
