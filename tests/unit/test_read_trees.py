"""Trees of elements: what leads back in them is found, and nothing else."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.reading.formats.records import circles

GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=6
)


def sorted_out(graph: dict[str, list[str]]) -> list[str]:
    return list(TopologicalSorter(graph).static_order())


@given(GRAPHS)
def test_without_what_closes_circles_none_is_left(graph: dict[str, list[str]]) -> None:
    closed = circles(graph)

    for (start, end), way in closed.items():
        assert (way[0], way[-1]) == (end, start)
        assert all(after in graph[one] for one, after in pairwise(way))
    sorted_out({at: [to for to in ends if (at, to) not in closed] for at, ends in graph.items()})


@given(GRAPHS)
def test_a_graph_without_a_circle_loses_nothing(graph: dict[str, list[str]]) -> None:
    try:
        sorted_out(graph)
    except CycleError:
        assert circles(graph)
    else:
        assert circles(graph) == {}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_long_chain_is_followed_in_any_order(backwards: bool) -> None:
    chain = {str(n): [str(n + 1)] for n in range(50_000)}
    ordered = dict(reversed(chain.items())) if backwards else chain

    assert circles(ordered) == {}

    ((edge, way),) = circles({**ordered, "50000": ["0"]}).items()
    assert len(way) == 21
    assert (way[0], way[-2], way[-1]) == (edge[1], "…", edge[0])
