"""`graph_search_nodes`: entities with their type, properties and neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.text import entity_key

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result

NODE_TYPES = {"Entity": "", "Event": "event", "Contact": "person", "Concept": "concept"}
"""Entity types by the names that assistants use; `Entity` is any."""
_LABELS = {kind: label for label, kind in NODE_TYPES.items() if kind}
_NEIGHBORS = 10


def graph_search_nodes(call: Call, arguments: Arguments) -> Result:
    """Entities that answer a question, by type."""
    from clew.search.strategies.neighbors import near

    engine = call.engine
    wanted = arguments["node_types"] or ["Entity"]
    kinds = [] if "Entity" in wanted else [NODE_TYPES[name] for name in wanted]
    hits, notes = engine.entities.search(
        arguments["query"], limit=arguments["limit"], node_types=kinds
    )
    properties = _properties(engine, {hit.entity.entity_type for hit in hits})
    nodes = []
    for hit in hits:
        entity = hit.entity
        around, _ = near(
            engine.store,
            engine.state.entity_graph,
            entity.id,
            depth=1,
            limit=_NEIGHBORS,
            moment=engine.state.now(),
        )
        nodes.append(
            {
                "id": entity.id,
                "name": entity.name,
                "type": _LABELS.get(entity.entity_type, "Entity"),
                "entity_type": entity.entity_type,
                "score": hit.combined_score,
                "content": hit.content[:500],
                "properties": properties.get((entity.entity_type, entity.key), {}),
                "neighbors": [
                    {"id": n.entity_id, "name": n.name, "relation": n.relation} for n in around
                ],
            }
        )
    return {"query": arguments["query"], "count": len(nodes), "nodes": nodes, "notes": list(notes)}


def _properties(engine: Engine, kinds: set[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """What documents say of the entities that they describe, by type and key."""
    types = engine.state.packs.entity_types
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in kinds & types.keys():
        names = {field.name for field in types[kind].fields}
        for one in engine.entities.described(kind):
            known = {name: v for name, v in one.metadata.items() if name in names}
            found[kind, entity_key(one.title)] = {**known, "source": one.source}
    return found
