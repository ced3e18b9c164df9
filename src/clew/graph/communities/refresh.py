"""Bringing communities, their reports and the topics up to the store's generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.communities.hierarchy import changed_entities, partition, touched
from clew.graph.communities.reports import ReportMaker
from clew.graph.communities.topics import make_topics
from clew.graph.snapshot_columns import find_sorted
from clew.ports import CommunityChanges

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.graph.communities.reports import ReportStore
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.snapshot import Snapshot
    from clew.ports import CommunityWriter, Partition, ReportBasis, VectorIndex
    from clew.types import Ids

MIN_SIZE = 3
"""Entities of a community that has a report."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Counts of what was computed again."""

    communities: int = 0
    """New ones."""
    reports: int = 0
    topics: int = 0


def refresh_communities(
    store: ReportStore,
    communities: CommunityWriter,
    snapshot: Snapshot,
    graph: EntityGraph,
    vectors: VectorIndex,
    progress: Callable[[str], None] | None = None,
) -> Changed:
    """Compute again what changed since `communities.generation()`, and keep it in one transaction.

    `snapshot` and `graph` are of one generation, which is what `generation` says afterwards. Where
    another process was faster, its result is kept or brought further. `progress` is called with
    the name of each step.
    """
    say = progress or (lambda step: None)
    while True:
        with store.reading():
            if communities.generation() == snapshot.generation:
                return Changed()
            work = _Work(store, communities, snapshot, graph, vectors)
            changes, changed = work.changes(say)
        say("save")
        if communities.write(changes):
            return changed


@dataclass(frozen=True, slots=True)
class _Work:
    """One attempt, within one state of the store."""

    store: ReportStore
    communities: CommunityWriter
    snapshot: Snapshot
    graph: EntityGraph
    vectors: VectorIndex

    def changes(self, say: Callable[[str], None]) -> tuple[CommunityChanges, Changed]:
        say("communities")
        previous = self.communities.partition()
        now = partition(self.graph, previous)
        say("reports")
        wanted = self._without_report(previous, now)
        maker = ReportMaker.of(self.store, self.vectors, self.snapshot, self.graph)
        reports = list(maker.reports(now, wanted))
        say("topics")
        topics = make_topics(self.store, self.vectors, self.snapshot)
        changes = CommunityChanges(
            expected=self.communities.generation(),
            generation=self.snapshot.generation,
            partition=now,
            reports=reports,
            topics=topics,
        )
        new = now.ids if previous is None else np.setdiff1d(now.ids, previous.ids)
        return changes, Changed(len(new), len(reports), len(topics.keys))

    def _without_report(self, previous: Partition | None, now: Partition) -> Ids:
        """Ids of the communities whose report is missing or out of date."""
        first = np.searchsorted(now.members[:, 0], now.ids)
        large = np.diff(np.append(first, len(now.members))) >= MIN_SIZE
        if previous is None:
            return now.ids[large]
        changed = touched(now, changed_entities(self.graph, previous))
        new = ~find_sorted(previous.ids, now.ids)[1]
        outdated = np.isin(now.ids, self._outdated())
        return now.ids[large & (changed | new | outdated)]

    def _outdated(self) -> list[int]:
        """Communities whose report speaks of chunks or names that are no more."""
        bases = self.communities.report_bases()
        present = set(self.store.chunk_ids().tolist())
        entities = {entity for basis in bases.values() for entity in basis.entity_ids}
        names = self.store.entity_names(sorted(entities))

        def holds(basis: ReportBasis) -> bool:
            shown = tuple(names.get(entity) for entity in basis.entity_ids)
            return shown == basis.entities and present.issuperset(basis.sources)

        return [id_ for id_, basis in bases.items() if not holds(basis)]
