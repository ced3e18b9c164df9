"""What the memory tools write: entities, relations and observations, all of a call or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.indexing.manual_graph import snake_case, written_relation
from clew.indexing.memory_documents import cleaned
from clew.indexing.reading.formats.common import clean_text
from clew.tools.truncate import shortened
from clew.types import NewEntity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.tools.spec import Arguments, Call, Result

NAMED = 1000
"""Characters of names that a message holds, at most."""
OFFERED = 5
"""Names that are not there of which those near them are looked for."""


def create_entities(call: Call, arguments: Arguments) -> Result:
    """`create_entities`."""
    given = arguments["entities"]
    made = call.engine.entities.memory.create(
        [NewEntity(name=one["name"], entity_type=one["entityType"] or "name") for one in given],
        [one["observations"] for one in given],
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
        "entities": [dict(g) for g, one in zip(given, made, strict=True) if one.is_new],
        **_said(existing=there, refused=[reason for one in made for reason in one.refused]),
        **_joined({g["name"]: one.joined for g, one in zip(given, made, strict=True)}),
    }


def create_relations(call: Call, arguments: Arguments) -> Result:
    """`create_relations`."""
    given = arguments["relations"]
    ids = _ids(call, [name for one in given for name in (one["from"], one["to"])])
    # One that is there is left as it is: it may have been given another weight since.
    added = call.engine.entities.memory.add_relations(
        [
            written_relation(ids[one["from"]], ids[one["to"]], one["relationType"], weight=None)
            for one in given
        ]
    )
    told = list(zip(given, added, strict=True))
    return {
        "relations": [dict(one) for one, (_, is_new) in told if is_new],
        **_said(existing=[dict(one) for one, (_, is_new) in told if not is_new]),
        **_joined(_shown(call, ids)),
    }


def add_observations(call: Call, arguments: Arguments) -> Result:
    """`add_observations`."""
    given = [(one["entityName"], one["contents"]) for one in arguments["observations"]]
    ids = _ids(call, [name for name, _ in given])
    results, there = [], []
    for (name, texts), new in zip(
        given, call.engine.entities.memory.add_observations(given), strict=True
    ):
        results.append({"entityName": name, "addedObservations": new})
        known = [text for text in cleaned(texts) if text not in new]
        there += [{"entityName": name, "observations": known}] if known else []
    return {"results": results, **_said(existing=there), **_joined(_shown(call, ids))}


def delete_entities(call: Call, arguments: Arguments) -> Result:
    """`delete_entities`."""
    names = list(dict.fromkeys(arguments["entityNames"]))
    shown = _shown(call, call.engine.entities.memory.named(names))
    deleted = call.engine.entities.memory.delete_entities(names)
    missing = [name for name in names if name not in deleted]
    told = {**_said(not_found=[shortened(name, NAMED // 5) for name in missing]), **_joined(shown)}
    if not missing:
        return {"message": "Entities deleted successfully", **told}
    found = len(names) - len(missing)
    message = f"Deleted {found} of {len(names)} entities. Not found: {_not_found(call, missing)}"
    return {"message": message, **told}


def delete_observations(call: Call, arguments: Arguments) -> Result:
    """`delete_observations`."""
    given = [(one["entityName"], one["observations"]) for one in arguments["deletions"]]
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
    if not left:
        return {"message": "Observations deleted successfully", **more}
    wanted = sum(len(texts) for _, texts in given)
    found = wanted - sum(len(one["observations"]) for one in left)
    missing = [name for name, _ in given if name not in known]
    unknown = f" Entities not found: {_not_found(call, missing)}" if missing else ""
    return {"message": f"Deleted {found} of {wanted} observations.{unknown}", **more}


def delete_relations(call: Call, arguments: Arguments) -> Result:
    """`delete_relations`: with all their periods."""
    given = arguments["relations"]
    memory = call.engine.entities.memory
    known = memory.named([name for one in given for name in (one["from"], one["to"])])
    stated: dict[tuple[int, int, str], list[int]] = {}
    for one in call.engine.store.unstated_relations(sorted(known.values())):
        fact = one.from_entity_id, one.to_entity_id, one.relation_type
        stated.setdefault(fact, []).append(one.id)
    wanted = [
        (known.get(one["from"], 0), known.get(one["to"], 0), snake_case(one["relationType"]))
        for one in given
    ]
    memory.delete_relations([id_ for fact in set(wanted) for id_ in stated.get(fact, ())])
    left = [dict(one) for one, fact in zip(given, wanted, strict=True) if fact not in stated]
    told = {**_said(not_found=left), **_joined(_shown(call, known))}
    if not left:
        return {"message": "Relations deleted successfully", **told}
    found = len(given) - len(left)
    return {
        "message": f"Deleted {found} of {len(given)} relations. The rest matched nothing.",
        **told,
    }


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
