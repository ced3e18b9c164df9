"""What the labels, properties, types and indexes of somebody else's graph mean."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from clew.errors import InputError

Direction = Literal["out", "in", "both"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_min_length=1)


class PassageMapping(_Part):
    """Nodes that hold text."""

    label: str
    text: str
    """Property with the text that is shown."""
    id: str | None = None
    """Property that tells passages apart; None: the database's own element ids."""
    title: str | None = None
    source: str | None = None
    """Property with a path or an address."""
    vector_index: str | None = None
    """Name of a vector index on these nodes."""
    fulltext_index: str | None = None
    """Name of a full-text index on these nodes."""

    @model_validator(mode="after")
    def _can_be_searched(self) -> PassageMapping:
        if self.vector_index is None and self.fulltext_index is None:
            raise ValueError("expected vector_index, fulltext_index or both")
        return self


class EntityMapping(_Part):
    """Nodes that passages have in common."""

    labels: tuple[str, ...] = Field(min_length=1)
    """A node with any of them is an entity."""
    name: str
    """Property with the name that questions use."""
    fulltext_index: str | None = None
    """Name of a full-text index on the names: they are found whatever their case, and fast."""


class MentionMapping(_Part):
    """Relationships between passages and the entities that they mention."""

    types: tuple[str, ...] = Field(min_length=1)
    direction: Direction = "out"
    """`out`: from the passage to the entity."""


class RelationMapping(_Part):
    """Which relationships lead from entity to entity; they are followed both ways."""

    types: tuple[str, ...] = ()


class GraphMapping(_Part):
    """A whole graph; without entities it is searched by vectors and words alone."""

    passages: PassageMapping
    entities: EntityMapping | None = None
    mentions: MentionMapping | None = None
    relations: RelationMapping = RelationMapping()

    @model_validator(mode="after")
    def _entities_are_mentioned(self) -> GraphMapping:
        if (self.entities is None) != (self.mentions is None):
            raise ValueError("expected both of [entities] and [mentions], or neither")
        if self.relations.types and self.entities is None:
            raise ValueError("expected [entities], since [relations] lead from one to another")
        return self


def read_mapping(path: Path) -> GraphMapping:
    """The mapping in a TOML file; raises `InputError` that names each entry that cannot be."""
    try:
        return GraphMapping.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"mapping {str(path)!r} is not TOML: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc'])) or 'mapping'}: {item['msg']}"
            for item in error.errors()
        )
        raise InputError(f"mapping {str(path)!r} cannot be: {wrong}") from error
