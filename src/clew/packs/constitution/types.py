"""The kinds of elements of a constitution, and their fields."""

from __future__ import annotations

from clew.packs.pack import EntityType, Field

_VERSIONS = (
    Field(name="version"),
    Field(name="since", kind="date", description="From when on it holds."),
    Field(name="until", kind="date", description="Until when an older version held."),
)

ENTITY_TYPES = (
    EntityType(
        name="value",
        fields=(Field(name="priority", kind="number", minimum=1, maximum=10), *_VERSIONS),
    ),
    EntityType(
        name="principle",
        fields=(Field(name="weight", kind="number", minimum=0, maximum=1), *_VERSIONS),
        description="Its rationale is in its text.",
    ),
    EntityType(
        name="goal",
        fields=(Field(name="status", choices=("active", "proposed", "deprecated")), *_VERSIONS),
        description="Its action is in its text.",
    ),
    EntityType(name="topic"),
    EntityType(name="conversation", fields=(Field(name="time", kind="time"),)),
)
