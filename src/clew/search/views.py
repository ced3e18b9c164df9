"""The indexes of a store as one question sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.graph.snapshot import Snapshot
    from clew.ports import CommunityStore, VectorIndex
    from clew.search.resources import SearchResources
    from clew.search.timings import Timings


@dataclass
class IndexViews:
    """The indexes as one question sees them: each is brought up to date once, when first used."""

    resources: SearchResources
    timings: Timings

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
