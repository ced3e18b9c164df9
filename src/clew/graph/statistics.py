"""The graph of entities at a glance, by name: its size, what matters in it, what holds it together.

`graph.importance` and `graph.traversal.cut_vertices` compute; here their rows become entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.importance import (
    GraphStatistics,
    betweenness,
    degrees,
    entity_ranks,
    hubs,
    summary,
)
from clew.graph.snapshot_columns import find_sorted
from clew.graph.traversal.cut_vertices import cut_vertices

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.graph.importance import EntityRanks, Values
    from clew.graph.snapshot import Ints
    from clew.ports import GraphStore
    from clew.types import Entity, Ids


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedEntity:
    """An entity with what tells how much it matters."""

    entity: Entity
    degree: int
    """Edges of it."""
    pagerank: float
    """Above 0; of all entities together 1."""
    betweenness: float
    """Share, 0 to 1, of the shortest paths between others that go by it; see `betweenness`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CutVertex:
    """An entity without which a part of the graph would come off."""

    name: str
    severed: int
    """Entities that would come off the largest part left."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BridgeEdge:
    """An edge that lies on no cycle: without it, its two sides would come apart."""

    ends: tuple[str, str]
    severed: int
    """Entities of the smaller side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphOverview:
    """The graph of entities at a glance; every list has the most important first."""

    statistics: GraphStatistics
    hubs: tuple[RankedEntity, ...]
    """By PageRank."""
    between: tuple[RankedEntity, ...]
    """By betweenness; those that no shortest path goes by are left out."""
    cut_entities: tuple[CutVertex, ...]
    bridges: tuple[BridgeEdge, ...]
    notes: tuple[str, ...] = ()
    """What was not looked for, the graph being too large."""


def overview(store: GraphStore, graph: EntityGraph, limit: int = 10) -> GraphOverview:
    """The graph at a glance, at most `limit` entries of each kind."""
    ranks = entity_ranks(graph)
    passing = betweenness(graph)
    central = np.lexsort((np.arange(len(passing)), -passing))[:limit]
    found = cut_vertices(graph)
    ends = _ends(graph, found.bridges[:limit])
    hub_rows = [hub.entity for hub in hubs(graph, ranks.pagerank, limit)]
    between = central[passing[central] > 0].tolist()
    cut = found.entities[:limit].tolist()
    names = _names(store, graph, {*cut, *(row for pair in ends for row in pair)})
    return GraphOverview(
        statistics=summary(graph),
        hubs=_ranked(store, graph, ranks, passing, hub_rows),
        between=_ranked(store, graph, ranks, passing, between),
        cut_entities=tuple(
            CutVertex(name=names[row], severed=severed)
            for row, severed in zip(cut, found.severed[:limit].tolist(), strict=True)
        ),
        bridges=tuple(
            BridgeEdge(ends=(names[one], names[other]), severed=severed)
            for (one, other), severed in zip(
                ends, found.bridge_severed[:limit].tolist(), strict=True
            )
        ),
        notes=found.notes,
    )


def most_important(
    store: GraphStore, graph: EntityGraph, limit: int, among: Ids | None = None
) -> list[RankedEntity]:
    """The entities of highest PageRank, those without an edge last; `among` (sorted ids) alone."""
    ranks = entity_ranks(graph)
    alone = degrees(graph) == 0
    rows = np.lexsort((-ranks.pagerank, alone))
    if among is not None:
        rows = rows[np.isin(graph.entity_ids[rows], among)]
    return list(_ranked(store, graph, ranks, betweenness(graph), rows[:limit].tolist()))


def ranked_entities(
    store: GraphStore, graph: EntityGraph, entity_ids: Sequence[int]
) -> list[RankedEntity]:
    """Those of the entities that the graph has, in the order given."""
    rows, known = find_sorted(graph.entity_ids, np.array(entity_ids, dtype=np.int64))
    return list(
        _ranked(store, graph, entity_ranks(graph), betweenness(graph), rows[known].tolist())
    )


def _ranked(
    store: GraphStore,
    graph: EntityGraph,
    ranks: EntityRanks,
    passing: Values,
    rows: Sequence[int],
) -> tuple[RankedEntity, ...]:
    entities = {e.id: e for e in store.entities(graph.entity_ids[list(rows)].tolist())}
    known = [row for row in rows if int(graph.entity_ids[row]) in entities]
    applied = ranks.applied([entities[int(graph.entity_ids[row])] for row in known])
    degree = degrees(graph)
    return tuple(
        RankedEntity(
            entity=entity,
            degree=int(degree[row]),
            pagerank=float(ranks.pagerank[row]),
            betweenness=float(passing[row]),
        )
        for row, entity in zip(known, applied, strict=True)
    )


def _ends(graph: EntityGraph, edges: Ints) -> list[tuple[int, int]]:
    """The rows at both ends of each edge, in the order of the edges given."""
    entries = np.flatnonzero(np.isin(graph.edges, edges))
    owners = np.searchsorted(graph.starts, entries, side="right") - 1
    ends = {
        int(edge): (int(owner), int(neighbour))
        for edge, owner, neighbour in zip(
            graph.edges[entries], owners, graph.neighbours[entries], strict=True
        )
        if owner < neighbour
    }
    return [ends[edge] for edge in edges.tolist()]


def _names(store: GraphStore, graph: EntityGraph, rows: Iterable[int]) -> dict[int, str]:
    """Names by row; "?" for those that were deleted meanwhile."""
    ids = {row: int(graph.entity_ids[row]) for row in rows}
    known = store.entity_names(sorted(ids.values()))
    return {row: known.get(id_, "?") for row, id_ in ids.items()}
