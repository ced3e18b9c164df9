"""Entities that may be one: listed, and kept apart where they are not."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.tools.graph.reading import known_entity

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
