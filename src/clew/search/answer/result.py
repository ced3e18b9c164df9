"""What a strategy finds: passages, and how they become a context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from clew.search.answer.blocks import by_section

if TYPE_CHECKING:
    from clew.search.answer.blocks import Block
    from clew.search.retrieval.channels import Ranking
    from clew.search.session import QuerySession
    from clew.types import Hit, StoredChunk

Arrangement: TypeAlias = "Callable[[QuerySession, Sequence[Hit]], list[Block]]"
"""Makes the parts of the context of the hits, the most important first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalResult:
    """Passages, best first, and what else the strategy has to say of them."""

    ranking: Ranking
    arrange: Arrangement = by_section
    matched: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By chunk id: the chunks by which it was found, where these are others."""
    scores: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By name and chunk id: what was weighed beside the channels, 0 to 1."""
    also_in: Mapping[int, tuple[StoredChunk, ...]] = field(default_factory=dict)
    """By chunk id: passages left out because this one says the same."""
    first: tuple[int, ...] = ()
    """Chunk ids that no boost moves from the front: what says who or what is asked for."""


def after(parts: Sequence[Block], arrange: Arrangement = by_section) -> Arrangement:
    """The parts, then what `arrange` makes of the hits."""
    return lambda session, hits: [*parts, *arrange(session, hits)]
