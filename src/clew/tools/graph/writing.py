"""What the graph tools write: relations stated by hand, and those found by reading once more."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.indexing.manual_graph import CAUSAL
from clew.request_end import has_ended
from clew.text import counted
from clew.tools.graph.reading import RELATION_TYPES, known_entity
from clew.types import NewRelation

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result

_SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def add_relationship(call: Call, arguments: Arguments) -> Result:
    """`add_entity_relationship`."""
    source, target = (known_entity(call, arguments[name]) for name in ("source_id", "target_id"))
    relation_type = arguments["relation_type"]
    if not _SNAKE_CASE.fullmatch(relation_type):
        raise InputError(
            f"relation_type cannot be {relation_type!r}; expected {', '.join(RELATION_TYPES)} or"
            " another name in snake_case, such as works_at. Call it again with that"
        )
    stated = NewRelation(
        source_id=source.id,
        target_id=target.id,
        relation_type=relation_type,
        weight=arguments["weight"],
        is_causal=arguments["is_causal"] or relation_type == CAUSAL,
        context=arguments["context"],
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


def delete_relation(call: Call, arguments: Arguments) -> Result:
    """`delete_relation`."""
    relation_id = arguments["relation_id"]
    if not arguments["confirm"]:
        raise InputError(
            f"relation {relation_id} and all statements of the same would be taken back; call again"
            " with confirm=true if it is wanted"
        )
    deleted = call.engine.graph.delete_relation(relation_id)
    return {"relation_id": relation_id, "deleted": deleted}


def prune(call: Call, arguments: Arguments) -> Result:
    """`prune_graph`."""
    applied = not arguments["dry_run"]
    if applied and not arguments["confirm"]:
        raise InputError(
            "relations would be taken back; call again with confirm=true if it is wanted, or with"
            " dry_run=true to see which"
        )
    report = call.engine.graph.prune(
        below=arguments["below"], dry_run=not applied, entities=arguments["entities"]
    )
    shown = report.relations[: arguments["limit"]]
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
            for one in shown
        ],
        "total_entities": len(report.entities),
        "entities": [asdict(one) for one in report.entities[: arguments["limit"]]],
    }


def extract_relationships(call: Call, arguments: Arguments) -> Result:
    """`extract_entity_relationships`."""
    entity = known_entity(call, arguments["entity_id"])
    done = call.engine.entities.extract_relations([entity.id])
    return {
        "entity_id": entity.id,
        "relationships_found": done.found[entity.id],
        "relationships_added": done.added,
    }


def extract_all(call: Call, arguments: Arguments) -> Result:
    """`extract_all_relationships`."""

    def proceed(done: int, total: int) -> bool:
        call.progress.report(done, total, "documents read")
        return not has_ended()

    done = call.engine.entities.extract_relations(limit=arguments["limit"], proceed=proceed)
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
