"""What is learned from: a question, its candidates, and how well each answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from clew.search.features import pairwise_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clew.graph.snapshot import Floats, Snapshot
    from clew.search.features import Evidence
    from clew.types import Vectors

Kind = Literal["plain", "merged", "nameless", "foreign"]
"""`foreign`: asked of the store of another family, which does not answer."""

Passage: TypeAlias = tuple[str, str]
"""Data set and passage id."""

FOLDS = 5
TOP_GRADE = 4
"""Higher grades count as this one."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is needed of a store once its questions are asked."""

    snapshot: Snapshot
    vectors: Vectors
    """(C, dim) by row of the snapshot."""
    passages: Sequence[Passage]
    """The passage that each row belongs to; several rows may belong to one."""


@dataclass(frozen=True)
class Group:
    """One question and its candidates: what learning to rank calls a group."""

    dataset: str
    """Path below the folder of all data sets."""
    kind: Kind
    question: str
    gold: Mapping[Passage, int]
    """Grades of the passages that answer it; none where the store does not answer."""
    shelf: Shelf
    evidence: Evidence
    snapshot: Snapshot
    """What the evidence was gathered from: the shelf may number entities otherwise."""
    hybrid: Sequence[Passage]
    """What the hybrid strategy finds, best first."""

    @property
    def family(self) -> str:
        """The kind of collection: what is left out as one."""
        return self.dataset.split("/", maxsplit=1)[0]

    @property
    def fold(self) -> int:
        """0 to 4: the same for all copies of a question, whatever the order of the files."""
        return fold_of(self.question)

    @cached_property
    def candidates(self) -> Sequence[Passage]:
        """(n,) the passage that each row of the evidence belongs to."""
        return [self.shelf.passages[row] for row in self.evidence.rows.tolist()]

    @cached_property
    def grades(self) -> NDArray[np.int32]:
        """(n,) by candidate; 0 where it does not answer."""
        grades = [self.gold.get(passage, 0) for passage in self.candidates]
        return np.clip(grades, 0, TOP_GRADE).astype(np.int32)

    def second(self, first_scores: Floats) -> Floats:
        """(n, f) what the second ranking sees after a first one."""
        vectors = self.shelf.vectors[self.evidence.rows]
        related = pairwise_features(self.evidence, self.snapshot, vectors, first_scores)
        return np.concatenate([self.evidence.matrix, related], axis=1)

    def ranking(self, scores: Floats) -> list[Passage]:
        """Passages, each at the place of its best candidate, as `clew eval` sees them."""
        order = np.argsort(-scores, kind="stable").tolist()
        return list(dict.fromkeys(self.candidates[place] for place in order))


def fold_of(question: str) -> int:
    """0 to 4, by the question's words alone."""
    return int(digest(question)[:8], 16) % FOLDS


def digest(text: str) -> str:
    """Hex SHA-256: an order of questions that no file's order changes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
