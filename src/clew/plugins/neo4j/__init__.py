"""Neo4j: stores on its servers, and graphs there that Clew did not make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl


@hookimpl
def stores() -> Mapping[str, str]:
    """See `Hooks`."""
    schemes = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
    return dict.fromkeys(schemes, "clew.plugins.neo4j.store")


@hookimpl
def commands() -> Mapping[str, str]:
    """See `Hooks`."""
    names = ("schema", "attach", "cypher")
    return {name: f"clew.plugins.neo4j.commands:{name}" for name in names}


@hookimpl
def tools() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.plugins.neo4j.tools:ask_by_cypher"]


@hookimpl
def members() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"ask_by_cypher": "clew.plugins.neo4j.store:by_cypher"}
