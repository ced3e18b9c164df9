"""Subgraphs, against the best tree that there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.entity_graph import EntityGraph
from clew.graph.paths import Budget, edge_costs
from clew.graph.subgraph import Subgraph, Tree, prize_collecting_tree, steiner_tree, subgraph_around
from tests.unit.graphs import edges_of, graph_of, graphs

Problem = tuple[list[float], list[tuple[int, int]], list[float]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    size = draw(st.integers(1, 7))
    pairs = [(one, other) for one in range(size) for other in range(one)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    values = st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.7, 1.0, 1.3])
    prizes = draw(st.lists(values | st.just(0.0), min_size=size, max_size=size))
    costs = draw(st.lists(values, min_size=len(edges), max_size=len(edges)))
    return prizes, edges, costs


def seeded_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 8))
    pairs = list(combinations(range(size), 2))
    edges = [pair for pair in pairs if rng.random() < 0.55]
    prizes = np.where(rng.random(size) < 0.6, rng.random(size), 0)
    return prizes.tolist(), edges, rng.uniform(0.05, 0.6, len(edges)).tolist()


def is_tree(nodes: set[int], edges: list[tuple[int, int]]) -> bool:
    reached = {next(iter(nodes))}
    for _ in nodes:
        reached |= {end for edge in edges if reached & set(edge) for end in edge}
    return reached == nodes and len(edges) == len(nodes) - 1


def least(prizes: list[float], edges: list[tuple[int, int]], costs: list[float]) -> float:
    """Costs and prizes left out of the best tree, by trying every one."""
    best = sum(prizes) - max(prizes)
    for count in range(1, len(prizes)):
        for chosen in combinations(range(len(edges)), count):
            taken = [edges[e] for e in chosen]
            nodes = {end for edge in taken for end in edge}
            if is_tree(nodes, taken):
                left = sum(p for node, p in enumerate(prizes) if node not in nodes)
                best = min(best, left + sum(costs[e] for e in chosen))
    return best


def objective(problem: Problem, tree: Tree) -> float:
    prizes, _, costs = problem
    left = sum(p for node, p in enumerate(prizes) if node not in tree.nodes)
    return left + sum(costs[edge] for edge in tree.edges)


@given(problems())
def test_a_tree_is_at_most_twice_as_dear_as_the_best(problem: Problem) -> None:
    prizes, edges, _ = problem
    tree = prize_collecting_tree(*problem)
    assert is_tree(set(tree.nodes), [edges[e] for e in tree.edges])
    assert len(set(tree.nodes)) == len(tree.nodes)
    assert tree.worth == pytest.approx(sum(prizes) - objective(problem, tree))
    assert objective(problem, tree) <= 2 * least(*problem) + 1e-9


def test_most_trees_are_the_best() -> None:
    found = [seeded_problem(seed) for seed in range(120)]
    ratios = [(objective(p, prize_collecting_tree(*p)) + 1e-9) / (least(*p) + 1e-9) for p in found]
    best = sum(ratio < 1 + 1e-9 for ratio in ratios)
    assert best >= 0.85 * len(found)
    assert sum(ratios) / len(ratios) < 1.03


def test_a_tree_goes_by_way_of_what_has_no_prize() -> None:
    hub = prize_collecting_tree([0, 1, 1, 1], [(0, 1), (0, 2), (0, 3), (1, 2)], [0.4, 0.4, 0.4, 1])
    assert (sorted(hub.nodes), hub.edges) == ([0, 1, 2, 3], [0, 1, 2])


def test_a_prize_that_is_not_worth_its_way_is_left_out() -> None:
    tree = prize_collecting_tree([1.0, 0.8, 0.1], [(0, 1), (1, 2)], [0.5, 0.3])
    assert (sorted(tree.nodes), tree.edges) == ([0, 1], [0])


def test_trees_of_many_entities_are_found_without_recursion() -> None:
    size = 3000
    tree = prize_collecting_tree(
        [1.0] * size, [(i, i + 1) for i in range(size - 1)], [0.5] * (size - 1)
    )
    assert len(tree.nodes) == size


# --- on the graph of entities ------------------------------------------------------------


@given(graphs(most=7), st.data())
def test_a_tree_of_the_graph_is_bounded_by_the_best_too(
    graph: EntityGraph, data: st.DataObject
) -> None:
    size = len(graph.entity_ids)
    rows = data.draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
    prizes = {row: data.draw(st.sampled_from([0.2, 0.6, 1.0])) for row in rows}
    tree = steiner_tree(graph, prizes)
    edges = [edges_of(graph)[edge] for edge in tree.edges]
    assert is_tree(set(tree.entities), edges)
    costs = (0.5 * edge_costs(graph, np.arange(len(graph.strengths)))).tolist()
    spent = sum(costs[edge] for edge in tree.edges)
    spent += sum(prize for row, prize in prizes.items() if row not in tree.entities)
    every = least([prizes.get(row, 0.0) for row in range(size)], edges_of(graph), costs)
    assert spent <= 2 * every + 1e-9
    assert tree.notes == ()


def chain(length: int) -> EntityGraph:
    """A chain whose first entity has many strong ties to others."""
    edges = [(i, i + 1, 1.0) for i in range(length - 1)]
    return graph_of(length + 50, [*edges, *((0, length + i, 9.0) for i in range(50))])


def test_far_prizes_are_tied_though_much_else_is_nearer() -> None:
    tree = steiner_tree(chain(5), {0: 1.0, 4: 1.0}, cost=0.1, max_entities=10)
    assert sorted(tree.entities) == [0, 1, 2, 3, 4]
    assert tree.entities[:2] == (0, 4), "prizes first"
    assert tree.notes == (
        "only the 10 entities nearest to what the question is about were looked at",
    )


def test_dear_ties_leave_the_highest_prize_alone() -> None:
    tree = steiner_tree(chain(5), {0: 0.7, 4: 0.9}, cost=5)
    assert (tree.entities, tree.edges) == ((4,), ())


def test_prizes_in_different_parts_give_the_worthier_part() -> None:
    graph = graph_of(5, [(0, 1, 1.0), (2, 3, 1.0), (3, 4, 1.0)])
    tree = steiner_tree(graph, {0: 0.9, 1: 0.9, 2: 0.9, 3: 0.5, 4: 0.9}, cost=0.2)
    assert sorted(tree.entities) == [2, 3, 4]


def test_no_prize_is_no_tree() -> None:
    assert steiner_tree(chain(3), {}) == Subgraph(entities=(), edges=())
    assert steiner_tree(chain(3), {1: 0.0}).entities == ()


def test_limits_are_said() -> None:
    few = Budget(entities=20)
    assert steiner_tree(chain(9), {0: 1.0, 8: 1.0}, budget=few).notes[0] == (
        "the search for a tree stopped after 20 entities"
    )
    assert subgraph_around(chain(9), [0], hops=2, limit=5).notes == (
        "the neighbourhood holds its nearest 5 entities only",
    )


def test_a_subgraph_holds_all_ties_among_its_entities() -> None:
    graph = graph_of(5, [(0, 1, 1.0), (0, 2, 2.0), (1, 2, 3.0), (2, 3, 4.0), (3, 4, 5.0)])
    around = subgraph_around(graph, [0])
    assert around.entities == (0, 2, 1), "the seed, then the strongest"
    assert [edges_of(graph)[edge] for edge in around.edges] == [(1, 2), (0, 2), (0, 1)]
    assert around.prizes == {0: 1.0}


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda: steiner_tree(chain(3), {99: 1.0}), "no entity in row 99 of the graph"),
        (lambda: steiner_tree(chain(3), {0: -1.0}), "prize -1.0 of row 0 cannot be"),
        (lambda: steiner_tree(chain(3), {0: float("nan")}), "prize nan of row 0"),
        (lambda: steiner_tree(chain(3), {0: 1.0}, cost=0), "cost 0 cannot be; expected a number"),
    ],
)
def test_what_cannot_be_is_refused(ask: Callable[[], object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        ask()
