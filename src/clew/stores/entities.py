"""Entities as rows, whatever the back end."""

from __future__ import annotations

from math import log1p
from typing import NamedTuple

from clew.types import Entity


class EntityRow(NamedTuple):
    """An entity as it is stored, with what is counted of it."""

    id: int
    name: str
    key: str
    entity_type: str
    content: str
    tier: str
    mentions: int
    documents: int


def to_entity(row: EntityRow, most_mentioned: int) -> Entity:
    """A row as the store shows it; `most_mentioned` are the mentions of whom texts name most."""
    salience = log1p(row.mentions) / log1p(most_mentioned) if row.mentions else 0.0
    return Entity(**row._asdict(), salience_score=salience)
