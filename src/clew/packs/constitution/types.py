"""The kinds of elements of a constitution with their fields, and what relates them."""

from __future__ import annotations

from clew.packs.pack import EntityType, Field, RelationType

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
RELATION_TYPES = (
    RelationType(name="defines", inverse="defined_by", description="Value to principle."),
    RelationType(name="guides", inverse="guided_by", description="Principle to goal."),
    RelationType(name="implements", description="Goal to principle; confidence: completeness."),
    RelationType(name="relates_to", description="Confidence: strength; its kind is beside it."),
    RelationType(name="complements"),
    RelationType(name="conflicts"),
    RelationType(name="depends_on"),
    RelationType(name="discussed_in", description="Element to conversation."),
    RelationType(name="derived_from", description="Version to the one before."),
    RelationType(name="references", description="Conversation to element: relevance."),
    RelationType(name="about"),
)
