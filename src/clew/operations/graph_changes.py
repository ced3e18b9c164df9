"""What changes the graph by hand: relations, merges, splits, names, types, and the ways back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from clew.errors import InputError, NotFoundError
from clew.indexing.manual_graph import CAUSAL
from clew.operations.graph_queries import RELATION_TYPES, known_entity
from clew.operations.spec import (
    CORE,
    PEOPLE,
    Arguments,
    Call,
    Confirm,
    Limits,
    Result,
    Undo,
    between,
    operation,
    shape,
)
from clew.request_end import has_ended
from clew.stores.sqlite.journal import SqliteAudit
from clew.text import counted
from clew.types import NewRelation

if TYPE_CHECKING:
    from clew.engine import Engine


ALL = 2**31
"""Relations of an entity that a deletion is looked for among: every one."""
_MOST = 2**62
"""Ids are smaller, and the next number is one that databases hold."""
READ = 500
"""Entries of the audit log that are looked through, the newest."""
_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
Found = Annotated[int, "From graph_enhanced_search.", Limits(minimum=1)]
"""The id of an entity."""
Suggested = Annotated[int, "From suggest_merges.", Limits(minimum=1)]


# Ways back: each is given what `before` told, with the arguments and the result of the call.


def _merge_before(call: Call, arguments: Arguments) -> Result:
    both = [known_entity(call, arguments[name]).id for name in ("source_id", "target_id")]
    return {"was": call.engine.store.before_merge(*both)}


def _unmerge(call: Call, known: Arguments) -> None:
    known_entity(call, known["entity_id"])
    call.engine.entities.unmerge(known["was"])


def _join(call: Call, known: Arguments) -> None:
    one, other = (known_entity(call, known[name]) for name in ("new_entity_id", "entity_id"))
    call.engine.entities.merge(one, other)


def _edit_before(call: Call, arguments: Arguments) -> Result:
    entity = known_entity(call, arguments["entity_id"])
    return {"was": {"name": entity.name, "entity_type": entity.entity_type}}


def _unedit(call: Call, known: Arguments) -> None:
    entity = known_entity(call, known["entity_id"])
    if entity.name != known["was"]["name"]:
        call.engine.entities.rename(entity, known["was"]["name"])
    if entity.entity_type != known["was"]["entity_type"]:
        call.engine.entities.retype(entity, known["was"]["entity_type"])


def _allow(call: Call, known: Arguments) -> None:
    call.engine.entities.allow(known["names"])


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
        if one.fact == (head, kind, tail)
    ]


def _stated_before(call: Call, arguments: Arguments) -> Result:
    fact = [arguments[name] for name in ("source_id", "relation_type", "target_id")]
    return {"by_hand": _by_hand(call.engine, *fact)}


def _unstate(call: Call, known: Arguments) -> None:
    """Take back what was stated by hand; what texts state of it stays."""
    stated = known["relationship_id"]
    # A period that was there keeps its id, which earlier changes know it by.
    before = [one for one in known["by_hand"] if one["id"] == stated]
    if not before:
        call.engine.entities.memory.delete_relations([stated])
    _state_again(call, {**known, "by_hand": before})


def _deleted_before(call: Call, arguments: Arguments) -> Result:
    store = call.engine.store
    found = store.relations_by_id([arguments["relation_id"]])
    if not found:
        return {}
    head, kind, tail = found[0].from_entity_id, found[0].relation_type, found[0].to_entity_id
    same = [r for r in store.relations([head], ALL) if r.fact == (head, kind, tail)]
    return {
        "source_id": head,
        "relation_type": kind,
        "target_id": tail,
        "ids": [r.id for r in same if r.chunk_id is not None],
        "by_hand": _by_hand(call.engine, head, kind, tail),
    }


def _undelete(call: Call, known: Arguments) -> None:
    restored = call.engine.graph.restore_relations(known["ids"]) if known["ids"] else 0
    if not restored and not known["by_hand"]:
        raise InputError(
            "the texts that stated this were indexed anew since; state the relation by hand instead"
        )
    _state_again(call, known)


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


# Relations stated, taken back, and found by reading once more.


@operation(
    "Add a relation",
    shape(relationship_id="integer"),
    rights="write",
    profiles=CORE,
    idempotent=True,
    undo=Undo(take_back=_unstate, before=_stated_before),
    http="POST /relations 201",
)
def add_entity_relationship(
    call: Call,
    source_id: Annotated[int, "Where it starts.", Limits(minimum=1)],
    target_id: Annotated[int, "Where it ends.", Limits(minimum=1)],
    relation_type: Annotated[
        str,
        f"{', '.join(RELATION_TYPES)}, or another snake_case name.",
        Limits(max_length=100),
    ],
    weight: Annotated[float, "Strength", between(0, 1)] = 1.0,
    is_causal: Annotated[bool, "Whether a cause."] = False,
    context: Annotated[Mapping[str, Any] | None, "What else to remember with it."] = None,
) -> Result:
    """State a relation; again adds nothing."""
    source, target = known_entity(call, source_id), known_entity(call, target_id)
    if not _SNAKE_CASE.fullmatch(relation_type):
        raise InputError(
            f"relation_type cannot be {relation_type!r}; expected {', '.join(RELATION_TYPES)} or"
            " another name in snake_case, such as works_at. Call it again with that"
        )
    stated = NewRelation(
        source_id=source.id,
        target_id=target.id,
        relation_type=relation_type,
        weight=weight,
        is_causal=is_causal or relation_type == CAUSAL,
        context=context,
    )
    ((relation, _),) = call.engine.entities.memory.add_relations([stated])
    return {
        "relationship_id": relation.id,
        "source_id": relation.from_entity_id,
        "target_id": relation.to_entity_id,
        "relation_type": relation.relation_type,
        "weight": relation.weight,
        "is_causal": relation.is_causal,
    }


@operation(
    "Delete a relation",
    shape(relation_id="integer", deleted="integer"),
    rights="write",
    destructive=True,
    confirm=True,
    undo=Undo(take_back=_undelete, before=_deleted_before),
    http="DELETE /relations/{relation_id}",
)
def delete_relation(
    call: Call,
    relation_id: Annotated[
        int, "From build_local_graph or add_entity_relationship.", Limits(minimum=1)
    ],
    confirm: Confirm = False,
) -> Result:
    """Take a relation back with all statements of it, even where texts state it; indexing again
    remembers it.
    """
    if not confirm:
        raise InputError(
            f"relation {relation_id} and all statements of the same would be taken back; call again"
            " with confirm=true if it is wanted"
        )
    deleted = call.engine.graph.delete_relation(relation_id)
    return {"relation_id": relation_id, "deleted": deleted}


@operation(
    "Prune the graph",
    shape(
        dry_run="boolean",
        total="integer",
        relations="array",
        total_entities="integer",
        entities="array",
    ),
    rights="write",
    profiles=PEOPLE,
    destructive=True,
)
def prune_graph(
    call: Call,
    below: Annotated[float, "Weight below which a relation is listed", between(0, 1)] = 0.4,
    dry_run: Annotated[bool, "Only list them."] = True,
    entities: Annotated[bool, "Entities whose confidence is below, too."] = False,
    limit: Annotated[int, "Relations and entities to list", between(1, 500)] = 50,
    confirm: Confirm = False,
) -> Result:
    """Relations (and entities) that little speaks for, each with the reason; takes them back unless
    dry_run. Never what was stated by hand.
    """
    if not (dry_run or confirm):
        raise InputError(
            "relations would be taken back; call again with confirm=true if it is wanted, or with"
            " dry_run=true to see which"
        )
    report = call.engine.graph.prune(below=below, dry_run=dry_run, entities=entities)
    return {
        "dry_run": not report.applied,
        "total": len(report.relations),
        "relations": [
            {
                "relation_id": one.ids[0],
                "from": one.relation.head,
                "relation": one.relation.relation,
                "to": one.relation.tail,
                "weight": one.weight,
                "reason": one.reason,
            }
            for one in report.relations[:limit]
        ],
        "total_entities": len(report.entities),
        "entities": [asdict(one) for one in report.entities[:limit]],
    }


@operation("Restore what was pruned", shape(restored="integer"), rights="write", profiles=PEOPLE)
def restore_pruned(
    call: Call,
    names: Annotated[
        Sequence[str], "Names that texts may make entities again. Default: the relations."
    ] = (),
) -> Result:
    """Bring back the relations that prune_graph took, none that was deleted; or let texts that are
    indexed from now on make entities of pruned names again.
    """
    graph = call.engine.graph
    return {"restored": graph.restore_names(*names) if names else graph.restore_pruned()}


@operation(
    "Extract relations of an entity",
    shape(entity_id="integer", relationships_found="integer", relationships_added="integer"),
    rights="write",
    idempotent=True,
)
def extract_entity_relationships(call: Call, entity_id: Found) -> Result:
    """Read the passages of an entity once more for relations; add what is new."""
    entity = known_entity(call, entity_id)
    done = call.engine.entities.extract_relations([entity.id])
    return {
        "entity_id": entity.id,
        "relationships_found": done.found[entity.id],
        "relationships_added": done.added,
    }


@operation(
    "Extract relations of all entities",
    shape(statistics="object", summary="string"),
    rights="write",
    idempotent=True,
)
def extract_all_relationships(
    call: Call,
    limit: Annotated[
        int | None, "Entities, 1 to 1000000. Default: all not yet read.", between(1, 1_000_000)
    ] = None,
) -> Result:
    """Read the passages of all entities that were never read for relations."""

    def proceed(done: int, total: int) -> bool:
        call.progress.report(done, total, "documents read")
        return not has_ended()

    done = call.engine.entities.extract_relations(limit=limit, proceed=proceed)
    total, some = sum(done.found.values()), sum(count > 0 for count in done.found.values())
    return {
        "statistics": {
            "total_processed": len(done.found),
            "total_relationships": total,
            "entities_with_relationships": some,
            "relationships_added": done.added,
        },
        "summary": (
            f"{counted(len(done.found), 'entity', 'entities')} read, {some} of them with relations;"
            f" {counted(total, 'relation')} found, {done.added} of them new"
        ),
    }


# Who is who, put right.


@operation(
    "Entities that may be one",
    shape(suggestions="array"),
    profiles=PEOPLE,
    http="GET /merges",
)
def suggest_merges(call: Call, limit: Annotated[int, "Pairs", between(1, 200)] = 50) -> Result:
    """Pairs of entities that may be one, the surest first, each with the reason."""
    return {"suggestions": [asdict(s) for s in call.engine.entities.suggest(limit)]}


@operation(
    "Keep entities apart",
    shape(entity_id="integer", other_id="integer", names="array"),
    rights="write",
    profiles=PEOPLE,
    undo=Undo(take_back=_allow),
    http="POST /merges/refused",
)
def refuse_merge(call: Call, entity_id: Suggested, other_id: Suggested) -> Result:
    """Say that two entities are not one; indexing again remembers it."""
    one, other = known_entity(call, entity_id), known_entity(call, other_id)
    names = call.engine.entities.refuse(one, other)
    return {"entity_id": one.id, "other_id": other.id, "names": names}


@operation(
    "Make two entities one",
    shape(entity_id="integer", name="string", names="array"),
    rights="write",
    undo=Undo(take_back=_unmerge, before=_merge_before),
    http="POST /merges",
)
def merge_entities(
    call: Call,
    source_id: Annotated[int, "The entity that is given up.", Limits(minimum=1)],
    target_id: Annotated[int, "The entity that takes its names.", Limits(minimum=1)],
) -> Result:
    """The second takes all names and relations of the first; indexing again remembers it."""
    source, target = known_entity(call, source_id), known_entity(call, target_id)
    names = [alias.name for alias in call.engine.entities.aliases(source)]
    call.engine.entities.merge(source, target)
    return {"entity_id": target.id, "name": target.name, "names": names}


@operation(
    "Split an entity",
    shape(entity_id="integer", new_entity_id="integer", name="string"),
    rights="write",
    profiles=PEOPLE,
    undo=Undo(take_back=_join),
    http="POST /entities/{entity_id}/split",
)
def split_entity(
    call: Call,
    entity_id: Found,
    names: Annotated[Sequence[str], "Names that are another's.", Limits(max_items=200)],
) -> Result:
    """Take names out of an entity into one of their own; indexing again remembers it.
    merge_entities undoes it.
    """
    entity = known_entity(call, entity_id)
    made = call.engine.entities.split(entity, names)
    return {"entity_id": entity.id, "new_entity_id": made.id, "name": made.name}


@operation(
    "Edit an entity",
    shape(entity_id="integer", name="string", entity_type="string"),
    rights="write",
    profiles=PEOPLE,
    idempotent=True,
    undo=Undo(take_back=_unedit, before=_edit_before),
    http="POST /entities/{entity_id}",
)
def edit_entity(
    call: Call,
    entity_id: Found,
    name: Annotated[str | None, "To show it under.", Limits(blank=False)] = None,
    entity_type: Annotated[
        str | None, "Such as person or place: a word in small letters.", Limits(max_length=60)
    ] = None,
) -> Result:
    """Show an entity under another name (the old one stays one of its names), or give it another
    type.
    """
    entity = known_entity(call, entity_id)
    if name is None and entity_type is None:
        raise InputError("nothing is to be changed; give name, entity_type or both")
    if name is not None:
        call.engine.entities.rename(entity, name)
    if entity_type is not None:
        call.engine.entities.retype(entity, entity_type)
    return {
        "entity_id": entity.id,
        "name": name or entity.name,
        "entity_type": entity_type or entity.entity_type,
    }


@operation("Undo a change", shape(entry_id="integer", tool="string"), rights="write")
def undo_change(
    call: Call,
    entry_id: Annotated[
        int | None, "Of the audit log. Default: your last that can be undone.", Limits(minimum=1)
    ] = None,
) -> Result:
    """Take a change of the graph back: a merge, split, name, type, refusal or relation."""
    log = SqliteAudit(call.engine.state.journal)
    if entry_id is None:
        found = [e for e in log.entries(limit=READ) if e.undo and e.caller == call.caller.name]
    else:
        last = log.entries(before=min(entry_id, _MOST) + 1, limit=1)
        found = [e for e in last if e.id == entry_id]
    if not found:
        wanted = "of yours that can be taken back" if entry_id is None else str(entry_id)
        raise NotFoundError(f"no change {wanted}; `clew audit` lists all, with their ids")
    entry = found[0]
    undo = UNDOS.get(entry.tool)
    if entry.undo is None or undo is None:
        raise InputError(f"change {entry.id} ({entry.tool}) was taken back already, or cannot be")
    if call.caller.tools is not None and entry.tool not in call.caller.tools:
        raise InputError(f"taking this back needs the right to call {entry.tool}; ask for it")
    undo.take_back(call, entry.undo)
    log.keep_undo(entry.id, None)
    return {"entry_id": entry.id, "tool": entry.tool}


UNDOS: Mapping[str, Undo] = {
    tool.name: tool.undo
    for tool in (
        merge_entities,
        split_entity,
        edit_entity,
        refuse_merge,
        add_entity_relationship,
        delete_relation,
    )
    if tool.undo
}
"""By tool."""
