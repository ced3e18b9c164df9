"""How sure it is that entities are any, from all that speaks for them.

Each piece of evidence is taken for independent, so that an entity is none only where all of them
err (noisy-or, as the weights of relations have it; see `stores.relations.weights`): a document that
mentions it, a type that its texts show, a further name, a relation of a certain weight.

    confidence = 1 - product over the evidence of (1 - b)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clew.ports import RelationRows
    from clew.types import Alias, Entity

A_DOCUMENT = 0.3
A_TYPE = 0.2
A_NAME = 0.2
A_RELATION = 0.5
"""What one piece of evidence is worth; of a relation that of its weight, 0 to 1."""
UNKNOWN_TYPE = "name"
ABOUT = -1
"""Instead of a sentence, where a chunk is about an entity."""


class Evidence(NamedTuple):
    """What speaks for an entity."""

    documents: int
    names: int
    is_typed: bool
    relations: Sequence[float]
    """The weights of its relations."""

    @property
    def confidence(self) -> float:
        """0 to 1."""
        doubt = (1 - A_DOCUMENT) ** self.documents * (1 - A_NAME) ** max(0, self.names - 1)
        doubt *= 1 - A_TYPE * self.is_typed
        return 1 - float(doubt * np.prod([1 - A_RELATION * weight for weight in self.relations]))

    @property
    def reason(self) -> str:
        """What there is, for people."""
        told = [f"{self.documents:,} document{'' if self.documents == 1 else 's'}"]
        told.append("a type" if self.is_typed else "no type")
        if self.names > 1:
            told.append(f"{self.names:,} names")
        count = len(self.relations)
        told.append(f"{count:,} relation{'' if count == 1 else 's'}" if count else "no relation")
        return f"confidence {self.confidence:.2f}: {', '.join(told)}"


class EntityEvidence:
    """What speaks for each entity of a store."""

    def __init__(self, aliases: Sequence[Alias], relations: RelationRows) -> None:
        self._names = Counter(alias.entity_id for alias in aliases)
        self._ends = np.concatenate((relations.heads, relations.tails))
        self._order = np.argsort(self._ends, kind="stable")
        self._ends = self._ends[self._order]
        self._weights = np.concatenate((relations.weights, relations.weights))[self._order]

    def of(self, entity: Entity) -> Evidence:
        """What speaks for one."""
        first, last = np.searchsorted(self._ends, (entity.id, entity.id + 1))
        return Evidence(
            documents=entity.documents,
            names=self._names[entity.id],
            is_typed=entity.entity_type != UNKNOWN_TYPE,
            relations=self._weights[first:last].tolist(),
        )


def stated_entities(
    aliases: Sequence[Alias], relations: RelationRows, mentions: np.ndarray, ruled: Collection[str]
) -> set[int]:
    """Ids of those that are no guess: titles of documents, and what was said of them by hand.

    `mentions` are the rows of `GraphSource.mention_rows`, `ruled` the keys of names that somebody
    merged, split or renamed.
    """
    by_hand = relations.chunks == 0
    stated = {*relations.heads[by_hand].tolist(), *relations.tails[by_hand].tolist()}
    stated.update(mentions[mentions[:, 1] == ABOUT, 2].tolist())
    stated.update(a.entity_id for a in aliases if a.method == "manual" or a.key in ruled)
    return stated
