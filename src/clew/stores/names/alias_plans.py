"""What is known of names before their aliases are planned, and what the plan is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clew.text import entity_key
from clew.types import Alias, AliasMethod

UNKNOWN_TYPE = "name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A name as a document gives it."""

    name: str
    entity_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedNames:
    """What names became."""

    alias_ids: Mapping[str, int]
    """By key."""
    entity_ids: Mapping[str, int]
    """By key."""
    moved: frozenset[int]
    """Entities that lost or won an alias by a late link."""
    moved_aliases: tuple[int, ...] = ()
    """The ids of these aliases."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAlias:
    """An alias that the store holds, with what is asked of its entity."""

    id: int
    name: str
    entity_id: int
    method: AliasMethod
    score: float
    entity_name: str
    entity_type: str
    aliases: int
    """How many its entity has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownNames:
    """What a store knows of the keys of names and of what links say of them."""

    aliases: Mapping[str, KnownAlias]
    """By key."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """Targets by key, of the rules that lead from or to one of the keys."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """Entities by the target of these rules, where one of their names is known."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Names given by hand, by the target of these rules."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewName:
    """An entity to be made."""

    id: int
    name: str
    key: str
    entity_type: str


@dataclass(frozen=True, slots=True)
class AliasMove:
    """An alias that the store holds, and what its entity is to be and why."""

    id: int
    entity_id: int
    method: AliasMethod
    score: float
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NamePlan:
    """What is to be written."""

    resolved: ResolvedNames
    entities: Sequence[NewName]
    aliases: Sequence[Alias]
    """New ones."""
    moves: Sequence[AliasMove]
    types: Mapping[int, str]
    """Types learnt, by the id of an entity that the store holds."""


def names_by_key(given: Iterable[tuple[str, str]]) -> dict[str, Named]:
    """Names given as (name, type) by key, in order of appearance, with their first telling type.

    A name without letters or digits has no key and is left out.
    """
    found: dict[str, Named] = {}
    for name, entity_type in given:
        key = entity_key(name)
        if key and (key not in found or found[key].entity_type == UNKNOWN_TYPE):
            first = found[key].name if key in found else name
            found[key] = Named(name=first, entity_type=entity_type)
    return found
