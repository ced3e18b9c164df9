"""Neo4j: stores on its servers, whose vectors they search themselves."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def stores() -> Mapping[str, str]:
    """See `Hooks`."""
    schemes = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
    return dict.fromkeys(schemes, "clew.plugins.neo4j.kind")
