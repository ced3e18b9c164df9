"""Entities: finding and editing them, the graph by hand, and what assistants write into it.

What only writing needs, or only searching by meaning, is imported inside the functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.engine.state import EngineState
from clew.errors import DID_YOU_MEAN, InputError, NotFoundError, check_several, not_one
from clew.search.options import Moment, read_period
from clew.stores.communities import Descriptions
from clew.text import entity_key, whole_number
from clew.types import (
    Alias,
    Description,
    DocumentInfo,
    Entity,
    MergeSuggestion,
    Metadata,
    NewRelation,
    Relation,
)

if TYPE_CHECKING:
    from clew.indexing.manual_graph import ManualGraphWriter, MemoryImportReport
    from clew.indexing.pipeline import RelationReport
    from clew.indexing.validation import AgentExtraction
    from clew.search.entity_search import EntityHit


LISTING = "`clew stats --graph` or graph_enhanced_search"
"""Shows the entities, on the command line or as a tool."""
ENTITY_TYPE = r"[a-z][a-z0-9_]{0,59}"
"""How a type is written."""


class Entities:
    """The entities of a store, and the relations that are written by hand."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def get(self, name: str | Entity) -> Entity:
        """An entity by name, alias or id. Raises `NotFoundError` that names the nearest ones."""
        return self._state.entity_ranks.applied([self.resolve(name)])[0]

    def find(self, text: str, limit: int = 10) -> list[Entity]:
        """Entities whose name is, begins with or holds the text, best first."""
        return self._state.entity_ranks.applied(self._state.store.find_entities(text, limit))

    def aliases(self, name: str | Entity) -> list[Alias]:
        """The names of an entity, and why they are."""
        return self._state.store.aliases(entity_id=self.resolve(name).id)

    def resolve(self, name: str | Entity) -> Entity:
        """The same as `get`, without its importance, which may have to be computed.

        An entity stands for itself: its id may be the name of another.
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
        raise NotFoundError(not_one("entity", name, self.near(name), LISTING))

    def named(self, name: str | Entity) -> Entity:
        """The entity that has this very name or id: what changes or deletes one asks here.

        A name in other letters than it is written is not taken, nor one that is only guessed to be
        another's. Raises `NotFoundError` that names the nearest ones.
        """
        if not isinstance(name, str):
            return name
        self._state.check_length("name", name)
        store, number = self._state.store, whole_number(name)
        ids = [*store.named([name]).values(), *([] if number is None else [number])]
        found = store.entities(list(dict.fromkeys(ids)))
        if len(found) == 1:
            return found[0]
        shown = [f"{e.name} ({e.id})" for e in found] or self.near(name)
        raise NotFoundError(not_one("entity", name, shown, LISTING, DID_YOU_MEAN))

    def described(
        self, entity_type: str, since: date | None = None, until: date | None = None
    ) -> list[DocumentInfo]:
        """The documents that describe entities of a type; those that hold from `since` to `until`.

        Such a document has the type as `entity_type` among its metadata, the entity's name as its
        title, and the entity's properties as further metadata: `start` and `last` where it holds
        for a time. Times are compared by their day in UTC; neither given: whenever it holds.
        """
        first, after = ("" if day is None else day.isoformat() for day in (since, until))
        return self._state.store.described(entity_type, first, after or "~")

    def match(self, name: str) -> tuple[Entity, str]:
        """The same as `resolve`; a name that one entity alone begins with is taken for it.

        The second is a note that says so, else empty. For looking; what writes wants whole names.
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
        """Names that hold the name or one of its words, else those that are spelled most alike."""
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
        """Entities that answer a question, best first, and notes; see `retrieval.entity_search`.

        Of some types and of a period, where these are given. Raises `InputError` for a depth
        outside 1 to 3 and for what names no time.
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
        """
        check_several(relation_ids=relation_ids)
        with self._state.writing:
            return self._state.store.retract(relation_ids)

    def merge(self, source: str | Entity, target: str | Entity) -> None:
        """Take the first entity for the second from now on; `split` parts names again."""
        with self._state.writing:
            self._state.store.merge(self.named(source).id, self.named(target).id, "merged by hand")

    def unmerge(self, known: Mapping[str, Any]) -> None:
        """Take a merge back; `known` is what the store's `before_merge` told before it."""
        with self._state.writing:
            self._state.store.unmerge(known)

    def suggest(self, limit: int = 50) -> list[MergeSuggestion]:
        """Pairs of entities that may be one, the surest first, each with the reason.

        Those come first that a language model takes for one, and those last that it does not.
        `merge` makes them one, `refuse` keeps them apart; neither is suggested again.
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
        """Keep two entities apart from now on; the names that this is new of, for `allow`."""
        with self._state.writing:
            return self._state.store.keep_apart(self.named(name).id, self.named(other).id)

    def allow(self, names: Sequence[str]) -> None:
        """Let texts link names again that `refuse` gave back."""
        check_several(names=names)
        with self._state.writing:
            self._state.store.forget_rules([entity_key(name) for name in names])

    def split(self, name: str | Entity, alias_names: Sequence[str]) -> Entity:
        """Take names out of an entity, into one of their own."""
        check_several(alias_names=alias_names)
        for alias in alias_names:
            self._state.check_length("name", alias)
        with self._state.writing:
            entity = self.named(name)
            known = {alias.name: alias.key for alias in self.aliases(entity)}
            for alias in alias_names:
                if alias not in known:
                    raise NotFoundError(not_one("name", alias, list(known), LISTING, DID_YOU_MEAN))
            made = self._state.store.split(entity.id, [known[alias] for alias in alias_names])
        return self._state.entity_ranks.applied(self._state.store.entities([made]))[0]

    def rename(self, name: str | Entity, new_name: str) -> None:
        """Show an entity under another name; the old one still finds it."""
        self._state.check_length("name", new_name)
        with self._state.writing:
            self._state.store.rename(self.named(name).id, new_name)

    def retype(self, name: str | Entity, entity_type: str) -> None:
        """Say what kind of thing an entity is; raises `InputError` for no word."""
        if not re.fullmatch(ENTITY_TYPE, entity_type):
            raise InputError(
                f"entity_type cannot be {entity_type[:60]!r}; expected a word in small letters,"
                " such as person or research_group"
            )
        with self._state.writing:
            self._state.store.update_entity(self.named(name).id, entity_type=entity_type)

    @cached_property
    def memory(self) -> ManualGraphWriter:
        """Entities, observations and relations written by hand."""
        from clew.indexing.manual_graph import ManualGraphWriter

        return ManualGraphWriter(self._state.store, self._state.bound_ingest, self._state.writing)

    def import_memory(self, path: str | Path) -> MemoryImportReport:
        """Take over another memory: the reference memory server's file, or a SQLite file.

        Raises `UnreadableError` for a file that cannot be read, `InputError` for a database of
        another kind.
        """
        from clew.indexing.manual_graph import import_memory_records
        from clew.indexing.reading.memory import read_memory

        return import_memory_records(self.memory, read_memory(Path(path).expanduser()))

    @cached_property
    def agent_extractions(self) -> AgentExtraction:
        """Entities and relations that an assistant finds by reading passages."""
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
