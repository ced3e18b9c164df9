"""Exploring the graph: entities, neighbours, paths, time, communities, figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.engine.resources import Resources
from clew.errors import InputError
from clew.query.stated import read_relations, stating_sentences

if TYPE_CHECKING:
    from clew.graph.overview import GraphOverview
    from clew.query.moments import Moment
    from clew.types import (
        Alias,
        Community,
        Entity,
        Relation,
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
        if not 1 <= depth <= NEIGHBOR_DEPTH:
            raise InputError(f"depth {depth!r} cannot be; expected 1 to {NEIGHBOR_DEPTH}")
        start = self._entity(name).id
        seen, edge = {start}, [start]
        found: list[Neighbor] = []
        for step in range(1, depth + 1):
            reached = self._step(edge, seen, step, limit - len(found))
            found.extend(reached)
            edge = [neighbor.entity.id for neighbor in reached]
            if not edge:
                break
        return found

    def _step(self, edge: list[int], seen: set[int], depth: int, room: int) -> list[Neighbor]:
        relations = self.store.relations(edge) if room > 0 else []
        sentences = stating_sentences(self.store, relations)
        reached: dict[int, Relation] = {}
        for relation in relations:
            for end in (relation.from_entity_id, relation.to_entity_id):
                if end not in seen and len(reached) < room:
                    seen.add(end)
                    reached[end] = relation
        return [
            Neighbor(
                entity=entity,
                relation=reached[entity.id].relation_type,
                weight=reached[entity.id].weight,
                depth=depth,
                evidence=sentences[reached[entity.id].id],
            )
            for entity in self.entity_ranks.applied(self.store.entities(list(reached)))
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
        from clew.graph.paths import all_paths, strongest_path
        from clew.query.ways import entity_rows, read_paths

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
        return read_paths(self.store, graph, found.paths), found.met

    def timeline(
        self, name: str, *, limit: int = 100, as_of: Moment | None = None
    ) -> list[TimelineEntry]:
        """What is known of an entity, in order of time."""
        from clew.query.moments import read_last
        from clew.query.timeline import read_timeline

        moment = read_last("as_of", as_of, self._now())
        return read_timeline(self.store, self._entity(name).id, limit=limit, as_of=moment)

    def community_reports(self, level: int = 0, limit: int = 50) -> list[Community]:
        """The communities of a level (0: the coarsest), largest first, with their reports.

        Each says where its report's sentences come from. Raises `InputError` for a level that
        there is not.
        """
        from clew.query.reports import check_level

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
        from clew.graph.overview import overview

        return overview(self.store, self.entity_graph, limit)
