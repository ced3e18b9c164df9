"""Names that an argument may take: of entities, documents and collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import Completion

from clew.mcp.resources import visible

if TYPE_CHECKING:
    from clew.mcp.resources import Place

MOST = 100
"""Names of one answer, as the protocol has it."""
ENTITY_ARGUMENTS = frozenset({"entity", "source", "target", "topic"})


def complete(place: Place, argument: str, begun: str) -> Completion:
    """The names that fit what was typed, best first."""
    found = _names(place, argument, begun)
    return Completion(values=found[:MOST], has_more=len(found) > MOST)


def _names(place: Place, argument: str, begun: str) -> list[str]:
    if argument == "collection":
        return [name for name in visible(place) if name.startswith(begun)]
    with place.engines.lend(place.namespace) as opened:
        if argument in ENTITY_ARGUMENTS:
            return [entity.name for entity in opened.engine.store.find_entities(begun, MOST + 1)]
        if argument == "document":
            wanted = begun.casefold()
            documents = opened.engine.documents()
            return [d.source for d in documents if wanted in f"{d.source}\n{d.title}".casefold()]
    return []
