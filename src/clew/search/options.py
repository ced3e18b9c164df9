"""How a question is asked, beside its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.search.analysis.declared_hierarchy import parse_hierarchy
from clew.types import Period

if TYPE_CHECKING:
    from datetime import datetime

    from clew.types import Condition, Fusion

MAX_HOPS = 5
"""Steps from entity to entity, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What the caller asks for; equal options of one question have one answer.

    Raises `InputError` for values that cannot be.
    """

    strategy: str
    limit: int
    """Passages, at most; at least 1."""
    max_tokens: int
    """Tokens of the context, at most; at least 1."""
    now: datetime
    """When "today" is, in the zone that it is meant in."""
    where: tuple[Condition, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    """Exclusive."""
    as_of: datetime | None = None
    temporal: bool | None = None
    """Keep to the period that the question names (True), ignore it (False), or prefer it (None)."""
    max_hops: int = 2
    """Steps from entity to entity, 1 to 5."""
    fusion: Fusion = "rrf"
    """How `hybrid` fuses its two channels."""
    alpha: float | None = None
    """Share of keywords in the weighted fusion, 0 to 1; None: the router's."""
    weights: tuple[float, float, float] = (0.6, 0.3, 0.1)
    """Of `weighted`: vector, graph, time; each at least 0."""
    layer: str = "section"
    """Where `hierarchical` searches: `document`, `section`, `passage`, or a type of entity."""
    hierarchy: str = ""
    """Declared, such as `person -works_at-> organisation`; empty: the outline of documents."""
    level: int | None = None
    """Level of communities, 0 for the coarsest; None: the finest that fits the budget."""
    expand: bool = False
    """Also search for aliases, synonyms and neighbours of the question's entities."""
    sub_questions: bool = False
    """Ask each part of a question that has several, and fuse by the maximum."""
    rerank: bool = True
    """Use the reranker where one is configured."""
    explain: bool = True
    """Look up what the graph has to say of each hit: entities, relations, the thread to it."""
    context: bool = True
    """Assemble the context; without it that is empty."""

    def __post_init__(self) -> None:
        _check("limit", self.limit, 1, None)
        _check("max_tokens", self.max_tokens, 1, None)
        _check("max_hops", self.max_hops, 1, MAX_HOPS)
        if self.alpha is not None:
            _check("alpha", self.alpha, 0, 1)
        if self.level is not None:
            _check("level", self.level, 0, None)
        for weight in self.weights:
            _check("weights", weight, 0, None)
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InputError(
                f"since {self.since.isoformat()} is not before until {self.until.isoformat()};"
                " nothing lies between them"
            )
        if self.hierarchy:
            parse_hierarchy(self.hierarchy)

    @property
    def period(self) -> Period | None:
        """The period given by hand; None where none is."""
        if self.since is None and self.until is None:
            return None
        return Period(start=self.since, end=self.until)


def _check(name: str, value: float, least: float, most: float | None) -> None:
    if value < least or (most is not None and value > most):
        expected = f"at least {least}" if most is None else f"{least} to {most}"
        raise InputError(f"{name} {value!r} cannot be; expected {expected}")
