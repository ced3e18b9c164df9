"""Paths and neighbourhoods, against all paths that there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from clew.errors import InputError
from clew.graph.entity_graph import EntityGraph
from clew.graph.paths import Budget, Path, all_paths, neighbourhood, shortest_path, strongest_path
from tests.unit.graphs import edges_of, graph_of, graphs

STAR = graph_of(8, [(0, leaf, leaf) for leaf in range(1, 8)])


def cost_of(graph: EntityGraph, path: Path) -> float:
    return -math.log(strength_of(graph, path))


def strength_of(graph: EntityGraph, path: Path) -> float:
    """The product of its edges' strengths, of which more than 1 counts as 1."""
    return math.prod(min(float(graph.strengths[edge]), 1.0) for edge in path.edges)


def every_path(graph: EntityGraph, start: int, end: int, max_hops: int) -> list[Path]:
    """All of them, by trying every order of the other entities; fewest hops, then cheapest."""
    numbers = {pair: number for number, pair in enumerate(edges_of(graph))}
    others = [row for row in range(len(graph.entity_ids)) if row not in (start, end)]
    found = []
    for between in range(min(max_hops, len(others) + 1)):
        for middle in permutations(others, between):
            way = (start, *middle, end)
            steps = [(min(step), max(step)) for step in pairwise(way)]
            if all(step in numbers for step in steps):
                found.append(Path(way, tuple(numbers[step] for step in steps)))
    return sorted(found, key=lambda p: (len(p.edges), cost_of(graph, p), p.entities))


@given(graphs(), st.integers(1, 5))
def test_all_paths_are_found_in_order(graph: EntityGraph, max_hops: int) -> None:
    expected = every_path(graph, 0, 1, max_hops)
    found = all_paths(graph, 0, 1, max_hops, limit=1000)
    assert sorted(p.entities for p in found.paths) == sorted(p.entities for p in expected)
    assert sorted(p.edges for p in found.paths) == sorted(p.edges for p in expected)
    ranks = [(len(p.edges), round(cost_of(graph, p), 9)) for p in found.paths]
    assert ranks == sorted(ranks)
    assert found.limits_hit == ()
    assert all_paths(graph, 0, 1, max_hops, limit=2).paths == found.paths[:2]


@given(graphs(most=9), st.integers(1, 5))
def test_the_shortest_path_is_the_cheapest_of_the_shortest(
    graph: EntityGraph, max_hops: int
) -> None:
    found = shortest_path(graph, 0, 1, max_hops)
    best = all_paths(graph, 0, 1, max_hops, limit=1)
    assert len(found.paths) == len(best.paths)
    for path, other in zip(found.paths, best.paths, strict=True):
        assert path.entities[0] == 0
        assert path.entities[-1] == 1
        assert len(path.edges) == len(other.edges)
        assert cost_of(graph, path) == pytest.approx(cost_of(graph, other))
        assert [tuple(sorted(p)) for p in pairwise(path.entities)] == [
            edges_of(graph)[edge] for edge in path.edges
        ]


@given(graphs(strengths=(0.1, 0.3, 0.5, 0.7, 0.9, 1, 4)), st.integers(1, 5))
def test_the_strongest_path_has_the_greatest_product(graph: EntityGraph, max_hops: int) -> None:
    every = every_path(graph, 0, 1, max_hops)
    found = strongest_path(graph, 0, 1, max_hops)
    assert bool(every) == bool(found.paths)
    if every:
        most = max(strength_of(graph, path) for path in every)
        assert strength_of(graph, found.paths[0]) == pytest.approx(most)
        equal = [path for path in every if strength_of(graph, path) == pytest.approx(most)]
        assert len(found.paths[0].edges) == min(len(path.edges) for path in equal)
        assert len(found.paths[0].edges) <= max_hops


def distances(graph: EntityGraph, seeds: list[int]) -> NDArray[np.float64]:
    """(seeds, E) hops, by scipy."""
    matrix = np.zeros((len(graph.entity_ids),) * 2)
    for one, other in edges_of(graph):
        matrix[one, other] = matrix[other, one] = 1
    return dijkstra(csr_array(matrix), indices=seeds, unweighted=True)


def strongest(graph: EntityGraph, start: int) -> NDArray[np.float64]:
    """(E,) the greatest product of any way to each, by spreading until nothing changes."""
    found = np.zeros(len(graph.entity_ids))
    found[start] = 1
    for _ in found:
        for (one, other), strength in zip(edges_of(graph), graph.strengths, strict=True):
            held = min(float(strength), 1.0)
            found[one], found[other] = (
                max(found[one], found[other] * held),
                max(found[other], found[one] * held),
            )
    return found


@given(graphs(most=30))
def test_distances_and_products_are_the_best_there_are(graph: EntityGraph) -> None:
    hops, most = distances(graph, [0])[0], strongest(graph, 0)
    for end in range(1, len(graph.entity_ids)):
        shortest = shortest_path(graph, 0, end, max_hops=30).paths
        best = strongest_path(graph, 0, end, max_hops=30).paths
        assert [len(p.edges) for p in shortest] == ([hops[end]] if hops[end] < 99 else [])
        assert [strength_of(graph, p) for p in best] == (
            [pytest.approx(most[end])] if hops[end] < 99 else []
        )


def test_strengths_multiply_along_a_path() -> None:
    long = list(zip(pairwise((0, 3, 4, 5, 1)), (0.7, 0.5, 0.5, 0.7), strict=True))
    ties = [(a, b, strength) for (a, b), strength in long]
    weak = graph_of(6, [(0, 2, 0.1), (2, 1, 0.1), *ties])
    assert strongest_path(weak, 0, 1).paths[0].entities == (0, 3, 4, 5, 1)
    assert shortest_path(weak, 0, 1).paths[0].entities == (0, 2, 1)
    stronger = graph_of(6, [(0, 2, 0.4), (2, 1, 0.4), *ties])
    assert strongest_path(stronger, 0, 1).paths[0].entities == (0, 2, 1)
    # Of ways with as many hops, too: 0.4 · 0.4 is more than 0.9 · 0.1.
    even = graph_of(4, [(0, 2, 0.9), (2, 1, 0.1), (0, 3, 0.4), (3, 1, 0.4)])
    for search in (shortest_path, strongest_path, all_paths):
        assert search(even, 0, 1).paths[0].entities == (0, 3, 1)


def test_an_entity_is_no_way_from_itself() -> None:
    for search in (shortest_path, all_paths, strongest_path):
        assert search(STAR, 3, 3).paths == (Path((3,), ()),)


@given(graphs(most=12), st.integers(1, 3), st.integers(1, 12))
def test_a_neighbourhood_holds_the_nearest(graph: EntityGraph, hops: int, limit: int) -> None:
    far = distances(graph, [0, 1]).min(axis=0)
    within = [d for d in sorted(far) if 1 <= d <= hops]
    found = neighbourhood(graph, [0, 1], hops, limit)
    assert list(found.hops) == within[:limit]
    assert [far[row] for row in found.entities] == list(found.hops)
    assert len(set(found.entities)) == len(found.entities)
    for row, parent, edge in zip(found.entities, found.parents, found.edges, strict=True):
        assert edges_of(graph)[edge] == (min(row, parent), max(row, parent))
        assert far[parent] == far[row] - 1
    if len(found.limits_hit):
        assert len(within) >= limit


def test_equally_near_entities_come_strongest_first() -> None:
    assert neighbourhood(STAR, [0]).entities == (7, 6, 5, 4, 3, 2, 1)
    few = neighbourhood(STAR, [0], limit=3)
    assert few.entities == (7, 6, 5)
    assert few.limits_hit == ("the neighbourhood holds its nearest 3 entities only",)


def test_each_search_says_which_limit_it_met() -> None:
    few = Budget(entities=3)
    kept = neighbourhood(STAR, [0], hops=2, budget=few)
    assert kept.entities == (7, 6, 5), "the strongest are followed"
    assert kept.limits_hit == ("the neighbourhood stopped after 3 entities",)
    chain = graph_of(30, [(i, i + 1, 1.0) for i in range(29)])
    for search in (shortest_path, strongest_path):
        found = search(chain, 0, 29, max_hops=29, budget=few)
        assert found.paths == ()
        assert found.limits_hit == ("the search for paths stopped after 3 entities",)
    assert all_paths(chain, 0, 5, max_hops=5, budget=few).limits_hit


@pytest.mark.parametrize("search", [shortest_path, all_paths, strongest_path])
def test_time_is_a_limit(search: Callable[..., Any]) -> None:
    chain = graph_of(6, [(i, i + 1, 1.0) for i in range(5)])
    found = search(chain, 0, 5, max_hops=5, budget=Budget(seconds=-1))
    assert found.paths == ()
    assert found.limits_hit == ("the search for paths stopped after -1 seconds",)


@pytest.mark.parametrize(
    ("search", "match"),
    [
        (lambda: shortest_path(STAR, 0, 8), "no entity in row 8 of the graph; it has 8 rows"),
        (lambda: all_paths(STAR, -1, 0), "no entity in row -1"),
        (lambda: all_paths(STAR, 0, 1, max_hops=6), "max_hops 6 cannot be; expected 1 to 5"),
        (lambda: all_paths(STAR, 0, 1, limit=0), "limit 0 cannot be; expected at least 1"),
        (lambda: shortest_path(STAR, 0, 1, max_hops=-1), "max_hops -1 cannot be"),
        (lambda: neighbourhood(STAR, [0], hops=4), "hops 4 cannot be; expected 1 to 3"),
        (lambda: neighbourhood(STAR, [9]), "no entity in row 9"),
    ],
)
def test_what_cannot_be_searched_is_refused(search: Callable[[], object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        search()
