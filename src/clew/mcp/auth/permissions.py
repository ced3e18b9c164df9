"""What a token that is limited to some tools may do without calling one: what these would tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.tools.spec import Caller

What = Literal["documents", "entities", "collections", "statistics", "schema", "sources"]
"""Kinds of resources by their first name; `sources` is the list of documents."""

_ENTITY_TOOLS = frozenset({"get_entity_neighbors", "graph_enhanced_search"})
_COUNTING = frozenset({"get_graph_statistics"})
TELLING: Mapping[What, frozenset[str]] = {
    "documents": frozenset({"fetch", "get_document"}),
    "sources": frozenset({"list_documents"}),
    "entities": _ENTITY_TOOLS,
    "collections": frozenset({"list_collections"}),
    "statistics": _COUNTING,
    "schema": _COUNTING,
}
"""The tools of which each tells as much; one of them is enough."""
COMPLETED: Mapping[str, What] = {
    "collection": "collections",
    "document": "sources",
    **dict.fromkeys(("entity", "source", "target", "topic"), "entities"),
}
"""What the names are of that an argument of a prompt or of an address is completed with."""
PROMPTED: Mapping[str, frozenset[str]] = {
    "research_question": frozenset({"query_documents"}) | _ENTITY_TOOLS,
    "summarise_topic": frozenset({"query_documents"}),
    "review_relations": frozenset({"query_documents"}) | _ENTITY_TOOLS,
    "explain_path": frozenset({"query_documents"}),
}
"""The tools that each prompt names; it is of use to those alone who may call all of them."""


def may_read(caller: Caller, what: What) -> bool:
    """Whether a caller may read resources of a kind, complete their names and watch them."""
    return caller.tools is None or not caller.tools.isdisjoint(TELLING[what])


def may_prompt(caller: Caller, prompt: str) -> bool:
    """Whether a caller may see a prompt; one that is not Clew's own names no tool of it."""
    return caller.tools is None or PROMPTED.get(prompt, frozenset()) <= caller.tools
