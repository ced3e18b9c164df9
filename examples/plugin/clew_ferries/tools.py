"""What an assistant may ask of the ferries."""

from __future__ import annotations

from clew.tools.spec import FULL, Arguments, Call, Result, Tool, shape, text


def ferries_at(call: Call, arguments: Arguments) -> Result:
    """The ferries that call at a port, by name, with their captains."""
    engine = call.engine
    port = engine.entities.get(arguments["port"])
    calling = [
        one.from_entity_id
        for one in engine.store.relations([port.id], limit=1000)
        if one.relation_type == "calls_at" and one.to_entity_id == port.id
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


FERRIES_AT = Tool(
    name="ferries_at",
    title="Ferries at a port",
    description="The ferries that call at a port, with their captains.",
    parameters=(text("port", "Name of the port.", required=True, blank=False),),
    result=shape(ferries="array"),
    run=ferries_at,
    scope="read",
    profiles=FULL,
)
