"""Leiden on arrays: what it maximises, also where part of a graph stands still."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.partition import WeightedGraph, in_order, leiden, weighted
from clew.graph.snapshot import Adjacency
from tests.unit.graphs import graph_of, graphs, modularity

TWO_TRIANGLES = [(0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0), (3, 4, 1.0), (4, 5, 1.0), (3, 5, 1.0)]


def by_hand(graph: WeightedGraph, labels: np.ndarray, resolution: float = 1.0) -> float:
    """Modularity from its definition, a sum over all pairs of nodes."""
    matrix = np.zeros((graph.size, graph.size))
    np.add.at(matrix, (graph.heads(), graph.rows.items), graph.weights)
    strengths, total = matrix.sum(axis=1), matrix.sum()
    chance = resolution * np.outer(strengths, strengths) / total
    return float(((matrix - chance) * (labels[:, None] == labels)).sum() / total)


def test_triangles_tied_by_one_thread_are_two_communities() -> None:
    graph = weighted(graph_of(6, [*TWO_TRIANGLES, (2, 3, 0.5)]))
    assert leiden(graph).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_higher_resolution_finds_smaller_communities() -> None:
    graph = weighted(graph_of(6, [*TWO_TRIANGLES, (2, 3, 0.5)]))
    assert leiden(graph, resolution=0.01).tolist() == [0] * 6
    assert leiden(graph, resolution=50).tolist() == list(range(6))


def test_nodes_without_ties_stand_alone() -> None:
    none = np.empty(0, dtype=np.int64)
    graph = WeightedGraph(Adjacency(np.zeros(4, dtype=np.int64), none), none.astype(np.float64))
    assert leiden(graph).tolist() == [0, 1, 2]
    assert modularity(graph, np.zeros(3, dtype=np.int64)) == 0.0


@given(graphs(), st.data())
def test_modularity_is_that_of_its_definition(graph: object, data: st.DataObject) -> None:
    whole = weighted(graph)  # type: ignore[arg-type]
    size = whole.size
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    if size:
        assert modularity(whole, labels) == pytest.approx(by_hand(whole, labels))


@given(graphs(most=6), st.data())
def test_pendants_and_resolution_stand_for_the_rest_of_the_graph(
    graph: object, data: st.DataObject
) -> None:
    """Regrouping some nodes gains with the others gone what it gains with them standing still."""
    whole = weighted(graph)  # type: ignore[arg-type]
    if whole.size < 2:
        return
    some = sorted(data.draw(st.sets(st.integers(0, whole.size - 1), min_size=1)))
    rest = np.array(some)
    inside = whole.among(rest)
    missing = whole.strengths()[rest] - inside.strengths()
    total, share = whole.strengths().sum(), whole.strengths()[rest].sum() / whole.strengths().sum()
    pendant = inside.with_pendants(missing / 2)

    def both(choice: list[int]) -> tuple[float, float]:
        labels = np.arange(whole.size) + 10  # all others stand still, each alone
        labels[rest] = choice
        connected = np.flatnonzero(missing > 0)
        small = np.concatenate([choice, np.array(choice)[connected]]).astype(np.int64)
        return by_hand(whole, labels) * total, by_hand(pendant, small, share) * total * share

    groups = st.lists(st.integers(0, 2), min_size=len(some), max_size=len(some))
    one, other = both(data.draw(groups)), both(data.draw(groups))
    assert one[0] - other[0] == pytest.approx(one[1] - other[1], abs=1e-6)


def test_groups_are_numbered_by_their_first_members() -> None:
    assert in_order(np.array([7, 3, 7, 9, 3])).tolist() == [0, 1, 0, 2, 1]
