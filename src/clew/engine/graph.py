"""The graph: entities and their names, relations, paths, time, communities, figures.

What only one of these needs is imported inside its function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clew.engine.state import EngineState
from clew.errors import DID_YOU_MEAN, InputError, NotFoundError, check_several, not_one
from clew.graph.statistics import EntityEvidence, Support, stated_entities
from clew.search.answer.hits import read_facts, read_relations
from clew.search.options import Moment, Options, read_last, read_period
from clew.stores.communities import Descriptions
from clew.text import counted, entity_key, whole_number
from clew.types import (
    TERM,
    WEAK_TYPES,
    Alias,
    Community,
    Description,
    DocumentInfo,
    Entity,
    Ids,
    MergeSuggestion,
    Metadata,
    NewRelation,
    Relation,
    RelationEvidence,
    TimelineEntry,
    Topic,
)

if TYPE_CHECKING:
    from clew.graph.statistics import GraphOverview, RankedEntity
    from clew.indexing.manual_graph import ManualGraphWriter, MemoryImportReport
    from clew.indexing.pipeline import RelationReport
    from clew.indexing.validation import AgentExtraction
    from clew.search.around import QuestionSubgraph
    from clew.search.entity_search import EntityHit
    from clew.stores.store import Store

LISTING = "`clew stats --graph` or graph_enhanced_search"
"""Shows the entities, on the command line or as a tool."""
PAGE = 500
"""Entities that are read at once where all are gone through."""
ENTITY_TYPE = r"[a-z][a-z0-9_]{0,59}"
"""How a type is written."""


NameT = TypeVar("NameT", bound=str | int)


class Entities:
    """The entities of a store, and the relations that are written by hand."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def __iter__(self) -> Iterator[Entity]:
        """All entities, those aside whose name is a mere term; by id, read in pages."""
        ids = self._state.entity_graph.entity_ids.tolist()
        for start in range(0, len(ids), PAGE):
            found = self._state.store.entities(ids[start : start + PAGE])
            yield from (one for one in found if one.entity_type != TERM)

    def get(self, name: str | Entity) -> Entity:
        """An entity by name, alias or id. Raises `NotFoundError` that names the nearest ones.

        Example:
            >>> store.entities.get("Ada Marsh").documents
            2
        """
        return self._state.entity_ranks.applied([self.resolve(name)])[0]

    def known(self, names: Sequence[NameT]) -> dict[NameT, Entity]:
        """The entities of these names, aliases or ids (numbers); what is unknown is left out.

        Example:
            >>> found = store.entities.known(["ada marsh", "Nobody"])
            >>> {name: entity.name for name, entity in found.items()}
            {'ada marsh': 'Ada Marsh'}
        """
        check_several(names=names)
        keys = {name: entity_key(name) for name in names if isinstance(name, str)}
        of_keys = self._state.store.resolve(list(keys.values()))
        ids = {n: of_keys.get(keys[n], 0) if isinstance(n, str) else n for n in names}
        entities = {one.id: one for one in self._state.store.entities(list(ids.values()))}
        return {name: entities[id_] for name, id_ in ids.items() if id_ in entities}

    def find(self, text: str, limit: int = 10) -> list[Entity]:
        """Entities whose name is, begins with or holds the text, best first.

        Example:
            >>> [entity.name for entity in store.entities.find("ada")]
            ['Ada Marsh']
        """
        return self._state.entity_ranks.applied(self._state.store.find_entities(text, limit))

    def support(self, name: str | Entity) -> Support:
        """What speaks for an entity: documents, names, a type, and what is stated of it.

        Example:
            >>> store.entities.support("Ada Marsh").documents
            2
        """
        entity, store = self.resolve(name), self._state.store
        return Support(
            documents=entity.documents,
            names=len(store.aliases(entity_id=entity.id)),
            is_typed=entity.entity_type not in WEAK_TYPES,
            relations=[one.weight for one in store.relations([entity.id], AT_A_TIME)],
        )

    def aliases(self, name: str | Entity) -> list[Alias]:
        """The names of an entity, and why they are.

        Example:
            >>> [alias.name for alias in store.entities.aliases("Ada Marsh")]
            ['Ada Marsh']
        """
        return self._state.store.aliases(entity_id=self.resolve(name).id)

    def resolve(self, name: str | Entity) -> Entity:
        """The same as `get`, without its importance, which may have to be computed.

        An entity stands for itself: its id may be the name of another.

        Example:
            >>> store.entities.resolve("ada marsh").name
            'Ada Marsh'
        """
        if not isinstance(name, str):
            return name
        self._state.check_length("name", name)
        found = self._state.store.resolve([entity_key(name)]).get(entity_key(name))
        if found is None:
            found = whole_number(name)
        entities = self._state.store.entities([found]) if found is not None else []
        if entities:
            return entities[0]
        raise NotFoundError(not_one("entity", name, list(map(repr, self.near(name))), LISTING))

    def named(self, name: str | Entity) -> Entity:
        """The entity that has this very name or id: what changes or deletes one asks here.

        A name in other letters than it is written is not taken, nor one that is only guessed to be
        another's. Raises `NotFoundError` that names the nearest ones.

        Example:
            >>> store.entities.named("Ada Marsh").documents
            2
        """
        if not isinstance(name, str):
            return name
        self._state.check_length("name", name)
        store, number = self._state.store, whole_number(name)
        ids = [*store.named([name]).values(), *([] if number is None else [number])]
        found = store.entities(list(dict.fromkeys(ids)))
        if len(found) == 1:
            return found[0]
        shown = [f"{e.name!r} ({e.id})" for e in found] or list(map(repr, self.near(name)))
        raise NotFoundError(not_one("entity", name, shown, LISTING, DID_YOU_MEAN))

    def described(
        self, entity_type: str, since: date | None = None, until: date | None = None
    ) -> list[DocumentInfo]:
        """The documents that describe entities of a type; those that hold from `since` to `until`.

        Such a document has the type as `entity_type` among its metadata, the entity's name as its
        title, and the entity's properties as further metadata: `start` and `last` where it holds
        for a time. Times are compared by their day in UTC; neither given: whenever it holds.

        Example:
            >>> _ = store.add("Ada.", title="Ada Marsh", metadata={"entity_type": "person"})
            >>> [one.title for one in store.entities.described("person")]
            ['Ada Marsh']
        """
        first, after = ("" if day is None else day.isoformat() for day in (since, until))
        return self._state.store.described(entity_type, first, after or "~")

    def match(self, name: str) -> tuple[Entity, str]:
        """The same as `resolve`; a name that one entity alone begins with is taken for it.

        The second is a note that says so, else empty. For looking; what writes wants whole names.

        Example:
            >>> entity, note = store.entities.match("Ada")
            >>> entity.name, note
            ('Ada Marsh', "'Ada' is taken for 'Ada Marsh'")
        """
        try:
            return self.resolve(name), ""
        except NotFoundError:
            key, store = entity_key(name), self._state.store
            found = [
                entity
                for entity in store.find_entities(name, 5)
                if any(alias.key.startswith(key) for alias in store.aliases(entity_id=entity.id))
            ]
            if len(found) != 1:
                raise
            return found[0], f"{name!r} is taken for {found[0].name!r}"

    def near(self, name: str) -> list[str]:
        """Names that hold the name or one of its words, else those that are spelled most alike.

        Example:
            >>> store.entities.near("Ada March")
            ['Ada Marsh']
        """
        store = self._state.store
        near = store.find_entities(name, 5) or [
            entity for word in name.split() for entity in store.find_entities(word, 5)
        ]
        if near:
            return list(dict.fromkeys(entity.name for entity in near))
        from clew.indexing.linking import most_alike

        return most_alike(name, (alias.name for alias in store.aliases()), 5)

    def search(
        self,
        question: str,
        *,
        depth: int = 2,
        limit: int = 10,
        vector_weight: float = 0.6,
        graph_weight: float = 0.4,
        node_types: Collection[str] = (),
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> tuple[list[EntityHit], tuple[str, ...]]:
        """Entities that answer a question, best first, and notes; see `search.entity_search`.

        Of some types and of a period, where these are given. Raises `InputError` for a depth
        outside 1 to 3 and for what names no time.

        Example:
            >>> hits, notes = store.entities.search("Who built the clock?", limit=3)
            >>> [hit.entity.name for hit in hits]
            ['Ada Marsh', 'Ostrava', 'Ivo Quill']
        """
        self._state.check_length("question", question)
        check_several(node_types=node_types)
        from clew.search.entity_search import search_entities
        from clew.search.pipeline import NOTE

        period = read_period(since, until, self._state.now())
        self._state.bind_embedder()
        keyword_only = self._state.keyword_only
        hits = search_entities(
            self._state,
            question,
            None if keyword_only else self._state.embedded(question),
            depth=depth,
            limit=limit,
            vector_weight=vector_weight,
            graph_weight=graph_weight,
            node_types=node_types,
            period=period if period.start or period.end else None,
        )
        return hits, (NOTE,) if keyword_only else ()

    def add_relation(
        self,
        source_id: int,
        target_id: int,
        relation_type: str,
        *,
        weight: float = 1.0,
        is_causal: bool = False,
        context: Metadata | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Relation:
        """Write a relation between two entities by hand; the same one again is brought up to date.

        `relation_type` is a snake_case name, `weight` 0 to 1; `causes` is causal by itself. Raises
        `InputError` for values that cannot be, `NotFoundError` for an unknown entity.

        Example:
            >>> ada, ivo = map(store.entities.get, ("Ada Marsh", "Ivo Quill"))
            >>> store.entities.add_relation(ada.id, ivo.id, "wrote_to").weight
            1.0
        """
        from clew.indexing.manual_graph import CAUSAL

        relation = NewRelation(
            source_id=source_id,
            target_id=target_id,
            relation_type=relation_type,
            weight=weight,
            is_causal=is_causal or relation_type == CAUSAL,
            context=context,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return self.memory.add_relations([relation])[0][0]

    def retract(self, relation_ids: Sequence[int]) -> int:
        """Say that relations were wrong from now on; how many were not retracted before.

        What they had ended holds on again. Indexing a document again remembers it, as long as the
        document states them. Where no other text states a fact, later ones that do are retracted
        too. Unknown ids are left out.

        Example:
            >>> ada, ivo = map(store.entities.get, ("Ada Marsh", "Ivo Quill"))
            >>> wrong = store.entities.add_relation(ada.id, ivo.id, "wrote_to")
            >>> store.entities.retract([wrong.id])
            1
        """
        check_several(relation_ids=relation_ids)
        with self._state.writing:
            return self._state.store.retract(relation_ids)

    def merge(self, source: str | Entity, target: str | Entity) -> None:
        """Take the first entity for the second from now on; `split` parts names again.

        Example:
            >>> store.entities.merge("Lund", "Ostrava")
            >>> store.entities.get("Lund").name
            'Ostrava'
        """
        with self._state.writing:
            self._state.store.merge(self.named(source).id, self.named(target).id, "merged by hand")

    def unmerge(self, known: Mapping[str, Any]) -> None:
        """Take a merge back; `known` is what the store's `before_merge` told before it.

        Example:
            >>> lund, ostrava = store.entities.get("Lund"), store.entities.get("Ostrava")
            >>> before = store.store.before_merge(lund.id, ostrava.id)
            >>> store.entities.merge(lund, ostrava)
            >>> store.entities.unmerge(before)
            >>> store.entities.get("Lund").name
            'Lund'
        """
        with self._state.writing:
            self._state.store.unmerge(known)

    def suggest(self, limit: int = 50) -> list[MergeSuggestion]:
        """Pairs of entities that may be one, the surest first, each with the reason.

        Those come first that a language model takes for one, and those last that it does not.
        `merge` makes them one, `refuse` keeps them apart; neither is suggested again.

        Example:
            >>> _ = store.add("Marsh, Ada moved to Prague. Ada Marsch moved.", source="move")
            >>> [(pair.source, pair.target) for pair in store.entities.suggest()]
            [('Ada', 'Ada Marsh')]
        """
        from clew.indexing.linking import suggest_merges

        store = self._state.store
        made, found = Descriptions(store.backend).descriptions("link"), []
        for pair in suggest_merges(store.known_names(), store.link_rules()):
            said = made.get(link_key(pair.source_id, pair.target_id))
            if said is not None and said.title:
                why = Description(text=said.text, sources=said.sources)
                pair = replace(pair, verdict=said.title.casefold(), description=why)
            found.append(pair)
        found.sort(key=lambda pair: ("yes", "", "no").index(pair.verdict))
        return found[: max(0, limit)]

    def refuse(self, name: str | Entity, other: str | Entity) -> list[str]:
        """Keep two entities apart from now on; the names that this is new of, for `allow`.

        Example:
            >>> store.entities.refuse("Lund", "Ostrava")
            ['lund', 'ostrava']
        """
        with self._state.writing:
            return self._state.store.keep_apart(self.named(name).id, self.named(other).id)

    def allow(self, names: Sequence[str]) -> None:
        """Let texts link names again that `refuse` gave back.

        Example:
            >>> names = store.entities.refuse("Lund", "Ostrava")
            >>> store.entities.allow(names)
        """
        check_several(names=names)
        with self._state.writing:
            self._state.store.forget_rules([entity_key(name) for name in names])

    def split(self, name: str | Entity, alias_names: Sequence[str]) -> Entity:
        """Take names out of an entity, into one of their own.

        Example:
            >>> store.entities.merge("Lund", "Ostrava")
            >>> store.entities.split("Ostrava", ["Lund"]).name
            'Lund'
        """
        check_several(alias_names=alias_names)
        for alias in alias_names:
            self._state.check_length("name", alias)
        with self._state.writing:
            entity = self.named(name)
            known = {alias.name: alias.key for alias in self.aliases(entity)}
            for alias in alias_names:
                if alias not in known:
                    raise NotFoundError(
                        not_one("name", alias, list(map(repr, known)), LISTING, DID_YOU_MEAN)
                    )
            made = self._state.store.split(entity.id, [known[alias] for alias in alias_names])
        return self._state.entity_ranks.applied(self._state.store.entities([made]))[0]

    def rename(self, name: str | Entity, new_name: str) -> None:
        """Show an entity under another name; the old one still finds it.

        Example:
            >>> store.entities.rename("Lund", "Lund (Skåne)")
            >>> store.entities.get("Lund").name
            'Lund (Skåne)'
        """
        self._state.check_length("name", new_name)
        with self._state.writing:
            self._state.store.rename(self.named(name).id, new_name)

    def retype(self, name: str | Entity, entity_type: str) -> None:
        """Say what kind of thing an entity is; raises `InputError` for no word.

        Example:
            >>> store.entities.retype("Ada Marsh", "clockmaker")
            >>> store.entities.get("Ada Marsh").entity_type
            'clockmaker'
        """
        if not re.fullmatch(ENTITY_TYPE, entity_type):
            raise InputError(
                f"entity_type cannot be {entity_type[:60]!r}; expected a word in small letters,"
                " such as person or research_group"
            )
        with self._state.writing:
            self._state.store.update_entity(self.named(name).id, entity_type=entity_type)

    @cached_property
    def memory(self) -> ManualGraphWriter:
        """Entities, observations and relations written by hand.

        Example:
            >>> vera = clew.NewEntity(name="Vera Holt", entity_type="person")
            >>> store.entities.memory.create([vera], [["repairs looms"]])[0].added
            ('repairs looms',)
        """
        from clew.indexing.manual_graph import ManualGraphWriter

        return ManualGraphWriter(self._state.store, self._state.bound_ingest, self._state.writing)

    def import_memory(self, path: str | Path) -> MemoryImportReport:
        """Take over another memory: the reference memory server's file, or a SQLite file.

        Raises `UnreadableError` for a file that cannot be read, `InputError` for a database of
        another kind.

        Example:
            >>> from pathlib import Path
            >>> line = '{"type": "entity", "name": "Vera", "entityType": "person"}'
            >>> _ = Path("memory.jsonl").write_text(line)
            >>> store.entities.import_memory("memory.jsonl").entities
            1
        """
        from clew.indexing.manual_graph import import_memory_records
        from clew.indexing.reading.memory import read_memory

        return import_memory_records(self.memory, read_memory(Path(path).expanduser()))

    @cached_property
    def agent_extractions(self) -> AgentExtraction:
        """Entities and relations that an assistant finds by reading passages.

        Example:
            >>> passages = store.entities.agent_extractions
            >>> type(passages).__name__
            'AgentExtraction'
        """
        from clew.indexing.validation import AgentExtraction

        return AgentExtraction(self._state.store, self._state.bound_ingest, self._state.writing)

    def extract_relations(
        self,
        entity_ids: Sequence[int] | None = None,
        *,
        limit: int | None = None,
        proceed: Callable[[int, int], bool] = lambda done, total: True,
    ) -> RelationReport:
        """Read the passages of entities once more for relations, and add those that are new.

        Without ids, the first `limit` entities of which no passage was read for relations with
        success. `proceed` is told documents done and in all, and may end it by False.

        Example:
            >>> store.entities.extract_relations(limit=2).added
            0
        """
        from clew.indexing.pipeline import extract_relations_again

        check_several(entity_ids=entity_ids)
        ids = self._state.store.unread_entities(limit) if entity_ids is None else entity_ids
        with self._state.store.grouping():
            return extract_relations_again(
                self._state.store,
                self._state.ingest.runner,
                self._state.ingest.extractor.name,
                ids,
                proceed,
            )


def link_key(one: int, other: int) -> str:
    """The key of what is said of two entities that may be one."""
    return f"link:{min(one, other)}-{max(one, other)}"


# Relations, paths, time, communities, figures.


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
        """Return an entity's facts: those that hold, then the others, the heaviest of each first.

        Each fact stands once for each of its periods, with the number of statements that say it;
        `limit` counts statements.

        Example:
            >>> [(one.head, one.relation, one.tail) for one in store.graph.relations("Ada Marsh")]
            [('Ada Marsh', 'taught_by', 'Ivo Quill')]
        """
        found = self._state.store.relations([self._entities.resolve(name).id], limit)
        return read_facts(self._state.store, found, self._state.now())

    def edges(self, names: Sequence[str | Entity], limit: int = 1000) -> list[Relation]:
        """The relations that start or end at one of these entities, the heaviest first.

        Raises `NotFoundError` for a name that is unknown.

        Example:
            >>> [edge.relation_type for edge in store.graph.edges(["Ada Marsh"])]
            ['taught_by']
        """
        check_several(names=names)
        ids = [self._entities.resolve(name).id for name in names]
        return self._state.store.relations(ids, limit)

    def delete_relation(self, relation_id: int) -> int:
        """Take a relation back for good, with every statement of the same fact; how many.

        What texts state stays taken back where they are indexed again or another text states it,
        as long as a text that stated it is there. Raises `NotFoundError` for an unknown one.

        Example:
            >>> ada, ivo = map(store.entities.get, ("Ada Marsh", "Ivo Quill"))
            >>> wrong = store.entities.add_relation(ada.id, ivo.id, "wrote_to")
            >>> store.graph.delete_relation(wrong.id)
            1
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
        """Take back that what texts state was deleted or retracted; how many statements were.

        Example:
            >>> ada, ivo = map(store.entities.get, ("Ada Marsh", "Ivo Quill"))
            >>> one = store.entities.add_relation(ada.id, ivo.id, "wrote_to")
            >>> _ = store.entities.retract([one.id])
            >>> store.graph.restore_relations([one.id])
            1
        """
        check_several(relation_ids=relation_ids)
        with self._state.writing:
            return self._state.store.restore_relations(relation_ids)

    def prune(self, *, below: float, dry_run: bool = True, entities: bool = False) -> PruneReport:
        """Take back the relations of texts whose weight is below a bound (above 0 to 1).

        `restore_pruned` brings them back. With `entities` also the entities whose confidence is
        (`restore_names` brings their names back). A dry run only says which, and why. What was
        stated by hand, and what documents are about, is never taken back. Indexing again remembers
        it. Raises `InputError` for a bound that cannot be.

        Example:
            >>> report = store.graph.prune(below=0.9)
            >>> report.applied, [(one.relation.head, one.weight) for one in report.relations]
            (False, [('Ada Marsh', 0.5)])
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

        Example:
            >>> _ = store.graph.prune(below=1, dry_run=False)
            >>> store.graph.restore_pruned()
            1
        """
        with self._state.writing:
            return self._state.store.restore_pruned()

    def pruned_names(self) -> list[str]:
        """The names that were pruned, in order; `restore_names` brings them back.

        Example:
            >>> _ = store.graph.prune(below=1, dry_run=False, entities=True)
            >>> store.graph.pruned_names()
            ['1881', 'Ada Marsh', 'Ivo Quill', 'Lund', 'Ostrava']
        """
        return sorted(self._state.store.pruned_names().values())

    def restore_names(self, *names: str) -> int:
        """Let texts make entities of pruned names again; how many names were.

        What is indexed from then on has them, and after `maintenance.reindex` all that is stored.
        Raises `NotFoundError` where none was pruned.

        Example:
            >>> _ = store.graph.prune(below=1, dry_run=False, entities=True)
            >>> store.graph.restore_names(*store.graph.pruned_names())
            5
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

        Example:
            >>> paths, notes = store.graph.paths("Ostrava", "Ivo Quill")
            >>> [(tie.head, tie.tail) for tie in paths[0]]
            [('Ostrava', 'Ada Marsh'), ('Ada Marsh', 'Ivo Quill')]
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
        """What is known of an entity, in order of time; of a period, whatever overlaps it.

        Example:
            >>> [(entry.period.text, entry.text) for entry in store.graph.timeline("Ostrava")]
            [('1881', 'Ada Marsh built the clock of the Ostrava tower in 1881.')]
        """
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

        Example:
            >>> [community.title for community in store.graph.communities(level=0)]
            ['Ivo Quill, Lund and The bakery', 'The clock']
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
        """Key phrases that several passages are on, those of most documents first.

        Example:
            >>> [topic.name for topic in store.graph.topics(limit=3)]
            ['Ada Marsh', 'Ivo Quill', 'Lund']
        """
        return self._state.communities.topics()[:limit]

    def importance(
        self, names: Sequence[str] = (), *, entity_type: str = "", limit: int = 20
    ) -> list[RankedEntity]:
        """How much entities matter, in the order of their names; without names, the most important.

        At most `limit` entities, of one type where it is given. Raises `NotFoundError` for a name
        that the store does not know.

        Example:
            >>> [one.entity.name for one in store.graph.importance(limit=2)]
            ['Ada Marsh', 'Ivo Quill']
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
        """The graph of entities in numbers, its hubs and bridges, at most `limit` of each kind.

        Example:
            >>> store.graph.statistics().hubs[0].entity.name
            'Ada Marsh'
        """
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

        Example:
            >>> found = store.graph.subgraph("Who taught the builder of the clock?", limit=5)
            >>> [entity.name for entity in found.graph.nodes[:3]]
            ['The clock', 'Ostrava', 'Ada Marsh']
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
