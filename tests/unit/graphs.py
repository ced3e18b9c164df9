"""Small graphs of entities, for the tests of what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from clew.graph.entity_graph import EntityGraph, edge_parts, merge_parts
from clew.graph.snapshot import Snapshot, read_columns
from clew.ports import PassageRow

if TYPE_CHECKING:
    from clew.graph.partition import WeightedGraph
    from clew.graph.snapshot import Ints

Edge = tuple[int, int, float]


def graph_of(size: int, edges: Sequence[Edge]) -> EntityGraph:
    """Entities with the ids 1, 2, … in rows 0, 1, …, and ties between rows."""
    count = len(edges)
    parts = edge_parts(
        heads=np.array([head for head, _, _ in edges], dtype=np.int64),
        tails=np.array([tail for _, tail, _ in edges], dtype=np.int64),
        amounts=np.array([strength for _, _, strength in edges], dtype=np.float32),
        relations=np.arange(1, count + 1),
        chunks=np.zeros(count, dtype=np.int64),
        sentences=np.full(count, -1),
    )
    return merge_parts(np.arange(1, size + 1), parts, generation=1)


def snapshot_with(sentences: list[int], mentions: list[tuple[int, int, int, int]]) -> Snapshot:
    """Of chunks with so many sentences of a letter each, and (chunk, sentence, entity, count)."""
    rows = [
        PassageRow(
            chunk_id=number,
            document_id=f"{number:016x}",
            ordinal=0,
            text="x" * count,
            context="",
            sentences=tuple((i, i + 1) for i in range(count)),
        )
        for number, count in enumerate(sentences, 1)
    ]
    columns = read_columns(rows, np.array(mentions, dtype=np.int64).reshape(-1, 4))
    return Snapshot(columns, generation=3, mentions_version=0)


def edges_of(graph: EntityGraph) -> list[tuple[int, int]]:
    """The two rows of each tie, the smaller first, by number of the tie."""
    found: dict[int, tuple[int, int]] = {}
    for row in range(len(graph.entity_ids)):
        for neighbour, number in zip(*(part.tolist() for part in graph.row(row)), strict=True):
            found[number] = min(row, neighbour), max(row, neighbour)
    return [found[number] for number in range(len(graph.strengths))]


@st.composite
def graphs(
    draw: st.DrawFn, most: int = 7, strengths: Sequence[float] = (0.1, 0.5, 1, 4)
) -> EntityGraph:
    """A graph of 2 to `most` entities with any ties between them."""
    size = draw(st.integers(2, most))
    pairs = [(one, other) for one in range(size) for other in range(one)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * size))
    return graph_of(size, [(a, b, draw(st.sampled_from(strengths))) for a, b in chosen])


def modularity(graph: WeightedGraph, communities: Ints) -> float:
    """-0.5 to 1: the share of ties within communities, less what chance would put there.

    Newman & Girvan 2004, weighted; 0 for a graph without ties.
    """
    strengths = graph.strengths()
    total = strengths.sum()
    if total == 0:
        return 0.0
    same = communities[graph.heads()] == communities[graph.rows.items]
    within = graph.weights[same].sum()
    shares = np.bincount(communities, strengths) / total
    return float(within / total - (shares**2).sum())
