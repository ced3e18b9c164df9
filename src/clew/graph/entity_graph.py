"""The graph of entities alone: who is tied to whom, by a relation stated or by one sentence.

Undirected: what a relation states ties its two ends both ways, and each tie stands in the rows of
both. Derived like the snapshot, and of its generation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.graph.snapshot import Floats, Ints
    from clew.types import Ids


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Entities are rows here, in order of id; ties are numbered, a row of `ties` each."""

    generation: int
    entity_ids: Ids
    """(E,) sorted; all entities that a text mentions or a relation names."""
    starts: Ints
    """(E + 1,) where the entries of each entity begin."""
    neighbours: Ints
    """(2T,) the entities at the other end, sorted within each row."""
    ties: Ints
    """(2T,) the number of the tie."""
    strengths: Floats
    """(T,) above 0: how strongly a tie ties; the sum of what its sentences and relations add."""
    relations: Ids
    """(T,) id of the heaviest relation that states the tie; 0 where they only share sentences."""
    chunks: Ids
    """(T,) id of the chunk of the sentence that ties them best; 0 where no text does."""
    sentences: Ints
    """(T,) ordinal of that sentence in its chunk; -1 where no text does."""

    def row(self, entity: int) -> tuple[Ints, Ints]:
        """(n,) neighbours of an entity and the ties that lead to them."""
        entries = slice(int(self.starts[entity]), int(self.starts[entity + 1]))
        return self.neighbours[entries], self.ties[entries]
