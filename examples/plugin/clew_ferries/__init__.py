"""Ferries and the ports that they call at: what the plugin brings, by the hooks of Clew.

What is named by its place is imported when it is needed: a search never reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import EntityType, Field, RelationType, hookimpl


@hookimpl
def readers() -> Mapping[str, str]:
    """How files are read, by their ending."""
    return {".ferries": "clew_ferries.reading:read_ferries"}


@hookimpl
def kinds() -> Sequence[str]:
    """Documents that are no prose: where they are cut into passages, and what these name."""
    return ["clew_ferries.reading:FERRIES"]


@hookimpl
def structures() -> Sequence[str]:
    """What documents state beside what their sentences say."""
    return ["clew_ferries.reading:ferry_structure"]


@hookimpl
def entity_types() -> Sequence[EntityType]:
    """Kinds of things, with the fields that their documents have as metadata."""
    return [EntityType(name="ferry", fields=(Field(name="captain"),))]


@hookimpl
def relation_types() -> Sequence[RelationType]:
    """Kinds of relations, with what each is called from its other end."""
    return [
        RelationType(name="calls_at", inverse="called_at_by"),
        RelationType(name="commanded_by", inverse="commands"),
    ]


@hookimpl
def tools() -> Sequence[str]:
    """What assistants may call."""
    return ["clew_ferries.tools:ferries_at"]
