"""Entities that may be one: listed, and kept apart where they are not."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.tools.graph.reading import known_entity
from clew.tools.parameters import integer, positive
from clew.tools.schema import shape
from clew.tools.spec import FULL, Tool

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


def suggest_merges(call: Call, arguments: Arguments) -> Result:
    """`suggest_merges`."""
    return {"suggestions": [asdict(s) for s in call.engine.entities.suggest(arguments["limit"])]}


def refuse_merge(call: Call, arguments: Arguments) -> Result:
    """`refuse_merge`."""
    one, other = (known_entity(call, arguments[name]) for name in ("entity_id", "other_id"))
    call.engine.entities.refuse(one.name, other.name)
    return {"entity_id": one.id, "other_id": other.id}


MERGING_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="suggest_merges",
        title="Entities that may be one",
        description="Pairs of entities that may be one, the surest first, each with the reason.",
        parameters=(integer("limit", "Pairs", 50, 1, 200),),
        result=shape(suggestions="array"),
        run=suggest_merges,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="refuse_merge",
        title="Keep entities apart",
        description="Say that two entities are not one; indexing again remembers it.",
        parameters=(
            positive("entity_id", "From suggest_merges."),
            positive("other_id", "From suggest_merges."),
        ),
        result=shape(entity_id="integer", other_id="integer"),
        run=refuse_merge,
        scope="write",
        profiles=FULL,
    ),
)
