"""The graph, relations and entities under the filters of a question.

A filter selects passages. A tie, a relation or an entity passes where an allowed passage states or
mentions it; what no passage states does not pass. Without filters everything passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.graph.entity_graph import EntityGraph
    from clew.search.session import QuerySession
    from clew.types import Relation


def filtered_graph(session: QuerySession) -> EntityGraph:
    """The graph of entities, with only those ties whose sentence is in an allowed passage."""
    graph = session.resources.entity_graph
    if session.allowed is None:
        return graph
    return graph.only(np.isin(graph.chunks, session.allowed)[graph.edges])


def filtered_relations(session: QuerySession, relations: Sequence[Relation]) -> list[Relation]:
    """Those relations that an allowed passage states."""
    if session.allowed is None:
        return list(relations)
    stated = np.array([relation.chunk_id or 0 for relation in relations], dtype=np.int64)
    return [r for r, let in zip(relations, session.allows(stated).tolist(), strict=True) if let]


def filtered_entities(session: QuerySession, entity_ids: Sequence[int]) -> list[int]:
    """Those entities, in the order given, that an allowed passage mentions."""
    if session.allowed is None:
        return list(entity_ids)
    snapshot = session.snapshot
    passages = session.allows(snapshot.chunk_ids)
    rows = snapshot.entity_rows(list(entity_ids))
    return [
        id_
        for id_ in entity_ids
        if id_ in rows and passages[snapshot.entity_passages.row(rows[id_])].any()
    ]
