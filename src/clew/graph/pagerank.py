"""Personalised PageRank on the part of the graph around a question.

The walk alternates between passages and entities. It is confined to the passages given, which
bounds its cost whatever the size of the store; what leaves them through an entity is lost, so
that an entity with many passages elsewhere (a hub) passes little on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints, Snapshot

    Masses = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """The edges between some passages and all entities that they mention."""

    passages: Ints
    """(P,) rows of the snapshot, sorted."""
    entities: Ints
    """(E,) rows of the snapshot, sorted."""
    passage_starts: Ints
    """Where each passage's run begins among the edges in order of passage; (runs,)."""
    passage_runs: Ints
    """Which passage each run is of; passages without entities have none."""
    entity_order: Ints
    """(edges,) the edges in order of entity."""
    entity_starts: Ints
    """(E,) where each entity's run begins in that order."""
    edge_passage: Ints
    edge_entity: Ints
    out_of_passage: Masses
    """(edges,) share of a passage's mass that takes the edge."""
    out_of_entity: Masses
    """(edges,) share of an entity's mass that takes the edge; sums to less than 1 at hubs."""


def local_graph(snapshot: Snapshot, passages: Ints) -> LocalGraph:
    """The graph around passages (rows, sorted and distinct)."""
    entries, owner = snapshot.passage_entities.entries(passages)
    entities, member = np.unique(snapshot.passage_entities.items[entries], return_inverse=True)
    weight = snapshot.passage_weights[entries]
    order = np.argsort(member, kind="stable")
    runs, starts = np.unique(owner, return_index=True)
    return LocalGraph(
        passages=passages,
        entities=entities,
        passage_starts=starts,
        passage_runs=runs,
        entity_order=order,
        entity_starts=np.searchsorted(member[order], np.arange(len(entities))),
        edge_passage=owner,
        edge_entity=member,
        out_of_passage=weight / snapshot.passage_totals[passages[owner]],
        out_of_entity=weight / snapshot.entity_totals[entities[member]],
    )


def walk(
    graph: LocalGraph,
    restart_passages: Masses,
    restart_entities: Masses,
    damping: NDArray[np.float64],
    steps: int = 12,
) -> Masses:
    """(P, k) share of time that each of k walks spends at each passage.

    `restart_passages` (P, k) and `restart_entities` (E, k) are scaled to sum to 1 together;
    `damping` (k,) is the chance to go on, 0 to 1. Power iteration, Page et al. 1999.
    """
    total = restart_passages.sum(axis=0) + restart_entities.sum(axis=0)
    scale = (1 - damping) / np.where(total > 0, total, 1)
    home_p, home_e = restart_passages * scale, restart_entities * scale
    at_p, at_e = home_p, home_e
    for _ in range(steps):
        if not len(graph.edge_passage):
            break
        at_p, at_e = (
            home_p + damping * _to_passages(graph, at_e),
            home_e + damping * _to_entities(graph, at_p),
        )
    return at_p


def _to_passages(graph: LocalGraph, at_entities: Masses) -> Masses:
    flow = at_entities[graph.edge_entity] * graph.out_of_entity[:, None]
    arrived = np.zeros((len(graph.passages), at_entities.shape[1]))
    arrived[graph.passage_runs] = np.add.reduceat(flow, graph.passage_starts, axis=0)
    return arrived


def _to_entities(graph: LocalGraph, at_passages: Masses) -> Masses:
    flow = at_passages[graph.edge_passage] * graph.out_of_passage[:, None]
    return np.add.reduceat(flow[graph.entity_order], graph.entity_starts, axis=0)
