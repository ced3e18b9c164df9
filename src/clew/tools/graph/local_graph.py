"""The graph between some entities, as nodes and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.budget import fitting
from clew.tools.graph.reading import rounded, unknown_entity
from clew.types import current_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set
    from datetime import datetime

    from clew.engine import Engine
    from clew.graph.entity_graph import EntityGraph
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Entity, Provenance, Relation

LOCAL_RELATIONS = 10_000
"""Relations that the graph between some entities is taken from, heaviest first."""
SOURCES = 5
"""Documents that an edge names, at most."""


def local_graph(call: Call, arguments: Arguments) -> Result:
    """`build_local_graph`."""
    engine = call.engine
    ids = list(dict.fromkeys(arguments["entity_ids"]))
    entities = engine.state.entity_ranks.applied(engine.store.entities(ids))
    known = {entity.id for entity in entities}
    if not known:
        raise unknown_entity(*ids[:1])
    now = engine.state.now()
    relations = engine.store.relations(sorted(known), LOCAL_RELATIONS, among=True)
    edges = _edges(engine, current_first(relations, now), now)
    nodes = [_node(entity) for entity in entities]
    edges += _shared_edges(engine.state.entity_graph, known)
    left_out = {"nodes": len(nodes), "edges": len(edges), "unknown_ids": len(ids) - len(nodes)}
    graph: Result = {"nodes": [], "edges": [], "node_count": len(nodes), "edge_count": len(edges)}
    around: Result = {"graph": graph, "left_out": left_out}
    count, room = engine.state.embedder.count_tokens, arguments["max_tokens"]
    # Edges of nodes that are not shown would lead nowhere: nodes go first.
    graph["nodes"] = fitting(nodes, around, room, count)
    shown = {node["id"] for node in graph["nodes"]}
    edges = [e for e in edges if {e["from_entity_id"], e["to_entity_id"]} <= shown]
    graph["edges"] = fitting(edges, around, room, count)
    for name in ("nodes", "edges"):
        left_out[name] -= len(graph[name])
    graph["node_count"], graph["edge_count"] = len(graph["nodes"]), len(graph["edges"])
    return around


def _node(entity: Entity) -> Result:
    return {
        "id": entity.id,
        "name": entity.name,
        "entity_type": entity.entity_type,
        "tier": entity.tier,
        "salience_score": rounded(entity.salience_score),
    }


def _edges(engine: Engine, relations: Sequence[Relation], now: datetime) -> list[Result]:
    """An edge a fact, as its first statement has it, with the documents that state it."""
    facts: dict[tuple[int, str, int], list[Relation]] = {}
    for one in relations:
        fact = one.from_entity_id, one.relation_type, one.to_entity_id
        facts.setdefault(fact, []).append(one)
    chunks = [one.chunk_id for one in relations if one.chunk_id is not None]
    origins = engine.store.provenance(chunks)
    return [_edge(statements, origins, now) for statements in facts.values()]


def _edge(
    statements: Sequence[Relation], origins: Mapping[int, Provenance], now: datetime
) -> Result:
    names = ("id", "from_entity_id", "to_entity_id", "relation_type", "weight")
    chunks = (one.chunk_id for one in statements if one.chunk_id is not None)
    sources = dict.fromkeys(origins[id_].source for id_ in chunks if id_ in origins)
    return {
        **{name: getattr(statements[0], name) for name in names},
        "is_causal": any(one.is_causal for one in statements),
        "source_count": len(sources),
        "sources": list(sources)[:SOURCES],
        **statements[0].standing(now).to_dict(),
    }


def _shared_edges(graph: EntityGraph, known: Set[int]) -> list[Result]:
    """Pairs of the entities that a sentence names together and no relation ties, as edges."""
    from clew.search.strategies.entity_paths import TOGETHER
    from clew.search.strategies.neighbors import co_occurring

    return [
        {
            "id": None,
            "from_entity_id": one.entity_id,
            "to_entity_id": one.other_id,
            "relation_type": TOGETHER,
            "weight": rounded(one.weight),
            "is_causal": False,
            "source_count": 0,
            "sources": [],
        }
        for one in co_occurring(graph, sorted(known))
        if one.other_id in known and one.entity_id < one.other_id
    ]
