"""Exploring the graph: entities, neighbours, paths, time, communities, figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.engine.state import Resources
from clew.errors import InputError
from clew.search.answer.relation_evidence import read_relations, stating_sentences

if TYPE_CHECKING:
    from clew.graph.statistics import GraphOverview
    from clew.search.options import Moment
    from clew.types import (
        Alias,
        Community,
        Entity,
        RelationEvidence,
        TimelineEntry,
        Topic,
    )

NEIGHBOR_DEPTH = 3
"""Steps from an entity to its neighbours, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbor:
    """An entity that a relation leads to."""

    entity: Entity
    relation: str
    weight: float
    """0 to 1."""
    depth: int
    """Steps from where the question began, from 1."""
    evidence: str
    """The sentence that says so; empty where there is none."""


class Exploring(Resources):
    """Reading the graph."""

    def entity(self, name: str) -> Entity:
        """An entity by name, alias or id. Raises `NotFoundError` that names the nearest ones."""
        return self.entity_ranks.applied([self._entity(name)])[0]

    def find_entities(self, text: str, limit: int = 10) -> list[Entity]:
        """Entities whose name is, begins with or holds the text, best first."""
        return self.entity_ranks.applied(self.store.find_entities(text, limit))

    def aliases(self, name: str) -> list[Alias]:
        """The names of an entity, and why they are."""
        return self.store.aliases(entity_id=self._entity(name).id)

    def relations(self, name: str, limit: int = 50) -> list[RelationEvidence]:
        """An entity's relations, heaviest first."""
        return read_relations(self.store, self.store.relations([self._entity(name).id], limit))

    def neighbors(self, name: str, *, depth: int = 1, limit: int = 50) -> list[Neighbor]:
        """Entities that relations lead to, nearest and heaviest first, each once.

        Raises `InputError` for a depth outside 1 to 3.
        """
        from clew.search.strategies.neighbors import related

        if not 1 <= depth <= NEIGHBOR_DEPTH:
            raise InputError(f"depth {depth!r} cannot be; expected 1 to {NEIGHBOR_DEPTH}")
        found, _ = related(
            self.store, self._entity(name).id, depth=depth, limit=limit, each_type=False
        )
        sentences = stating_sentences(self.store, [one.relation for one in found])
        entities = self.store.entities([one.entity_id for one in found])
        ends = {entity.id: entity for entity in self.entity_ranks.applied(entities)}
        return [
            Neighbor(
                entity=ends[one.entity_id],
                relation=one.relation.relation_type,
                weight=one.relation.weight,
                depth=one.depth,
                evidence=sentences[one.relation.id],
            )
            for one in found
            if one.entity_id in ends
        ]

    def paths(
        self,
        source: str,
        target: str,
        *,
        max_hops: int = 3,
        limit: int = 5,
        weighted: bool = False,
    ) -> tuple[list[tuple[RelationEvidence, ...]], tuple[str, ...]]:
        """The paths between two entities, fewest hops first, and a note for each limit met.

        With `weighted`, the strongest path alone, which may take more hops than the shortest. Each
        path is its ties: relations that are stated, in their own direction, or sentences that name
        both ends. Raises `InputError` for hops outside 1 to 5 or a limit below 1.
        """
        from clew.graph.traversal.paths import all_paths, strongest_path
        from clew.search.strategies.entity_paths import entity_rows, read_paths

        ends = self._entity(source), self._entity(target)
        graph = self.entity_graph
        rows = entity_rows(graph, [entity.id for entity in ends])
        if len(rows) < 2:
            raise InputError(
                f"{source!r} and {target!r} are not two entities of the graph; a path needs two"
            )
        if weighted:
            found = strongest_path(graph, rows[0], rows[1], max_hops)
        else:
            found = all_paths(graph, rows[0], rows[1], max_hops=max_hops, limit=limit)
        return read_paths(self.store, graph, found.paths), found.limits_hit

    def timeline(
        self, name: str, *, limit: int = 100, as_of: Moment | None = None
    ) -> list[TimelineEntry]:
        """What is known of an entity, in order of time."""
        from clew.search.answer.timeline import read_timeline
        from clew.search.options import read_last

        moment = read_last("as_of", as_of, self._now())
        return read_timeline(self.store, self._entity(name).id, limit=limit, as_of=moment)

    def community_reports(self, level: int = 0, limit: int = 50) -> list[Community]:
        """The communities of a level (0: the coarsest), largest first, with their reports.

        Each says where its report's sentences come from. Raises `InputError` for a level that
        there is not.
        """
        from clew.search.strategies.community_reports import check_level

        kept = self.communities
        found = kept.communities(level=check_level(kept, level))[:limit]
        origins = self.store.provenance([id_ for c in found for id_ in c.sources])
        return [
            replace(c, provenance=tuple(origins[id_] for id_ in c.sources if id_ in origins))
            for c in found
        ]

    def topics(self, limit: int = 50) -> list[Topic]:
        """Key phrases that several passages are on, those of most documents first."""
        return self.communities.topics()[:limit]

    def graph_statistics(self, limit: int = 10) -> GraphOverview:
        """The graph of entities in numbers, its hubs and bridges, at most `limit` of each kind."""
        from clew.graph.statistics import overview

        return overview(self.store, self.entity_graph, limit)
