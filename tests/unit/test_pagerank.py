"""The walk, against the linear system that it solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.snapshot import Snapshot, read_columns
from clew.ports import PassageRow
from clew.search.retrieval.walk import local_graph, walk

Mentions = list[tuple[int, int, int]]
"""(chunk from 0, entity, count; 0 for what the chunk is about)."""


def _snapshot(size: int, mentions: Mentions) -> Snapshot:
    rows = [
        PassageRow(
            chunk_id=i + 1,
            document_id=f"{i:016x}",
            ordinal=0,
            text="x",
            context="",
            sentences=((0, 1),),
        )
        for i in range(size)
    ]
    flat = sorted({(c + 1, 0 if n else -1, e, max(n, 1)) for c, e, n in mentions})
    columns = read_columns(rows, np.array(flat, dtype=np.int64))
    return Snapshot(columns, generation=1, mentions_version=0)


def _dense(
    snapshot: Snapshot, passages: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], list[int]]:
    """Transition matrix among passages, then entities, and the entities; columns are origins."""
    edges = {}
    for chunk in range(snapshot.size):
        start, end = snapshot.passage_entities.starts[chunk : chunk + 2]
        for at in range(start, end):
            edges[chunk, int(snapshot.passage_entities.items[at])] = float(
                snapshot.weights(np.array([at]))[0]
            )
    here = passages.tolist()
    entities = sorted({e for c, e in edges if c in here})
    matrix = np.zeros((len(here) + len(entities),) * 2)
    for (chunk, entity), weight in edges.items():
        if chunk in here:
            p, e = here.index(chunk), len(here) + entities.index(entity)
            matrix[e, p] = weight / sum(w for (c, _), w in edges.items() if c == chunk)
            matrix[p, e] = weight / sum(w for (_, x), w in edges.items() if x == entity)
    return matrix, entities


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


def test_few_rounds_come_close() -> None:
    rng = np.random.default_rng(7)
    mentions = [
        (int(c), int(e), 1)
        for c, e in zip(rng.integers(0, 40, 200), rng.integers(1, 30, 200), strict=True)
    ]
    graph = local_graph(_snapshot(40, mentions), np.arange(40))
    restart = np.ones((40, 1)), np.zeros((len(graph.entities), 1))
    exact = walk(graph, *restart, np.array([0.5]), rounds=60)
    np.testing.assert_allclose(walk(graph, *restart, np.array([0.5])), exact, atol=2 * 0.5**16)


def test_a_hub_passes_little_on() -> None:
    # Entity 1 stands in two passages, entity 2 in all; both are in the first.
    snapshot = _snapshot(30, [(0, 1, 1), (1, 1, 1), *((c, 2, 1) for c in range(30))])
    graph = local_graph(snapshot, np.arange(3))
    start = np.array([[1.0], [0.0], [0.0]])
    by_rare, by_hub = walk(graph, start, np.zeros((2, 1)), np.array([0.5]))[1:, 0]
    assert by_rare > 20 * by_hub > 0


@pytest.mark.parametrize("restart", [0.0, 1.0])
def test_no_edges_and_no_restart_are_no_error(restart: float) -> None:
    graph = local_graph(_snapshot(2, []), np.arange(2))
    found = walk(graph, np.full((2, 1), restart), np.zeros((0, 1)), np.array([0.5]))
    assert found.tolist() == [[restart / 4]] * 2


def test_no_passages_are_no_error() -> None:
    graph = local_graph(_snapshot(2, [(0, 1, 1)]), np.zeros(0, dtype=np.int64))
    assert walk(graph, np.zeros((0, 2)), np.zeros((0, 2)), np.array([0.5, 0.5])).shape == (0, 2)
