"""Graphs on a Neo4j server that Clew did not make: searched, and asked by queries of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl


@hookimpl
def commands() -> Mapping[str, str]:
    """See `Hooks`."""
    return {name: f"clew.plugins.attach.commands:{name}" for name in ("schema", "attach", "cypher")}


@hookimpl
def tools() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.plugins.attach.tools:ask_by_cypher"]
