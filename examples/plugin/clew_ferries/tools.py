"""What an assistant may ask of the ferries."""

from __future__ import annotations

from typing import Annotated

from clew.operations.spec import Call, Limits, Result, operation, shape


@operation("Ferries at a port", shape(ferries="array"))
def ferries_at(
    call: Call, port: Annotated[str, "Name of the port.", Limits(blank=False)]
) -> Result:
    """The ferries that call at a port, by name, with their captains."""
    engine = call.engine
    port_id = engine.entities.get(port).id
    calling = [
        one.from_entity_id
        for one in engine.store.relations([port_id], limit=1000)
        if one.relation_type == "calls_at" and one.to_entity_id == port_id
    ]
    names = engine.store.entity_names(calling).values()
    ferries = {one.title: one.metadata for one in engine.entities.described("ferry")}
    return {
        "ferries": [
            {"name": name, "captain": ferries[name].get("captain")}
            for name in sorted(names)
            if name in ferries
        ]
    }
