"""The graph: relations, paths, time, communities, figures.

What only one of these needs is imported inside its function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from clew.engine.entities import Entities
from clew.engine.state import EngineState
from clew.errors import InputError, NotFoundError, check_several
from clew.graph.statistics import EntityEvidence, stated_entities
from clew.search.answer.hits import read_relations
from clew.search.options import Moment, Options, read_last, read_period
from clew.text import counted
from clew.types import (
    Community,
    Entity,
    Ids,
    Relation,
    RelationEvidence,
    TimelineEntry,
    Topic,
    current_first,
)

if TYPE_CHECKING:
    from clew.graph.statistics import GraphOverview, RankedEntity
    from clew.search.around import QuestionSubgraph
    from clew.stores.store import Store

AT_A_TIME = 500
"""Relations or entities that are read or taken back in one go."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunedRelation:
    """A fact that too little speaks for."""

    relation: RelationEvidence
    weight: float
    """0 to 1; see `stores.weights`."""
    ids: tuple[int, ...]
    """Of all statements of it."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PrunedEntity:
    """An entity that too little speaks for."""

    id: int
    name: str
    entity_type: str
    confidence: float
    """0 to 1; see `graph.statistics.Support`."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneReport:
    """What `prune` would take back, or did."""

    below: float
    applied: bool
    """False for a dry run: nothing is changed."""
    relations: tuple[PrunedRelation, ...]
    """The weakest first."""
    entities: tuple[PrunedEntity, ...] = ()
    """The least sure first; none unless they were asked for."""


class Graph:
    """What the graph of a store shows."""

    def __init__(self, state: EngineState, entities: Entities) -> None:
        self._state = state
        self._entities = entities

    def relations(self, name: str | Entity, limit: int = 50) -> list[RelationEvidence]:
        """An entity's relations: those that hold, then the others, the heaviest of each first."""
        found = self._state.store.relations([self._entities.resolve(name).id], limit)
        return read_relations(self._state.store, current_first(found, self._state.now()))

    def delete_relation(self, relation_id: int) -> int:
        """Take a relation back for good, with every statement of the same fact; how many.

        What texts state stays taken back where they are indexed again or another text states it,
        as long as a text that stated it is there. Raises `NotFoundError` for an unknown one.
        """
        with self._state.writing:
            deleted = self._state.store.delete_fact(relation_id)
        if not deleted:
            raise NotFoundError(
                f"no relation with the id {relation_id}, or it was deleted before; look ids up with"
                " `clew export` or build_local_graph"
            )
        return deleted

    def restore_relations(self, relation_ids: Sequence[int]) -> int:
        """Take back that what texts state was deleted or retracted; how many statements were."""
        check_several(relation_ids=relation_ids)
        with self._state.writing:
            return self._state.store.restore_relations(relation_ids)

    def prune(self, *, below: float, dry_run: bool = True, entities: bool = False) -> PruneReport:
        """Take back the relations of texts whose weight is below a bound (above 0 to 1).

        `restore_pruned` brings them back. With `entities` also the entities whose confidence is
        (`restore_names` brings their names back). A dry run only says which, and why. What was
        stated by hand, and what documents are about, is never taken back. Indexing again remembers
        it. Raises `InputError` for a bound that cannot be.
        """
        if not 0 < below <= 1:
            raise InputError(
                f"below is {below!r}; expected a weight above 0 and up to 1, such as 0.4"
            )
        state, store = self._state, self._state.store
        rows = store.relation_rows()
        # What no text states was stated by hand.
        weak = rows.ids[(rows.chunks > 0) & (rows.weights < below - 1e-6)]
        found = sorted(_weak_relations(store, weak), key=lambda one: (one.weight, one.ids))
        unsure = _unsure_entities(store, below) if entities else []
        if not dry_run:
            # Each batch lasts by itself: where a run is killed, another one goes on behind it.
            with state.writing:
                for ids in _batches([i for one in found for i in one.ids]):
                    store.retract(ids, by_hand=False)
                for ids in _batches([one.id for one in unsure]):
                    store.prune_entities(ids)
        return PruneReport(
            below=below, applied=not dry_run, relations=tuple(found), entities=tuple(unsure)
        )

    def restore_pruned(self) -> int:
        """Bring back the relations that were pruned; how many statements of texts were.

        What a person deleted or retracted stays so.
        """
        with self._state.writing:
            return self._state.store.restore_pruned()

    def pruned_names(self) -> list[str]:
        """The names that were pruned, in order; `restore_names` brings them back."""
        return sorted(self._state.store.pruned_names().values())

    def restore_names(self, *names: str) -> int:
        """Let texts make entities of pruned names again; how many names were.

        What is indexed from then on has them, and after `maintenance.reindex` all that is stored.
        Raises `NotFoundError` where none was pruned.
        """
        store = self._state.store
        known = store.pruned_names()
        pruned = {name.casefold(): key for key, name in known.items()}
        for name in names:
            if name.casefold() not in pruned:
                raise NotFoundError(
                    f"{name!r} was not pruned; the names that were are {sorted(known.values())}"
                )
        with self._state.writing:
            return store.restore_names({pruned[name.casefold()] for name in names})

    def paths(
        self,
        source: str | Entity,
        target: str | Entity,
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
        from clew.search.around import (
            entity_rows,
            read_paths,
            without_detours,
            without_venues,
        )

        ends = self._entities.resolve(source), self._entities.resolve(target)
        graph = without_venues(self._state.store, self._state.entity_graph, ends)
        rows = entity_rows(graph, [entity.id for entity in ends])
        if len(rows) < 2:
            raise InputError(
                f"{ends[0].name!r} and {ends[1].name!r} are not two entities of the graph; a path"
                " needs two"
            )
        if weighted:
            found = strongest_path(graph, rows[0], rows[1], max_hops)
        else:
            found = all_paths(graph, rows[0], rows[1], max_hops=max_hops, limit=4 * limit)
        paths = without_detours(graph, found.paths)[:limit]
        return read_paths(self._state.store, graph, paths), found.limits_hit

    def timeline(
        self,
        name: str | Entity,
        *,
        limit: int = 100,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
    ) -> list[TimelineEntry]:
        """What is known of an entity, in order of time; of a period, whatever overlaps it."""
        from clew.search.periods import read_timeline

        now = self._state.now()
        return read_timeline(
            self._state.store,
            self._state.snapshot,
            self._entities.resolve(name).id,
            limit=limit,
            period=read_period(since, until, now),
            as_of=read_last("as_of", as_of, now),
        )

    def communities(
        self, level: int = 0, limit: int = 50, query: str | None = None
    ) -> list[Community]:
        """The communities of a level (0: the coarsest) with their reports, largest first.

        With a query, those nearest to it in meaning first. Each says where its report's sentences
        come from. Raises `InputError` for a level that there is not.
        """
        from clew.search.reports import check_level, nearest_communities

        kept = self._state.communities
        check_level(kept, level)
        if query is None:
            found = kept.communities(level=level)[:limit]
        else:
            self._state.bind_embedder()
            found = nearest_communities(kept, level, self._state.embedded(query), limit)
        origins = self._state.store.provenance([id_ for c in found for id_ in c.sources])
        return [
            replace(c, provenance=tuple(origins[id_] for id_ in c.sources if id_ in origins))
            for c in found
        ]

    def topics(self, limit: int = 50) -> list[Topic]:
        """Key phrases that several passages are on, those of most documents first."""
        return self._state.communities.topics()[:limit]

    def importance(
        self, names: Sequence[str] = (), *, entity_type: str = "", limit: int = 20
    ) -> list[RankedEntity]:
        """How much entities matter, in the order of their names; without names, the most important.

        At most `limit` entities, of one type where it is given. Raises `NotFoundError` for a name
        that the store does not know.
        """
        from clew.graph.statistics import most_important, ranked_entities

        check_several(names=names)
        store, graph = self._state.store, self._state.entity_graph
        if not names:
            among = store.entities_of_type(entity_type) if entity_type else None
            return most_important(store, graph, limit, among)
        ids = [self._entities.resolve(name).id for name in names[:limit]]
        return ranked_entities(store, graph, ids)

    def statistics(self, limit: int = 10) -> GraphOverview:
        """The graph of entities in numbers, its hubs and bridges, at most `limit` of each kind."""
        from clew.graph.statistics import overview

        return overview(self._state.store, self._state.entity_graph, limit)

    def subgraph(
        self,
        question: str = "",
        *,
        entity_ids: Sequence[int] = (),
        hops: int | None = None,
        limit: int = 50,
        max_tokens: int | None = None,
    ) -> QuestionSubgraph:
        """The part of the graph that matters to a question, at most `limit` entities of it.

        It is the tree that ties the question's entities together at the least cost
        (prize-collecting Steiner tree); with `hops`, all that lies so near to them. As text it
        takes at most `max_tokens`. Given ids, it is of those entities in place of the question's.
        Raises `InputError` for a limit below 2, for hops outside 1 to 3 and where neither is given,
        `NotFoundError` for an id that there is not.
        """
        self._state.check_length("question", question)
        check_several(entity_ids=entity_ids)
        if bool(question.strip()) == bool(entity_ids):
            raise InputError("give a question (query) or entity_ids; one of the two, and not both")
        store = self._state.store
        known = {one.id for one in store.entities(entity_ids)} if entity_ids else set()
        for id_ in entity_ids:
            if id_ not in known:
                raise NotFoundError(
                    f"there is no entity {id_!r}; expected ids of this store, as `clew entity show`"
                    " and search_entities give them"
                )
        from clew.search.around import question_subgraph

        self._state.bind_embedder()
        options = Options(
            strategy="local",
            limit=limit,
            max_tokens=self._state.settings.search.max_tokens if max_tokens is None else max_tokens,
            now=self._state.now(),
        )
        ranks = self._state.entity_ranks
        return question_subgraph(self._state, question, options, ranks, hops, entity_ids)


def _unsure_entities(store: Store, below: float) -> list[PrunedEntity]:
    with store.reading():
        aliases, relations, mentions = store.aliases(), store.relation_rows(), store.mention_rows()
        stated = stated_entities(aliases, relations, mentions, store.link_rules())
        evidence = EntityEvidence(aliases, relations)
        found = []
        for ids in _batches(np.unique(mentions[:, 2]).tolist()):
            for entity in store.entities([i for i in ids if i not in stated]):
                told = evidence.of(entity)
                if entity.tier != "manual" and told.confidence < below - 1e-6:
                    found.append((entity, told))
    return [
        PrunedEntity(
            id=entity.id,
            name=entity.name,
            entity_type=entity.entity_type,
            confidence=told.confidence,
            reason=told.reason,
        )
        for entity, told in sorted(found, key=lambda one: (one[1].confidence, one[0].name))
    ]


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(ids), AT_A_TIME):
        yield ids[first : first + AT_A_TIME]


def _weak_relations(store: Store, ids: Ids) -> Iterator[PrunedRelation]:
    found: list[tuple[Relation, RelationEvidence]] = []
    # A few reads for all, rather than one for each fact.
    for batch in _batches(ids.tolist()):
        relations = store.relations_by_id(batch)
        found += zip(relations, read_relations(store, relations), strict=True)

    def fact(one: tuple[Relation, RelationEvidence]) -> tuple[int, str, int]:
        return one[0].fact

    for _, statements in groupby(sorted(found, key=fact), key=fact):
        same, shown = zip(*statements, strict=True)
        documents = {one.provenance.document for one in shown if one.provenance}
        surest = max(relation.confidence for relation in same)
        ended = " and a later fact ended it" if any(one.valid_until for one in same) else ""
        count = counted(len(documents), "document")
        yield PrunedRelation(
            relation=shown[0],
            weight=same[0].weight,
            ids=tuple(relation.id for relation in same),
            reason=f"weight {same[0].weight:.2f}: {count}, at best {surest:.2f} sure, states it"
            f"{ended}",
        )
