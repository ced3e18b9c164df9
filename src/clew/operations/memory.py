"""The graph told by hand: names, parameters and shapes of the reference memory server."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Annotated, TypedDict

from clew.errors import InputError, NotFoundError
from clew.indexing.manual_graph import WORDING, cleaned, snake_case, written_relation
from clew.indexing.reading.common import clean_text
from clew.operations.budget import fitting_length, no_room, shortened, tokens_of
from clew.operations.spec import (
    MEMORY,
    Call,
    Cursor,
    Limits,
    MaxTokens,
    Result,
    between,
    operation,
    shape,
)
from clew.text import fold, terms
from clew.types import Entity, NewEntity, Relation

if TYPE_CHECKING:
    from clew.engine import Engine

    _Told = tuple[str, str | None]
    """An observation, and when it was told, if that is known."""


_Named = Limits(max_length=500)
Names = Annotated[Sequence[str], "Names, up to 1000."]


class _Entity(TypedDict):
    name: Annotated[str, "Name of the entity.", _Named]
    entityType: Annotated[str, "Type of the entity, such as person.", _Named]
    observations: Annotated[Sequence[str], "What is known of it, one fact each."]


_Relation = TypedDict(
    "_Relation",
    {
        "from": Annotated[str, "Name of the entity where the relation starts.", _Named],
        "to": Annotated[str, "Name of the entity where the relation ends.", _Named],
        "relationType": Annotated[
            str, "Type of the relation, in the active voice, such as works_at.", _Named
        ],
    },
)


class _Addition(TypedDict):
    entityName: Annotated[str, "Name of the entity.", _Named]
    contents: Annotated[Sequence[str], "Facts to add, one each."]


class _Deletion(TypedDict):
    entityName: Annotated[str, "Name of the entity.", _Named]
    observations: Annotated[Sequence[str], "Facts to delete, as they were added."]


# The graph told by hand, in pages that keep its shape: whole entities with their observations and
# relations; where an entity alone is too large, the next page goes on inside it.


_BATCH = 500
_CURSOR = re.compile(r"([0-9]{1,12})\.([0-9]{1,6})", re.ASCII)
_CUT_TOKENS = 4
"""What the sign that a text is cut takes, and the comma after it, at most."""
_AROUND_TOKENS = 60
"""What the names of the lists, the cursor and the count take."""


_GRAPH = shape(entities="array", relations="array", next_cursor="string", left_out="integer")
Limit = Annotated[int, "Entities", between(1, 1000)]


@operation("Read the graph", _GRAPH, profiles=MEMORY)
def read_graph(
    call: Call, limit: Limit = 100, cursor: Cursor = None, max_tokens: MaxTokens = 10_000
) -> Result:
    """Read the graph that was told by hand: entities, their observations and relations.
    next_cursor: there is more.
    """
    return _page(call, call.engine.store.made_by_hand(), limit, cursor, max_tokens)


@operation("Search nodes", _GRAPH, profiles=MEMORY)
def search_nodes(
    call: Call,
    query: Annotated[str, "Up to 2048 characters.", Limits(max_length=2048)],
    limit: Limit = 100,
    cursor: Cursor = None,
    max_tokens: MaxTokens = 10_000,
) -> Result:
    """Find entities told by hand by a part of their name, type or observations. next_cursor: there
    is more.
    """
    store, texts = call.engine.store, dict[int, str]()
    made = store.made_by_hand()
    for ids in (made[start : start + _BATCH] for start in range(0, len(made), _BATCH)):
        told = store.observations(ids)
        for entity in store.entities(ids):
            observations = (one.text for one in told.get(entity.id, ()))
            texts[entity.id] = "\n".join((entity.name, entity.entity_type, *observations))
    found = [entity_id for entity_id, text in texts.items() if fold(query) in fold(text)]
    wanted = set(terms(query))
    if not found and wanted:  # what holds all the words, where nothing holds the query as it stands
        found = [entity_id for entity_id, text in texts.items() if wanted <= set(terms(text))]
    return _page(call, found, limit, cursor, max_tokens)


@operation("Open nodes", _GRAPH, profiles=MEMORY)
def open_nodes(
    call: Call,
    names: Names,
    limit: Limit = 100,
    cursor: Cursor = None,
    max_tokens: MaxTokens = 10_000,
) -> Result:
    """Read entities by name, with all relations that start or end at them. next_cursor: there is
    more.
    """
    found = call.engine.entities.memory.find(names)
    return _page(call, sorted(set(found.values())), limit, cursor, max_tokens)


def wording(relation: Relation) -> str:
    """A relation's type as it was written."""
    written = relation.context.get(WORDING)
    return written if isinstance(written, str) else relation.relation_type


def _page(
    call: Call, matched: Sequence[int], limit: int, cursor: str | None, max_tokens: int
) -> Result:
    """Entities and their relations from the cursor on; the rest is counted and can be asked for.

    As the reference server has it, and of each statement when it was told and whether it holds.
    Raises `InputError` where not even a page of its own has room for what comes next.
    """
    match = _CURSOR.fullmatch("0.0" if cursor is None else cursor)
    if match is None:
        raise InputError(
            f"cursor cannot be {cursor!r}; expected next_cursor of the result before, or null for"
            " the beginning. Call it again with that"
        )
    # The entity that the page begins with, and how much of it was shown before.
    first, shown = map(int, match.groups())
    ids = [entity_id for entity_id in matched if entity_id >= first]
    room = max_tokens - _AROUND_TOKENS
    page: Result = {"entities": [], "relations": []}
    for position, (entity, items) in enumerate(_nodes(call.engine, ids[:limit], set(matched))):
        skip = shown if entity.id == first else 0
        node: Result = {"name": entity.name, "entityType": entity.entity_type}
        node |= {"observations": [], "told_at": []}
        is_fresh = not page["entities"]
        for number, item in enumerate((node, *items[skip:]), skip - 1):
            # One for the comma that parts it from the next.
            cost = tokens_of(item, call.count_tokens) + 1
            if cost > room and is_fresh and isinstance(item, tuple):
                # It is longer than any page: its beginning has to do.
                length = fitting_length(item[0], room - _CUT_TOKENS, call.count_tokens)
                item = f"{item[0][:length]}…", item[1]
                cost = tokens_of(item[0], call.count_tokens) + 1 if length else cost
            if cost > room and is_fresh:
                raise no_room(entity.name)
            if cost > room:
                place = {"next_cursor": f"{entity.id}.{max(number, skip)}"}
                return {**page, **place, "left_out": len(ids) - position}
            room -= cost
            is_fresh = is_fresh and item is node
            if item is node:
                page["entities"].append(node)
            elif isinstance(item, tuple):
                node["observations"].append(item[0])
                node["told_at"].append(item[1])
            else:
                page["relations"].append(item)
    left = ids[limit:]
    return {**page, "next_cursor": f"{left[0]}.0", "left_out": len(left)} if left else page


def _nodes(
    engine: Engine, ids: Sequence[int], matched: Set[int]
) -> list[tuple[Entity, list[_Told | Result]]]:
    """Entities, each with its observations, then its relations: those that hold first."""
    store, now = engine.store, engine.state.now()
    with store.reading():
        entities, told = store.entities(ids), store.observations(ids)
        documents = {one.document_id for items in told.values() for one in items}
        dates = {one.id: one.created_at for one in store.documents(ids=sorted(documents))}
        relations = store.unstated_relations(ids)
        ends = {end for r in relations for end in (r.from_entity_id, r.to_entity_id)}
        names = store.entity_names(sorted(ends))
    known: dict[int, list[_Told | Result]] = {}
    for one in sorted(relations, key=lambda one: one.standing(now).state != "current"):
        # Each relation once: with the entity that it starts from, if that is shown at all.
        start = one.from_entity_id
        owner = start if start in matched else one.to_entity_id
        known.setdefault(owner, []).append(
            {
                "from": names[start],
                "to": names[one.to_entity_id],
                "relationType": wording(one),
                **one.standing(now).to_dict(),
            }
        )
    return [
        (
            entity,
            [
                *(
                    (one.text, date.isoformat() if (date := dates.get(one.document_id)) else None)
                    for one in told.get(entity.id, ())
                ),
                *known.get(entity.id, ()),
            ],
        )
        for entity in entities
    ]


# What the memory tools write: entities, relations and observations, all of a call or nothing.


NAMED = 1000
"""Characters of names that a message holds, at most."""
OFFERED = 5
"""Names that are not there of which those near them are looked for."""


@operation("Create entities", shape(entities="array"), rights="write", profiles=MEMORY)
def create_entities(call: Call, entities: Annotated[Sequence[_Entity], "Up to 1000."]) -> Result:
    """Create entities in the knowledge graph. Those that exist get the observations they lack."""
    made = call.engine.entities.memory.create(
        [NewEntity(name=one["name"], entity_type=one["entityType"] or "name") for one in entities],
        [one["observations"] for one in entities],
    )
    there = [
        {
            "name": one.name,
            "addedObservations": list(one.added),
            "knownObservations": list(one.known),
        }
        for one in made
        if not one.is_new
    ]
    return {
        "entities": [dict(g) for g, one in zip(entities, made, strict=True) if one.is_new],
        **_said(existing=there, refused=[reason for one in made for reason in one.refused]),
        **_joined({g["name"]: one.joined for g, one in zip(entities, made, strict=True)}),
    }


@operation("Create relations", shape(relations="array"), rights="write", profiles=MEMORY)
def create_relations(
    call: Call, relations: Annotated[Sequence[_Relation], "Up to 1000."]
) -> Result:
    """Create relations between entities that exist; what ended before begins again."""
    ids = _ids(call, [name for one in relations for name in (one["from"], one["to"])])
    # One that is there is left as it is: it may have been given another weight since.
    added = call.engine.entities.memory.add_relations(
        [
            written_relation(ids[one["from"]], ids[one["to"]], one["relationType"], weight=None)
            for one in relations
        ]
    )
    told = list(zip(relations, added, strict=True))
    return {
        "relations": [dict(one) for one, (_, is_new) in told if is_new],
        **_said(existing=[dict(one) for one, (_, is_new) in told if not is_new]),
        **_joined(_shown(call, ids)),
    }


@operation("Add observations", shape(results="array"), rights="write", profiles=MEMORY)
def add_observations(
    call: Call, observations: Annotated[Sequence[_Addition], "Up to 1000."]
) -> Result:
    """Add facts to entities that exist; facts that are known are left out."""
    given = [(one["entityName"], one["contents"]) for one in observations]
    ids = _ids(call, [name for name, _ in given])
    results, there = [], []
    for (name, texts), new in zip(
        given, call.engine.entities.memory.add_observations(given), strict=True
    ):
        results.append({"entityName": name, "addedObservations": new})
        known = [text for text in cleaned(texts) if text not in new]
        there += [{"entityName": name, "observations": known}] if known else []
    return {"results": results, **_said(existing=there), **_joined(_shown(call, ids))}


@operation(
    "Delete entities",
    shape(message="string"),
    rights="write",
    profiles=MEMORY,
    destructive=True,
    idempotent=True,
)
def delete_entities(call: Call, entityNames: Names) -> Result:
    """Delete entities with their observations and relations."""
    names = list(dict.fromkeys(entityNames))
    shown = _shown(call, call.engine.entities.memory.named(names))
    deleted = call.engine.entities.memory.delete_entities(names)
    missing = [name for name in names if name not in deleted]
    told = {**_said(not_found=[shortened(name, NAMED // 5) for name in missing]), **_joined(shown)}
    why = f" Not found: {_not_found(call, missing)}" if missing else ""
    return {"message": _deleted("entities", len(names), len(missing), why), **told}


@operation(
    "Delete observations",
    shape(message="string"),
    rights="write",
    profiles=MEMORY,
    destructive=True,
    idempotent=True,
)
def delete_observations(
    call: Call, deletions: Annotated[Sequence[_Deletion], "Up to 1000."]
) -> Result:
    """Delete facts of entities."""
    given = [(one["entityName"], one["observations"]) for one in deletions]
    memory = call.engine.entities.memory
    known = memory.named([name for name, _ in given])
    told = call.engine.store.observations(list(known.values()))
    there = {name: {one.text for one in told.get(id_, ())} for name, id_ in known.items()}
    memory.delete_observations([(name, texts) for name, texts in given if name in known])
    left = [
        {"entityName": name, "observations": kept}
        for name, texts in given
        if (kept := [text for text in texts if clean_text(text) not in there.get(name, ())])
    ]
    more = {**_said(not_found=left), **_joined(_shown(call, known))}
    wanted = sum(len(texts) for _, texts in given)
    lost = sum(len(one["observations"]) for one in left)
    missing = [name for name, _ in given if name not in known]
    unknown = f" Entities not found: {_not_found(call, missing)}" if missing else ""
    return {"message": _deleted("observations", wanted, lost, unknown), **more}


@operation(
    "Delete relations",
    shape(message="string"),
    rights="write",
    profiles=MEMORY,
    destructive=True,
    idempotent=True,
)
def delete_relations(
    call: Call, relations: Annotated[Sequence[_Relation], "Up to 1000."]
) -> Result:
    """Delete relations of the knowledge graph."""
    memory = call.engine.entities.memory
    known = memory.named([name for one in relations for name in (one["from"], one["to"])])
    stated: dict[tuple[int, str, int], list[int]] = {}
    for one in call.engine.store.unstated_relations(sorted(known.values())):
        stated.setdefault(one.fact, []).append(one.id)
    wanted = [
        (known.get(one["from"], 0), snake_case(one["relationType"]), known.get(one["to"], 0))
        for one in relations
    ]
    memory.delete_relations([id_ for fact in set(wanted) for id_ in stated.get(fact, ())])
    left = [dict(one) for one, fact in zip(relations, wanted, strict=True) if fact not in stated]
    told = {**_said(not_found=left), **_joined(_shown(call, known))}
    why = " The rest matched nothing."
    return {"message": _deleted("relations", len(relations), len(left), why), **told}


def _deleted(what: str, wanted: int, left: int, why: str) -> str:
    """How many of what was named are gone, and why the others are not."""
    if not left:
        return f"{what.capitalize()} deleted successfully"
    return f"Deleted {wanted - left} of {wanted} {what}.{why}"


def _said(**lists: Sequence[object]) -> Result:
    """Those lists that have something in them."""
    return {name: list(items) for name, items in lists.items() if items}


def _joined(others: Mapping[str, str]) -> Result:
    """`joined`: names that were given, and the entities that they were taken for."""
    return _said(
        joined=[{"name": name, "entity": other} for name, other in others.items() if other]
    )


def _shown(call: Call, ids: Mapping[str, int]) -> dict[str, str]:
    """The names that entities are shown under, by name given, where they differ."""
    names = call.engine.store.entity_names(list(ids.values()))
    return {name: names[id_] for name, id_ in ids.items() if names[id_] != name}


def _not_found(call: Call, names: Sequence[str]) -> str:
    """Names in a message, which is to stay short however many they are, and those near them."""
    entities = call.engine.entities
    near = [other for name in names[:OFFERED] for other in entities.near(name)]
    made = shortened(", ".join(entities.memory.named(near)), NAMED)
    shown = shortened(", ".join(names), NAMED)
    return f"{shown}. Did you mean {made}?" if made else shown


def _ids(call: Call, names: Sequence[str]) -> dict[str, int]:
    """Ids by name; as in the reference server, one that nobody created is an error."""
    found = call.engine.entities.memory.find(names)
    for name in names:
        if name not in found:
            raise NotFoundError(
                f"Entity with name {name} not found; create it with create_entities, then call"
                " this again"
            )
    return found
