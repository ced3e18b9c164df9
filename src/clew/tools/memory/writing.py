"""What the memory tools write: entities, relations and observations, all of a call or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.indexing.manual_graph import snake_case, written_relation
from clew.tools.truncate import shortened
from clew.types import NewEntity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.indexing.manual_graph import ManualGraphWriter
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Relation

NAMED = 1000
"""Characters of names that a message holds, at most."""
OFFERED = 5
"""Names that are not there of which those near them are looked for."""


def create_entities(call: Call, arguments: Arguments) -> Result:
    """`create_entities`."""
    given = arguments["entities"]
    added = _memory(call).add_entities(
        [NewEntity(name=one["name"], entity_type=one["entityType"] or "name") for one in given],
        [one["observations"] for one in given],
    )
    new = [one for one, (_, is_new) in zip(given, added, strict=True) if is_new]
    return {"entities": [dict(one) for one in new]}


def create_relations(call: Call, arguments: Arguments) -> Result:
    """`create_relations`."""
    given = arguments["relations"]
    ids = _ids(call, [name for one in given for name in (one["from"], one["to"])])
    known = set(map(_triple, call.engine.store.unstated_relations(sorted(set(ids.values())))))
    drafts = [
        (one, written_relation(ids[one["from"]], ids[one["to"]], one["relationType"]))
        for one in given
    ]
    # One that is there is left as it is: it may have been given another weight since.
    wanted = [
        (one, new)
        for one, new in drafts
        if (new.source_id, new.target_id, new.relation_type) not in known
    ]
    added = call.engine.entities.memory.add_relations([new for _, new in wanted])
    made = [one for (one, _), (_, is_new) in zip(wanted, added, strict=True) if is_new]
    return {"relations": [dict(one) for one in made]}


def _triple(relation: Relation) -> tuple[int, int, str]:
    return relation.from_entity_id, relation.to_entity_id, relation.relation_type


def add_observations(call: Call, arguments: Arguments) -> Result:
    """`add_observations`."""
    given = [(one["entityName"], one["contents"]) for one in arguments["observations"]]
    _ids(call, [name for name, _ in given])
    added = _memory(call).add_observations(given)
    return {
        "results": [
            {"entityName": name, "addedObservations": new}
            for (name, _), new in zip(given, added, strict=True)
        ]
    }


def delete_entities(call: Call, arguments: Arguments) -> Result:
    """`delete_entities`."""
    names = arguments["entityNames"]
    deleted = call.engine.entities.memory.delete_entities(names)
    missing = [name for name in names if name not in deleted]
    if not missing:
        return {"message": "Entities deleted successfully"}
    found = len(names) - len(missing)
    said = f"Deleted {found} of {len(names)} entities. Not found: {_not_found(call, missing)}"
    return {"message": said}


def delete_observations(call: Call, arguments: Arguments) -> Result:
    """`delete_observations`."""
    given = [(one["entityName"], one["observations"]) for one in arguments["deletions"]]
    known = call.engine.entities.memory.named([name for name, _ in given])
    there = [(name, texts) for name, texts in given if name in known]
    deleted = sum(call.engine.entities.memory.delete_observations(there))
    wanted = sum(len(texts) for _, texts in given)
    if deleted == wanted:
        return {"message": "Observations deleted successfully"}
    missing = [name for name, _ in given if name not in known]
    unknown = f" Entities not found: {_not_found(call, missing)}" if missing else ""
    return {"message": f"Deleted {deleted} of {wanted} observations.{unknown}"}


def _not_found(call: Call, names: Sequence[str]) -> str:
    """Names in a message, which is to stay short however many they are, and those near them."""
    entities = call.engine.entities
    near = [other for name in names[:OFFERED] for other in entities.near(name)]
    made = shortened(", ".join(entities.memory.named(near)), NAMED)
    shown = shortened(", ".join(names), NAMED)
    return f"{shown}. Did you mean {made}?" if made else shown


def delete_relations(call: Call, arguments: Arguments) -> Result:
    """`delete_relations`."""
    given = arguments["relations"]
    deleted = call.engine.entities.memory.delete_relations(list(_matching(call, given)))
    if deleted == len(given):
        return {"message": "Relations deleted successfully"}
    return {"message": f"Deleted {deleted} of {len(given)} relations. The rest matched nothing."}


def _matching(call: Call, given: Sequence[Arguments]) -> Iterator[int]:
    """Ids of the relations written by hand that are among those given."""
    known = call.engine.entities.memory.named(
        [name for one in given for name in (one["from"], one["to"])]
    )
    wanted = {
        (known.get(one["from"]), known.get(one["to"]), snake_case(one["relationType"]))
        for one in given
    }
    for relation in call.engine.store.unstated_relations(sorted(known.values())):
        if _triple(relation) in wanted:
            yield relation.id


def _memory(call: Call) -> ManualGraphWriter:
    """The engine's memory, which stops indexing where nobody waits for the result any more."""
    return replace(call.engine.entities.memory, cancelled=call.progress.cancelled)


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
