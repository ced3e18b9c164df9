"""What holds the graph together: entities and edges without which a part of it would come off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Ints

MAX_EDGES = 1_000_000
"""Edges of a graph that is looked at, at most: it takes some seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CutVertices:
    """What holds the graph together, that which holds most first."""

    entities: Ints
    """(n,) rows of cut entities (articulation points)."""
    severed: Ints
    """(n,) entities that would come off the largest part that is left, without each of these."""
    bridges: Ints
    """(m,) numbers of bridges: edges on no cycle."""
    bridge_severed: Ints
    """(m,) entities of the smaller side of each."""
    notes: tuple[str, ...] = ()


def cut_vertices(graph: EntityGraph, max_edges: int = MAX_EDGES) -> CutVertices:
    """Cut entities and bridges (Hopcroft & Tarjan 1973), without recursion.

    A graph of more edges than `max_edges` is not looked at, which is said in `notes`.
    """
    if len(graph.strengths) > max_edges:
        none = np.zeros(0, dtype=np.int64)
        note = f"bridges were not looked for: the graph has more than {max_edges} ties"
        return CutVertices(
            entities=none, severed=none, bridges=none, bridge_severed=none, notes=(note,)
        )
    order, parent, by = _depth_first(graph)
    low, sizes = _low_points(graph, order, parent)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    child = order[parent[order] >= 0]
    whole = sizes[_roots(order, parent)]
    bridge = child[low[child] > number[parent[child]]]
    smaller = np.minimum(sizes[bridge], whole[bridge] - sizes[bridge])
    severed = _severed(child[low[child] >= number[parent[child]]], parent, sizes, whole)
    entities = np.flatnonzero(severed)
    first = np.lexsort((entities, -severed[entities]))
    first_bridge = np.lexsort((by[bridge], -smaller))
    return CutVertices(
        entities=entities[first],
        severed=severed[entities][first],
        bridges=by[bridge][first_bridge],
        bridge_severed=smaller[first_bridge],
    )


def _depth_first(graph: EntityGraph) -> tuple[Ints, Ints, Ints]:
    """Entities in the order met; by entity, the one met before it and the edge from that."""
    starts, neighbours = graph.starts.tolist(), graph.neighbours.tolist()
    edges = graph.edges.tolist()
    size = len(starts) - 1
    parent, by, at = [-1] * size, [-1] * size, starts[:-1]
    met = [False] * size
    order: list[int] = []
    for root in range(size):
        if met[root]:
            continue
        met[root] = True
        order.append(root)
        stack = [root]
        while stack:
            here = stack[-1]
            entry = at[here]
            if entry == starts[here + 1]:
                stack.pop()
                continue
            at[here] = entry + 1
            there = neighbours[entry]
            if not met[there]:
                met[there] = True
                parent[there], by[there] = here, edges[entry]
                order.append(there)
                stack.append(there)
    return (
        np.array(order, dtype=np.int64),
        np.array(parent, dtype=np.int64),
        np.array(by, dtype=np.int64),
    )


def _low_points(graph: EntityGraph, order: Ints, parent: Ints) -> tuple[Ints, Ints]:
    """By entity: the first one met that it or one below it has an edge to; how many lie below.

    Itself counts as below, and the edge to the entity before does not count.
    """
    size = len(order)
    number = np.empty(size, dtype=np.int64)
    number[order] = np.arange(size)
    owner = np.repeat(np.arange(size), np.diff(graph.starts))
    back = graph.neighbours != parent[owner]
    low = number.copy()
    np.minimum.at(low, owner[back], number[graph.neighbours[back]])
    lows, above, sizes = low.tolist(), parent.tolist(), [1] * size
    for here in reversed(order.tolist()):
        before = above[here]
        if before >= 0:
            lows[before] = min(lows[before], lows[here])
            sizes[before] += sizes[here]
    return np.array(lows, dtype=np.int64), np.array(sizes, dtype=np.int64)


def _roots(order: Ints, parent: Ints) -> Ints:
    """(E,) the first entity met of each entity's part."""
    root = np.arange(len(order))
    for here, before in zip(order.tolist(), parent[order].tolist(), strict=True):
        if before >= 0:
            root[here] = root[before]
    return root


def _severed(cut_off: Ints, parent: Ints, sizes: Ints, whole: Ints) -> Ints:
    """(E,) what each entity keeps from the largest part left without it; 0 for most.

    `cut_off` are entities below which all hangs on the one before alone.
    """
    hanging = np.zeros(len(parent), dtype=np.int64)
    largest = np.zeros(len(parent), dtype=np.int64)
    np.add.at(hanging, parent[cut_off], sizes[cut_off])
    np.maximum.at(largest, parent[cut_off], sizes[cut_off])
    others = whole - 1
    return np.where(hanging > 0, others - np.maximum(largest, others - hanging), 0)
