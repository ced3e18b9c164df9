"""Who is who, put right: entities merged, split, renamed, retyped, kept apart."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.tools.graph.reading import known_entity
from clew.tools.graph.undoing import UNDO_CHANGE
from clew.tools.parameters import array, integer, positive, text
from clew.tools.schema import shape
from clew.tools.spec import FULL, Tool

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


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
