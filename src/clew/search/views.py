"""The indexes of a store as one question sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.graph.snapshot import Snapshot
    from clew.ports import CommunityStore, NeighbourhoodSource, VectorIndex
    from clew.search.resources import SearchResources
    from clew.search.timings import Timings
    from clew.settings import Settings


IN_MEMORY = 2_000_000
"""Passages of a store whose graph is kept in memory where the settings leave it open."""


def keeps_snapshot(store: NeighbourhoodSource, settings: Settings) -> bool:
    """Whether questions walk over a snapshot, rather than over what each reads of the store."""
    wanted = settings.search.snapshot
    return wanted == "always" or (wanted == "auto" and store.last_chunk() <= IN_MEMORY)


@dataclass
class IndexViews:
    """The indexes as one question sees them: each is brought up to date once, when first used."""

    resources: SearchResources
    timings: Timings

    @cached_property
    def in_memory(self) -> bool:
        """Whether there is a snapshot; see `QuerySession.snapshot`."""
        return keeps_snapshot(self.resources.store, self.resources.settings)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The graph of chunks, sentences and entities."""
        with self.timings.step("snapshot"):
            return self.resources.snapshot

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vector index."""
        return self.resources.vectors

    @cached_property
    def communities(self) -> CommunityStore:
        """Communities and topics."""
        return self.resources.communities
