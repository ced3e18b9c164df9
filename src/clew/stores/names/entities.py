"""Entities and their names, as they are stored and shown; none stays without a source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log1p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.errors import NotFoundError
from clew.stores.backend import Backend, distinct, limited, pairs
from clew.stores.described import read_described
from clew.stores.state import StoreState
from clew.stores.statements import merge as merging
from clew.stores.statements import names as statements
from clew.text import entity_key
from clew.types import Alias, Entity, KnownName, LinkCandidates

if TYPE_CHECKING:
    from clew.types import Ids


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
    description: Any
    """See `described.read_described`."""


class Entities(StoreState):
    """The part of `ports.GraphStore` that knows entities and names."""

    _most_mentioned = (-1, 0)
    """Generation, and the mentions that its most mentioned entity has."""

    def entities(self, entity_ids: Sequence[int]) -> list[Entity]:
        """See `ports.GraphStore`."""
        ids = distinct(entity_ids)
        with self.backend.consistent():
            rows = self.backend.rows(statements.ENTITIES, ids=ids)
            found = {row[1]: EntityRow(*row[1:]) for row in rows}
            # Counting all mentions takes long; entities that no text names do not need it.
            some = any(row.mentions for row in found.values())
            most = self._most(rows[0][0]) if some else 0
        return [_entity(found[i], most) for i in map(int, entity_ids) if i in found]

    def _most(self, generation: int) -> int:
        known, most = self._most_mentioned
        if known != generation:
            most = int(self.backend.rows(statements.MOST_MENTIONED)[0][0])
            self._most_mentioned = generation, most
        return most

    def entity_names(self, entity_ids: Sequence[int]) -> dict[int, str]:
        """See `ports.GraphStore`."""
        return pairs(self.backend.rows(statements.ENTITY_NAMES, entities=distinct(entity_ids)))

    def find_entities(self, name: str, limit: int = 10) -> list[Entity]:
        """See `ports.GraphStore`; no name, no entities.

        All keys are looked through only where too few begin with the name.
        """
        key, most = entity_key(name), limited(limit)
        if not key:
            return []
        with self.backend.consistent():
            found = self.backend.rows(statements.NAMES_BEGINNING, key=key, limit=most)
            if len(found) < most:
                found = self.backend.rows(statements.NAMES_HOLDING, key=key, limit=most)
            return self.entities([row[0] for row in found])

    def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
        """See `ports.GraphStore`."""
        rows = self.backend.rows(statements.KEYS, keys=list(keys))
        return {key: entity_id for key, _, entity_id in rows}

    def named(self, names: Sequence[str]) -> Mapping[str, int]:
        """See `ports.GraphStore`."""
        with self.backend.consistent():
            known = self.resolve([entity_key(name) for name in names])
            written = set(self.entity_names(list(known.values())).items())
            written.update(
                (alias.entity_id, alias.name)
                for entity_id in set(known.values())
                for alias in self.aliases(entity_id=entity_id)
                if alias.method in ("exact", "manual")
            )
        found = ((name, known.get(entity_key(name), 0)) for name in names)
        return {name: entity_id for name, entity_id in found if (entity_id, name) in written}

    def aliases(self, *, entity_id: int | None = None, after: int = 0) -> list[Alias]:
        """See `ports.GraphStore`."""
        if entity_id is None:
            rows = self.backend.rows(statements.ALIASES, after=after)
        else:
            rows = self.backend.rows(statements.ALIASES_OF, after=after, id=int(entity_id))
        return [
            Alias(id=i, key=k, name=name, entity_id=e, method=method, score=score, evidence=why)
            for i, k, name, e, method, score, why in rows
        ]

    def known_names(self, *, after: int = 0) -> list[KnownName]:
        """See `ports.GraphStore`."""
        rows = self.backend.rows(statements.KNOWN_NAMES, after=after)
        return [_known_name(*row) for row in rows]

    def known_terms(self, terms: Sequence[str]) -> list[KnownName]:
        """See `ports.GraphStore`."""
        found = self.backend.rows(statements.KNOWN_TERMS, terms=list(terms)) if terms else []
        return [_known_name(*row) for row in found]

    def link_candidates(self, keys: Sequence[str], blocks: Sequence[str]) -> LinkCandidates:
        """See `ports.GraphStore`."""
        known, near, rules = self.backend.gather(
            statements.KEYS,
            statements.NAMES_OF_BLOCKS,
            merging.RULES_AROUND,
            keys=list(keys),
            blocks=list(blocks),
        )
        names: dict[str, list[tuple[str, str]]] = {}
        for block, key, name in near:
            names.setdefault(block, []).append((key, name))
        ruled = {key for rule in rules for key in rule}
        return LinkCandidates(known={row[0] for row in known}, ruled=ruled, names=names)

    def entity_chunks(self, entity_id: int) -> Ids:
        """See `ports.GraphStore`."""
        found = self.backend.columns(statements.ENTITY_CHUNKS, ("i8",), id=int(entity_id))
        return np.sort(found[0])

    def link_rules(self) -> dict[str, str]:
        """See `ports.EntityEditor`."""
        return {key: target for key, target, _ in self.backend.rows(merging.LINK_RULES)}

    def given_names(self) -> dict[str, str]:
        """See `ports.EntityEditor`."""
        return {key: name for key, _, name in self.backend.rows(merging.LINK_RULES) if name}


def delete_orphans(backend: Backend, entity_ids: Collection[int]) -> None:
    """Delete names without a source, then entities without a name, among the entities given.

    The others show a name that they have.
    """
    if entity_ids:
        backend.execute(
            merging.DELETE_ORPHAN_ALIASES,
            merging.SHOW_LIVING_NAMES,
            merging.DELETE_NAMELESS_ENTITIES,
            ids=list(entity_ids),
        )


def _known_name(name: str, entity_id: int, entity_type: str, tier: str) -> KnownName:
    return KnownName(name=name, entity_id=entity_id, entity_type=entity_type, tier=tier)


def _entity(row: EntityRow, most_mentioned: int) -> Entity:
    """A row as it is shown; `most_mentioned` are the mentions of the most mentioned entity."""
    salience = log1p(row.mentions) / log1p(most_mentioned) if row.mentions else 0.0
    _, said = read_described(row.description)
    return Entity(**{**row._asdict(), "description": said}, salience_score=salience)


def unknown_entities(entity_ids: Iterable[int]) -> NotFoundError:
    """The error for entities that there are not."""
    shown = ", ".join(str(i) for i in dict.fromkeys(entity_ids))
    return NotFoundError(
        f"no entity with the id {shown}; look its id up by its name (`clew entity show NAME`"
        " or graph_enhanced_search)"
    )
