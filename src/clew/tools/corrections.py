"""Who is who, put right: entities merged, split, renamed, retyped, kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.tools.graph_queries import known_entity
from clew.tools.spec import FULL, Tool, Undo, array, integer, positive, shape, text
from clew.types import NewRelation
from clew.wiring import make_audit

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.tools.spec import Arguments, Call, Result
    from clew.types import Relation


# Ways back from what the graph tools change; the audit log keeps what each needs.


ALL = 2**31
"""Relations of an entity that a deletion is looked for among: every one."""
_MOST = 2**62
"""Ids are smaller, and the next number is one that databases hold."""


def undo_change(call: Call, arguments: Arguments) -> Result:
    """`undo_change`."""
    number = arguments["entry_id"]
    log = make_audit(call.engine.state.journal)
    last = log.entries(before=min(number, _MOST) + 1, limit=1)
    entry = next((e for e in last if e.id == number), None)
    if entry is None:
        raise NotFoundError(f"no change {number}; the ids of changes come from audit")
    if entry.undo is None or entry.tool not in UNDOS:
        raise InputError(f"change {number} ({entry.tool}) was taken back already, or cannot be")
    if call.caller.tools is not None and entry.tool not in call.caller.tools:
        raise InputError(f"taking this back needs the right to call {entry.tool}; ask for it")
    UNDOS[entry.tool].take_back(call, entry.undo)
    log.keep_undo(number, None)
    return {"entry_id": number, "tool": entry.tool}


def _merge_before(call: Call, arguments: Arguments) -> Result:
    both = [known_entity(call, arguments[name]).id for name in ("source_id", "target_id")]
    return {"was": call.engine.store.before_merge(*both)}


def _unmerge(call: Call, known: Arguments) -> Result:
    known_entity(call, known["entity_id"])
    call.engine.entities.unmerge(known["was"])
    return {}


def _join(call: Call, known: Arguments) -> Result:
    one, other = (known_entity(call, known[name]) for name in ("new_entity_id", "entity_id"))
    call.engine.entities.merge(one, other)
    return {}


def _rename(call: Call, known: Arguments) -> Result:
    call.engine.entities.rename(known_entity(call, known["entity_id"]), known["before"])
    return {}


def _retype(call: Call, known: Arguments) -> Result:
    call.engine.entities.retype(known_entity(call, known["entity_id"]), known["before"])
    return {}


def _allow(call: Call, known: Arguments) -> Result:
    call.engine.entities.allow(known["names"])
    return {}


def _by_hand(engine: Engine, head: int, kind: str, tail: int) -> list[Result]:
    """What was stated of a fact by hand, as JSON."""
    return [
        {
            "id": one.id,
            "weight": one.weight,
            "is_causal": one.is_causal,
            "context": dict(one.context),
            "valid_from": one.valid_from and one.valid_from.isoformat(),
            "valid_until": one.stated_until and one.stated_until.isoformat(),
            "recorded_at": one.recorded_at.isoformat(),
        }
        for one in engine.store.unstated_relations([head])
        if _is_fact(one, head, kind, tail)
    ]


def _is_fact(one: Relation, head: int, kind: str, tail: int) -> bool:
    return (one.from_entity_id, one.relation_type, one.to_entity_id) == (head, kind, tail)


def _stated_before(call: Call, arguments: Arguments) -> Result:
    fact = [arguments[name] for name in ("source_id", "relation_type", "target_id")]
    return {"by_hand": _by_hand(call.engine, *fact)}


def _unstate(call: Call, known: Arguments) -> Result:
    """Take back what was stated by hand; what texts state of it stays."""
    stated = known["relationship_id"]
    # A period that was there keeps its id, which earlier changes know it by.
    before = [one for one in known["by_hand"] if one["id"] == stated]
    if not before:
        call.engine.entities.memory.delete_relations([stated])
    _state_again(call, {**known, "by_hand": before})
    return {}


def _deleted_before(call: Call, arguments: Arguments) -> Result:
    store = call.engine.store
    found = store.relations_by_id([arguments["relation_id"]])
    if not found:
        return {}
    head, kind, tail = found[0].from_entity_id, found[0].relation_type, found[0].to_entity_id
    same = [r for r in store.relations([head], ALL) if _is_fact(r, head, kind, tail)]
    return {
        "source_id": head,
        "relation_type": kind,
        "target_id": tail,
        "ids": [r.id for r in same if r.chunk_id is not None],
        "by_hand": _by_hand(call.engine, head, kind, tail),
    }


def _undelete(call: Call, known: Arguments) -> Result:
    restored = call.engine.graph.restore_relations(known["ids"]) if known["ids"] else 0
    if not restored and not known["by_hand"]:
        raise InputError(
            "the texts that stated this were indexed anew since; state the relation by hand instead"
        )
    _state_again(call, known)
    return {}


def _state_again(call: Call, known: Arguments) -> None:
    """What was stated by hand before, as it was."""
    call.engine.entities.memory.add_relations(
        [
            NewRelation(
                source_id=known["source_id"],
                target_id=known["target_id"],
                relation_type=known["relation_type"],
                weight=one["weight"],
                is_causal=one["is_causal"],
                context=one["context"],
                **{
                    name: datetime.fromisoformat(one[name])
                    for name in ("valid_from", "valid_until", "recorded_at")
                    if one.get(name)
                },
            )
            for one in known["by_hand"]
        ]
    )


UNDOS: Mapping[str, Undo] = {
    "merge_entities": Undo(take_back=_unmerge, before=_merge_before),
    "split_entity": Undo(take_back=_join),
    "rename_entity": Undo(take_back=_rename),
    "retype_entity": Undo(take_back=_retype),
    "refuse_merge": Undo(take_back=_allow),
    "add_entity_relationship": Undo(take_back=_unstate, before=_stated_before),
    "delete_relation": Undo(take_back=_undelete, before=_deleted_before),
}
"""By tool."""

UNDO_CHANGE = Tool(
    name="undo_change",
    title="Undo a change",
    description="Take a change of the graph back: a merge, split, name, type, refusal or relation.",
    parameters=(positive("entry_id", "From audit."),),
    result=shape(entry_id="integer", tool="string"),
    run=undo_change,
    scope="write",
    profiles=FULL,
)


def suggest_merges(call: Call, arguments: Arguments) -> Result:
    """`suggest_merges`."""
    return {"suggestions": [asdict(s) for s in call.engine.entities.suggest(arguments["limit"])]}


def refuse_merge(call: Call, arguments: Arguments) -> Result:
    """`refuse_merge`."""
    one, other = (known_entity(call, arguments[name]) for name in ("entity_id", "other_id"))
    names = call.engine.entities.refuse(one, other)
    return {"entity_id": one.id, "other_id": other.id, "names": names}


def merge_entities(call: Call, arguments: Arguments) -> Result:
    """`merge_entities`; the names that moved are what `split_entity` takes to undo it."""
    source, target = (known_entity(call, arguments[name]) for name in ("source_id", "target_id"))
    names = [alias.name for alias in call.engine.entities.aliases(source)]
    call.engine.entities.merge(source, target)
    return {"entity_id": target.id, "name": target.name, "names": names}


def split_entity(call: Call, arguments: Arguments) -> Result:
    """`split_entity`."""
    entity = known_entity(call, arguments["entity_id"])
    made = call.engine.entities.split(entity, arguments["names"])
    return {"entity_id": entity.id, "new_entity_id": made.id, "name": made.name}


def rename_entity(call: Call, arguments: Arguments) -> Result:
    """`rename_entity`."""
    entity = known_entity(call, arguments["entity_id"])
    call.engine.entities.rename(entity, arguments["name"])
    return {"entity_id": entity.id, "name": arguments["name"], "before": entity.name}


def retype_entity(call: Call, arguments: Arguments) -> Result:
    """`retype_entity`."""
    entity = known_entity(call, arguments["entity_id"])
    call.engine.entities.retype(entity, arguments["entity_type"])
    return {
        "entity_id": entity.id,
        "entity_type": arguments["entity_type"],
        "before": entity.entity_type,
    }


_ENTITY_ID = positive("entity_id", "From graph_enhanced_search.")


def restore_pruned_names(call: Call, arguments: Arguments) -> Result:
    """`restore_pruned_names`."""
    return {"restored": call.engine.graph.restore_names(*arguments["names"])}


def restore_pruned_relations(call: Call, arguments: Arguments) -> Result:
    """`restore_pruned_relations`."""
    return {"restored": call.engine.graph.restore_pruned()}


MERGING_TOOLS: tuple[Tool, ...] = (
    UNDO_CHANGE,
    Tool(
        name="suggest_merges",
        title="Entities that may be one",
        description="Pairs of entities that may be one, the surest first, each with the reason.",
        parameters=(integer("limit", "Pairs", 50, 1, 200),),
        result=shape(suggestions="array"),
        run=suggest_merges,
        scope="read",
        profiles=FULL,
    ),
    Tool(
        name="refuse_merge",
        title="Keep entities apart",
        description="Say that two entities are not one; indexing again remembers it.",
        parameters=(
            positive("entity_id", "From suggest_merges."),
            positive("other_id", "From suggest_merges."),
        ),
        result=shape(entity_id="integer", other_id="integer", names="array"),
        run=refuse_merge,
        scope="write",
        profiles=FULL,
    ),
    Tool(
        name="merge_entities",
        title="Make two entities one",
        description="The second takes all names and relations of the first; indexing again"
        " remembers it. split_entity with the names undoes it.",
        parameters=(
            positive("source_id", "The entity that is given up."),
            positive("target_id", "The entity that takes its names."),
        ),
        result=shape(entity_id="integer", name="string", names="array"),
        run=merge_entities,
        scope="write",
        profiles=FULL,
    ),
    Tool(
        name="split_entity",
        title="Split an entity",
        description="Take names out of an entity into one of their own; indexing again remembers"
        " it. merge_entities undoes it.",
        parameters=(
            _ENTITY_ID,
            array("names", "strings", "Names that are another's.", required=True, max_items=200),
        ),
        result=shape(entity_id="integer", new_entity_id="integer", name="string"),
        run=split_entity,
        scope="write",
        profiles=FULL,
    ),
    Tool(
        name="rename_entity",
        title="Rename an entity",
        description="Show an entity under another name; the old one stays one of its names.",
        parameters=(_ENTITY_ID, text("name", "To show it under.", required=True, blank=False)),
        result=shape(entity_id="integer", name="string", before="string"),
        run=rename_entity,
        scope="write",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="retype_entity",
        title="Say what an entity is",
        description="Give an entity another type, such as person or place.",
        parameters=(
            _ENTITY_ID,
            text("entity_type", "A word in small letters.", required=True, max_length=60),
        ),
        result=shape(entity_id="integer", entity_type="string", before="string"),
        run=retype_entity,
        scope="write",
        profiles=FULL,
        idempotent=True,
    ),
    Tool(
        name="restore_pruned_names",
        title="Restore pruned names",
        description="Let texts that are indexed from now on make entities of pruned names again.",
        parameters=(array("names", "strings", "Names that prune_graph took out.", required=True),),
        result=shape(restored="integer"),
        run=restore_pruned_names,
        scope="write",
        profiles=FULL,
    ),
    Tool(
        name="restore_pruned_relations",
        title="Restore pruned relations",
        description="Bring back the relations that prune_graph took, none that was deleted.",
        parameters=(),
        result=shape(restored="integer"),
        run=restore_pruned_relations,
        scope="write",
        profiles=FULL,
    ),
)
