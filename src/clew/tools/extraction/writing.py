"""Entities and relations that an assistant found, or knows by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from clew.errors import NotFoundError
from clew.indexing.manual_graph import CAUSAL, snake_case, written_relation
from clew.text import entity_key
from clew.types import NewEntity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.indexing.agent_extraction import AgentExtractionReport
    from clew.indexing.enrichment.validation import AgentRelation
    from clew.tools.spec import Arguments, Call, Result

_RELATIONS = 10_000
"""Relations of the entities given that are looked through for those given."""
_SHOWN = 20
"""Rejected items that are listed one by one."""


def upsert(call: Call, arguments: Arguments) -> Result:
    """`graph_upsert`."""
    entities = [
        NewEntity(
            name=one["name"],
            entity_type=one["entity_type"] or "name",
            content=one["description"],
        )
        for one in arguments["entities"]
    ]
    if not arguments["passage_ids"]:
        return _write_by_hand(call, entities, arguments["relations"])
    report = call.engine.entities.agent_extractions.record(
        arguments["passage_ids"], entities, [_found(one) for one in arguments["relations"]]
    )
    return {
        **_told(report),
        **_ids(call, arguments),
        "remaining": call.engine.entities.agent_extractions.count_unread(),
    }


def _ids(call: Call, arguments: Arguments) -> Result:
    """Ids of the entities and relations given, in their order; null for what was not taken."""
    store = call.engine.store
    names = [one["name"] for one in arguments["entities"]]
    ends = [(one["source"], one["target"]) for one in arguments["relations"]]
    keys = list(map(entity_key, {*names, *chain.from_iterable(ends)}))
    known = store.resolve(keys)
    heads = sorted({known[entity_key(head)] for head, _ in ends if entity_key(head) in known})
    stated = {
        (one.from_entity_id, one.relation_type, one.to_entity_id): one.id
        for one in store.relations(heads, _RELATIONS)
    }
    wanted = (
        (known.get(entity_key(head)), snake_case(one["relation_type"]), known.get(entity_key(tail)))
        for one, (head, tail) in zip(arguments["relations"], ends, strict=True)
    )
    return {
        "entity_ids": [known.get(entity_key(name)) for name in names],
        "relation_ids": [stated.get(fact) for fact in wanted],  # type: ignore[arg-type]
    }


def _found(given: Arguments) -> AgentRelation:
    from clew.indexing.enrichment.validation import AgentRelation

    return AgentRelation(
        head=given["source"],
        tail=given["target"],
        relation_type=given["relation_type"],
        confidence=given["confidence"],
        is_causal=snake_case(given["relation_type"]) == CAUSAL,
    )


def _told(report: AgentExtractionReport) -> Result:
    rejected = [{"item": one.item, "reason": one.reason} for one in report.rejected[:_SHOWN]]
    return {
        "passages": report.passages,
        "entities": report.entities,
        "relations": report.relations,
        "new_relations": report.new_relations,
        "rejected": rejected,
        "rejected_count": len(report.rejected),
    }


def _write_by_hand(
    call: Call, entities: Sequence[NewEntity], relations: Sequence[Arguments]
) -> Result:
    """Without passages: the caller's own knowledge, which no text needs to state."""
    given = {entity_key(entity.name) for entity in entities}
    ends = {entity_key(name): name for one in relations for name in (one["source"], one["target"])}
    # All that can be wrong is looked at before anything is written.
    ids = {key: _known(call, name) for key, name in ends.items() if key not in given}
    drafts = [written_relation(0, 0, r["relation_type"], weight=r["confidence"]) for r in relations]
    ids |= _make(call, entities)
    added = call.engine.entities.memory.add_relations(
        [
            replace(
                draft,
                source_id=ids[entity_key(one["source"])],
                target_id=ids[entity_key(one["target"])],
            )
            for one, draft in zip(relations, drafts, strict=True)
        ]
    )
    return {
        "passages": 0,
        "entities": len(entities),
        "entity_ids": [ids[entity_key(entity.name)] for entity in entities],
        "relation_ids": [relation.id for relation, _ in added],
        "relations": len(added),
        "new_relations": sum(is_new for _, is_new in added),
        "rejected": [],
        "rejected_count": 0,
        "remaining": call.engine.entities.agent_extractions.count_unread(),
    }


def _make(call: Call, entities: Sequence[NewEntity]) -> dict[str, int]:
    """Make entities, or bring those that were made before up to date; ids by key."""
    memory, ids = call.engine.entities.memory, {}
    for entity, (entity_id, is_new) in zip(entities, memory.add_entities(entities), strict=True):
        ids[entity_key(entity.name)] = entity_id
        if not is_new:
            known_type = entity.entity_type if entity.entity_type != "name" else None
            content = entity.content or None
            memory.update_entity(entity.name, entity_type=known_type, content=content)
    return ids


def _known(call: Call, name: str) -> int:
    try:
        return call.engine.entities.get(name).id
    except NotFoundError as error:
        raise NotFoundError(f"{error}; give it in entities, too, to make it") from error
