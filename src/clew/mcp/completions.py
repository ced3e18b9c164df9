"""Names that an argument may take: of entities, documents and collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import Completion

from clew.mcp.auth.permissions import COMPLETED, may_read
from clew.mcp.resources import visible

if TYPE_CHECKING:
    from clew.mcp.request_context import RequestScope

MOST = 100
"""Names of one answer, as the protocol has it."""


def complete(scope: RequestScope, argument: str, begun: str) -> Completion:
    """The names that fit what was typed, best first."""
    found = _names(scope, argument, begun)
    return Completion(values=found[:MOST], has_more=len(found) > MOST)


def _names(scope: RequestScope, argument: str, begun: str) -> list[str]:
    what = COMPLETED.get(argument)
    if what is None or not may_read(scope.caller, what):
        return []
    if what == "collections":
        return [name for name in visible(scope) if name.startswith(begun)]
    with scope.acquire() as opened:
        if what == "entities":
            return [entity.name for entity in opened.engine.store.find_entities(begun, MOST + 1)]
        wanted = begun.casefold()
        documents = opened.engine.documents()
        return [d.source for d in documents if wanted in f"{d.source}\n{d.title}".casefold()]
