"""What the graph adds to retrieval: its coverage, the hops to what answers, its communities."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.types import Hit

FARTHEST = 5
"""Hops that are told apart; more count as these."""


def graph_coverage(engine: Engine) -> dict[str, float]:
    """Shares, 0 to 1: passages that mention an entity, and entities that an edge ties to others."""
    state = engine.state
    snapshot, graph = state.snapshot.whole, state.entity_graph
    mentions = [len(snapshot.passage_entities.row(row)) for row in range(snapshot.size)]
    return {
        "passages_with_entities": float(np.mean(np.array(mentions) > 0)) if mentions else 0.0,
        "entities_with_edges": float(np.mean(np.diff(graph.starts) > 0))
        if len(graph.entity_ids)
        else 0.0,
    }


def community_cohesion(engine: Engine) -> float | None:
    """Share of the strength of edges at a community's entities that stays within it, 0 to 1.

    The mean over the communities of the coarsest level; None where there are none.
    """
    members = engine.state.communities.members()
    return cohesion(engine.state.entity_graph, members[members[:, 1] == 0])


def cohesion(graph: EntityGraph, members: np.ndarray) -> float | None:
    """See `community_cohesion`; `members` are rows of entity id, level, community id."""
    if not len(members):
        return None
    community = np.full(len(graph.entity_ids), -1, dtype=np.int64)
    known = np.isin(members[:, 0], graph.entity_ids)
    community[np.searchsorted(graph.entity_ids, members[known, 0])] = members[known, 2]
    owner = np.repeat(np.arange(len(graph.entity_ids)), np.diff(graph.starts))
    strengths = graph.strengths[graph.edges].astype(np.float64)
    ours, theirs = community[owner], community[graph.neighbours]
    shares = []
    for one in np.unique(community[community >= 0]).tolist():
        at = ours == one
        if total := strengths[at].sum():
            shares.append(strengths[at & (theirs == one)].sum() / total)
    return float(np.mean(shares)) if shares else None


def count_hops(hits: Sequence[Hit], passages: Sequence[str | None], gold: set[str]) -> Counter[str]:
    """How many hits that answer were reached by how many hops; `0`: not through the graph."""
    return Counter(
        str(min(len(hit.path), FARTHEST))
        for hit, passage in zip(hits, passages, strict=True)
        if passage in gold
    )


def traversal_efficiency(found: Sequence[Mapping[str, Any]]) -> float | None:
    """Of the hits that a path of the graph led to, the share that answers; None without any."""
    reached = sum(one["reached"] for one in found)
    return sum(one["reached_gold"] for one in found) / reached if reached else None
