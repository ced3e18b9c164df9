"""Mending by hand, whatever the back end: which names part, and which rules remember it.

A rule says that a key belongs to the group named by its target key. Targets are always their own
target, so that rules never chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.stores.errors import half_without_source, missing_keys


class HeldAlias(NamedTuple):
    """A name of an entity."""

    id: int
    key: str
    name: str
    is_used: bool
    """Whether a text or a relation names the entity so."""


class HeldEntity(NamedTuple):
    """An entity to be mended, with its names, oldest first."""

    id: int
    key: str
    entity_type: str
    tier: str
    aliases: Sequence[HeldAlias]

    @property
    def keys(self) -> list[str]:
        """The keys of its names."""
        return [alias.key for alias in self.aliases]

    def without(self, gone: Sequence[HeldAlias]) -> HeldEntity:
        """The entity once these names are another's."""
        return self._replace(aliases=[alias for alias in self.aliases if alias not in gone])


def part_names(held: HeldEntity, keys: Sequence[str]) -> tuple[list[HeldAlias], list[HeldAlias]]:
    """The names of those keys, in their order, and the others.

    Raises `NotFoundError` where the entity has no such name, and `InputError` where a half would
    be an entity without a source: no text names it, and no person made it.
    """
    by_key = {alias.key: alias for alias in held.aliases}
    wanted = list(dict.fromkeys(keys))
    missing = [key for key in wanted if key not in by_key]
    if missing or not wanted:
        raise missing_keys(held.id, missing, held.keys)
    halves = [by_key[key] for key in wanted], [a for a in held.aliases if a.key not in wanted]
    for half in halves:
        if not any(alias.is_used or held.tier == "manual" for alias in half):
            raise half_without_source([alias.key for alias in half], held.keys)
    return halves


def joined_rules(rules: Mapping[str, str], keys: Sequence[str], target: str) -> dict[str, str]:
    """Targets by key: the keys, and all that was ruled to belong to them, belong to the target."""
    followers = {key: target for key, group in rules.items() if group in keys}
    return {**followers, **dict.fromkeys([*keys, target], target)}


def parted_rules(
    rules: Mapping[str, str], parted: Sequence[str], left: Sequence[str]
) -> dict[str, str]:
    """Targets by key: two halves are apart; names ruled into the whole stay with what is left."""
    group = rules.get(left[0], left[0])
    target = left[0] if group in parted else group
    whole = joined_rules(rules, [*parted, left[0]], target)
    return {**whole, **dict.fromkeys(parted, parted[0])}
