"""What the memory tools read: the graph written by hand, in pages that keep its shape.

A page is whole entities with their observations and relations, as many as its limit and its budget
allow; where an entity alone is too large, the next page goes on inside it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.manual_graph import WORDING
from clew.text import fold, terms
from clew.tools.budget import no_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Entity, Relation

    _Told = tuple[str, str | None]
    """An observation, and when it was told, if that is known."""

_BATCH = 500
_CURSOR = re.compile(r"([0-9]{1,12})\.([0-9]{1,6})", re.ASCII)
_AROUND_TOKENS = 60
"""What the names of the lists, the cursor and the count take."""


def read_graph(call: Call, arguments: Arguments) -> Result:
    """`read_graph`."""
    return _page(call.engine, call.engine.store.made_by_hand(), arguments)


def open_nodes(call: Call, arguments: Arguments) -> Result:
    """`open_nodes`."""
    found = call.engine.entities.memory.find(arguments["names"])
    return _page(call.engine, sorted(set(found.values())), arguments)


def search_nodes(call: Call, arguments: Arguments) -> Result:
    """`search_nodes`: what holds the query as it stands, else what holds all its words."""
    engine, query = call.engine, fold(arguments["query"])
    nodes = list(_searchable(engine))
    found = [entity_id for entity_id, text in nodes if query in fold(text)]
    wanted = set(terms(query))
    if not found and wanted:
        found = [entity_id for entity_id, text in nodes if wanted <= set(terms(text))]
    return _page(engine, found, arguments)


def wording(relation: Relation) -> str:
    """A relation's type as it was written."""
    written = relation.context.get(WORDING)
    return written if isinstance(written, str) else relation.relation_type


def _searchable(engine: Engine) -> Iterator[tuple[int, str]]:
    """Each entity made by hand, and all that can be found of it, a line each."""
    ids = engine.store.made_by_hand()
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        told = engine.store.observations(batch)
        for entity in engine.store.entities(batch):
            texts = (item.text for item in told.get(entity.id, ()))
            yield entity.id, "\n".join((entity.name, entity.entity_type, *texts))


# --- pages -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Room:
    """What is left of a budget."""

    tokens: int
    count: Callable[[str], int]
    is_empty: bool = True
    """Whether nothing was taken yet."""

    def take(self, value: object) -> bool:
        """Whether a value fits; what fits is taken."""
        cost = self._cost(value)
        if cost > self.tokens:
            return False
        self.tokens -= cost
        self.is_empty = False
        return True

    def cut(self, text: str) -> str:
        """The beginning of a text that fits, and a sign that it is no more; empty: none fits."""
        while text and not self.take(f"{text}…"):
            text = text[: len(text) * 3 // 4]
        return text and f"{text}…"

    def _cost(self, value: object) -> int:
        # One for the comma that parts it from the next.
        return self.count(json.dumps(value, ensure_ascii=False)) + 1


@dataclass(slots=True)
class _Page:
    entities: list[Result] = field(default_factory=list)
    relations: list[Result] = field(default_factory=list)


def _page(engine: Engine, matched: Sequence[int], arguments: Arguments) -> Result:
    """Entities and their relations from the cursor on; the rest is counted and can be asked for."""
    first, shown = _read_cursor(arguments["cursor"])
    ids = [entity_id for entity_id in matched if entity_id >= first]
    room = _Room(arguments["max_tokens"] - _AROUND_TOKENS, engine.state.embedder.count_tokens)
    page = _Page()
    nodes = _Nodes(engine, ids[: arguments["limit"]], frozenset(matched))
    for position, entity in enumerate(nodes.entities):
        skip = shown if entity.id == first else 0
        taken = _add(page, room, entity, nodes.items(entity), skip)
        if taken is not None:
            return _result(page, f"{entity.id}.{taken}", len(ids) - position)
    left = ids[arguments["limit"] :]
    return _result(page, f"{left[0]}.0" if left else None, len(left))


def _add(
    page: _Page, room: _Room, entity: Entity, items: Sequence[_Told | Result], skip: int
) -> int | None:
    """Add an entity with its observations and relations; None, or how many had room.

    Raises `InputError` where not even a page of its own has room for what comes next.
    """
    told: list[str] = []
    dates: list[str | None] = []
    node: Result = {"name": entity.name, "entityType": entity.entity_type, "observations": told}
    if len({item[1] for item in items if isinstance(item, tuple)}) > 1:
        node["told_at"] = dates
    nothing_yet = room.is_empty
    if not room.take(node):
        if nothing_yet:
            raise no_room(entity.name)
        return skip
    page.entities.append(node)
    for position, item in enumerate(items[skip:], skip):
        if room.take(item):
            kept: _Told | Result = item
        elif not nothing_yet:
            return position
        elif isinstance(item, tuple) and (cut := room.cut(item[0])):
            kept = cut, item[1]  # longer than any page: its beginning has to do
        else:
            raise no_room(entity.name)
        nothing_yet = False
        if isinstance(kept, tuple):
            told.append(kept[0])
            dates.append(kept[1])
        else:
            page.relations.append(kept)
    return None


def _result(page: _Page, cursor: str | None, left_out: int) -> Result:
    """The graph alone where all of it is there, as the reference server has it."""
    graph: Result = {"entities": page.entities, "relations": page.relations}
    return {**graph, "next_cursor": cursor, "left_out": left_out} if cursor else graph


class _Nodes:
    """Some entities with what belongs to them."""

    def __init__(self, engine: Engine, ids: Sequence[int], matched: frozenset[int]) -> None:
        store = engine.store
        self._now = engine.state.now()
        with store.reading():
            self.entities = store.entities(ids)
            self._told = store.observations(ids)
            documents = [one.document_id for told in self._told.values() for one in told]
            self._dates = {one.id: one.created_at for one in store.documents(ids=documents)}
            relations = store.unstated_relations(ids)
            ends = {end for r in relations for end in (r.from_entity_id, r.to_entity_id)}
            self._names = store.entity_names(sorted(ends))
        self._relations: dict[int, list[Relation]] = {}
        for relation in relations:
            # Each relation once: with the entity that it starts from, if that is shown at all.
            start = relation.from_entity_id
            owner = start if start in matched else relation.to_entity_id
            self._relations.setdefault(owner, []).append(relation)

    def items(self, entity: Entity) -> list[_Told | Result]:
        """Observations, then relations: those that hold, then those that do not."""
        told = [
            (one.text, moment.isoformat() if (moment := self._dates.get(one.document_id)) else None)
            for one in self._told.get(entity.id, ())
        ]
        known = sorted(
            self._relations.get(entity.id, ()),
            key=lambda one: one.standing(self._now).state != "current",
        )
        return [*told, *map(self._relation, known)]

    def _relation(self, relation: Relation) -> Result:
        """As the reference server has it, and its times where any are known."""
        times = (
            relation.standing(self._now) if relation.valid_from or relation.valid_until else None
        )
        return {
            "from": self._names[relation.from_entity_id],
            "to": self._names[relation.to_entity_id],
            "relationType": wording(relation),
            **(times.to_dict() if times else {}),
        }


def _read_cursor(cursor: str | None) -> tuple[int, int]:
    """Entity that the page begins with, and how much of it was shown before."""
    if cursor is None:
        return 0, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InputError(
            f"cursor cannot be {cursor!r}; expected next_cursor of the result before, or null for"
            " the beginning. Call it again with that"
        )
    return int(match[1]), int(match[2])
