"""Positions of graphs: what belongs together stands together, and stays where it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from clew.graph.layout import layout


def lengths(positions: NDArray[np.float64], pairs: ArrayLike) -> NDArray[np.float64]:
    edges = np.asarray(pairs)
    return np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)


def grid(side: int) -> NDArray[np.int64]:
    at = np.arange(side * side).reshape(side, side)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def clusters(count: int, size: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Dense groups, each tied to the next by one edge."""
    edges = [
        (group * size + a, group * size + b)
        for group in range(count)
        for a in range(size)
        for b in random.integers(0, size, 4)
        if a != b
    ]
    return np.array(edges + [(group * size, (group + 1) * size) for group in range(count - 1)])


def test_distances_on_the_picture_follow_those_in_the_graph() -> None:
    side = 20
    positions = layout(side * side, grid(side))
    at = np.stack(np.divmod(np.arange(side * side), side), axis=1)
    pairs = np.random.default_rng(3).integers(0, side * side, (2000, 2))
    steps = np.abs(at[pairs[:, 0]] - at[pairs[:, 1]]).sum(axis=1)
    assert np.corrcoef(steps, lengths(positions, pairs))[0, 1] > 0.8


def test_a_cluster_stands_together() -> None:
    random = np.random.default_rng(5)
    positions = layout(150, clusters(5, 30, random))
    middles = positions.reshape(5, 30, 2).mean(axis=1)
    nearest = np.linalg.norm(positions[:, None] - middles, axis=2).argmin(axis=1)
    assert np.mean(nearest == np.arange(150) // 30) > 0.95


def test_unconnected_parts_do_not_lie_on_each_other() -> None:
    star = [(0, node) for node in range(1, 20)]
    other = [(20, node) for node in range(21, 40)]
    positions = layout(40, star + other)
    apart = np.linalg.norm(positions[0] - positions[20])
    assert apart > lengths(positions, star + other).mean()


def test_the_same_graph_gives_the_same_picture() -> None:
    edges = clusters(3, 20, np.random.default_rng(1))
    assert np.array_equal(layout(60, edges), layout(60, edges))


def test_nodes_with_a_place_stay_and_new_ones_stand_by_their_neighbours() -> None:
    edges = grid(12)
    before = layout(144, edges)
    start = np.full((145, 2), np.nan)
    start[:144] = before
    after = layout(145, np.concatenate([edges, [(144, 0)]]), start=start)
    assert np.abs(after[:144] - before).max() < 0.1
    assert np.linalg.norm(after[144] - after[0]) < 0.3


def test_edges_to_nodes_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="0 to 7 of 3"):
        layout(3, [(0, 7)])


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 90).flatmap(
        lambda nodes: st.tuples(
            st.just(nodes),
            st.lists(
                st.tuples(*[st.integers(0, max(nodes - 1, 0))] * 2),
                max_size=0 if not nodes else 200,
            ),
        )
    ),
    st.integers(0, 5),
)
def test_any_graph_is_drawn_within_the_circle(
    graph: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    nodes, edges = graph
    weights = np.random.default_rng(seed).uniform(1e-6, 1e6, len(edges))
    positions = layout(nodes, edges, weights, seed=seed)
    assert positions.shape == (nodes, 2)
    assert np.isfinite(positions).all()
    assert (np.linalg.norm(positions, axis=1) <= 1 + 1e-6).all()


def test_a_star_is_drawn() -> None:
    star = [(0, leaf) for leaf in range(1, 400)]
    positions = layout(400, star)

    assert positions.shape == (400, 2)
    gaps = np.linalg.norm(positions[1:, None] - positions[None, 1:], axis=2)
    assert gaps[np.triu_indices(399, 1)].min() > 0
